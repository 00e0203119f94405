"""A listener of queries that does not keep a program of Spark Connect from ending."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryListener

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SessionListener(StreamingQueryListener):
    """Leaves its session when the main thread of the program ends.

    PySpark's Connect client reads events on a thread that is no daemon, for as long as there is a listener
    (`StreamingQueryListenerBus`). Python waits for that thread when the program is done, and so for ever. A
    classic session has no such thread.
    """

    def _set_spark_session(self, session: Any) -> None:
        """Called by the Connect client when the listener is added; again each time that it is."""
        super()._set_spark_session(session)
        threading.Thread(
            target=self._leave_at_the_end, args=(session,), name="headwater-listener-end", daemon=True
        ).start()

    def _leave_at_the_end(self, session: SparkSession) -> None:
        # It is joined as soon as its code has ended, which is before Python waits for other threads.
        threading.main_thread().join()
        # A client whose server is gone warns, and its thread has ended.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session.streams.removeListener(self)

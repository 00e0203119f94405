"""The task's end: a connection to the receiver of one split, which is started where none runs."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Final

from headwater.core.clock import Clock, SystemClock
from headwater.core.errors import FencedError, SourceError
from headwater.core.redaction import logger_of
from headwater.readers.runtime.staging.receiver import Receiver
from headwater.readers.runtime.staging.receiver_place import ReceiverPlace
from headwater.readers.runtime.staging.receiver_process import exit_code, on_thread, serve, start_receiver
from headwater.readers.runtime.staging.receiver_task import ReceiverAnswer, ReceiverTask, TaskQuestion

_START_MS: Final = 60_000
"""A receiver that does not answer within this time after its start is an error."""
_MOST_DEATHS: Final = 3
"""How often a task starts a receiver again that died before it had answered."""

log = logger_of(__name__)


class ReceiverLink(ABC):
    """A connection to a receiver that keeps coming back.

    One question at a time is on its way. Used by one thread, but for `wake_up`.
    """

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._is_asked = False
        self._begins = True
        self._has_answer = False
        self._deaths = 0

    @abstractmethod
    def _connect(self) -> Connection | None:
        """Return a connection to a receiver; None if there is none yet: look again soon.

        Raises:
            SourceError: there will be none.
        """

    def ask(self, number: int, timeout_ms: int) -> Connection | None:
        """Ask for the segments from a number on, unless a question is on its way.

        Returns:
            The connection that becomes readable with the answer; None while there is no receiver.

        Raises:
            SourceError: no receiver can be started.
        """
        if self._connection is None:
            self._connection = self._connect()
        if self._connection is not None and not self._is_asked:
            try:
                self._connection.send(TaskQuestion(number, timeout_ms, self._begins))
                self._is_asked = True
            except OSError:
                self._died()
        return self._connection

    def answer(self) -> ReceiverAnswer | None:
        """Return the answer to the question; None if the receiver died or ended before it gave one.

        Blocks until one of the two is there.

        Raises:
            SourceError: why the receiver has ended, or that receivers keep dying.
            FencedError: the queue was taken over by the receiver of another attempt at this task.
        """
        assert self._connection is not None
        try:
            answer: ReceiverAnswer = self._connection.recv()
        except (EOFError, OSError):
            self._died()
            return None
        self._is_asked = False
        if answer.error is not None:
            self._ended(answer.error)
            return None
        if answer.end is not None:
            self._begins = False
            self._has_answer = True
            self._deaths = 0
        return answer

    def close(self) -> None:
        """Hang up. The receiver goes on."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _last_words(self) -> str:
        return ""

    def _ended(self, error: Exception) -> None:
        self.close()
        # One that was fenced before this task came is of an earlier epoch: another host had the task since.
        # Once it has served this task, another attempt at the same task has taken over.
        if isinstance(error, FencedError) and not self._has_answer:
            self._died()
        else:
            raise error

    def _died(self) -> None:
        self.close()
        self._is_asked = False
        # Whoever answers next has to be asked to begin.
        self._begins = True
        self._deaths += 1
        if self._deaths > _MOST_DEATHS:
            raise SourceError(f"receivers died {self._deaths} times in a row. {self._last_words()}")


class HostReceiverLink(ReceiverLink):
    """A link to a receiver that is a process of this host.

    Args:
        task: the work of the receiver.
        clock: time.
    """

    def __init__(self, task: ReceiverTask, clock: Clock | None = None) -> None:
        super().__init__()
        self._task = task
        self._clock = clock or SystemClock()
        self._place = ReceiverPlace(task)
        self._process: int | None = None
        self._since_ms: int | None = None

    def _connect(self) -> Connection | None:
        connection = self._place.connect()
        if connection is not None:
            self._since_ms = None
            try:
                connection.send(self._task)
            except OSError:
                connection.close()
                return None
            return connection
        self._start()
        return None

    def _start(self) -> None:
        """Start a receiver, unless the one that was started may still come up."""
        now_ms = self._clock.monotonic_ms()
        if self._since_ms is None:
            self._since_ms = now_ms
        if now_ms - self._since_ms > _START_MS:
            raise SourceError(
                f"no receiver has come up within {_START_MS} ms. {self._last_words()}",
                split=self._task.split.split_id,
            )
        if self._process is not None:
            code = exit_code(self._process)
            if code is None:
                return
            # It fails at once, again and again, where a library is missing.
            if code > 0:
                raise SourceError(
                    f"the receiver cannot start (exit code {code}). {self._last_words()}",
                    split=self._task.split.split_id,
                )
        self._place.prepare()
        self._process = start_receiver(self._task, self._place)

    def _last_words(self) -> str:
        words = self._place.last_words()
        return f"It said: {words}" if words else ""


class OwnReceiverLink(ReceiverLink):
    """A link to a receiver on a thread of this process, which ends with the link: for batch reads.

    Args:
        task: the work of the receiver.
    """

    def __init__(self, task: ReceiverTask) -> None:
        super().__init__()
        self._receiver = Receiver(task)
        self._thread = threading.Thread(target=self._receiver.run, name="headwater-receiver")

    def _connect(self) -> Connection | None:
        mine, its = Pipe()
        if not self._thread.ident:
            self._thread.start()
        on_thread(partial(serve, its, self._receiver))
        return mine

    def close(self) -> None:
        super().close()
        self._receiver.stop()
        if self._thread.ident:
            self._thread.join()

"""A thread that waits for a task's input, so that the task hears of failures and results meanwhile."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
_WAIT_S = 0.005


class InputThread(Generic[T]):
    """Pulls an iterable on a thread of its own, one item ahead.

    The thread is a daemon, and is not waited for: it may stand in a read that nothing ends but the next row,
    or the end of the connection.

    Args:
        items: pulled by the thread alone.
    """

    def __init__(self, items: Iterable[T]) -> None:
        self._items = items
        # The item that waits to be taken; the one that was pulled next waits in `put`.
        self._queue: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(maxsize=1)
        threading.Thread(target=self._pull, name="headwater-input", daemon=True).start()

    def items(self) -> Iterator[T | None]:
        """Yield the items as they come, and None each time that none came for 5 ms.

        Raises:
            BaseException: what pulling raised.
        """
        while True:
            try:
                found = self._queue.get(timeout=_WAIT_S)
            except queue.Empty:
                yield None
                continue
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            yield found[0]

    def _pull(self) -> None:
        try:
            for item in self._items:
                self._queue.put((item,))
        except BaseException as error:  # noqa: BLE001 - raised where the items are taken
            self._queue.put(error)
        else:
            self._queue.put(None)

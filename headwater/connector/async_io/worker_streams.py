"""Streams between a task and the JVM: input is read beside the task, output is sent without delay."""

from __future__ import annotations

import queue
import select
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import IO, Any, Generic, TypeVar

_HUNG_UP = select.POLLHUP | getattr(select, "POLLRDHUP", 0)  # the second is Linux's

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
            BaseException: pulling raised it.
        """
        while True:
            try:
                item = self._queue.get(timeout=_WAIT_S)
            except queue.Empty:
                yield None
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item[0]

    def _pull(self) -> None:
        try:
            for item in self._items:
                self._queue.put((item,))
        except BaseException as error:  # noqa: BLE001 - raised where the items are taken
            self._queue.put(error)
        else:
            self._queue.put(None)


def flush_output() -> None:
    """Send all batches that were yielded so far to the JVM.

    To be called after each ``yield`` by the generator whose batches Spark's Python worker writes.

    The worker fills a buffer of ``spark.buffer.size`` before it sends anything. So a slow call would hold
    back all rows that are done, and a ``limit`` or a ``show`` would wait for it too. The worker's stream is
    found in the stack frame of its writer; where there is none, nothing is flushed.
    """
    stream = _worker_stream()
    if stream is not None:
        stream.flush()


def check_reader() -> None:
    """Raise if the JVM reads no more rows, because a ``limit`` has all of its rows, for example.

    To be called now and then while the generator waits. Without it calls would run on until the next row or
    their timeout.

    Raises:
        BrokenPipeError: the JVM has closed the connection.
    """
    stream = _worker_stream()
    if stream is not None:
        poll = select.poll()
        poll.register(stream.fileno(), _HUNG_UP)
        if poll.poll(0):
            raise BrokenPipeError("Spark has ended the task: it reads no more rows")


def _worker_stream() -> IO[bytes] | None:
    frame = sys._getframe(1)  # noqa: SLF001 - Spark gives functions no other way to their output
    while frame is not None:
        if frame.f_code.co_name == "dump_stream":
            stream: Any = frame.f_locals.get("stream")
            return stream if hasattr(stream, "flush") else None
        frame = frame.f_back  # type: ignore[assignment]
    return None

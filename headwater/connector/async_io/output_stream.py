"""The way from a task to the JVM: hands rows on without delay, and notices when the JVM has ended."""

from __future__ import annotations

import select
import sys
from typing import IO, Any

_HUNG_UP = select.POLLHUP | getattr(select, "POLLRDHUP", 0)  # the second is Linux's


def flush_output() -> None:
    """Send what was yielded so far to the JVM.

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

"""A Python process of Spark: its connection to the JVM, and the log of headwater in it.

Spark sends a task in two pieces: the command, which holds the pickled reader, and the input, which names the
partition. It does not set TCP_NODELAY, so its kernel keeps the second piece back until the first one is
acknowledged (Nagle); and the kernel of the worker, which has nothing to send before it has both, puts the
acknowledgement off for 40 ms (RFC 1122, 4.2.3.2). The worker loads the command before it reads the input, so
the moment at which the reader is loaded is the moment at which to acknowledge.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_DAEMON: Final = os.path.join("pyspark", "daemon.py")  # noqa: PTH118 - as frames name it
_OPEN_FILES = Path("/proc/self/fd")
_LOOPBACK = ("127.", "::1", "::ffff:127.")


def acknowledge() -> None:
    """Acknowledge at once the data that has arrived on TCP connections over the loopback interface.

    Called when a reader is unpickled, so once for each task, on its thread. Takes some microseconds for each
    open file. The option is not a lasting one, and changes nothing but the moment of an acknowledgement: so
    it does no harm to a connection that is not Spark's. Does nothing over Unix sockets, and on systems
    without TCP_QUICKACK, which is Linux's. Never fails.
    """
    if not hasattr(socket, "TCP_QUICKACK"):
        return
    with suppress(OSError):
        for descriptor in _OPEN_FILES.iterdir():
            # One by one: the listing shows a descriptor that it used itself, and other threads close theirs.
            with suppress(OSError):
                _acknowledge(int(descriptor.name))


def _acknowledge(descriptor: int) -> None:
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return
    connection = socket.socket(fileno=descriptor)
    try:
        if connection.family in (socket.AF_INET, socket.AF_INET6) and _is_local_stream(connection):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
    finally:
        connection.detach()  # the descriptor stays open: it is not ours


def _is_local_stream(connection: socket.socket) -> bool:
    return connection.type == socket.SOCK_STREAM and connection.getpeername()[0].startswith(_LOOPBACK)


_HUNG_UP: Final = select.POLLHUP | select.POLLERR


def end_quietly() -> None:
    """Let what this worker still writes go nowhere, if Spark has closed the connection.

    Called when the rows of a task are left early. A ``limit`` that has its rows, and a query that is stopped,
    close the worker's connection; its daemon would print a ``BrokenPipeError`` for the rows in its buffer.
    The daemon's stream is found in the stack, where there is no other way to it. Never fails.
    """
    frame = sys._getframe()  # noqa: SLF001 - see above
    while frame is not None:
        if frame.f_code.co_filename.endswith(_DAEMON) and "outfile" in frame.f_locals:
            with suppress(OSError, ValueError):
                _send_nowhere(frame.f_locals["outfile"].fileno())
            return
        frame = frame.f_back  # type: ignore[assignment]


def _send_nowhere(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, _HUNG_UP)
    if poll.poll(0):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def show_log() -> None:
    """Let headwater's warnings come out with time and level; they go to ``stderr`` in any case.

    Called where a process of Spark's makes a source, and where a task begins; any number of times. Where
    somebody has set up logging, for headwater or for all, nothing changes.
    """
    logger = logging.getLogger("headwater")
    if logger.hasHandlers():
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    logger.addHandler(handler)

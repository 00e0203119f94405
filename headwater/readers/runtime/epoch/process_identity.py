"""Which process an attempt runs in, so that others on its host can tell at once whether it still lives."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from headwater.core.jsons import JsonObject

_PROC = Path("/proc")


def this_process() -> JsonObject:
    """Return what tells this process from every other one.

    Its id, when it began, and the host and process namespace in which the id means something.
    """
    return {"host": _host(), "pid": os.getpid(), "started": _started(os.getpid())}


def is_dead(process: JsonObject) -> bool:
    """Whether a process is known to have ended. False for one of another host, of which nothing is known."""
    if process["host"] != _host() or process["started"] is None:
        return False
    # The id alone may be that of a later process.
    return _started(int(str(process["pid"]))) != process["started"]


def _host() -> str:
    """Name the host and process namespace.

    Two containers share a kernel, perhaps a host name too, and each counts its own processes.
    """
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()} {boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> str | None:
    """Return when a living process began, in ticks since the host did.

    None if there is no such process, or if the system has no ``/proc``.
    """
    try:
        # The name of the program, in parentheses, may contain blanks: count from behind it.
        stat = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if stat[0] in "ZX" else stat[19]

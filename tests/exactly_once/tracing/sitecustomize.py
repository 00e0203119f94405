"""Python runs this when it starts, if its folder is on PYTHONPATH: notes which functions a process calls.

Only where ``HEADWATER_TRACE`` names a file. Each function is written there when it is called for the first
time, in one write at the end of the file: what a process has called is known though it is killed.
"""

from __future__ import annotations

import os
import sys
import threading
from types import FrameType

TRACED = ("/headwater/readers/runtime/", "/headwater/connector/barrier/", "/headwater/enumerators/http/")


def trace_into(file: str) -> None:
    """Note every function of the traced folders that this process, its threads or its forks call."""
    output = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    seen: set[tuple[str, str]] = set()

    def trace(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        name = (code.co_filename, code.co_qualname)
        if name not in seen:
            seen.add(name)
            folder = next((part for part in TRACED if part in code.co_filename), None)
            if folder is not None:
                short = folder + code.co_filename.rpartition(folder)[2]
                os.write(output, f"{short.lstrip('/')}:{code.co_qualname}\n".encode())

    threading.settrace(trace)
    sys.settrace(trace)


if traced := os.environ.get("HEADWATER_TRACE"):
    trace_into(traced)

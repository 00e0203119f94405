"""Python's garbage collector: rarer while rows are under way."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LEAST_NEW_OBJECTS = 10_000

_lock = threading.Lock()
_users = 0
_before = (0, 0, 0)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Have the collector of the process run once in 10,000 new objects, or more rarely as it does already.

    An operator makes some objects a row, all of which live until the row is out: with Python's 700, most of
    the collector's work is to look at them again and again, and that takes as long as all other work on them.
    No object lives longer for it but those in cycles, of which rows have none.

    Several may use this at once, on any threads; the last one that leaves restores the threshold.
    """
    global _users, _before  # noqa: PLW0603 - the collector is the process's, too
    # Together: another one that enters or leaves in between would take our setting for that of the process.
    with _lock:
        if _users == 0:
            _before = gc.get_threshold()
            if 0 < _before[0] < _LEAST_NEW_OBJECTS:
                gc.set_threshold(_LEAST_NEW_OBJECTS, *_before[1:])
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                gc.set_threshold(*_before)

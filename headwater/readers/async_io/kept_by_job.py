"""What the tasks of a job share in their process, also those that come later."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")
_MOST = 8


class KeptByJob(Generic[T]):
    """One object for each job. From any thread.

    It lives until so many other jobs (``_MOST``) have asked for theirs since.
    """

    def __init__(self) -> None:
        self._made: OrderedDict[Hashable, T] = OrderedDict()
        # Tasks of one process may open operators on several threads at once.
        self._lock = threading.Lock()

    def of(self, job: Hashable, make: Callable[[], T]) -> T:
        """Return what was made for a job, or make it. None is no job: what it gets is new each time."""
        if job is None:
            return make()
        with self._lock:
            if job not in self._made:
                self._made[job] = make()
            self._made.move_to_end(job)
            while len(self._made) > _MOST:
                self._made.popitem(last=False)
            return self._made[job]

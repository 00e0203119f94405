"""How many threads fetch, and how many splits each has at a time."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.errors import OptionError

__all__ = ["INLINE", "ONE_AFTER_THE_OTHER", "ONE_THREAD", "ThreadShape", "thread_per_split"]


@dataclass(frozen=True, slots=True)
class ThreadShape:
    """FLIP-27's thread models as two numbers.

    Attributes:
        threads: fetchers with a thread, and a reader, each. 0: one fetcher without a thread, run by the
            task's own whenever it has nothing to emit: no hand-over between threads, but also nothing that
            wakes up a blocked fetch.
        splits_per_thread: how many splits a reader has at a time; None: all there are.
    """

    threads: int
    splits_per_thread: int | None

    def __post_init__(self) -> None:
        if self.threads < 0 or (self.splits_per_thread is not None and self.splits_per_thread < 1):
            raise OptionError(f"{self} is no shape: threads are 0 or more, splits per thread 1 or more")

    @property
    def fetchers(self) -> int:
        """How many fetchers, and channels, there are."""
        return max(1, self.threads)


ONE_THREAD = ThreadShape(1, None)
"""One thread over all splits: for clients that multiplex."""

ONE_AFTER_THE_OTHER = ThreadShape(1, 1)
"""One thread, one split at a time."""

INLINE = ThreadShape(0, None)
"""All splits, on the task's thread."""


def thread_per_split(most: int) -> ThreadShape:
    """Return the shape in which each split is read by a thread of its own, ``most`` at a time."""
    return ThreadShape(most, 1)

"""Which splits were assigned in which plan, until it is committed (Flink's ``SplitAssignmentTracker``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic

from headwater.core.split import SplitT


class AssignmentTracker(Generic[SplitT]):
    """Remembers the splits that each plan assigned for the first time.

    A plan is either proven committed (Spark asks for the batch after it), or it never came to be logged
    (Spark asks again for the batch after an earlier offset): then its splits are to be given back.
    """

    def __init__(self) -> None:
        self._planned: list[tuple[object, tuple[SplitT, ...]]] = []

    def record(self, plan: object, splits: Iterable[SplitT]) -> None:
        """Note what a plan assigns anew.

        Args:
            plan: its key.
            splits: those that are new in it.
        """
        self._planned.append((plan, tuple(splits)))

    def resolve(self, committed: object) -> list[SplitT]:
        """Forget all plans; return the splits of those that never came to be, in the order of assignment.

        Spark plans one batch at a time: so every plan but the committed one was given up.
        """
        planned = self._planned
        self._planned = []
        return [split for plan, splits in planned if plan != committed for split in splits]

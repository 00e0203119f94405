"""Which splits were handed out in which plan, until the plan is committed (Flink's ``SplitAssignmentTracker``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic

from headwater.core.split import SplitT

__all__ = ["AssignmentTracker"]


class AssignmentTracker(Generic[SplitT]):
    """Remembers the splits that each planned offset assigned for the first time.

    Belongs to the coordinator's thread.

    A plan is either proven committed (Spark asks for the batch after it), or it never came to be logged
    (Spark asks again for the batch after an earlier offset): then its splits are to be given back.
    """

    def __init__(self) -> None:
        self._planned: list[tuple[object, tuple[SplitT, ...]]] = []

    def record(self, end: object, splits: Iterable[SplitT]) -> None:
        """Note what the plan that ends at this offset assigns anew."""
        self._planned.append((end, tuple(splits)))

    def resolve(self, committed: object) -> list[SplitT]:
        """Forget all plans up to the committed offset.

        Return the splits of plans that never came to be, in the order of assignment.

        Spark plans one batch at a time, so a plan that ends anywhere else than at ``committed`` was given up.
        """
        planned, self._planned = self._planned, []
        return [split for end, splits in planned if end != committed for split in splits]

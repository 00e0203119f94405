"""Where a run with the trigger AvailableNow ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic

from headwater.core.planned_source import PlannedSource
from headwater.core.split import PositionT, SplitPath, SplitT


class AvailableNowTarget(Generic[SplitT, PositionT]):
    """The heads that were there when the run began: nothing is read beyond them. On one thread at a time.

    The run captures them at its first look; those of a later part of a chain at its first look at that part
    (`PlannedSource.part_of`), so that the run reads all parts. A split that comes later than the others of
    its part waits for the next run.

    Splits that are read whole have no target: their enumerator is told that the query ends
    (`SplitRequest.ends`).

    Args:
        source: counts.
    """

    def __init__(self, source: PlannedSource[Any, SplitT, PositionT]) -> None:
        self._source = source
        self._is_on = False
        self._target: dict[SplitT, PositionT] = {}
        # The parts whose heads were captured. Splits of these that come later are not read.
        self._parts: set[int] = set()

    @property
    def is_on(self) -> bool:
        """Whether the query ends with what is there."""
        return self._is_on

    def begin(self) -> None:
        """Begin a run. The next call of `ends` captures its target."""
        self._is_on = True
        self._target = {}
        self._parts = set()

    def ends(
        self, heads: Mapping[SplitPath, PositionT], splits: Mapping[SplitPath, SplitT]
    ) -> Mapping[SplitPath, PositionT]:
        """Return how far each split may be read now: to its head, and in such a run not beyond the target.

        Args:
            heads: as of the last look.
            splits: all live ones.
        """
        if not self._is_on or self._source.bounded_splits or all_bounded(self._source, splits):
            return heads
        self._capture(heads, splits)
        ends = {}
        for path, split in splits.items():
            if split in self._target and path in heads:
                target = self._target[split]
                ends[path] = target if self._source.rows_between(target, heads[path]) > 0 else heads[path]
        return ends

    def _capture(self, heads: Mapping[SplitPath, PositionT], splits: Mapping[SplitPath, SplitT]) -> None:
        part_of = self._source.part_of
        # Also a look that finds no split is the first one.
        found = {part_of(split) for split in splits.values()} or {0}
        if found <= self._parts:
            return
        for path, head in heads.items():
            if path in splits and part_of(splits[path]) not in self._parts:
                self._target[splits[path]] = head
        self._parts |= found


def all_bounded(source: PlannedSource[Any, SplitT, Any], splits: Mapping[SplitPath, SplitT]) -> bool:
    """Whether there are splits, and each is read whole in the batch that it is assigned to."""
    return bool(splits) and all(map(source.is_bounded, splits.values()))

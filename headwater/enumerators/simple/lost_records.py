"""Compares what the outside still has with the positions of a query: records that it dropped unread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headwater.core.enumerator import Checkpoint
from headwater.core.errors import DataLossError
from headwater.core.simple_source import NamedSplit, count_of
from headwater.core.split import SplitPath
from headwater.enumerators.simple.enumerator import Discovery, DroppedRecords
from headwater.enumerators.simple.starting_position import FirstPosition


@dataclass(frozen=True)
class LossFinder:
    """Finds lost records in what a look has found. Immutable; on the worker thread.

    Attributes:
        first: returns the oldest position that the outside still has of a split.
        starting: where the splits of a new query begin.
        is_before: whether a position lies before another one, by `SimpleSource.is_before`. Where a source
            reads ahead counts alone do not tell: what was deleted behind a position counts, too.
    """

    first: Callable[[NamedSplit], Any]
    starting: FirstPosition
    is_before: Callable[[Any, Any], bool]

    def checked(self, discovery: Discovery, checkpoint: Checkpoint[NamedSplit, Any] | None) -> Discovery:
        """Return the discovery with positions moved past records that are gone, and with the losses."""
        logged, positions = _logged(checkpoint)
        starts = dict(discovery.starts)
        losses = []
        for path, head in discovery.heads.items():
            split = discovery.splits[path]
            first = min(self.first(split), head, key=_count)
            begins: Any = starts.get(path, positions.get(path))
            lost = self._lost(split, logged.get(path), positions.get(path, begins), first, head)
            if lost is not None:
                losses.append(lost)
            # Only a position that lies outside of what is there moves.
            if self._is_gone(begins, first):
                starts[path] = first
            elif _count(begins) > _count(head):
                # What has come since may lie behind the mark: it was not read. How much it is is not known.
                starts[path] = [_count(first), *begins[1:]] if self.is_before(begins, head) else head
        return replace(discovery, starts=starts, losses=losses)

    def _is_gone(self, position: Any, first: Any) -> bool:
        """Whether records between a position and the oldest one are gone."""
        return _count(position) < _count(first) and self.is_before(position, first)

    def _lost(
        self, split: NamedSplit, logged: NamedSplit | None, position: Any, first: Any, head: Any
    ) -> DroppedRecords | None:
        if logged is not None and logged != split:
            # How much of the old one was unread is not known any more.
            return DroppedRecords(split, position, position, "it was deleted and created anew")
        if logged is None and split.name not in (self.starting.positions or {}):
            return None  # it begins with what is there
        if self._is_gone(position, first):
            return DroppedRecords(split, position, first, "the outside dropped them before they were read")
        if _count(position) > _count(head):
            return DroppedRecords(split, position, position, f"it ends at {head}: it was cut or put back")
        return None


def _count(position: Any) -> int:
    count = count_of(position)
    assert count is not None, "positions are checked where the source says them"
    return count


def _logged(
    checkpoint: Checkpoint[NamedSplit, Any] | None,
) -> tuple[Mapping[SplitPath, NamedSplit], Mapping[SplitPath, Any]]:
    """Return the splits of a checkpoint with their positions, those included that it keeps."""
    if checkpoint is None:
        return {}, {}
    unavailable = checkpoint.kept
    return (
        {**{path: each.split for path, each in unavailable.items()}, **checkpoint.splits},
        {**{path: each.position for path, each in unavailable.items()}, **checkpoint.positions},
    )


def loss_error(lost: DroppedRecords, source: str) -> DataLossError:
    """Return the error of lost records, where the user wants one."""
    return DataLossError(
        f"{lost.sentence}. Set failOnDataLoss=false to go on with what is there, or start with a new "
        "checkpointLocation",
        source=source,
        split=lost.split.name,
        position=lost.first,
    )

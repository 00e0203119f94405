"""One part of a chain while it is read: its enumerator, and the splits of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from headwater.core.enumerator import (
    Checkpoint,
    KeptSplit,
    PlannedSplitEnumerator,
    PlannedSplitEnumeratorContext,
)
from headwater.core.planned_source import PlannedSource
from headwater.core.split import Split, SplitPath
from headwater.enumerators.hybrid.split import (
    HybridPosition,
    HybridSplit,
    inner_path,
    inner_position,
    outer_path,
)

T = TypeVar("T")


@dataclass(frozen=True)
class HybridPart:
    """One source of a chain.

    Attributes:
        name: by the user.
        source: of the part. Bounded by its first complete look, unless it is the last one.
    """

    name: str
    source: PlannedSource[Any, Any, Any]


class PartContext(PlannedSplitEnumeratorContext[Split, Any]):
    """Passes on the splits of a part's enumerator, under the names of the chain. Coordinator thread only.

    Args:
        context: the coordinator.
        part: its name.
        index: which part of the chain it is.

    Attributes:
        assigned: the splits that the part has given since this was last cleared.
    """

    def __init__(
        self, context: PlannedSplitEnumeratorContext[HybridSplit, HybridPosition], part: str, index: int
    ) -> None:
        self._context = context
        self._part = part
        self._index = index
        self._calls = 0
        self._when_idle: list[Callable[[], None]] = []
        self.assigned: list[Split] = []

    def call_async(self, call: Callable[[], T], handler: Callable[[T], None], *, what: str) -> None:
        self._calls += 1

        def handle(answer: T) -> None:
            handler(answer)
            # After the handler: it may have asked again.
            self._calls -= 1
            self._tell_if_idle()

        self._context.call_async(call, handle, what=f"{self._part}: {what}")

    def when_idle(self, then: Callable[[], None]) -> None:
        """Call this once, when no call of the part is under way: now, or after the last answer."""
        self._when_idle.append(then)
        self._tell_if_idle()

    def assign_splits(self, starts: Mapping[SplitPath, tuple[Split, Any]]) -> None:
        self.assigned += [split for split, _ in starts.values()]
        outer = {
            self._path(path): (HybridSplit(self._part, self._index, split), self._position(start))
            for path, (split, start) in starts.items()
        }
        self._context.assign_splits(outer)

    def retire_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        self._context.retire_splits([self._path(path) for path in paths], reason)

    def keep_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        self._context.keep_splits([self._path(path) for path in paths], reason)

    def positions(self) -> Mapping[SplitPath, Any]:
        return {
            inner_path(path): inner_position(position)
            for path, position in self._context.positions().items()
            if path[0] == self._part
        }

    def report_losses(self, losses: Mapping[SplitPath, tuple[Any, Any]]) -> None:
        outer = {
            self._path(path): (self._position(first), self._position(until))
            for path, (first, until) in losses.items()
        }
        self._context.report_losses(outer)

    def report_lost_splits(self, split_ids: Sequence[str]) -> None:
        self._context.report_lost_splits([f"{self._part}: {split_id}" for split_id in split_ids])

    def _path(self, inner: SplitPath) -> SplitPath:
        return outer_path(self._part, inner)

    def _position(self, inner: Any) -> HybridPosition:
        return [self._index, inner]

    def _tell_if_idle(self) -> None:
        while not self._calls and self._when_idle:
            self._when_idle.pop(0)()


@dataclass(frozen=True)
class OpenPart:
    """A part that is being read.

    Attributes:
        index: which part of the chain.
        part: its name and source.
        context: of its enumerator.
        enumerator: of the part.
    """

    index: int
    part: HybridPart
    context: PartContext
    enumerator: PlannedSplitEnumerator[Any, Any]

    def by_outer_path(self, values: Mapping[SplitPath, T]) -> dict[SplitPath, T]:
        """Return the enumerator's splits, under the names of the chain."""
        return {outer_path(self.part.name, path): value for path, value in values.items()}

    def positions(self, inner: Mapping[SplitPath, Any]) -> dict[SplitPath, HybridPosition]:
        """Return positions that the enumerator tells, as the chain has them."""
        return {path: [self.index, position] for path, position in self.by_outer_path(inner).items()}


def part_checkpoint(
    checkpoint: Checkpoint[HybridSplit, HybridPosition], part: str, state: Any
) -> Checkpoint[Any, Any]:
    """Return a part's share of a checkpoint of the chain, as that part knows it."""
    splits = {path: split for path, split in checkpoint.splits.items() if split.part == part}
    kept: dict[SplitPath, KeptSplit[Any, Any]] = {
        inner_path(path): KeptSplit(each.split.inner, inner_position(each.position), each.since_ms)
        for path, each in checkpoint.kept.items()
        if each.split.part == part
    }
    return Checkpoint(
        {inner_path(path): split.inner for path, split in splits.items()},
        {inner_path(path): inner_position(checkpoint.positions[path]) for path in splits},
        state,
        kept,
    )

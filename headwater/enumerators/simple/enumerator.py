"""The enumerators of simple sources: they compare the splits that exist with the checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from headwater.core.abilities import Acknowledges, FindsTimestamps
from headwater.core.enumerator import (
    BarrierSplitEnumerator,
    Checkpoint,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.outside import MOST_ENUMERATOR_STATE_BYTES, check_json, outside
from headwater.core.simple_source import NamedSplit, SimpleSource
from headwater.core.split import SplitPath


@dataclass(frozen=True)
class DroppedRecords:
    """Records of one split that are gone, or may be.

    Attributes:
        split: as it is now.
        first: the position of the first one.
        until: the position after the last one. The same as ``first`` where it is not known how many are gone.
        what: the event.
    """

    split: NamedSplit
    first: Any
    until: Any
    what: str

    @property
    def sentence(self) -> str:
        """What is lost, for people."""
        if self.until != self.first:
            return f"positions from {self.first} to before {self.until} were lost: {self.what}"
        return f"records from position {self.first} on may have been lost: {self.what}"


@dataclass(frozen=True)
class Discovery:
    """The answers of the source in one round.

    Made on the worker thread, and taken up on the coordinator thread.

    Attributes:
        splits: all that exist, by path.
        starts: of those that are new, the first position.
        heads: where each ends, in planned mode; else empty.
        retired: the splits of the checkpoint of which the source says that they are gone for good.
        losses: what the outside has dropped unread.
        sizes: about how many bytes a record has, by split, if the source tells it.
    """

    splits: Mapping[SplitPath, NamedSplit]
    starts: Mapping[SplitPath, JsonValue]
    heads: Mapping[SplitPath, int]
    retired: Sequence[SplitPath] = ()
    losses: Sequence[DroppedRecords] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)


class SimpleSplitEnumerator(SplitEnumerator[NamedSplit, Any]):
    """The part of the enumerator that both modes share.

    Args:
        context: the coordinator.
        source: of the user.
        starting_timestamp_ms: where the splits of a new query begin, if the source can tell; None for
            `SimpleSource.start`.
    """

    def __init__(
        self,
        context: SplitEnumeratorContext[NamedSplit, Any],
        source: SimpleSource,
        starting_timestamp_ms: int | None,
    ) -> None:
        self._context = context
        self._source = source
        self._starting_timestamp_ms = starting_timestamp_ms
        # What the last look found; changed on the coordinator thread only.
        self._seen = Discovery({}, {}, {})

    def start(self) -> None:
        """Nothing to begin with."""

    def refresh(self, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        # Here, on the coordinator thread: the worker thread must not read what this one changes.
        finished = self._finished(checkpoint)
        self._context.call_async(
            lambda: self._look(checkpoint, finished),
            lambda discovery: self._settle(discovery, checkpoint),
            what=f"the splits of source {self._source.name}",
        )

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[NamedSplit, Any]) -> None:
        if isinstance(self._source, Acknowledges):
            positions = {path[0]: position for path, position in checkpoint.positions.items()}
            self._context.call_async(
                lambda: self._acknowledge(positions),
                lambda _: None,
                what=f"acknowledging to source {self._source.name}",
            )

    def _finished(self, checkpoint: Checkpoint[NamedSplit, Any] | None) -> set[SplitPath]:
        """Return the splits that were read to their end for good, and must not begin again."""
        return set(checkpoint.ended) if checkpoint is not None else set()

    def _heads_of(
        self, splits: Mapping[SplitPath, NamedSplit], positions: Mapping[SplitPath, Any]
    ) -> Mapping[SplitPath, int]:
        """Ask where splits end, if the mode has to know. On the worker thread."""
        return {}

    def _retired(
        self, splits: Mapping[SplitPath, NamedSplit], checkpoint: Checkpoint[NamedSplit, Any]
    ) -> Sequence[SplitPath]:
        """Return which splits of the checkpoint the source says are gone for good. On the worker thread."""
        return ()

    def _look(self, checkpoint: Checkpoint[NamedSplit, Any] | None, finished: set[SplitPath]) -> Discovery:
        """Ask the source. On the worker thread."""
        splits = self._discover()
        logged = checkpoint.splits if checkpoint else {}
        # With other info it is another one.
        finished = {path for path in finished if path not in logged or splits.get(path) == logged[path]}
        kept_splits = checkpoint.kept if checkpoint else {}
        starts = {
            path: kept_splits[path].position
            if path in kept_splits and kept_splits[path].split == split
            else self._start(split, is_new_query=checkpoint is None)
            for path, split in splits.items()
            if path not in finished and logged.get(path) != split
        }
        positions = {**(checkpoint.positions if checkpoint else {}), **starts}
        retired = self._retired(splits, checkpoint) if checkpoint else ()
        # Nothing is read any more of a split that ended at a record: it may end anywhere.
        read = {path: split for path, split in splits.items() if path not in finished}
        return Discovery(splits, starts, self._heads_of(read, positions), retired)

    def _acknowledge(self, positions: Mapping[str, JsonValue]) -> None:
        """Tell the source the finished splits. On the worker thread."""
        source = self._source
        assert isinstance(source, Acknowledges)
        with outside(f"{type(source).__name__}.acknowledge", source=source.name):
            source.acknowledge(positions)

    def _discover(self) -> dict[SplitPath, NamedSplit]:
        call = f"{type(self._source).__name__}.discover"
        with outside(call, source=self._source.name):
            answer = self._source.discover()
            if not isinstance(answer, Iterable):
                # A user's method: its annotation is not checked.
                raise ContractError(f"SimpleSource.discover: {call} must return NamedSplits, not {answer!r}")
            discovered = list(answer)
        splits: dict[SplitPath, NamedSplit] = {}
        for split in discovered:
            if not isinstance(split, NamedSplit) or not isinstance(split.name, str) or not split.name:
                raise ContractError(
                    f"SimpleSource.discover: {call} must return NamedSplits with a name, not {split!r}"
                )
            if split.path in splits:
                raise ContractError(f"SimpleSource.discover: {call} returned split {split.name!r} twice")
            check_json(split.info, f"SimpleSource.discover: the info of split {split.name!r} of {call}")
            splits[split.path] = split
        return splits

    def _start(self, split: NamedSplit, *, is_new_query: bool) -> JsonValue:
        source = self._source
        with outside(f"{type(source).__name__}.start", source=source.name, split=split.name):
            if (
                is_new_query
                and self._starting_timestamp_ms is not None
                and isinstance(source, FindsTimestamps)
            ):
                position = source.position_at(split, self._starting_timestamp_ms)
            else:
                position = source.start(split)
        check_json(
            position,
            f"SimpleSource.start: the first position of split {split.name!r} of source {source.name!r}",
        )
        return position

    def _settle(self, discovery: Discovery, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        """Tell the coordinator the changes. On the coordinator thread."""
        self._context.assign_splits(
            {path: (discovery.splits[path], start) for path, start in discovery.starts.items()}
        )
        self._seen = discovery


class BarrierSimpleSplitEnumerator(SimpleSplitEnumerator, BarrierSplitEnumerator[NamedSplit, Any]):
    """Its state is the names that were discovered when the last epoch was planned.

    A split that is among them and not in the checkpoint has finished: it is still discovered, and must not
    begin again.

    Args:
        context: the coordinator.
        source: of the user.
        starting_timestamp_ms: where the splits of a new query begin; None for `SimpleSource.start`.
        checkpoint: to go on from; None for a new query.
    """

    def __init__(
        self,
        context: SplitEnumeratorContext[NamedSplit, Any],
        source: SimpleSource,
        starting_timestamp_ms: int | None,
        checkpoint: Checkpoint[NamedSplit, Any] | None = None,
    ) -> None:
        super().__init__(context, source, starting_timestamp_ms)
        state = checkpoint.state if checkpoint else None
        self._planned = set(cast("list[str]", state["discovered"])) if isinstance(state, dict) else set[str]()

    def snapshot_state(self) -> JsonValue:
        """Return the names that were discovered. Called when an epoch is sure to be opened."""
        self._planned = {path[0] for path in self._seen.splits}
        state: JsonValue = {"discovered": list[JsonValue](sorted(self._planned))}
        check_json(
            state,
            f"SimpleSource.discover: the names of all splits of source {self._source.name!r}",
            MOST_ENUMERATOR_STATE_BYTES,
        )
        return state

    def add_splits_back(self, splits: Sequence[NamedSplit]) -> None:
        self._planned -= {split.name for split in splits}

    def _finished(self, checkpoint: Checkpoint[NamedSplit, Any] | None) -> set[SplitPath]:
        if checkpoint is None:
            return set()
        return {(name,) for name in self._planned if (name,) not in checkpoint.splits}

    def _settle(self, discovery: Discovery, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        super()._settle(discovery, checkpoint)
        logged = checkpoint.splits if checkpoint else {}
        # A split that was found by reading is never discovered: it stays until it is read.
        vanished = [path for path in logged if path not in discovery.splits and path[0] in self._planned]
        self._context.retire_splits(vanished, "not discovered any more")

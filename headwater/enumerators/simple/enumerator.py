"""The enumerators of simple sources: they compare the splits that exist with the checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from headwater.core.abilities import Acknowledges, FindsTimestamps, OrdersSplits, Retires
from headwater.core.enumerator import (
    BarrierSplitEnumerator,
    Checkpoint,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.outside import MOST_ENUMERATOR_STATE_BYTES, check_json, outside
from headwater.core.simple_source import Finished, NamedSplit, SimpleSource
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
        """The loss, for people."""
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
        waiting: new splits that begin when their parents have ended.
    """

    splits: Mapping[SplitPath, NamedSplit]
    starts: Mapping[SplitPath, JsonValue]
    heads: Mapping[SplitPath, int]
    retired: Sequence[SplitPath] = ()
    losses: Sequence[DroppedRecords] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    waiting: frozenset[SplitPath] = frozenset()


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

    def _order(
        self, new: Mapping[SplitPath, NamedSplit], checkpoint: Checkpoint[NamedSplit, Any] | None
    ) -> tuple[Mapping[SplitPath, Callable[[], JsonValue]], Collection[SplitPath]]:
        """Return what begins now, each with what finds out where; and what waits. On the worker thread."""
        is_new_query = checkpoint is None
        return {
            path: partial(self._start, split, is_new_query=is_new_query) for path, split in new.items()
        }, ()

    def _retired(
        self, splits: Mapping[SplitPath, NamedSplit], checkpoint: Checkpoint[NamedSplit, Any]
    ) -> Sequence[SplitPath]:
        """Return which splits of the checkpoint the source says are gone for good. On the worker thread."""
        source = self._source
        if not isinstance(source, Retires):
            return ()
        logged = {**checkpoint.splits, **{path: entry.split for path, entry in checkpoint.kept.items()}}
        call = f"{type(source).__name__}.retire"
        retired = []
        for path in self._unseen(logged, splits):
            with outside(call, source=source.name, split=logged[path].name):
                if source.retire(logged[path]):
                    retired.append(path)
        return retired

    def _unseen(
        self, logged: Mapping[SplitPath, NamedSplit], splits: Mapping[SplitPath, NamedSplit]
    ) -> Sequence[SplitPath]:
        """Return the splits that are not discovered any more."""
        return sorted(logged.keys() - splits.keys())

    def _look(self, checkpoint: Checkpoint[NamedSplit, Any] | None, finished: set[SplitPath]) -> Discovery:
        """Ask the source. On the worker thread."""
        splits = self._discover()
        logged = checkpoint.splits if checkpoint else {}
        # With other info it is another one.
        finished = {path for path in finished if path not in logged or splits.get(path) == logged[path]}
        kept_splits = checkpoint.kept if checkpoint else {}
        new = {
            path: split
            for path, split in splits.items()
            if path not in finished and logged.get(path) != split
        }
        firsts, waiting = self._order(new, checkpoint)
        starts = {
            path: kept_splits[path].position
            if path in kept_splits and kept_splits[path].split == new[path]
            else first()
            for path, first in firsts.items()
        }
        positions = {**(checkpoint.positions if checkpoint else {}), **starts}
        retired = self._retired(splits, checkpoint) if checkpoint else ()
        # Nothing is read any more of a split that ended at a record: it may end anywhere.
        read = {path: split for path, split in splits.items() if path not in finished}
        return Discovery(splits, starts, self._heads_of(read, positions), retired, waiting=frozenset(waiting))

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
        return self._checked_start(split, position)

    def _checked_start(self, split: NamedSplit, position: JsonValue) -> JsonValue:
        check_json(
            position,
            f"SimpleSource.start: the first position of split {split.name!r} of source {self._source.name!r}",
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
        is_batch: whether there is one epoch only: no split waits for its parents, if the source orders
            them.
    """

    def __init__(
        self,
        context: SplitEnumeratorContext[NamedSplit, Any],
        source: SimpleSource,
        starting_timestamp_ms: int | None,
        checkpoint: Checkpoint[NamedSplit, Any] | None,
        *,
        is_batch: bool,
    ) -> None:
        super().__init__(context, source, starting_timestamp_ms)
        self._is_batch = is_batch
        state = checkpoint.state if checkpoint else None
        self._planned = set(cast("list[str]", state["discovered"])) if isinstance(state, dict) else set[str]()

    def snapshot_state(self) -> JsonValue:
        """Return the names that were discovered. Called when an epoch is sure to be opened."""
        # One that waits is new in the next look, too.
        self._planned = {path[0] for path in self._seen.splits if path not in self._seen.waiting}
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

    def _order(
        self, new: Mapping[SplitPath, NamedSplit], checkpoint: Checkpoint[NamedSplit, Any] | None
    ) -> tuple[Mapping[SplitPath, Callable[[], JsonValue]], Collection[SplitPath]]:
        """Hold back what has unread parents, and all that a new query is not to read."""
        source = self._source
        begins, _ = super()._order(new, checkpoint)
        if not isinstance(source, OrdersSplits):
            return begins, ()
        if checkpoint is None:
            firsts = {path: self._first_start(source, split) for path, split in new.items()}
            begins = {
                path: partial(self._checked_start, new[path], position)
                for path, position in firsts.items()
                if not isinstance(position, Finished)
            }
        if self._is_batch:
            return begins, ()
        unread = {*begins, *(checkpoint.splits if checkpoint else ())}
        waiting = {path for path in begins if self._parents(source, new[path]) & unread}
        return {path: first for path, first in begins.items() if path not in waiting}, waiting

    def _first_start(self, source: OrdersSplits, split: NamedSplit) -> JsonValue | Finished:
        name = self._source.name
        with outside(f"{type(source).__name__}.first_start", source=name, split=split.name):
            return source.first_start(split, is_batch=self._is_batch)

    def _parents(self, source: OrdersSplits, split: NamedSplit) -> set[SplitPath]:
        with outside(f"{type(source).__name__}.parents", source=self._source.name, split=split.name):
            names = set(source.parents(split)) - {split.name}
        return {(name,) for name in names}

    def _unseen(
        self, logged: Mapping[SplitPath, NamedSplit], splits: Mapping[SplitPath, NamedSplit]
    ) -> Sequence[SplitPath]:
        # A split that was found by reading is never discovered: it stays until it is read.
        return [path for path in super()._unseen(logged, splits) if path[0] in self._planned]

    def _settle(self, discovery: Discovery, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        super()._settle(discovery, checkpoint)
        logged = checkpoint.splits if checkpoint else {}
        vanished = self._unseen(logged, discovery.splits)
        if isinstance(self._source, Retires):
            vanished = discovery.retired
        self._context.retire_splits(vanished, "not discovered any more")

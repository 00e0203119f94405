"""The enumerators of a simple source, one a mode: compare the splits that exist with the checkpoint."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from headwater.core.abilities import Acknowledges, FindsTimestamps, Heads, Retires
from headwater.core.clock import Clock, SystemClock
from headwater.core.enumerator import (
    BarrierSplitEnumerator,
    Checkpoint,
    PlannedSplitEnumerator,
    PlannedSplitEnumeratorContext,
    SplitEnumerator,
    SplitEnumeratorContext,
    SplitRequest,
)
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.outside import MOST_ENUMERATOR_STATE_BYTES, check_json, outside
from headwater.core.planned_source import DEFAULT_ROW_BYTES
from headwater.core.rare_warning import RareWarning
from headwater.core.simple_source import NamedSplit, SimpleSource
from headwater.core.split import SplitPath
from headwater.enumerators.event_time.settings import AlignmentSettings

if TYPE_CHECKING:
    # It needs NumPy, which takes a while to load.
    from headwater.enumerators.event_time.alignment import EventTimeAlignment

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Look:
    """What the source answered, in one round.

    Made on the worker thread, and taken up on the coordinator thread.

    Attributes:
        splits: all that exist, by path.
        starts: of those that are new, the first position.
        heads: where each ends, in planned mode; else empty.
        retired: the splits of the checkpoint of which the source says that they are gone for good.
    """

    splits: Mapping[SplitPath, NamedSplit]
    starts: Mapping[SplitPath, JsonValue]
    heads: Mapping[SplitPath, int]
    retired: Sequence[SplitPath] = ()


class _SimpleSplitEnumerator(SplitEnumerator[NamedSplit, Any]):
    """What both modes share.

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
        self._seen = _Look({}, {}, {})

    def start(self) -> None:
        """Nothing to begin with."""

    def refresh(self, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        # Here, on the coordinator thread: the worker thread must not read what this one changes.
        finished = self._finished(checkpoint)
        self._context.call_async(
            lambda: self._look(checkpoint, finished),
            lambda look: self._settle(look, checkpoint),
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
        """Return the splits that were read to their end for good, and must not begin again: none."""
        return set()

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

    def _look(self, checkpoint: Checkpoint[NamedSplit, Any] | None, finished: set[SplitPath]) -> _Look:
        """Ask the source. On the worker thread."""
        splits = self._discover()
        known = checkpoint.splits if checkpoint else {}
        kept = checkpoint.kept if checkpoint else {}
        starts = {
            path: kept[path].position
            if path in kept and kept[path].split == split
            else self._start(split, is_new_query=checkpoint is None)
            for path, split in splits.items()
            if path not in finished and known.get(path) != split
        }
        positions = {**(checkpoint.positions if checkpoint else {}), **starts}
        retired = self._retired(splits, checkpoint) if checkpoint else ()
        return _Look(splits, starts, self._heads_of(splits, positions), retired)

    def _acknowledge(self, positions: Mapping[str, JsonValue]) -> None:
        """Tell the source what is done. On the worker thread."""
        source = self._source
        assert isinstance(source, Acknowledges)
        with outside(f"{type(source).__name__}.acknowledge", source=source.name):
            source.acknowledge(positions)

    def _discover(self) -> dict[SplitPath, NamedSplit]:
        call = f"{type(self._source).__name__}.discover"
        with outside(call, source=self._source.name):
            discovered = list(self._source.discover())
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

    def _settle(self, look: _Look, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        """Tell the coordinator what changed. On the coordinator thread."""
        self._context.assign_splits({path: (look.splits[path], start) for path, start in look.starts.items()})
        self._seen = look


class PlannedSimpleSplitEnumerator(_SimpleSplitEnumerator, PlannedSplitEnumerator[NamedSplit, Any]):
    """Asks for the heads too, and sets splits aside that are out of sight.

    Its state is that of the alignment by event time: splits do not finish in planned mode.

    Args:
        context: the coordinator.
        source: of the user.
        starting_timestamp_ms: where the splits of a new query begin; None for `SimpleSource.start`.
        alignment: by event time (``maxEventTimeSkew``), if the source finds the positions of times; None for
            none.
        row_bytes: about how many bytes a record of a split has; called on the coordinator thread.
        state: what `snapshot_state` returned when the checkpoint was planned; None for none.
        clock: time.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[NamedSplit, Any],
        source: SimpleSource,
        starting_timestamp_ms: int | None,
        *,
        alignment: AlignmentSettings | None = None,
        row_bytes: Callable[[NamedSplit], int] = lambda _: DEFAULT_ROW_BYTES,
        state: JsonValue = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(context, source, starting_timestamp_ms)
        self._planned_context = context
        self._found: Collection[SplitPath] = ()
        self._row_bytes = row_bytes
        self._alignment = self._aligned(alignment, state) if alignment is not None else None
        self._nothing_in_sight = RareWarning(clock or SystemClock())
        self._said_out_of_sight: set[SplitPath] = set()

    def handle_split_request(self, request: SplitRequest) -> None:
        if self._alignment is not None:
            self._alignment.handle_split_request(request, self._seen.heads, self._found)

    def heads(self) -> Mapping[SplitPath, int]:
        return self._seen.heads

    def bounds(self) -> Mapping[SplitPath, int] | None:
        return None if self._alignment is None else self._alignment.bounds

    def fronts_ms(self) -> Mapping[SplitPath, int]:
        return {} if self._alignment is None else self._alignment.fronts_ms

    def snapshot_state(self) -> JsonValue:
        return None if self._alignment is None else self._alignment.snapshot() or None

    def _aligned(self, settings: AlignmentSettings, state: JsonValue) -> EventTimeAlignment:
        from headwater.enumerators.event_time.alignment import EventTimeAlignment
        from headwater.enumerators.simple.time_index import SimpleTimeIndex

        return EventTimeAlignment(
            self._planned_context,
            settings,
            # Rounds follow one another: what the worker thread reads here does not change meanwhile.
            SimpleTimeIndex(self._source, lambda: (self._seen.splits, self._seen.heads)),
            lambda path: self._row_bytes(self._seen.splits[path]),
            source=self._source.name,
            state=state,
        )

    def _heads_of(
        self, splits: Mapping[SplitPath, NamedSplit], positions: Mapping[SplitPath, Any]
    ) -> Mapping[SplitPath, int]:
        return {path: self._head(split, positions[path]) for path, split in splits.items()}

    def _start(self, split: NamedSplit, *, is_new_query: bool) -> JsonValue:
        position = super()._start(split, is_new_query=is_new_query)
        if type(position) is not int:
            raise ContractError(
                f"SimpleSource.start: with Heads positions are integers; split {split.name!r} of source "
                f"{self._source.name!r}: {position!r}"
            )
        return position

    def _retired(
        self, splits: Mapping[SplitPath, NamedSplit], checkpoint: Checkpoint[NamedSplit, Any]
    ) -> Sequence[SplitPath]:
        source = self._source
        if not isinstance(source, Retires):
            return ()
        known = {**checkpoint.splits, **{path: kept.split for path, kept in checkpoint.kept.items()}}
        call = f"{type(source).__name__}.retire"
        retired = []
        for path in sorted(known.keys() - splits.keys()):
            with outside(call, source=source.name, split=known[path].name):
                if source.retire(known[path]):
                    retired.append(path)
        return retired

    def _settle(self, look: _Look, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        super()._settle(look, checkpoint)
        self._found = tuple(look.starts) if checkpoint is not None and checkpoint.splits else ()
        self._context.retire_splits(look.retired, "the source says that it is gone for good")
        known = checkpoint.splits if checkpoint else {}
        away = [path for path in sorted(known) if path not in look.splits and path not in look.retired]
        if away and not look.splits:
            # As if the source had not answered: what stays in the checkpoint is not set aside either.
            if self._nothing_in_sight.is_due():
                log.warning(
                    "source %s: none of the %d splits that this query reads is discovered: nothing is read, "
                    "and all positions stay",
                    self._source.name,
                    len(away),
                )
            return
        self._nothing_in_sight.is_over()
        self._planned_context.keep_splits(away, "not discovered any more")
        for path in away:
            if path not in self._said_out_of_sight:
                log.warning(
                    "source %s: split %r is not discovered any more; its position is kept",
                    self._source.name,
                    path[0],
                )
        self._said_out_of_sight = set(away)

    def _head(self, split: NamedSplit, position: int) -> int:
        source = self._source
        assert isinstance(source, Heads)
        with outside(f"{type(source).__name__}.head", source=source.name, split=split.name):
            head = source.head(split)
        if type(head) is not int:
            raise ContractError(
                f"Heads.head must return an integer; split {split.name!r} of source {source.name!r}: {head!r}"
            )
        if head < position:
            raise ContractError(
                f"Heads.head went backwards: split {split.name!r} of source {source.name!r} ends at {head}, "
                f"and {position} was the next record to read; records were removed and their positions given "
                "anew, which needs a split of another name or info"
            )
        return head


class BarrierSimpleSplitEnumerator(_SimpleSplitEnumerator, BarrierSplitEnumerator[NamedSplit, Any]):
    """Its state is the names that were discovered when the last epoch was planned.

    A split that is among them and not in the checkpoint has finished: it is still discovered, and must not
    begin again.

    Args:
        context: the coordinator.
        source: of the user.
        starting_timestamp_ms: where the splits of a new query begin; None for `SimpleSource.start`.
        checkpoint: what to go on from; None for a new query.
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

    def _settle(self, look: _Look, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        super()._settle(look, checkpoint)
        known = checkpoint.splits if checkpoint else {}
        # A split that was found by reading is never discovered: it stays until it is read.
        gone = [path for path in known if path not in look.splits and path[0] in self._planned]
        self._context.retire_splits(gone, "not discovered any more")

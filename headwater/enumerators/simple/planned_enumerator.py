"""The enumerator of a simple source that knows where its splits end, and its index of times."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headwater.core.abilities import EstimatesSizes, FindsTimestamps, Forgets, Heads, Retires
from headwater.core.clock import Clock, RareWarning, SystemClock
from headwater.core.enumerator import (
    Checkpoint,
    PlannedSplitEnumerator,
    PlannedSplitEnumeratorContext,
    SplitRequest,
)
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.outside import outside
from headwater.core.planned_source import DEFAULT_ROW_BYTES
from headwater.core.redaction import logger_of
from headwater.core.simple_source import NamedSplit, SimpleSource
from headwater.core.split import SplitPath
from headwater.enumerators.event_time.time_index import AlignmentSettings, TimeIndex
from headwater.enumerators.simple.enumerator import Discovery, SimpleSplitEnumerator
from headwater.enumerators.simple.lost_records import LossFinder, loss_error
from headwater.enumerators.simple.starting_position import FirstPosition

if TYPE_CHECKING:
    # It needs NumPy, which takes a while to load.
    from headwater.enumerators.event_time.alignment import EventTimeAlignment


SIZES = "row_bytes"
"""Where the state has the sizes of records, by the names of splits."""


class SimpleTimeIndex(TimeIndex):
    """Asks the source, one split after the other (`FindsTimestamps.position_at`). On the worker thread.

    Args:
        source: finds the positions of times.
        discovered: returns the splits that the last look found, and where they end.
    """

    def __init__(
        self,
        source: SimpleSource,
        discovered: Callable[[], tuple[Mapping[SplitPath, NamedSplit], Mapping[SplitPath, int]]],
    ) -> None:
        self._source = source
        self._seen = discovered

    def first_at(self, paths: Sequence[SplitPath], time_ms: int) -> Mapping[SplitPath, int]:
        splits, heads = self._seen()
        positions = {path: self._position_at(splits[path], time_ms) for path in paths if path in splits}
        # At the end there is no record yet.
        return {path: position for path, position in positions.items() if position < heads[path]}

    def _position_at(self, split: NamedSplit, time_ms: int) -> int:
        source = self._source
        assert isinstance(source, FindsTimestamps), "only such a source has the option"
        with outside(f"{type(source).__name__}.position_at", source=source.name, split=split.name):
            position = source.position_at(split, time_ms)
        if type(position) is not int:
            raise ContractError(
                f"FindsTimestamps.position_at: with Heads positions are integers; split {split.name!r} of "
                f"source {source.name!r}: {position!r}"
            )
        return position


log = logger_of(__name__)


class PlannedSimpleSplitEnumerator(SimpleSplitEnumerator, PlannedSplitEnumerator[NamedSplit, Any]):
    """Asks for the heads too, and sets splits aside that are out of sight.

    Its state is that of the alignment by event time, and the sizes of records that the source tells: splits
    do not finish in planned mode.

    Args:
        context: the coordinator.
        source: of the user.
        starting_timestamp_ms: where the splits of a new query begin; None for `SimpleSource.start`.
        starting: the same for a source that forgets records; None for any other one.
        fail_on_data_loss: whether records that it has dropped unread are an error.
        alignment: by event time (``maxEventTimeSkew``), if the source finds the positions of times; None for
            none.
        state: the result of `snapshot_state` when the checkpoint was planned; None for none.
        clock: time.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[NamedSplit, Any],
        source: SimpleSource,
        starting_timestamp_ms: int | None,
        *,
        starting: FirstPosition | None = None,
        fail_on_data_loss: bool = True,
        alignment: AlignmentSettings | None = None,
        state: JsonValue = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(context, source, starting_timestamp_ms)
        self._planned_context = context
        self._starting = starting
        self._fail_on_data_loss = fail_on_data_loss
        self._found: Collection[SplitPath] = ()
        self._alignment = self._aligned(alignment, state) if alignment is not None else None
        self._nothing_in_sight = RareWarning(clock or SystemClock())
        self._said_out_of_sight: set[SplitPath] = set()

    def refresh(self, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        if self._alignment is not None:
            self._alignment.begin_round(checkpoint.state if checkpoint is not None else None)
        super().refresh(checkpoint)

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
        state = {} if self._alignment is None else self._alignment.snapshot()
        sizes = dict[str, JsonValue](self._seen.sizes)
        return {**state, **({SIZES: sizes} if sizes else {})} or None

    def _look(self, checkpoint: Checkpoint[NamedSplit, Any] | None, finished: set[SplitPath]) -> Discovery:
        found = super()._look(checkpoint, finished)
        if self._starting is not None:
            found = LossFinder(self._first, self._starting).checked(found, checkpoint)
        source = self._source
        if not isinstance(source, EstimatesSizes):
            return found
        call = f"{type(source).__name__}.row_bytes"
        with outside(call, source=source.name):
            return replace(
                found, sizes={path[0]: source.row_bytes(found.splits[path]) for path in found.heads}
            )

    def _first(self, split: NamedSplit) -> int:
        source = self._source
        assert isinstance(source, Forgets), "only such a source has the option"
        with outside(f"{type(source).__name__}.first", source=source.name, split=split.name):
            first = source.first(split)
        if type(first) is not int:
            raise ContractError(
                f"Forgets.first must return an integer; split {split.name!r} of source {source.name!r}: "
                f"{first!r}"
            )
        return first

    def _aligned(self, settings: AlignmentSettings, state: JsonValue) -> EventTimeAlignment:
        from headwater.enumerators.event_time.alignment import EventTimeAlignment
        from headwater.enumerators.simple.planned_enumerator import SimpleTimeIndex

        return EventTimeAlignment(
            self._planned_context,
            settings,
            # Rounds follow one another: what the worker thread reads here does not change meanwhile.
            SimpleTimeIndex(self._source, lambda: (self._seen.splits, self._seen.heads)),
            lambda path: self._seen.sizes.get(path[0], DEFAULT_ROW_BYTES),
            source=self._source.name,
            state=state,
        )

    def _heads_of(
        self, splits: Mapping[SplitPath, NamedSplit], positions: Mapping[SplitPath, Any]
    ) -> Mapping[SplitPath, int]:
        return {path: self._head(split, positions[path]) for path, split in splits.items()}

    def _start(self, split: NamedSplit, *, is_new_query: bool) -> JsonValue:
        starting = self._starting
        if starting is not None and self._starting_timestamp_ms is None:
            if is_new_query and starting.at == "latest":
                return self._head(split, 0)
            positions = (starting.positions or {}) if is_new_query else {}
            return positions[split.name] if split.name in positions else self._first(split)
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
        logged = {**checkpoint.splits, **{path: kept.split for path, kept in checkpoint.kept.items()}}
        call = f"{type(source).__name__}.retire"
        retired = []
        for path in sorted(logged.keys() - splits.keys()):
            with outside(call, source=source.name, split=logged[path].name):
                if source.retire(logged[path]):
                    retired.append(path)
        return retired

    def _settle(self, discovery: Discovery, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        super()._settle(discovery, checkpoint)
        for lost in discovery.losses:
            if self._fail_on_data_loss:
                raise loss_error(lost, self._source.name)
            log.warning(
                "source %s, split %s: %s; going on", self._source.name, lost.split.name, lost.sentence
            )
            self._planned_context.report_losses({lost.split.path: (lost.first, lost.until)})
        self._found = tuple(discovery.starts) if checkpoint is not None and checkpoint.splits else ()
        self._context.retire_splits(discovery.retired, "the source says that it is gone for good")
        unread = checkpoint.splits.keys() - checkpoint.ended if checkpoint else ()
        away = [
            path for path in sorted(unread) if path not in discovery.splits and path not in discovery.retired
        ]
        if away and not discovery.splits:
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
        if head < position and self._starting is None:
            raise ContractError(
                f"Heads.head went backwards: split {split.name!r} of source {source.name!r} ends at {head}, "
                f"and {position} was the next record to read; records were removed and their positions given "
                "anew, which needs a split of another name or info"
            )
        return head

"""The enumerator of a simple source that knows where its splits end, and its index of times."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headwater.core.abilities import (
    EstimatesSizes,
    FindsTimestamps,
    Forgets,
    Heads,
    ReadsAhead,
)
from headwater.core.clock import RareWarning, SystemClock
from headwater.core.enumerator import (
    Checkpoint,
    PlannedSplitEnumerator,
    PlannedSplitEnumeratorContext,
    SplitRequest,
)
from headwater.core.errors import ContractError, OptionError
from headwater.core.jsons import JsonValue
from headwater.core.outside import outside
from headwater.core.planned_source import DEFAULT_ROW_BYTES
from headwater.core.redaction import logger_of
from headwater.core.simple_source import NamedSplit, SimpleSource, count_of
from headwater.core.split import SplitPath
from headwater.enumerators.event_time.time_index import AlignmentSettings, TimeIndex
from headwater.enumerators.simple.backlog import SplitBacklog
from headwater.enumerators.simple.enumerator import Discovery, SimpleSplitEnumerator
from headwater.enumerators.simple.lost_records import LossFinder, loss_error
from headwater.enumerators.simple.starting_position import FirstPosition

if TYPE_CHECKING:
    # It needs NumPy, which takes a while to load.
    from headwater.enumerators.event_time.alignment import EventTimeAlignment


_LISTS = "lists of a number and a mark"
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
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[NamedSplit, Any],
        source: SimpleSource,
        starting_timestamp_ms: int | None,
        *,
        starting: FirstPosition | None,
        fail_on_data_loss: bool,
        alignment: AlignmentSettings | None,
        state: JsonValue,
    ) -> None:
        super().__init__(context, source, starting_timestamp_ms)
        self._planned_context = context
        self._starting = starting
        self._ahead: Mapping[SplitPath, Any] | None = None
        self._last_heads: Mapping[SplitPath, Any] | None = None
        self._fail_on_data_loss = fail_on_data_loss
        self._found: Collection[SplitPath] = ()
        self._alignment = self._aligned(alignment, state) if alignment is not None else None
        self._nothing_in_sight = RareWarning(SystemClock())
        self._said_out_of_sight: set[SplitPath] = set()

    def refresh(self, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        if self._alignment is not None:
            self._alignment.begin_round(checkpoint.state if checkpoint is not None else None)
        super().refresh(checkpoint)

    def handle_split_request(self, request: SplitRequest) -> None:
        if self._alignment is not None:
            self._alignment.handle_split_request(request, self._seen.heads, self._found)
        self._ahead = None
        if not isinstance(self._source, ReadsAhead) or not request.limited:
            return
        positions = self._planned_context.positions()
        heads = self._ends() if request.ends else self._seen.heads
        shares = SplitBacklog(positions, heads, self._seen.sizes).shares(request)
        if shares is not None:
            self._context.call_async(
                lambda: self._read_ahead(positions, shares, heads), self._bind, what="where a batch ends"
            )

    def _ends(self) -> Mapping[SplitPath, Any]:
        """Return how far splits are read in a run that ends: to where they ended when it began.

        Beyond that a batch must not go, for the last one goes back there.
        """
        heads = self._seen.heads
        if self._last_heads is None:
            self._last_heads = heads
        return {
            path: min(head, heads[path], key=lambda end: count_of(end) or 0)
            for path, head in self._last_heads.items()
            if path in heads
        }

    def _read_ahead(
        self,
        positions: Mapping[SplitPath, Any],
        shares: Mapping[SplitPath, int],
        heads: Mapping[SplitPath, Any],
    ) -> Mapping[SplitPath, Any]:
        """Ask the source where splits have had their shares. On the worker thread."""
        source = self._source
        assert isinstance(source, ReadsAhead)
        ends = {}
        for path, rows in shares.items():
            split, begin, head = self._seen.splits[path], positions[path], heads[path]
            with outside(f"{type(source).__name__}.position_after", source=source.name, split=split.name):
                end = source.position_after(split, begin, rows, head) if rows else begin
            ends[path] = self._checked(end, "ReadsAhead.position_after", split)
        return ends

    def _bind(self, ends: Mapping[SplitPath, Any]) -> None:
        self._ahead = ends

    def heads(self) -> Mapping[SplitPath, Any]:
        return self._seen.heads

    def bounds(self) -> Mapping[SplitPath, Any] | None:
        return self._ahead if self._alignment is None else self._alignment.bounds

    def fronts_ms(self) -> Mapping[SplitPath, int]:
        return {} if self._alignment is None else self._alignment.fronts_ms

    def snapshot_state(self) -> JsonValue:
        state = {} if self._alignment is None else self._alignment.snapshot()
        sizes = dict[str, JsonValue](self._seen.sizes)
        return {**state, **({SIZES: sizes} if sizes else {})} or None

    def _look(self, checkpoint: Checkpoint[NamedSplit, Any] | None, finished: set[SplitPath]) -> Discovery:
        discovery = super()._look(checkpoint, finished)
        if self._starting is not None:
            finder = LossFinder(self._first, self._starting, self._source.is_before)
            discovery = finder.checked(discovery, checkpoint)
        source = self._source
        if not isinstance(source, EstimatesSizes):
            return discovery
        call = f"{type(source).__name__}.row_bytes"
        with outside(call, source=source.name):
            return replace(
                discovery,
                sizes={path[0]: source.row_bytes(discovery.splits[path]) for path in discovery.heads},
            )

    def _first(self, split: NamedSplit) -> Any:
        source = self._source
        assert isinstance(source, Forgets), "only such a source has the option"
        with outside(f"{type(source).__name__}.first", source=source.name, split=split.name):
            first = source.first(split)
        return self._checked(first, "Forgets.first", split)

    def _checked(self, position: Any, what: str, split: NamedSplit) -> Any:
        """Return a position that counts.

        Raises:
            ContractError: it does not.
        """
        ahead = isinstance(self._source, ReadsAhead)
        if count_of(position) is None or isinstance(position, list) is not ahead:
            raise ContractError(
                f"{what}: positions are {_LISTS if ahead else 'integers'}; split {split.name!r} of source "
                f"{self._source.name!r}: {position!r}"
            )
        return position

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

    def _start(self, split: NamedSplit, *, is_new_query: bool) -> Any:
        starting = self._starting
        if starting is not None and self._starting_timestamp_ms is None:
            if is_new_query and starting.at == "latest":
                return self._head(split, [0] if isinstance(self._source, ReadsAhead) else 0)
            positions = (starting.positions or {}) if is_new_query else {}
            return self._named(split, positions) if split.name in positions else self._first(split)
        position = super()._start(split, is_new_query=is_new_query)
        return self._checked(position, "SimpleSource.start: with Heads", split)

    def _named(self, split: NamedSplit, positions: Mapping[str, Any]) -> Any:
        """Return the position that the user wrote.

        Raises:
            OptionError: it is none.
        """
        source = self._source
        written = positions[split.name]
        if not isinstance(source, ReadsAhead):
            if type(written) is not int:
                raise OptionError(
                    f"of split {split.name!r} must be a whole number, not {written!r}",
                    option="startingPosition",
                )
            return written
        try:
            return source.position_of(split, written)
        except ValueError as error:
            raise OptionError(f"of split {split.name!r}: {error}", option="startingPosition") from error

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

    def _head(self, split: NamedSplit, position: Any) -> Any:
        source = self._source
        assert isinstance(source, Heads)
        with outside(f"{type(source).__name__}.head", source=source.name, split=split.name):
            head = source.head(split)
        self._checked(head, "Heads.head", split)
        if self._starting is None and (count_of(head) or 0) < (count_of(position) or 0):
            raise ContractError(
                f"Heads.head went backwards: split {split.name!r} of source {source.name!r} ends at {head}, "
                f"and {position} was the next record to read; records were removed and their positions given "
                "anew, which needs a split of another name or info"
            )
        return head

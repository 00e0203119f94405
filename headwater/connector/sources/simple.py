"""Sources in the small form as sources of the full form: one class for each mode."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from headwater.core.abilities import (
    FindsTimestamps,
    InfersSchema,
    PushesFilters,
)
from headwater.core.barrier_reader import EpochRecord
from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import SystemClock
from headwater.core.decoding import Decoding
from headwater.core.emitter import RecordEmitter
from headwater.core.enumerator import BarrierSplitEnumeratorContext, Checkpoint, PlannedSplitEnumeratorContext
from headwater.core.errors import ContractError, OffsetError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.outside import outside
from headwater.core.planned_source import DEFAULT_ROW_BYTES, PartEnd, PlannedSource
from headwater.core.simple_source import NamedSplit, SimpleSource, count_of
from headwater.core.source import Boundedness, Source
from headwater.core.split import SplitPath, SplitRange
from headwater.enumerators.event_time.time_index import AlignmentSettings
from headwater.enumerators.simple.enumerator import BarrierSimpleSplitEnumerator
from headwater.enumerators.simple.planned_enumerator import SIZES, PlannedSimpleSplitEnumerator
from headwater.enumerators.simple.starting_position import FirstPosition
from headwater.readers.simple.settings import SimpleReadSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.simple.split_reader import SimpleSplitReader


@dataclass(frozen=True)
class _SimpleForm(Source[EpochRecord, NamedSplit, Any]):
    """The common half of both modes. Their split reader finds the end of a split by reading.

    Attributes:
        user: the source that the user wrote.
        settings: how its pages are read.
        mode: a batch or a stream.
        starting_timestamp_ms: where new queries begin.
        decoding: of a column of the pages' rows; None: these are the rows of the query.
        schema_evolution: whether a query may go on from a checkpoint with other decoded fields.
    """

    path_depth: ClassVar[int] = 1

    user: SimpleSource
    settings: SimpleReadSettings
    mode: Boundedness
    starting_timestamp_ms: int | None
    decoding: Decoding | None
    schema_evolution: bool

    @property
    def name(self) -> str:  # type: ignore[override]  # one class for all names
        return self.user.name

    @property
    def boundedness(self) -> Boundedness:
        return self.mode

    def schema(self) -> pa.Schema:
        pages = self._page_schema()
        return pages if self.decoding is None else self.decoding.schema(pages)

    @property
    def reads(self) -> str:
        return self.user.reads

    @property
    def time_column(self) -> str | None:
        column = self.user.time_column
        return column if column is not None and column in self.schema().names else None

    @property
    def logged_schema(self) -> JsonValue:
        return None if self.decoding is None else self.decoding.logged_schema

    @property
    def takes_other_schemas(self) -> bool:
        return self.schema_evolution

    def _page_schema(self) -> pa.Schema:
        """Return the schema of the rows that the user's `read` yields."""
        import pyarrow as pa

        user = self.user
        # A copy with a schema (`with_schema`) does not infer it again.
        if isinstance(user, InfersSchema) and "schema" not in vars(user):
            said_by = f"what {type(user).__name__}.infer_schema returns"
            with outside(f"{type(user).__name__}.infer_schema", source=user.name):
                schema: object = user.infer_schema()
        else:
            said_by = f"{type(user).__name__}.schema"
            schema = getattr(user, "schema", None)
        if not isinstance(schema, pa.Schema):
            raise ContractError(
                f"source {user.name!r}: {said_by} must be a pyarrow.Schema, such as "
                f"pa.schema([('id', pa.int64())]), not {schema!r}"
            )
        return schema

    def with_schema(self, schema: pa.Schema, *, given: bool) -> Self:
        """Give the inferred schema to a copy of a source that infers it.

        A schema of the user's is not passed on: it is compared with the inferred one.
        """
        if not isinstance(self.user, InfersSchema) or given:
            return self
        user = copy.copy(self.user)
        vars(user)["schema"] = schema
        return replace(self, user=user)

    def with_filters(self, filters: Sequence[Any]) -> Self:
        """Give the filters to a copy of the source, if it takes some."""
        user = copy.copy(self.user)
        if isinstance(user, PushesFilters):
            with outside(f"{type(user).__name__}.push_filters", source=self.name):
                user.push_filters(tuple(filters))
        return replace(self, user=user)

    def create_reader(self) -> SimpleSplitReader:
        from headwater.readers.simple.split_reader import SimpleSplitReader

        return SimpleSplitReader(self.user, self._page_schema(), self.settings, SystemClock())

    def create_emitter(self) -> RecordEmitter[EpochRecord, NamedSplit, Any]:
        from headwater.core.barrier_reader import EpochRecordEmitter

        if self.decoding is None:
            return EpochRecordEmitter()
        return self.decoding.create_emitter(self._page_schema(), source=self.name)

    def serialize_splits(self, splits: Iterable[NamedSplit]) -> JsonValue:
        """Return the infos, by name, of those splits that have one; and where splits were found."""
        listed = list(splits)
        infos: JsonObject = {split.name: split.info for split in listed if split.info is not None}
        found_in: JsonObject = {split.name: list(split.found_in) for split in listed if split.found_in}
        return [infos, found_in] if found_in else infos or None

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, NamedSplit]:
        # Where nothing was found by reading, and in earlier versions, there are only infos.
        infos, found_in = definitions if isinstance(definitions, list) else (definitions or {}, {})
        if not isinstance(infos, dict) or not isinstance(found_in, dict):
            raise OffsetError(f"the checkpoint's offset is not one of source {self.name!r}: {definitions!r}")
        return {
            path: NamedSplit(path[0], infos.get(path[0]), tuple(cast("list[str]", found_in.get(path[0], ()))))
            for path in paths
        }


@dataclass(frozen=True)
class PlannedSimpleSource(_SimpleForm, PlannedSource[EpochRecord, NamedSplit, Any]):
    """A simple source that knows its heads.

    Positions are integers, and the distance of two is the most rows that there can be between them.

    Attributes:
        alignment: of batches by event time; None for none.
        starting: where new queries begin, for a source that forgets records; None for any other one.
    """

    alignment: AlignmentSettings | None = None
    starting: FirstPosition | None = None

    @property
    def end_condition(self) -> JsonValue:
        return True if self.settings.ends_at_records else None

    def ending_at(self, condition: JsonValue) -> PlannedSimpleSource:
        if condition is None and self.settings.ends_at_records:
            return replace(self, settings=replace(self.settings, ends_at_records=False))
        return super().ending_at(condition)

    def create_enumerator(
        self, context: PlannedSplitEnumeratorContext[NamedSplit, Any]
    ) -> PlannedSimpleSplitEnumerator:
        return self._enumerator(context, None)

    def restore_enumerator(
        self, context: PlannedSplitEnumeratorContext[NamedSplit, Any], checkpoint: Checkpoint[NamedSplit, Any]
    ) -> PlannedSimpleSplitEnumerator:
        """All but the alignment by event time is in the positions."""
        return self._enumerator(context, checkpoint.state)

    def rows_between(self, start: Any, stop: Any) -> int:
        return max(0, (count_of(stop) or 0) - (count_of(start) or 0))

    def position_after(self, start: Any, rows: int, stop: Any) -> Any:
        """Where positions do not count, the enumerator sets bounds, and a split is not cut: to its stop."""
        if isinstance(stop, list):
            return stop if rows else start
        return min(start + rows, stop)

    def cut(self, whole: SplitRange[NamedSplit, Any], pieces: int) -> Sequence[SplitRange[NamedSplit, Any]]:
        return super().cut(whole, 1 if isinstance(whole.stop, list) else pieces)

    def row_bytes(self, split: NamedSplit, state: JsonValue) -> int:
        sizes = state.get(SIZES) if isinstance(state, dict) else None
        size = sizes.get(split.name) if isinstance(sizes, dict) else None
        return max(1, size) if isinstance(size, int) else DEFAULT_ROW_BYTES

    def begin_after(self, end: PartEnd) -> PlannedSimpleSource:
        """A source that finds timestamps begins at the time of the seam; any other one at its own start."""
        if end.time_ms is None or not isinstance(self.user, FindsTimestamps):
            return self
        return replace(self, starting_timestamp_ms=end.time_ms)

    def _enumerator(
        self, context: PlannedSplitEnumeratorContext[NamedSplit, Any], state: JsonValue
    ) -> PlannedSimpleSplitEnumerator:
        return PlannedSimpleSplitEnumerator(
            context,
            self.user,
            self.starting_timestamp_ms,
            starting=self.starting,
            fail_on_data_loss=self.settings.fail_on_data_loss is not False,
            alignment=self.alignment,
            state=state,
        )


@dataclass(frozen=True)
class BarrierSimpleSource(_SimpleForm, BarrierSource[NamedSplit, Any]):
    """A simple source whose end is found by reading.

    Attributes:
        connections: how many splits a task reads at once.
    """

    connections: int = 1

    @property
    def fetcher_threads(self) -> int:
        return self.connections

    def create_enumerator(
        self, context: BarrierSplitEnumeratorContext[NamedSplit, Any]
    ) -> BarrierSimpleSplitEnumerator:
        return self._enumerator(context, None)

    def restore_enumerator(
        self, context: BarrierSplitEnumeratorContext[NamedSplit, Any], checkpoint: Checkpoint[NamedSplit, Any]
    ) -> BarrierSimpleSplitEnumerator:
        return self._enumerator(context, checkpoint)

    def _enumerator(
        self,
        context: BarrierSplitEnumeratorContext[NamedSplit, Any],
        checkpoint: Checkpoint[NamedSplit, Any] | None,
    ) -> BarrierSimpleSplitEnumerator:
        return BarrierSimpleSplitEnumerator(
            context,
            self.user,
            self.starting_timestamp_ms,
            checkpoint,
            is_batch=self.mode is Boundedness.BOUNDED,
        )

    def is_before(self, position: Any, other: Any) -> bool:
        return self.user.is_before(position, other)

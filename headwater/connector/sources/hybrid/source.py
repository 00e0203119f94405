"""The hybrid source: a chain of sources in planned mode, one after the other (FLIP-150)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from headwater.core.enumerator import Checkpoint, PlannedSplitEnumeratorContext
from headwater.core.errors import OffsetError, OptionError
from headwater.core.jsons import JsonObject, JsonValue, dumps
from headwater.core.planned_source import DEFAULT_ROW_BYTES, PlannedSource
from headwater.core.source import Boundedness
from headwater.core.split import SplitPath, SplitRange
from headwater.enumerators.hybrid.enumerator import HybridSplitEnumerator
from headwater.enumerators.hybrid.part import HybridPart
from headwater.enumerators.hybrid.split import (
    HybridPosition,
    HybridSplit,
    SwitchPoint,
    inner_path,
    inner_position,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.hybrid.split_reader import HybridRecordEmitter, HybridSplitReader


@dataclass(frozen=True, kw_only=True)
class HybridSource(PlannedSource[Any, HybridSplit, HybridPosition]):
    """A chain: the splits of one part at a time, with positions that name the part.

    Attributes:
        parts: in the order in which they are read; all but the last have the splits of the first discovery.
        seam: the switch point, which decides row by row; None if every row of every part counts.
        mode: a batch or a stream.
    """

    name: ClassVar[str] = "hybrid"
    path_depth: ClassVar[int] = 2

    parts: tuple[HybridPart, ...]
    seam: SwitchPoint | None
    mode: Boundedness

    @property
    def boundedness(self) -> Boundedness:
        return self.mode

    @property
    def forgets_kept_splits(self) -> bool:
        return all(source.forgets_kept_splits for source in self._sources)

    @property
    def logged_schema(self) -> JsonValue:
        logged = {part.name: part.source.logged_schema for part in self.parts}
        return {name: each for name, each in logged.items() if each is not None} or None

    @property
    def reads(self) -> str:
        return ", then ".join(f"{source.name} {source.reads}" for source in self._sources)

    @property
    def time_column(self) -> str | None:
        return self._sources[-1].time_column

    @property
    def takes_other_schemas(self) -> bool:
        return all(source.takes_other_schemas for source in self._sources)

    def is_bounded(self, split: HybridSplit) -> bool:
        return self._sources[split.index].is_bounded(split.inner)

    def counts_bytes(self, split: HybridSplit) -> bool:
        return self._sources[split.index].counts_bytes(split.inner)

    def part_of(self, split: HybridSplit) -> int:
        return split.index

    def group_of(self, path: SplitPath) -> str:
        return inner_path(path)[0]

    def schema(self) -> pa.Schema:
        return self._sources[-1].schema()

    def with_schema(self, schema: pa.Schema, *, given: bool) -> Self:
        bound = [HybridPart(part.name, part.source.with_schema(schema, given=given)) for part in self.parts]
        bound_source = replace(self, parts=tuple(bound))
        for part in bound_source.parts:
            check_columns(schema, part.source.schema(), part.name)
        return bound_source

    def create_enumerator(
        self, context: PlannedSplitEnumeratorContext[HybridSplit, HybridPosition]
    ) -> HybridSplitEnumerator:
        return HybridSplitEnumerator(
            context, self.parts, self.seam, is_batch=self.mode is Boundedness.BOUNDED
        )

    def restore_enumerator(
        self,
        context: PlannedSplitEnumeratorContext[HybridSplit, HybridPosition],
        checkpoint: Checkpoint[HybridSplit, HybridPosition],
    ) -> HybridSplitEnumerator:
        """The first `refresh` shows the checkpoint to a new enumerator: nothing else is needed."""
        return self.create_enumerator(context)

    def create_reader(self) -> HybridSplitReader:
        from headwater.readers.hybrid.split_reader import HybridSplitReader

        return HybridSplitReader(self._sources)

    def create_emitter(self) -> HybridRecordEmitter:
        from headwater.readers.hybrid.split_reader import HybridRecordEmitter, filter_of

        schema = self.schema()
        last = len(self.parts) - 1
        sides = {
            index: filter_of(self.seam, schema, is_last=index == last, part=part.name)
            for index, part in enumerate(self.parts)
        }
        return HybridRecordEmitter(self._sources, sides, schema)

    def serialize_splits(self, splits: Iterable[HybridSplit]) -> JsonValue:
        by_part: dict[int, list[Any]] = {}
        for split in splits:
            by_part.setdefault(split.index, []).append(split.inner)
        parts: JsonObject = {
            self.parts[index].name: self._sources[index].serialize_splits(inner)
            for index, inner in by_part.items()
        }
        return {**self._chain, "parts": parts}

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, HybridSplit]:
        """Return the splits of an offset, whose chain must be this one.

        Raises:
            OffsetError: the parts or the seam are others now: rows would be missing, or come twice.
        """
        by_part: dict[str, list[SplitPath]] = {}
        for path in paths:
            by_part.setdefault(path[0], []).append(path)
        fields = cast("JsonObject", definitions)
        logged = {name: value for name, value in fields.items() if name != "parts"}
        if logged != self._chain:
            raise OffsetError(
                f"the query began with the chain {dumps(logged)}, and its options now say "
                f"{dumps(self._chain)}: rows would be missing at the seam, or come twice. Give the options "
                "sources, seamColumn, seamTime and seamOffsets that it began with, or a new "
                "checkpointLocation"
            )
        parts = cast("JsonObject", fields["parts"])
        indexes = {part.name: index for index, part in enumerate(self.parts)}
        splits: dict[SplitPath, HybridSplit] = {}
        for name, outer in by_part.items():
            index = indexes[name]
            inner = self._sources[index].deserialize_splits(
                [inner_path(path) for path in outer], parts.get(name)
            )
            splits.update({path: HybridSplit(name, index, inner[inner_path(path)]) for path in outer})
        return splits

    def rows_between(self, start: HybridPosition, stop: HybridPosition) -> int:
        return self._source_at(start).rows_between(inner_position(start), inner_position(stop))

    def position_after(self, start: HybridPosition, rows: int, stop: HybridPosition) -> HybridPosition:
        position = self._source_at(start).position_after(inner_position(start), rows, inner_position(stop))
        return [start[0], position]

    def row_bytes(self, split: HybridSplit, state: JsonValue) -> int:
        fields: JsonObject = state if isinstance(state, dict) else {}
        if fields.get("part") != split.part and not self.is_bounded(split):
            return DEFAULT_ROW_BYTES
        return self._sources[split.index].row_bytes(split.inner, fields.get("state"))

    def cut(
        self, whole: SplitRange[HybridSplit, HybridPosition], pieces: int
    ) -> Sequence[SplitRange[HybridSplit, HybridPosition]]:
        split = whole.split
        inner = SplitRange(split.inner, inner_position(whole.start), inner_position(whole.stop))
        return [
            SplitRange(split, [split.index, part.start], [split.index, part.stop])
            for part in self._sources[split.index].cut(inner, pieces)
        ]

    @property
    def _chain(self) -> JsonObject:
        """The chain as offsets have it: it must not change."""
        return {
            "sources": [part.name for part in self.parts],
            "seam": None if self.seam is None else self.seam.to_json(),
        }

    @property
    def _sources(self) -> tuple[PlannedSource[Any, Any, Any], ...]:
        return tuple(part.source for part in self.parts)

    def _source_at(self, position: HybridPosition) -> PlannedSource[Any, Any, Any]:
        return self._sources[cast("int", position[0])]


def check_columns(planned: pa.Schema, actual: pa.Schema, part: str) -> None:
    """Prove that a part has the columns of the chain, by names, types and order.

    Several types of Arrow may be one of Spark: the rows are cast when they are emitted.

    Raises:
        OptionError: it has others; the message shows the difference.
    """
    from headwater.connector.sources.spark_schema import spark_schema

    ours = [(field.name, field.dataType.simpleString()) for field in spark_schema(planned, "hybrid")]
    theirs = [(field.name, field.dataType.simpleString()) for field in spark_schema(actual, part)]
    if ours != theirs:
        only_ours = ", ".join(f"{name} {kind}" for name, kind in ours if (name, kind) not in theirs)
        only_theirs = ", ".join(f"{name} {kind}" for name, kind in theirs if (name, kind) not in ours)
        what = (
            f"Only the query has {only_ours or 'nothing'}; only part {part!r} has {only_theirs or 'nothing'}"
        )
        if not only_ours and not only_theirs:
            order = ", ".join(name for name, _ in theirs)
            what = f"Part {part!r} has those of the query in another order: {order}"
        raise OptionError(
            f"the parts must have the same columns in the same order. {what}. Its options "
            f"{part}.columns, {part}.valueFormat and {part}.valueSchema say what its rows are",
            option="sources",
        )

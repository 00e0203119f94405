"""The reader of a chain: one reader for each part, and a filter for rows on one side of the seam."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.errors import OptionError, SourceError
from headwater.core.planned_source import EndPositions, PlannedSource
from headwater.core.reader import LossReporter, RecordsWithSplitIds, SplitReader
from headwater.core.split import SplitPath, SplitRange
from headwater.enumerators.hybrid.split import (
    HybridPosition,
    HybridSplit,
    PositionSwitchPoint,
    SwitchPoint,
    TimeSwitchPoint,
    inner_position,
    outer_path,
)
from headwater.readers.runtime.batches import cast_batch
from headwater.readers.runtime.loss_reports import LossReports


def inner_range(outer: SplitRange[HybridSplit, HybridPosition]) -> SplitRange[Any, Any]:
    """Return a range as the part itself has it."""
    return SplitRange(outer.split.inner, inner_position(outer.start), inner_position(outer.stop))


class HybridSplitReader(SplitReader[Any, HybridSplit, HybridPosition]):
    """Reads the ranges of one part after those of the other, each with the part's own reader.

    Args:
        sources: of the parts, in their order.
    """

    def __init__(self, sources: Sequence[PlannedSource[Any, Any, Any]]) -> None:
        self._sources = sources
        self._report: LossReporter = LossReports(None)
        self._readers: dict[int, SplitReader[Any, Any, Any]] = {}
        # By part: its name, and the splits that are not read to their stops.
        self._unread: dict[int, tuple[str, set[SplitPath]]] = {}

    def report_losses_to(self, report: LossReporter) -> None:
        self._report = report

    def handle_splits_changes(self, added: Sequence[SplitRange[HybridSplit, HybridPosition]]) -> None:
        by_part: dict[int, list[SplitRange[HybridSplit, HybridPosition]]] = {}
        for each in added:
            by_part.setdefault(each.split.index, []).append(each)
        for index, pieces in by_part.items():
            _, unread = self._unread.setdefault(index, (pieces[0].split.part, set()))
            unread.update(each.split.inner.path for each in pieces)
            self._reader(index).handle_splits_changes([inner_range(each) for each in pieces])

    def fetch(self) -> RecordsWithSplitIds[Any]:
        """Return the records of the first part that is not read to its end."""
        index = min(self._unread)
        part, unread = self._unread[index]
        fetched = self._readers[index].fetch()
        unread -= fetched.finished
        if not unread:
            del self._unread[index]
        return RecordsWithSplitIds(
            {outer_path(part, path): records for path, records in fetched.records.items()},
            frozenset(outer_path(part, path) for path in fetched.finished),
        )

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()

    def _reader(self, index: int) -> SplitReader[Any, Any, Any]:
        reader = self._readers.get(index)
        if reader is None:
            reader = self._readers[index] = self._sources[index].create_reader()
            reader.report_losses_to(self._report)
        return reader


@dataclass
class _PartEmitter:
    """The emitter of one part, its side of the seam, and the states of its splits."""

    emitter: RecordEmitter[Any, Any, Any]
    side: SwitchPointFilter | None
    states: dict[int, SplitState[Any, Any]]

    def of_side(self, batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        rows = batch if self.side is None else self.side.kept(batch)
        if rows.num_rows:
            yield cast_batch(rows, schema, "hybrid")


class HybridRecordEmitter(RecordEmitter[Any, HybridSplit, HybridPosition]):
    """Lets each part make its rows, and keeps those of its side of the seam.

    Args:
        sources: of the parts, in their order.
        sides: by index of the part; None where every row counts.
        schema: of the chain.
    """

    def __init__(
        self,
        sources: Sequence[PlannedSource[Any, Any, Any]],
        sides: Mapping[int, SwitchPointFilter | None],
        schema: pa.Schema,
    ) -> None:
        self._sources = sources
        self._sides = sides
        self._schema = schema
        self._report: LossReporter = LossReports(None)
        self._parts: dict[int, _PartEmitter] = {}

    def report_losses_to(self, report: LossReporter) -> None:
        self._report = report

    def emit(self, record: Any, state: SplitState[HybridSplit, HybridPosition]) -> Iterator[pa.RecordBatch]:
        index = state.split.index
        part = self._part(index)
        inner = part.states.get(id(state))
        if inner is None:
            whole = SplitRange(state.split, state.position, state.stop)
            inner = part.states[id(state)] = SplitState(inner_range(whole))
        for batch in part.emitter.emit(record, inner):
            yield from part.of_side(batch, self._schema)
            state.position = [index, inner.position]
        state.position = [index, inner.position]

    def flush(self) -> Iterator[pa.RecordBatch]:
        for part in self._parts.values():
            for batch in part.emitter.flush():
                yield from part.of_side(batch, self._schema)

    def _part(self, index: int) -> _PartEmitter:
        part = self._parts.get(index)
        if part is None:
            emitter = self._sources[index].create_emitter()
            emitter.report_losses_to(self._report)
            part = self._parts[index] = _PartEmitter(emitter, self._sides[index], {})
        return part


class SwitchPointFilter(ABC):
    """Keeps the rows of one side of the seam. Used on the task's thread."""

    def kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of this side; the batch itself if that is all.

        Raises:
            SourceError: a row does not say on which side it is: neither side would have it, or both.
        """
        mask = self._mask(batch)
        return batch if mask.true_count == len(mask) else batch.filter(mask)

    @abstractmethod
    def _mask(self, batch: pa.RecordBatch) -> pa.BooleanArray: ...


class TimeFilter(SwitchPointFilter):
    """By the time of each row.

    Args:
        seam: where it is.
        after: whether the rows at and after it are kept; else those before.
        part: the name of the part, for errors.
    """

    def __init__(self, seam: TimeSwitchPoint, *, after: bool, part: str) -> None:
        self._seam = seam
        self._compare: Any = pc.greater_equal if after else pc.less
        self._part = part

    def _mask(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        times: Any = batch.column(self._seam.column)
        if times.null_count:
            raise SourceError(
                f"{times.null_count} rows have no {self._seam.column!r}, so the seam cannot decide which "
                "part they belong to (option 'seamColumn'): give them a time, or take another column",
                source=f"hybrid, part {self._part}",
            )
        # As numbers: a time has no zone, or another one, in some parts. Parts of a microsecond do not decide:
        # Spark, and so a part that has its rows from it, has none.
        at_us = times.cast(pa.timestamp("us", times.type.tz), safe=False).cast(pa.int64())
        mask: pa.BooleanArray = self._compare(at_us, pa.scalar(self._seam.time_us, pa.int64()))
        return mask


class PositionFilter(SwitchPointFilter):
    """By the position of each row: rows of the history that the last part begins with are left out.

    Args:
        positions: where the last part begins.
        part: the name of the part, for errors.
    """

    def __init__(self, positions: EndPositions, *, part: str) -> None:
        self._positions = positions
        self._part = part

    def kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        without = batch.column("offset").null_count
        if without:
            raise SourceError(
                f"{without} rows have no 'offset', so the seam cannot decide which part they belong to "
                "(option 'seamOffsets')",
                source=f"hybrid, part {self._part}",
            )
        return super().kept(batch)

    def _mask(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        if "topic" in batch.schema.names:
            topics: Any = batch.column("topic").cast(pa.string())
        else:
            topics = pa.repeat(pa.scalar(next(iter(self._positions)), pa.string()), batch.num_rows)
        partitions = batch.column("partition").cast(pa.int64())
        ends: Any = pa.nulls(batch.num_rows, pa.int64())
        for topic, offsets in self._positions.items():
            places = pc.index_in(partitions, pa.array(list(map(int, offsets)), pa.int64()))
            topic_ends = pa.array(offsets.values(), pa.int64()).take(places)
            ends = pc.if_else(pc.equal(topics, pa.scalar(topic)), topic_ends, ends)
        if ends.null_count:
            unknown = pc.index(ends.is_null(), pa.scalar(True)).as_py()
            raise SourceError(
                f"a row of topic {topics[unknown]}, partition {partitions[unknown]} is on neither side: "
                "option 'seamOffsets' does not name it",
                source=f"hybrid, part {self._part}",
            )
        mask: pa.BooleanArray = pc.less(batch.column("offset").cast(pa.int64()), ends)
        return mask


def filter_of(
    seam: SwitchPoint | None, schema: pa.Schema, *, is_last: bool, part: str
) -> SwitchPointFilter | None:
    """Return the filter of a part's rows; None if all of them count.

    Args:
        seam: None: every row of every part counts.
        schema: of the rows.
        is_last: whether this is the last part of the chain.
        part: its name.

    Raises:
        OptionError: positions of several topics, and rows do not tell theirs.
    """
    if isinstance(seam, TimeSwitchPoint):
        return TimeFilter(seam, after=is_last, part=part)
    if (
        not isinstance(seam, PositionSwitchPoint)
        or seam.positions is None
        or is_last
        or not has_positions(schema)
    ):
        return None
    if len(seam.positions) > 1 and "topic" not in schema.names:
        raise OptionError(
            f"names several topics, and the rows of part {part!r} have no column 'topic'",
            option="seamOffsets",
        )
    return PositionFilter(seam.positions, part=part)


def has_positions(schema: pa.Schema) -> bool:
    """Whether rows say which record of a topic they were."""
    return {"partition", "offset"} <= set(schema.names)

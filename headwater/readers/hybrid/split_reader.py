"""The two halves of the reader of a chain: those of its parts, and the seam."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.planned_source import PlannedSource
from headwater.core.reader import LossReporter, RecordsWithSplitIds, SplitReader
from headwater.core.split import SplitPath, SplitRange
from headwater.enumerators.hybrid.split import HybridPosition, HybridSplit, inner_position, outer_path
from headwater.readers.hybrid.switch_point_filter import SwitchPointFilter
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
        """Return what the reader of the first part brings that is not read to its end."""
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

"""The rows that were there and the changes after them, through one reader and one emitter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.reader import LossReporter, RecordsWithSplitIds, SplitReader
from headwater.core.split import SplitPath, SplitRange
from headwater.enumerators.postgres.chunks import ChunkSplit
from headwater.enumerators.postgres.initial_state import TableSplits
from headwater.enumerators.postgres.split import WalSplit
from headwater.readers.postgres.change_rows import ChangeRows
from headwater.readers.postgres.chunk_reader import ChunkReader
from headwater.readers.postgres.copy_emitter import CopiedRows
from headwater.readers.postgres.json_rows import JsonRows
from headwater.readers.postgres.wal_chunk import WalChunk


class SnapshotAndLogReader(SplitReader[Any, TableSplits, int]):
    """Reads chunks, then ranges of the log.

    Args:
        chunks: reads the first.
        log: reads the others.
    """

    def __init__(self, chunks: ChunkReader, log: SplitReader[WalChunk, WalSplit, int]) -> None:
        self._chunks = chunks
        self._log = log
        self._unread: set[SplitPath] = set()

    def report_losses_to(self, report: LossReporter) -> None:
        self._log.report_losses_to(report)

    def handle_splits_changes(self, added: Sequence[SplitRange[TableSplits, int]]) -> None:
        for each in added:
            split = each.split
            if isinstance(split, ChunkSplit):
                self._unread.add(split.path)
                self._chunks.handle_splits_changes([SplitRange(split, each.start, each.stop)])
            else:
                self._log.handle_splits_changes([SplitRange(split, each.start, each.stop)])

    def fetch(self) -> RecordsWithSplitIds[Any]:
        if not self._unread:
            return self._log.fetch()
        fetched = self._chunks.fetch()
        self._unread -= fetched.finished
        return fetched

    def wake_up(self) -> None:
        self._log.wake_up()

    def close(self) -> None:
        self._chunks.close()
        self._log.close()


class SnapshotAndLogEmitter(RecordEmitter[Any, TableSplits, int]):
    """Makes rows of both.

    Args:
        rows: their form.
        log: makes those of changes.
    """

    def __init__(self, rows: ChangeRows | JsonRows, log: RecordEmitter[WalChunk, WalSplit, int]) -> None:
        self._rows = rows
        self._log = log

    def emit(self, record: CopiedRows | WalChunk, state: SplitState[Any, int]) -> Iterator[pa.RecordBatch]:
        if isinstance(record, CopiedRows):
            yield self._rows.read(record, state.split.table.start, state.split.table.sync)
        else:
            yield from self._log.emit(record, state)

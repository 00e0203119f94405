"""Kafka's record emitter: record sets to Arrow rows (FLIP-27 ``RecordEmitter``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.kafka.buffers import PROCESS_POOL, BufferPool, Scratch
from headwater.readers.kafka.checksum import verify
from headwater.readers.kafka.chunks import chunks
from headwater.readers.kafka.layout import BatchArray, ByteArray
from headwater.readers.kafka.legacy import legacy_rows
from headwater.readers.kafka.record_batch import as_bytes, before, scan, with_records_from
from headwater.readers.kafka.record_set import RecordSet
from headwater.readers.kafka.rows import RowBuilder
from headwater.readers.kafka.transactions import without_aborted

__all__ = ["KafkaRecordEmitter"]


class KafkaRecordEmitter(RecordEmitter[RecordSet, KafkaPartitionSplit, int]):
    """Decodes record sets with a compiled kernel into Arrow batches whose memory is used again and again.

    One per task, on its thread. The kernel is loaded with the first record set. A record set of usual size
    makes one batch; rows of smaller ones wait for more, of any partition, until they are worth a batch or
    `flush` is called. So a split's position may be ahead of what was handed over, which is fine in planned
    mode: there, what a batch reads is fixed before it is read, and nobody stores a task's positions.

    Gaps between offsets, as left by compaction, transactions and their markers, are nothing special. No
    threads are started: a task has one core.

    Args:
        columns: which columns, in which order; ``headers`` only if it is among them.
        check_crcs: whether checksums are checked (``kafka.check.crcs``).
        pool: lends the memory of the batches.
    """

    def __init__(
        self, columns: Sequence[str], *, check_crcs: bool = True, pool: BufferPool = PROCESS_POOL
    ) -> None:
        self._columns = tuple(columns)
        self._check_crcs = check_crcs
        self._rows = RowBuilder(columns, pool)
        self._scratch = Scratch(pool)

    def emit(
        self, record: RecordSet, state: SplitState[KafkaPartitionSplit, int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one record set that make large batches; keep the others for later.

        ``state.position`` advances to the offset after each decoded part, at last to the one after the set,
        also where that has no rows for us.

        Raises:
            CorruptRecordError: a checksum fails, or the bytes cannot be decoded. The error names topic,
                partition and offset.
            MissingDependencyError: numba is not installed in this process.
        """
        data, split_id = as_bytes(record.data), state.split.split_id
        batches = scan(data, split_id)
        if not len(batches):
            return
        following = int(batches[-1]["last_offset"]) + 1
        _advance(state, record.start)
        batches = before(batches, state.stop)
        if self._check_crcs:
            verify(data, batches, split_id)
        if record.read_committed:
            batches = without_aborted(data, batches, record.aborted)
        for run in _by_format(with_records_from(batches, state.position)):
            yield from (
                self._emit_legacy(data, run, state)
                if run[0]["magic"] < 2
                else self._emit_v2(data, run, state)
            )
        _advance(state, following)

    def flush(self) -> Iterator[pa.RecordBatch]:
        batch = self._rows.finish()
        if batch is not None:
            yield batch

    def _emit_v2(
        self, data: ByteArray, batches: BatchArray, state: SplitState[KafkaPartitionSplit, int]
    ) -> Iterator[pa.RecordBatch]:
        for chunk in chunks(data, batches, self._scratch, state.split.split_id):
            if not self._rows.fits(chunk):
                yield from self.flush()
            self._rows.append(chunk, state)
            _advance(state, chunk.last_offset + 1)
            if self._rows.is_enough:
                yield from self.flush()

    def _emit_legacy(
        self, data: ByteArray, batches: BatchArray, state: SplitState[KafkaPartitionSplit, int]
    ) -> Iterator[pa.RecordBatch]:
        yield from self.flush()
        rows = legacy_rows(data, batches, self._columns, state)
        _advance(state, int(batches[-1]["last_offset"]) + 1)
        if rows is not None:
            yield rows


def _advance(state: SplitState[KafkaPartitionSplit, int], following: int) -> None:
    state.position = max(state.position, min(following, state.stop))


def _by_format(batches: BatchArray) -> Iterator[BatchArray]:
    """Yield runs of batches that are all of the old formats, or all of the present one."""
    if not len(batches):
        return
    changes = np.flatnonzero(np.diff(batches["magic"] < 2)) + 1
    for first, last in pairwise([0, *changes.tolist(), len(batches)]):
        yield batches[first:last]

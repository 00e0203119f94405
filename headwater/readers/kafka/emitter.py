"""Kafka's record emitter: record sets to Arrow rows (FLIP-27 ``RecordEmitter``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

import numpy as np
import pyarrow as pa

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.formats.bad_records import BadRecordsLocation
from headwater.readers.formats.format import DecodedPart
from headwater.readers.kafka.bad_records import BadRecordFiles
from headwater.readers.kafka.chunks import Chunk, chunks, lone_chunk
from headwater.readers.kafka.columns import row_schema
from headwater.readers.kafka.decoded_columns import DecodedColumns
from headwater.readers.kafka.layout import BatchArray
from headwater.readers.kafka.legacy import legacy_rows
from headwater.readers.kafka.record_set import (
    RecordSet,
    as_bytes,
    before,
    verify,
    with_records_from,
    without_aborted,
)
from headwater.readers.kafka.rows import RowBuilder
from headwater.readers.kafka.settings import KafkaReadSettings
from headwater.readers.kernels.arenas import PROCESS_POOL, ArenaPool, Scratch
from headwater.readers.kernels.arrays import ByteArray

_DEFAULTS: Final = KafkaReadSettings()
NO_PARTS: Final[Mapping[str, DecodedPart]] = MappingProxyType({})


class KafkaRecordEmitter(RecordEmitter[RecordSet, KafkaPartitionSplit, int]):
    """Decodes record sets with a compiled kernel into Arrow batches, whose memory is used again.

    One per task, on its thread; it starts no threads, because a task has one core. The kernel is loaded with
    the first record set.

    A record set of usual size makes one batch. Rows of smaller ones wait for more, of any partition, until
    there are enough for a batch or `flush` is called. So the position of a split may be ahead of the rows
    that were handed out. That does no harm in planned mode: the range of a batch is fixed before it is read,
    and a task's positions are not stored.

    Gaps between offsets, which compaction, transactions and their markers leave, need no treatment.

    Args:
        columns: which columns, in which order; ``headers`` only if it is among them. See `row_schema`.
        parts: ``key``, ``value`` or both, if a format decodes them.
        bad_records: where to put records that cannot be decoded; None if they are rows as others, or as
            `DecodedPart.on_bad` says.
        check_crcs: whether checksums are checked (``kafka.check.crcs``).
        settings: how tasks read.
        counts_bad: whether records that cannot be decoded are counted.
        pool: lends the memory for the batches.
    """

    def __init__(
        self,
        columns: Sequence[str],
        *,
        parts: Mapping[str, DecodedPart] = NO_PARTS,
        bad_records: BadRecordsLocation | None = None,
        check_crcs: bool = True,
        settings: KafkaReadSettings = _DEFAULTS,
        counts_bad: bool = True,
        pool: ArenaPool = PROCESS_POOL,
    ) -> None:
        self._columns = tuple(columns)
        self._schema = row_schema(columns, parts)
        self._bad_records = BadRecordFiles(bad_records) if bad_records is not None else None
        self._decoded = DecodedColumns(parts, columns, self._bad_records, counts_bad=counts_bad)
        self._check_crcs = check_crcs
        self._settings = settings
        self._rows = RowBuilder(columns, self._schema, self._decoded, pool)
        self._scratch = Scratch(pool)

    def emit(
        self, record: RecordSet, state: SplitState[KafkaPartitionSplit, int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches that have enough rows; keep the other rows of the record set for later.

        ``state.position`` advances to the offset after each decoded part, and in the end to the one after the
        set, also if the set has no rows for us.

        Raises:
            CorruptRecordError: a checksum fails, or the bytes cannot be decoded. The error names topic,
                partition and offset.
            SourceError: a timestamp is asked for that Spark cannot hold, or a compressed batch becomes larger
                than it may, or a key or value cannot be decoded now. The error names topic, partition and
                offset.
            MissingDependencyError: numba is not installed in this process.
        """
        data = as_bytes(record.data)
        split_id = state.split.split_id
        batches = record.batches(split_id)
        if not len(batches):
            return
        if self._bad_records is not None:
            self._bad_records.begin(state.split, state.position)
        following = int(batches[-1]["last_offset"]) + 1
        # The order matters: aborted transactions are left out before other batches are skipped, because an
        # abort marker may stand before the first batch with records for us.
        _advance(state, record.start)
        lone = (
            None
            if record.aborted
            else lone_chunk(data, batches, state.position, state.stop, check_crc=self._check_crcs)
        )
        if lone is not None:
            yield from self._emit_chunk(lone, state)
            return
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
        yield from self._waiting()
        if self._bad_records is not None:
            self._bad_records.finish()

    def _waiting(self) -> Iterator[pa.RecordBatch]:
        batch = self._rows.finish()
        if batch is not None:
            yield batch

    def _emit_v2(
        self, data: ByteArray, batches: BatchArray, state: SplitState[KafkaPartitionSplit, int]
    ) -> Iterator[pa.RecordBatch]:
        for chunk in chunks(
            data, batches, self._scratch, state.split.split_id, self._settings.most_inflated_bytes
        ):
            yield from self._emit_chunk(chunk, state)

    def _emit_chunk(
        self, chunk: Chunk, state: SplitState[KafkaPartitionSplit, int]
    ) -> Iterator[pa.RecordBatch]:
        if not self._rows.fits(chunk):
            yield from self._waiting()
        self._rows.append(chunk, state)
        _advance(state, chunk.last_offset + 1)
        if self._rows.is_enough:
            yield from self._waiting()

    def _emit_legacy(
        self, data: ByteArray, batches: BatchArray, state: SplitState[KafkaPartitionSplit, int]
    ) -> Iterator[pa.RecordBatch]:
        yield from self._waiting()  # rows must not overtake those that wait
        rows = legacy_rows(
            data,
            batches,
            self._columns,
            self._schema,
            self._decoded,
            state,
            self._settings.most_inflated_bytes,
        )
        _advance(state, int(batches[-1]["last_offset"]) + 1)
        if rows is not None:
            yield rows


def _advance(state: SplitState[KafkaPartitionSplit, int], following: int) -> None:
    state.position = max(state.position, min(following, state.stop))


def _by_format(batches: BatchArray) -> Iterator[BatchArray]:
    """Yield consecutive batches that are all of the old formats (v0 and v1), or all of format v2."""
    if not len(batches):
        return
    legacy = batches["magic"] < 2
    if not legacy.any():
        yield batches
        return
    changes = np.flatnonzero(np.diff(legacy)) + 1
    for first, last in pairwise([0, *changes.tolist(), len(batches)]):
        yield batches[first:last]

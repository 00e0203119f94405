"""Makes Arrow batches of chunks: the kernel fills leased memory, with several chunks if they are small."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.emitter import SplitState
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.formats.format import Spans
from headwater.readers.kafka import layout
from headwater.readers.kafka.chunks import Chunk
from headwater.readers.kafka.columns import TopicColumn, binary, fixed, headers
from headwater.readers.kafka.decoded_columns import DecodedColumns, RecordRun
from headwater.readers.kafka.faults import beyond_spark, fault
from headwater.readers.kafka.layout import BinaryBuffers, HeadersBuffers, RowBuffers, SpanBuffers
from headwater.readers.kafka.record_set import decode_records
from headwater.readers.kernels.arenas import ArenaPool
from headwater.readers.kernels.arrays import ByteArray, Int64Array

_ENOUGH_ROWS = 4096
_ENOUGH_BYTES = 512 << 10
_USUAL_ROWS = 2 * _ENOUGH_ROWS
_USUAL_BYTES = 2 * _ENOUGH_BYTES
_ROWS_STEP = 1 << 10
_BYTES_STEP = 1 << 18
"""Room is asked for in such steps, so that one batch needs as much as the one before: see `_needed`."""
_NO_BYTES: ByteArray = np.empty(0, np.uint8)
_NOTHING: Mapping[type[np.generic], npt.NDArray[Any]] = {
    kind: np.empty(0, kind) for kind in (np.uint8, np.int32, np.int64)
}
"""For columns that are not asked for."""


class _PartitionRows(NamedTuple):
    """How many consecutive rows are of one partition."""

    topic: str
    partition: int
    rows: int


class RowBuilder:
    """Gathers rows until there are enough for an Arrow batch. One owner, one thread.

    A large record set makes a batch of its own; small ones share a batch. To hand over a batch costs as much
    as some hundred rows, so that a trickle over many partitions is cheaper in shared batches.

    Args:
        columns: which columns, in which order. Others are neither decoded nor copied.
        schema: the result of `row_schema` for them.
        decoded: decodes keys and values that have a format.
        pool: lends the memory for the batches.
    """

    def __init__(
        self, columns: Sequence[str], schema: pa.Schema, decoded: DecodedColumns, pool: ArenaPool
    ) -> None:
        self._columns = tuple(columns)
        self._schema = schema
        self._decoded = decoded
        self._filled = frozenset(columns) - decoded.names | decoded.needs
        self._pool = pool
        self._topics = TopicColumn()
        self._reset()

    def _reset(self) -> None:
        self._buffers: RowBuffers | None = None
        self._addresses: Int64Array = np.empty(0, np.int64)
        self._tally: Int64Array = np.zeros(layout.TALLY_FIELDS, np.int64)
        self._runs: list[_PartitionRows] = []
        self._rows = 0
        self._bytes = 0
        self._room_rows = 0
        self._room_bytes = 0

    @property
    def is_enough(self) -> bool:
        """Whether the rows that are waiting are enough for a batch."""
        return self._rows >= _ENOUGH_ROWS or self._bytes >= _ENOUGH_BYTES

    def fits(self, chunk: Chunk) -> bool:
        """Return whether the chunk has room beside the rows that are waiting; True if there are none."""
        return self._rows == 0 or self._has_room(chunk)

    def _has_room(self, chunk: Chunk) -> bool:
        return (
            self._rows + chunk.most_rows <= self._room_rows
            and self._bytes + chunk.most_bytes <= self._room_bytes
        )

    def append(self, chunk: Chunk, state: SplitState[KafkaPartitionSplit, int]) -> None:
        """Decode the records of a chunk that fits, from the state's position up to its stop.

        The state is not changed.

        Raises:
            CorruptRecordError: the records cannot be decoded. The rows that are waiting are dropped, because
                the task fails.
            SourceError: a record has a timestamp that Spark cannot hold, or a key or value cannot be decoded
                now; the same.
        """
        buffers = self._buffers
        if buffers is None or not self._has_room(chunk):
            buffers = self._open(chunk.most_rows, chunk.most_bytes)
        self._tally[layout.TALLY_CHECKS] = chunk.check_crc
        rows = decode_records(
            chunk.data, chunk.batches, state.position, state.stop, self._rows, self._addresses, self._tally
        )
        if rows < 0:
            tally = self._tally.tolist()
            self._reset()
            if rows == layout.FAULT_TIMESTAMP:
                raise beyond_spark(
                    state.split, tally[layout.TALLY_FAULTY_OFFSET], tally[layout.TALLY_FAULTY_TIMESTAMP]
                )
            base_offset = int(chunk.batches[tally[layout.TALLY_FAULTY_BATCH]]["base_offset"])
            raise fault(rows, state.split.split_id, base_offset)
        if rows > self._rows:
            if self._decoded.names:
                self._decoded.append(self._run(chunk, state.split, buffers, rows))
            self._runs.append(_PartitionRows(state.split.topic, state.split.partition, rows - self._rows))
            self._rows = rows
            self._bytes += chunk.most_bytes

    def finish(self) -> pa.RecordBatch | None:
        """Return the rows that are waiting as a batch, None if there are none, and start anew.

        The batch keeps its memory alive. The memory is used again when the batch and everything that was made
        from it are gone.
        """
        if self._buffers is None or not self._rows:
            return None
        decoded = self._decoded.finish() if self._decoded.names else {}
        columns: list[pa.Array[Any]] = []
        for name in self._columns:
            columns += decoded.get(name) or [self._column(name, self._buffers)]
        self._reset()
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return self._decoded.without_dropped(batch)

    def _run(self, chunk: Chunk, split: KafkaPartitionSplit, buffers: RowBuffers, rows: int) -> RecordRun:
        new = slice(self._rows, rows)
        places = {"key": buffers.key_spans, "value": buffers.value_spans}
        spans = {
            part: Spans(chunk.data, places[part].starts[new], places[part].sizes[new])
            for part in self._decoded.names
        }
        return RecordRun(
            split,
            rows - self._rows,
            spans,
            buffers.offset[new],
            buffers.timestamp[new],
            has_headers=True,
        )

    def _column(self, name: str, buffers: RowBuffers) -> pa.Array[Any]:  # noqa: PLR0911 - one for each column
        rows = self._rows
        tally = self._tally.tolist()
        match name:
            case "key":
                return binary(pa.binary(), rows, buffers.key, tally[layout.TALLY_NULL_KEYS])
            case "value":
                return binary(pa.binary(), rows, buffers.value, tally[layout.TALLY_NULL_VALUES])
            case "topic":
                return self._topics.column(
                    [run.topic for run in self._runs], [run.rows for run in self._runs]
                )
            case "partition":
                partitions = np.array([run.partition for run in self._runs], np.int32)
                return fixed(pa.int32(), np.repeat(partitions, [run.rows for run in self._runs]))
            case "offset":
                return fixed(pa.int64(), buffers.offset[:rows])
            case "timestamp":
                return fixed(pa.timestamp("us", tz="UTC"), buffers.timestamp[:rows])
            case "timestampType":
                return fixed(pa.int32(), buffers.timestamp_type[:rows])
            case _:
                return headers(
                    rows,
                    buffers.headers,
                    tally[layout.TALLY_HEADERLESS],
                    tally[layout.TALLY_NULL_HEADER_VALUES],
                )

    def _open(self, rows: int, size: int) -> RowBuffers:
        """Lease buffers for at least this many rows and bytes, with room for some more small record sets."""
        self._room_rows = _rounded(max(rows, _USUAL_ROWS), _ROWS_STEP)
        self._room_bytes = _rounded(max(size, _USUAL_BYTES), _BYTES_STEP)
        sizes = (self._filled, self._decoded.names, self._room_rows, self._room_bytes)
        buffers = _carve(_Region(self._pool.lease(_needed(*sizes))), *sizes)
        for column in (
            buffers.key,
            buffers.value,
            buffers.headers,
            buffers.headers.key,
            buffers.headers.value,
        ):
            # As the kernel wants it: it writes the end of each value, and clears the bit of each null.
            if column.offsets.size:
                column.offsets[0] = 0
                column.validity[:] = 0xFF
        self._buffers = buffers
        self._addresses = buffers.addresses()
        return buffers


class _Region:
    """Cuts an arena into arrays, one after the other. With empty memory it only adds up the sizes."""

    def __init__(self, memory: ByteArray) -> None:
        self._memory = memory
        self.used = 0

    def take(self, count: int, kind: type[np.generic]) -> npt.NDArray[Any]:
        if not count:
            return _NOTHING[kind]
        size = count * np.dtype(kind).itemsize
        array = self._memory[self.used : self.used + size].view(kind)
        self.used += (size + 63) & ~63  # Arrow wants its buffers aligned to 64 bytes
        return array


@functools.lru_cache(maxsize=16)
def _needed(columns: frozenset[str], decoded: frozenset[str], rows: int, size: int) -> int:
    """Return how much memory `_carve` divides."""
    measured = _Region(_NO_BYTES)
    _carve(measured, columns, decoded, rows, size)
    return measured.used


def _rounded(number: int, step: int) -> int:
    return -(-number // step) * step


def _carve(
    region: _Region, columns: frozenset[str], decoded: frozenset[str], rows: int, size: int
) -> RowBuffers:
    """Divide memory into buffers for the wanted columns, and for the places of values that a format decodes.

    Keys, values and headers get room for all bytes each, because each of them could be nearly all of the
    records. Pages that are not written to cost nothing.
    """

    def binary_buffers(name: str, most: int) -> BinaryBuffers:
        if name not in columns:
            return BinaryBuffers(region.take(0, np.int32), region.take(0, np.uint8), region.take(0, np.uint8))
        return BinaryBuffers(
            region.take(most + 1, np.int32),
            region.take((most + 7) // 8, np.uint8),
            region.take(size, np.uint8),
        )

    def numbers(name: str, kind: type[np.generic]) -> npt.NDArray[Any]:
        return region.take(rows if name in columns else 0, kind)

    def spans(name: str) -> SpanBuffers:
        most = rows if name in decoded else 0
        return SpanBuffers(region.take(most, np.int64), region.take(most, np.int64))

    has_headers = "headers" in columns
    return RowBuffers(
        key=binary_buffers("key", rows),
        value=binary_buffers("value", rows),
        key_spans=spans("key"),
        value_spans=spans("value"),
        offset=numbers("offset", np.int64),
        timestamp=numbers("timestamp", np.int64),
        timestamp_type=numbers("timestampType", np.int32),
        headers=HeadersBuffers(
            region.take(rows + 1 if has_headers else 0, np.int32),
            region.take((rows + 7) // 8 if has_headers else 0, np.uint8),
            key=binary_buffers("headers", size // 2),  # a header has two bytes at least
            value=binary_buffers("headers", size // 2),
        ),
    )

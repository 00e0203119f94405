"""Segments of a durable log: messages as they came, with all that a task needs that begins to read there."""

from __future__ import annotations

import json
import struct
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.jsons import dumps
from headwater.core.state_store import StateStore
from headwater.enumerators.postgres.replication import EPOCH_MICROS
from headwater.enumerators.postgres.slot import lost
from headwater.enumerators.postgres.split import Commit, WalSplit, lsn_text
from headwater.readers.kernels.arrays import ByteArray, Int64Array
from headwater.readers.postgres import wal_layout as L
from headwater.readers.postgres.wal_chunk import WalChunk
from headwater.readers.runtime.batches import read_batches
from headwater.readers.runtime.partitions.segment_view import (
    ROWS,
    SegmentRecord,
    listed_numbers,
    record_name,
)

_HEAD: Final = b"headwater"
_BEGIN: Final = ord("B")
_RELATION: Final = ord("R")


@dataclass(frozen=True, slots=True)
class SegmentHead:
    """The place of a segment in the log. In the metadata of its Arrow schema.

    Attributes:
        start: the transactions before it are in earlier segments.
        is_inside: whether it begins inside of the transaction at ``start``.
        until: the transactions before it are in this segment and earlier ones, whole.
        last: the last of these; -1 if there was none yet.
        is_open: whether it ends inside of the transaction at ``until``.
        changes: the number of changes of that one up to its end.
        newest_xid: see `WalChunk`.
        timeline: of the server.
    """

    start: int
    is_inside: bool
    until: int
    last: int
    is_open: bool
    changes: int
    newest_xid: int
    timeline: int

    def is_before(self, position: int) -> bool:
        """Return whether all at or behind a position is in this segment and later ones."""
        return position > self.start if self.is_inside else position >= self.start


@dataclass(frozen=True, slots=True)
class WalSegment:
    """One segment.

    Attributes:
        head: its place in the log.
        forms: the Relation messages that hold where it begins: the server sends each once a connection.
        chunk: the messages.
    """

    head: SegmentHead
    forms: Sequence[bytes]
    chunk: WalChunk

    def encode(self) -> list[pa.RecordBatch]:
        """Return the segment as a segment log takes it."""
        schema = pa.schema([("message", pa.binary())], {_HEAD: dumps(asdict(self.head)).encode()})
        ends = self.chunk.ends
        offsets = np.zeros(len(ends) + 1, np.int32)
        offsets[1:] = ends
        data = self.chunk.data[: int(ends[-1])] if len(ends) else self.chunk.data[:0]
        buffers = [None, pa.py_buffer(offsets.data), pa.py_buffer(data.data)]
        messages: Any = pa.Array.from_buffers(pa.binary(), len(ends), buffers)
        forms: Any = pa.array(self.forms, pa.binary())
        return [pa.RecordBatch.from_arrays([each], schema=schema) for each in (forms, messages)]

    @staticmethod
    def decode(batches: Sequence[pa.RecordBatch]) -> WalSegment:
        """Return the inverse of `encode`. The messages share the memory of the batches."""
        forms, messages = batches
        metadata: Mapping[bytes, bytes] = messages.schema.metadata or {}
        head = SegmentHead(**json.loads(metadata[_HEAD]))
        _, offsets, data = messages.column(0).buffers()
        count = messages.num_rows
        ends: Int64Array = np.zeros(0, np.int64)
        if count and offsets is not None:
            ends = np.frombuffer(memoryview(offsets), np.int32, count + 1)[1:].astype(np.int64)
        content: ByteArray = np.zeros(0, np.uint8)
        if count and data is not None:
            content = np.frombuffer(memoryview(data), np.uint8)
        relations: list[Any] = forms.column(0).to_pylist()
        return WalSegment(head, relations, WalChunk(content, ends, head.newest_xid))


@dataclass(frozen=True, slots=True)
class Begins:
    """The transactions that begin in a chunk.

    Attributes:
        lsns: where the commit record of each begins.
        times_ms: when each was committed, in ms since 1970.
        xid: the 32-bit id of the first; None for no transaction.
    """

    lsns: Int64Array
    times_ms: Int64Array
    xid: int | None

    def commit(self, at: int) -> Commit:
        """Return one of the commits."""
        return Commit(int(self.lsns[at]), int(self.times_ms[at]))


def begins(chunk: WalChunk) -> Begins:
    """Return the transactions that begin in a chunk."""
    at = _indices(chunk, _BEGIN)
    if not len(at):
        return Begins(np.zeros(0, np.int64), np.zeros(0, np.int64), None)
    places = _starts(chunk)[at][:, None] + L.HEADER_BYTES + 1 + np.arange(16)
    fields = np.ascontiguousarray(chunk.data[places]).view(">u8").astype(np.int64)
    (xid,) = struct.unpack_from(">I", chunk.message(int(at[0])), 17)
    return Begins(fields[:, 0], (fields[:, 1] + EPOCH_MICROS) // 1_000, xid)


def forms_in(chunk: WalChunk) -> dict[int, bytes]:
    """Return the last Relation message of each table in a chunk, with its header, by the table's oid."""
    starts = _starts(chunk)
    forms = {}
    for at in _indices(chunk, _RELATION):
        message = chunk.data[starts[at] : chunk.ends[at]].tobytes()
        (oid,) = struct.unpack_from(">I", message, L.HEADER_BYTES + 1)
        forms[oid] = message
    return forms


def _starts(chunk: WalChunk) -> Int64Array:
    return np.concatenate([np.zeros(1, np.int64), chunk.ends[:-1]])[: len(chunk.ends)]


def _indices(chunk: WalChunk, kind: int) -> npt.NDArray[np.intp]:
    kinds = chunk.data[_starts(chunk) + L.HEADER_BYTES]
    return np.flatnonzero(kinds == kind)


class WalSegments:
    """Finds segments of a log by positions. Reads a few of them: their numbers say nothing about LSNs.

    One thread.

    Args:
        store: the state location.
        split: whose log it is.
    """

    def __init__(self, store: StateStore, split: WalSplit) -> None:
        self._store = store
        self._split = split
        self._heads: dict[int, SegmentHead | None] = {}

    def numbers(self) -> list[int]:
        """Return the numbers of all records, in order."""
        return listed_numbers(self._store, self._split.log)

    def get(self, number: int) -> WalSegment | None:
        """Return a segment; None for a record of another kind, or for none.

        Raises:
            StateLocationError: it is damaged.
        """
        name = record_name(self._split.log, number)
        data = self._store.get(name)
        if data is None:
            return None
        record = SegmentRecord.decode(data, name)
        return WalSegment.decode(read_batches(record.body)) if record.kind == ROWS else None

    def last_before(self, number: int) -> WalSegment | None:
        """Return the last segment before a number; None for none."""
        for each in reversed(self.numbers()):
            if each < number:
                segment = self.get(each)
                if segment is not None:
                    return segment
        return None

    def number_at(self, position: int) -> int | None:
        """Return the last segment that has, with later ones, all from a position on; None without segments.

        Raises:
            LostSlotError: the log behind the position is deleted.
        """
        numbers = self.numbers()
        at = bisect_left(range(len(numbers)), True, key=lambda i: self._is_behind(numbers[i:], position))
        for number in reversed(numbers[:at]):
            if self._head(number) is not None:
                return number
        for head in filter(None, map(self._head, numbers)):
            raise lost(
                f"the log in {self._split.log} of the stateLocation begins at {lsn_text(head.start)}: "
                "segments from before were deleted",
                self._split,
                position,
            )
        return None

    def _is_behind(self, numbers: Sequence[int], position: int) -> bool:
        """Return whether the first segment of those numbers begins behind a position."""
        head = next(filter(None, map(self._head, numbers)), None)
        return head is None or not head.is_before(position)

    def _head(self, number: int) -> SegmentHead | None:
        if number not in self._heads:
            segment = self.get(number)
            self._heads[number] = None if segment is None else segment.head
        return self._heads[number]

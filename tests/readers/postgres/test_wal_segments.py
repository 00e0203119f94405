"""The durable log of a slot: however it was written, each range of it gives the same changes."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from headwater.core.errors import LostSlotError, OffsetError
from headwater.core.split import SplitRange
from headwater.core.state_store import MemoryStateStore
from headwater.enumerators.postgres.split import WAL_PATH, LogTable, WalSplit
from headwater.readers.postgres.staged_wal_reader import StagedWalReader
from headwater.readers.postgres.wal_changes import ChangeFramer
from headwater.readers.postgres.wal_chunk import WalChunk
from headwater.readers.postgres.wal_receiver import WalLogWriter
from headwater.readers.postgres.wal_segments import WalSegments, begins, forms_in
from headwater.readers.runtime.partitions.segment_log import SegmentLog

TABLE = 16_384
OTHER = 7
SPLIT = WalSplit("s", "1", 1, (LogTable(TABLE),), log="log")
FIRST_XID = (1 << 32) - 12
"""Ids of 32 bits begin anew among those of the tests."""
Transaction = tuple[int, int, list[tuple[int, str]]]
Row = tuple[int, int, int, str]


def _sent(payload: bytes) -> bytes:
    return b"w" + bytes(24) + payload


def _form(table: int) -> bytes:
    column = b"\1id\0" + struct.pack(">Ii", 25, -1)
    return _sent(b"R" + struct.pack(">I", table) + b"public\0t\0d" + struct.pack(">H", 1) + column)


def _inserted(table: int, value: str) -> bytes:
    row = struct.pack(">H", 1) + b"t" + struct.pack(">I", len(value)) + value.encode()
    return _sent(b"I" + struct.pack(">I", table) + b"N" + row)


def _connection(log: list[Transaction], start: int) -> list[bytes]:
    """Return what a server sends from an LSN on: the form of a table before its first row."""
    messages: list[bytes] = []
    known: set[int] = set()
    for lsn, xid, rows in log:
        if lsn < start:
            continue
        messages.append(_sent(b"B" + struct.pack(">QqI", lsn, 0, xid & 0xFFFFFFFF)))
        for table, value in rows:
            if table not in known:
                known.add(table)
                messages.append(_form(table))
            messages.append(_inserted(table, value))
        messages.append(_sent(b"C" + bytes(25)))
    return messages


def _drawn(rng: random.Random) -> list[Transaction]:
    lsn = 100
    log: list[Transaction] = []
    for number in range(rng.randrange(5, 40)):
        lsn += rng.randrange(1, 50)
        rows = [(rng.choice([TABLE, TABLE, OTHER]), f"{lsn}/{n}") for n in range(rng.choice([1, 2, 60]))]
        log.append((lsn, FIRST_XID + number, rows))
    return log


def _expected(log: list[Transaction]) -> list[Row]:
    rows = []
    for lsn, xid, changes in log:
        own = [value for table, value in changes if table == TABLE]
        rows += [(lsn, seq, xid, value) for seq, value in enumerate(own)]
    return rows


def _read(store: MemoryStateStore, start: int, stop: int) -> list[Row]:
    reader = StagedWalReader(store)
    reader.handle_splits_changes([SplitRange(SPLIT, start, stop)])
    framer = ChangeFramer(start, stop, [LogTable(TABLE, ("id",))], columns=["id"], check=lambda _: None)
    rows: list[Row] = []
    while True:
        fetched = reader.fetch()
        for chunk in fetched.records.get(WAL_PATH, ()):
            for changes in framer.changes(chunk):
                for at in range(len(changes)):
                    begin, length = int(changes.rows.starts[0, at]), int(changes.rows.lengths[0, at])
                    value = changes.rows.data[begin : begin + length].tobytes().decode()
                    lsn, seq = int(changes.lsns[at]), int(changes.sequences[at])
                    rows.append((lsn, seq, int(changes.xids[at]), value))
        if fetched.finished:
            return rows


def _write(store: MemoryStateStore, log: list[Transaction], rng: random.Random) -> WalLogWriter:
    """Write all of a log in segments of any size; connections and writers come to an end anywhere."""
    writer: WalLogWriter | None = None
    for _ in range(200):
        if writer is None or rng.random() < 0.4:
            segments = SegmentLog(store, SPLIT.log, rng.randbytes(8).hex())
            first = segments.take_over()
            writer = WalLogWriter(segments, SPLIT, 100, WalSegments(store, SPLIT).last_before(first))
        writer.connected(1, FIRST_XID + 50)
        messages = _connection(log, writer.progress.lsn)
        while messages:
            count = rng.randrange(1, 50)
            writer.append(WalChunk.of(messages[:count], 0))
            messages = messages[count:]
            if rng.random() < 0.3:
                break
        else:
            return writer
    raise AssertionError("it never came to the end")


def test_each_range_has_its_changes_once_wherever_segments_connections_and_writers_end(
    rng: random.Random,
) -> None:
    for _ in range(15):
        log = _drawn(rng)
        store = MemoryStateStore()
        writer = _write(store, log, rng)
        end = writer.end.until
        expected = _expected(log)
        assert writer.end.last == log[-1][0] == end - 1
        assert _read(store, 100, end) == expected
        for _ in range(5):
            start, stop = sorted(rng.randrange(100, end + 1) for _ in range(2))
            assert _read(store, start, stop) == [row for row in expected if start <= row[0] < stop]


def test_what_is_released_is_before_the_position_and_what_follows_stays(rng: random.Random) -> None:
    for _ in range(8):
        log = _drawn(rng)
        store = MemoryStateStore()
        writer = _write(store, log, rng)
        end = writer.end.until
        position = rng.randrange(100, end + 1)
        found = WalSegments(store, SPLIT).number_at(position)
        assert found is not None
        writer.segments.release_before(found)
        assert _read(store, position, end) == [row for row in _expected(log) if row[0] >= position]
        kept = WalSegments(store, SPLIT).get(found)
        assert kept is not None
        if kept.head.start > 100:
            with pytest.raises(LostSlotError, match="segments from before were deleted"):
                _read(store, kept.head.start - 1, end)


def test_a_range_beyond_the_end_of_the_log_is_an_error_and_no_shorter_range(rng: random.Random) -> None:
    store = MemoryStateStore()
    writer = _write(store, _drawn(rng), rng)
    with pytest.raises(OffsetError, match="Restore it"):
        _read(store, 100, writer.end.until + 1)
    with pytest.raises(OffsetError, match="Restore it"):
        _read(MemoryStateStore(), 100, 101)


def test_wal_without_changes_is_noted_and_read_as_nothing(rng: random.Random) -> None:
    store = MemoryStateStore()
    log = _drawn(rng)
    writer = _write(store, log, rng)
    log.append((log[-1][0] + 1, FIRST_XID + 50, [(TABLE, "y")]))
    writer.connected(1, FIRST_XID + 50)
    writer.append(WalChunk.of(_connection(log[-1:], 0), 0))
    writer.mark(1 << 20)
    # This connection has sent the table's form: a server does not send it again.
    later = [((1 << 20) + 5, FIRST_XID + 60, [(TABLE, "z")])]
    writer.append(WalChunk.of(_connection(later, 0)[:1] + _connection(later, 0)[2:], 0))
    assert writer.end.until == (1 << 20) + 6
    assert _read(store, 100, writer.end.until) == _expected(log + later)
    assert _read(store, 1 << 20, writer.end.until) == _expected(later)


def test_begins_and_forms_of_a_chunk_are_found_in_its_bytes() -> None:
    chunk = WalChunk.of(_connection([(5, 9, [(TABLE, "a")]), (8, 10, [(OTHER, "B")])], 0), 0)
    found = begins(chunk)
    lsns: Any = found.lsns.tolist()
    assert (lsns, found.xid) == ([5, 8], 9)
    assert forms_in(chunk) == {TABLE: _form(TABLE), OTHER: _form(OTHER)}
    assert begins(WalChunk.of([], 0)).xid is None


def test_ids_of_a_connection_that_lasts_for_billions_of_transactions_keep_their_64_bits() -> None:
    store = MemoryStateStore()
    segments = SegmentLog(store, SPLIT.log, "a")
    segments.take_over()
    writer = WalLogWriter(segments, SPLIT, 100, None)
    writer.connected(1, FIRST_XID)
    log = [(100 + number, FIRST_XID + number * (1 << 30), [(TABLE, "x")]) for number in range(9)]
    for message in _connection(log, 0):
        writer.append(WalChunk.of([message], 0))
    assert _read(store, 100, 109) == _expected(log)

"""Messages of pgoutput as changes: what the compiled code makes of bytes, whole ones and broken ones."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.postgres.split import LogTable
from headwater.readers.postgres import wal_changes
from headwater.readers.postgres.relation import MOST_COLUMNS, parse_relation
from headwater.readers.postgres.wal_changes import ChangeFramer, Tuples, widened
from headwater.readers.postgres.wal_chunk import WalChunk, WalProgress
from tests.readers.postgres.wal_messages import COMMIT, TABLE, begin, change, relation, row_of, sent


def _framer(*, start: int = 0, stop: int = 1_000, **options: Any) -> ChangeFramer:
    chosen: dict[str, Any] = {"columns": ["id", "s"], "check": lambda _: None, **options}
    tables = chosen.pop("tables", [LogTable(TABLE, ("id",))])
    return ChangeFramer(start, stop, tables, **chosen)


def _rows(framer: ChangeFramer, *messages: bytes) -> list[tuple[Any, ...]]:
    """Return kind, LSN, number and values of the changes; Ellipsis for a value that was not sent."""
    rows = []
    for changes in framer.changes(WalChunk.of(messages, 1 << 33)):
        for at in range(len(changes)):
            values = [_text(changes.rows, column, at) for column in range(changes.rows.starts.shape[0])]
            rows.append(
                ("cudtb"[changes.kinds[at]], int(changes.lsns[at]), int(changes.sequences[at]), *values)
            )
    return rows


def _text(rows: Tuples, column: int, row: int) -> Any:
    begin, length = int(rows.starts[column, row]), int(rows.lengths[column, row])
    text = rows.data[begin : begin + max(length, 0)].tobytes().decode()
    return {-1: None, -2: ...}.get(length, text)


STREAM = (
    begin(10),
    relation("id", "s"),
    change(b"I", (b"N", row_of("1", "a"))),
    change(b"U", (b"N", row_of("1", ...))),
    COMMIT,
    begin(20),
    sent(b"M" + bytes(20)),
    sent(b"O" + bytes(9)),
    sent(b"Y" + bytes(9)),
    change(b"I", (b"N", row_of("5", "x")), table=7),
    change(b"U", (b"K", row_of("1", None)), (b"N", row_of("2", ...))),
    change(b"D", (b"K", row_of("2", None))),
    sent(b"T" + struct.pack(">IBII", 2, 0, 7, TABLE)),
    COMMIT,
)
EXPECTED = [
    ("c", 10, 0, "1", "a"),
    ("u", 10, 1, "1", ...),
    ("d", 20, 0, "1", None),
    ("c", 20, 1, "2", ...),
    ("d", 20, 2, "2", None),
    ("t", 20, 3, None, None),
]


def test_all_messages_become_changes_or_are_passed_over() -> None:
    assert _rows(_framer(), *STREAM) == EXPECTED


def test_however_messages_are_cut_into_chunks_the_changes_are_the_same() -> None:
    for at in range(len(STREAM) + 1):
        framer = _framer()
        assert _rows(framer, *STREAM[:at]) + _rows(framer, *STREAM[at:]) == EXPECTED


def test_only_transactions_of_the_range_are_read() -> None:
    assert _rows(_framer(start=11), *STREAM) == EXPECTED[2:]
    assert _rows(_framer(stop=20), *STREAM) == EXPECTED[:2]


def test_an_old_row_that_is_sent_without_a_move_is_an_update() -> None:
    full = (begin(1), relation("id", "s", identity="f"))
    same = change(b"U", (b"O", row_of("1", "large")), (b"N", row_of("1", ...)))
    assert _rows(_framer(), *full, same) == [("u", 1, 0, "1", "large")]
    moved = change(b"U", (b"O", row_of("1", "large")), (b"N", row_of("2", ...)))
    assert _rows(_framer(), *full, moved) == [("d", 1, 0, "1", "large"), ("c", 1, 1, "2", "large")]
    assert _rows(_framer(tables=[LogTable(TABLE)]), *full, moved) == [("u", 1, 0, "2", "large")]
    images = _rows(_framer(preimages=True), *full, same)
    assert images == [("b", 1, 0, "1", "large"), ("u", 1, 1, "1", "large")]
    external = change(b"U", (b"K", row_of("1", None)), (b"N", row_of(..., "b")))
    assert _rows(_framer(), begin(1), relation("id", "s"), external) == [("u", 1, 0, "1", "b")]


def test_a_form_counts_from_its_message_on_and_columns_go_by_their_names() -> None:
    changes = _rows(
        _framer(),
        begin(1),
        relation("id"),
        change(b"I", (b"N", row_of("1"))),
        relation("n", "s", "id"),
        change(b"I", (b"N", row_of("9", "a", "2"))),
    )
    assert changes == [("c", 1, 0, "1", None), ("c", 1, 1, "2", "a")]


@pytest.mark.parametrize("most", [1_664, 3])
def test_columns_that_nobody_asked_for_have_places_behind_the_others_as_long_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """However many names come and go: no row has more columns than the server allows."""
    monkeypatch.setattr(wal_changes, "MOST_COLUMNS", most)
    framer = _framer(keeps_others=True)
    forms = [("id", "s"), ("a", "id", "s"), ("id", "b", "s"), ("c", "id"), ("d", "e", "id"), ("id", "s")]
    messages = [begin(1)]
    for names in forms:
        messages += [relation(*names), change(b"I", (b"N", row_of(*(f"{names} {name}" for name in names))))]
    found = []
    for changes in framer.changes(WalChunk.of(messages, 1 << 33)):
        columns = ["id", "s", *changes.others]
        assert len(columns) <= 2 + most
        for row in range(len(changes)):
            texts = [_text(changes.rows, at, row) for at in range(len(columns))]
            found.append({name: text for name, text in zip(columns, texts, strict=True) if text is not None})
    assert found == [{name: f"{names} {name}" for name in names} for names in forms]


def test_a_stream_that_begins_again_leaves_out_what_was_taken_of_its_transaction() -> None:
    for taken in range(1, len(STREAM)):
        progress = WalProgress(0, 1_000)
        framer = _framer()
        first = WalChunk.of(STREAM[:taken], 9)
        assert progress.add(first) == taken
        rows = _rows(framer, *STREAM[:taken])
        # The server sends what begins at that LSN or later, and forms anew.
        again = [relation("id", "s"), *(STREAM[5:] if progress.lsn > 10 else STREAM)]
        chunk, left = (
            WalChunk.of(again, 9).without(progress.changes)
            if progress.changes
            else (WalChunk.of(again, 9), 0)
        )
        assert left == 0
        messages = [sent(chunk.message(at)) for at in range(len(chunk.ends))]
        if progress.lsn > 20:
            messages = []
        assert rows + _rows(framer, *messages) == EXPECTED, taken


def test_messages_that_are_cut_off_or_changed_are_corrupt_and_never_read_beyond_their_end() -> None:
    seed = int(os.environ.get("HEADWATER_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"HEADWATER_SEED={seed}")
    chance = random.Random(seed)
    for _ in range(3_000):
        messages = [bytearray(each) for each in STREAM]
        broken = chance.choice(messages)
        if chance.random() < 0.5:
            del broken[chance.randrange(25, len(broken) + 1) :]
        else:
            broken[chance.randrange(25, len(broken))] = chance.randrange(256)
        try:
            _rows(_framer(), *map(bytes, messages))
        except (CorruptRecordError, UnicodeDecodeError):
            continue


@pytest.mark.parametrize(
    "message",
    [
        sent(b"T" + struct.pack(">IB", 40, 0) + struct.pack(">I", TABLE) * 40),
        relation("id", *(f"c{at}" for at in range(MOST_COLUMNS))),
    ],
    ids=["tables of a TRUNCATE", "columns of a table"],
)
def test_a_message_that_names_more_than_there_can_be_is_corrupt_and_nothing_is_written_behind_memory(
    message: bytes,
) -> None:
    for columns in (["id"], None):
        with pytest.raises(CorruptRecordError):
            _rows(_framer(columns=columns), begin(1), relation("id"), message)


def test_a_change_of_a_table_without_a_form_is_corrupt() -> None:
    with pytest.raises(CorruptRecordError, match="before the form of its table"):
        _rows(_framer(), begin(1), STREAM[2])


def test_ids_of_32_bits_are_the_newest_that_are_not_newer_than_the_server() -> None:
    newest = (5 << 32) + 100
    narrow = np.array([100, 3, 101, (1 << 32) - 1], np.int64)
    assert widened(narrow, newest).tolist() == [newest, (5 << 32) + 3, (4 << 32) + 101, (5 << 32) - 1]


def test_a_relation_message_says_names_types_and_identity() -> None:
    form = parse_relation(relation("id", "größe", keys=("id",))[25:])
    assert form.full_name == "public.t"
    assert form.replica_identity == "d"
    assert [(each.name, each.is_identity, each.type_oid, each.typmod) for each in form.columns] == [
        ("id", True, 25, -1),
        ("größe", False, 25, -1),
    ]


@pytest.mark.parametrize("seed", [random.randrange(1 << 32) for _ in range(5)], ids=lambda _: "drawn")
def test_changes_of_several_tables_are_those_of_each_in_the_order_of_the_log(seed: int) -> None:
    print(f"seed {seed}")
    chosen = random.Random(seed)
    messages: list[bytes] = []
    written: list[int] = []
    widths: dict[int, int] = {}
    for lsn in range(10, 200, 10):
        messages.append(begin(lsn))
        for _ in range(chosen.randrange(8)):
            table = chosen.choice([1, 2, 3, 4])
            if table not in widths or chosen.random() < 0.2:
                widths[table] = chosen.randrange(1, 9)
                names = ["id", *(f"c{at}" for at in range(1, widths[table]))]
                messages.append(relation(*names, table=table))
            values = [chosen.choice(["a", "bc", None]) for _ in range(widths[table])]
            messages.append(change(b"I", (b"N", row_of(*values)), table=table))
            written.append(table)
        messages.append(COMMIT)
    tables = [LogTable(1), LogTable(3), LogTable(4)]

    def framed(*wanted: LogTable) -> Iterator[tuple[Any, ...]]:
        framer = _framer(tables=wanted, columns=None)
        for first in range(0, len(messages), 13):
            chunk = WalChunk.of(messages[first : first + 13], 1 << 33)
            for changes in framer.changes(chunk):
                for row, form in enumerate(changes.forms):
                    width = len(framer.forms[form].columns)
                    starts = changes.rows.starts[:width, row]
                    lengths = changes.rows.lengths[:width, row]
                    texts = [
                        None if length < 0 else chunk.data[at : at + length].tobytes()
                        for at, length in zip(starts, lengths, strict=True)
                    ]
                    yield framer.forms[form].oid, int(changes.lsns[row]), texts

    rows = list(framed(*tables))
    assert [row[0] for row in rows] == [table for table in written if table != 2]
    for each in tables:
        assert [row for row in rows if row[0] == each.oid] == list(framed(each))


def test_a_form_from_before_the_range_counts_from_the_first_row_and_a_truncate_of_two_tables_comes_once() -> (
    None
):
    checked: list[int] = []
    framer = ChangeFramer(
        20,
        1_000,
        [LogTable(TABLE, ("id",)), LogTable(7, ("id",))],
        columns=["id"],
        check=lambda form: checked.append(form.oid),
    )
    other = relation("id").replace(struct.pack(">I", TABLE), struct.pack(">I", 7))
    before = [begin(10), relation("gone"), relation("id"), other, COMMIT]
    assert _rows(framer, *before) == []
    assert checked == []
    truncate = sent(b"T" + struct.pack(">IBII", 2, 0, TABLE, 7))
    assert _rows(framer, begin(20), truncate, COMMIT) == [("t", 20, 0, None), ("t", 20, 1, None)]
    assert checked == [TABLE, 7]

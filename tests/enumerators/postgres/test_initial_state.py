"""How far a query is with the rows that were there: each step, and what earlier versions wrote of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headwater.core.errors import LostSlotError, OffsetError
from headwater.core.split import SplitRange
from headwater.core.state_location import LocalStateStore
from headwater.core.task_notes import note_name
from headwater.enumerators.postgres.chunk_rules import ChunkRules, RulesStore, decode_rules, encode_rules
from headwater.enumerators.postgres.chunks import (
    ChunkedTable,
    ChunkSplit,
    KeyColumn,
    chunk_from_json,
    chunks_to_json,
)
from headwater.enumerators.postgres.initial_state import (
    InitialState,
    Phase,
    TableProgress,
    rows_in,
    rules_with,
)
from headwater.enumerators.postgres.slot import ServerView
from headwater.enumerators.postgres.split import NEVER, LogTable, WalSplit
from headwater.enumerators.postgres.timeline import end_in, followed

SAMPLES = json.loads((Path(__file__).parent / "initial_samples.json").read_text())
"""The offsets of a query of version 1 of the rules, whose three batches of chunks and three of changes
were recorded, and its rules after the first batch."""
OFFSETS: list[dict[str, Any]] = SAMPLES["offsets"]


@pytest.mark.parametrize("number", range(len(OFFSETS)))
def test_states_of_earlier_versions_are_read_and_written_again_as_the_same_state(number: int) -> None:
    state = InitialState.from_json(OFFSETS[number]["state"])
    assert InitialState.from_json(json.loads(json.dumps(state.to_json()))) == state


def test_a_state_of_earlier_versions_says_where_its_table_was_cut_and_what_comes_next() -> None:
    state = InitialState.from_json(OFFSETS[1]["state"])
    (progress,) = state.tables
    assert (state.phase, state.next_number, state.start, state.high) == (Phase.CHUNKS, 8, 22202120, 22202120)
    assert (progress.low, progress.chunks, progress.is_cut) == (("81", "p81"), 8, False)
    state, chunk = state.with_chunk(None)
    assert (chunk.path, chunk.low, chunk.high) == (("chunk-000008",), ("81", "p81"), None)
    assert state.is_cut
    assert InitialState.from_json(OFFSETS[2]["state"]).is_cut
    live = InitialState.from_json(OFFSETS[3]["state"])
    assert (live.phase, live.wal.rules, live.is_cut) == (Phase.LIVE, live.rules, True)
    assert InitialState.from_json(OFFSETS[5]["state"]).phase is Phase.DONE


def test_the_log_of_earlier_versions_is_read_and_written_again_byte_for_byte() -> None:
    """Else each query would make a batch without rows when it is restarted."""
    for offset in OFFSETS[3:]:
        written = offset["splits"]["wal"]
        assert WalSplit.from_json(written).to_json() == written


def test_a_log_that_tables_join_is_read_again() -> None:
    tables = (LogTable(5, ("id",), "1 2", since=70), LogTable(6, (), "1 3", since=NEVER, waits_for=9))
    split = WalSplit("slot", "1", 1, tables, rules="a/b", held=60, log="c")
    assert WalSplit.from_json(json.loads(json.dumps(split.to_json()))) == split
    assert [split.confirmed(position) for position in (50, 60, 80)] == [50, 60, 60]


def test_chunks_of_earlier_versions_are_read_and_have_the_notes_that_they_had() -> None:
    """The name of a note goes by the chunk's definition, byte for byte."""
    written = OFFSETS[2]["splits"]["chunks"]
    chunks = [chunk_from_json((path,), written) for path in written["bounds"]]
    assert chunks_to_json(chunks) == written
    alone = {"bounds": {"chunk-000008": [["81", "p81"], ["91", "p91"]]}, "table": written["table"]}
    whole = SplitRange(chunks[0], 0, 8 << 20)
    assert note_name(whole, {"chunks": chunks_to_json(chunks[:1])}) == note_name(whole, {"chunks": alone})


def test_chunks_of_several_tables_are_read_again() -> None:
    first = chunk_from_json(("chunk-000008",), OFFSETS[2]["splits"]["chunks"])
    table = {**OFFSETS[2]["splits"]["chunks"]["table"], "oid": 5}
    other = chunk_from_json(("chunk-000009",), {"bounds": {"chunk-000009": [None, None]}, "table": table})
    written = chunks_to_json([first, other])
    assert [chunk_from_json(each.path, written) for each in (first, other)] == [first, other]
    with pytest.raises(OffsetError, match="entry for chunk-000007"):
        chunk_from_json(("chunk-000007",), written)


def test_rules_of_earlier_versions_are_those_of_the_first_table() -> None:
    rules = decode_rules(json.dumps(SAMPLES["rules"]).encode(), 16384)
    assert rules == {
        16384: ChunkRules(
            ("id", "part"), (("11", "p11"), ("21", "p21"), ("31", "p31")), ("727:727:",) * 4, 22202120
        )
    }
    others = {**rules, 5: ChunkRules(("id",), (), (None,), 7, (23,))}
    assert decode_rules(encode_rules(others), 0) == others
    with pytest.raises(OffsetError, match="a later version of headwater"):
        decode_rules(b'{"version":3}', 0)


def table(oid: int) -> ChunkedTable:
    return ChunkedTable(oid, False, (KeyColumn("id", "bigint", type_oid=20),), "", 50, 0)


def log(*tables: LogTable, **more: Any) -> WalSplit:
    return WalSplit("slot", "1", 1, tables, **more)


def state(*oids: int, **more: Any) -> InitialState:
    tables = tuple(TableProgress(table(oid), rows=10) for oid in oids)
    split = log(*(LogTable(oid) for oid in oids))
    return InitialState(Phase.CHUNKS, "query", split, 50, tables, **more)


def test_chunks_have_numbers_of_their_own_and_begin_where_the_one_before_ends_table_by_table() -> None:
    current = state(5, 6)
    left = [current.splits_left(4)]
    chunks = []
    for high in (("3",), None, ("9",), None):
        current, chunk = current.with_chunk(high)
        chunks.append((chunk.number, chunk.table.oid, chunk.low, chunk.high))
        left.append(current.splits_left(4))
    assert chunks == [
        (0, 5, None, ("3",)),
        (1, 5, ("3",), None),
        (2, 6, None, ("9",)),
        (3, 6, ("9",), None),
    ]
    assert current.is_cut
    # There is one more at least, as long as a table is not cut to its end, whatever the server estimates.
    assert left == [6, 5, 3, 2, 0]
    assert replace(state(5), next_number=9).tables[0].splits_left(100) == 1
    assert TableProgress(table(5), rows=10, chunks=8).splits_left(4) == 1


def test_a_stream_that_begins_elsewhere_begins_there_for_the_rows_of_each_table() -> None:
    moved = state(5, 6).with_start(90)
    assert [moved.start, *(each.table.start for each in moved.tables)] == [90, 90, 90]


@pytest.mark.parametrize(("position", "goes_on"), [(40, 40), (80, 50)])
def test_tables_that_join_are_read_from_their_begin_and_no_change_of_another_one_comes_twice(
    position: int, goes_on: int
) -> None:
    split = log(LogTable(5), LogTable(7, since=60), LogTable(6, since=NEVER), held=45)
    joined, begins = state(6, rules="name").joined(split, position)
    assert begins == goes_on
    assert [each.since for each in joined.tables] == [position, max(60, position), 50]
    assert (joined.rules, joined.held) == ("name", 0)


def test_the_sights_of_a_batch_come_in_the_order_of_chunks_and_behind_the_last_no_change_is_in_one() -> None:
    first, second = ChunkSplit(1, None, ("5",), table(5)), ChunkSplit(2, ("5",), None, table(5))
    other = ChunkSplit(3, None, None, table(6))
    chunks = {each.path: each for each in (second, other, first)}
    notes: dict[Any, Any] = {
        first.path: {"snapshot": "9:9:", "high": 70, "rows": 4},
        second.path: {"snapshot": "7:7:", "high": 60, "rows": 2},
        other.path: None,
    }
    rules = rules_with({}, chunks, notes)
    assert rules == {
        5: ChunkRules(("id",), (("5",),), ("9:9:", "7:7:"), 70, (20,)),
        6: ChunkRules(("id",), (), (None,), 0, (20,)),
    }
    more = ChunkSplit(4, ("8",), None, table(5))
    note: dict[Any, Any] = {more.path: {"snapshot": "8:8:", "high": 65}}
    assert rules_with(rules, {more.path: more}, note)[5].sights == ("9:9:", "7:7:", "8:8:")
    assert rows_in(notes) == 6


def test_rules_are_kept_until_others_count_and_those_of_other_queries_stay(tmp_path: Path) -> None:
    store = RulesStore(LocalStateStore(tmp_path))
    rules = {5: ChunkRules(("id",), (), ("9:9:",), 70, (20,))}
    first, other = store.put("one", {}), store.put("two", rules)
    second = store.put("one", rules)
    store.prune("one", second)
    assert (store.get(second, 5), store.get(other, 5)) == (rules, rules)
    with pytest.raises(OffsetError, match="it is not there"):
        store.get(first, 5)
    store.prune("one", None)
    with pytest.raises(OffsetError, match="it is not there"):
        store.get(second, 5)


HISTORY = "1\t0/3000000\tbefore a restore\n2\t0/5000000\tno recovery target specified\n"


def test_a_server_that_takes_over_is_followed_only_where_nothing_that_was_read_is_undone() -> None:
    assert [end_in(HISTORY, timeline) for timeline in (1, 2, 3)] == [0x3000000, 0x5000000, None]
    view = ServerView("1", False, 3, 0x6000000, 1, 1, "db", None)
    split = log(LogTable(5))
    end = 0x5000000
    assert followed(view, split, end - 8, end, end) == replace(split, timeline=3)
    with pytest.raises(LostSlotError, match="8 bytes of that log are undone"):
        followed(view, split, end, end + 8, end)
    with pytest.raises(LostSlotError, match="does not come of timeline 1"):
        followed(view, split, end, end, None)
    for seen in (replace(split, rules="a/b"), replace(split, held=9)):
        with pytest.raises(LostSlotError, match="rows of chunks may hold transactions"):
            followed(view, seen, end, end, end)

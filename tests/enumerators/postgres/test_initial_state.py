"""What offsets and the state location have of a query's beginning, as earlier versions wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.core.errors import OffsetError
from headwater.core.split import SplitRange
from headwater.core.task_notes import note_name
from headwater.enumerators.postgres.chunk_rules import ChunkRules, decode_rules, encode_rules
from headwater.enumerators.postgres.chunks import chunk_from_json, chunks_to_json
from headwater.enumerators.postgres.initial_state import InitialState, Phase
from headwater.enumerators.postgres.split import NEVER, LogTable, WalSplit

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

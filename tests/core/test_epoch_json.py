"""The state of a task as JSON: the same after a round through text, bounded, earlier versions read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.core.epoch import (
    EpochState,
    FoundSplit,
    InFlight,
    SplitProgress,
    SplitStatus,
    StoredRows,
    WaitingSplits,
)
from headwater.core.epoch_json import MOST_STATE_BYTES, state_from_json, state_to_json
from headwater.core.errors import ContractError, OffsetError
from headwater.core.jsons import JsonValue, dumps
from tests.doubles import NumberSplit
from tests.pages import PageSource

STATE = EpochState(
    (
        SplitProgress(NumberSplit("a"), 7),
        SplitProgress(NumberSplit("b", 3), {"page": "x"}, SplitStatus.CAUGHT_UP, 500),
    ),
    (),
    (
        InFlight(("a",), 5, stored=StoredRows("rows", 3, 5)),
        InFlight((), None, stored=StoredRows("rows", 5, 9)),
    ),
    ({"seen": 1},),
    7,
    (WaitingSplits("0000000001-00000-aa", 2, 9),),
)

EARLIER: JsonValue = {
    "version": 1,
    "splits": {"a": 0, "b": 3, "c": 0},
    "progress": [[["a"], 7, "more", None], [["b"], {"page": "x"}, "caught-up", 500]],
    "found": [[["c"], None]],
    "in_flight": [{"path": ["a"], "start": 5, "rows": "AP8=", "requests": []}],
    "events": [],
}
"""What version 1 wrote: found splits and rows in the state itself."""


def test_a_state_is_the_same_after_a_round_through_text() -> None:
    source = PageSource()
    assert state_from_json(source, json.loads(dumps(state_to_json(STATE, source)))) == STATE


@pytest.mark.parametrize(
    "missing", ["version", "splits", "progress", "in_flight", "events", "taken", "waiting"]
)
def test_a_state_that_lacks_something_is_refused(missing: str) -> None:
    source = PageSource()
    value = state_to_json(STATE, source)
    del value[missing]
    with pytest.raises(OffsetError, match="not what headwater writes"):
        state_from_json(source, value)


def test_a_state_of_a_later_version_is_refused() -> None:
    source = PageSource()
    with pytest.raises(OffsetError, match="version 4"):
        state_from_json(source, {**state_to_json(STATE, source), "version": 4})


def test_requests_of_calls_in_their_earlier_form_are_refused_and_a_state_without_them_is_read() -> None:
    source = PageSource()
    rows: JsonValue = {"path": ["a"], "start": 5, "rows": ["rows", 3, 5], "requests": []}
    whole: Any = {**state_to_json(STATE, source), "version": 2, "in_flight": [rows]}
    assert state_from_json(source, whole).in_flight == STATE.in_flight[:1]
    whole["in_flight"] += [{"path": [], "start": None, "rows": None, "requests": [{"id": 1}]}]
    with pytest.raises(OffsetError, match="go back to the version that wrote it"):
        state_from_json(source, whole)


def test_a_state_of_the_first_version_is_read() -> None:
    state = state_from_json(PageSource(), EARLIER)
    assert [entry.split.path for entry in state.progress] == [("a",), ("b",)]
    assert state.found == (FoundSplit(NumberSplit("c"), None),)
    assert state.in_flight == (InFlight(("a",), 5, b"\x00\xff"),)
    assert (state.taken, state.waiting) == (0, ())


@pytest.mark.parametrize(
    "state",
    [EpochState(found=(FoundSplit(NumberSplit("c"), 0),)), EpochState(in_flight=(InFlight((), 0, b"x"),))],
)
def test_a_state_is_not_written_with_parts_that_belong_beside_it(state: EpochState) -> None:
    with pytest.raises(ContractError, match="put aside"):
        state_to_json(state, PageSource())


def test_a_state_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_STATE_BYTES > 1 << 20
    monkeypatch.setattr("headwater.core.epoch_json.MOST_STATE_BYTES", 1_000)
    held = InFlight(("a",), 0, stored=StoredRows("rows", 0, 2_000))
    with pytest.raises(ContractError, match="the state of one task of source pages"):
        state_to_json(EpochState(in_flight=(held,)), PageSource())

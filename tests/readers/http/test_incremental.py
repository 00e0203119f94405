"""Lists that change: each version comes once, whatever the API sorts by and however often readers die."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.connector.sources.http.source import IncrementalHttpSource
from headwater.core.clock import ManualClock
from headwater.core.epoch import Barrier, SplitStatus
from headwater.core.errors import CorruptRecordError, OptionError, SourceError
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitRange
from headwater.core.state_store import MemoryStateStore
from headwater.enumerators.http.split import HttpSplit, LogPosition
from headwater.readers.http.incremental.rounds import RoundLog, log_folder
from tests.readers.http.changing_list import WRITTEN, ChangingList, follower, incremental_source, versions
from tests.readers.http.scripted import Answer, Scripted, batch_source, run, scripted_server
from tests.readings import TickingClock
from tests.stale_store import StaleStore


def test_rounds_go_on_though_no_listing_shows_what_was_staged(server: Scripted) -> None:
    """The clock stands, so listings stay as they were before the first write."""
    made = ChangingList()
    query = follower(server, made, StaleStore(ManualClock()))
    made.put(0)
    assert query.epoch() == made.history
    for number in range(1, 10):
        made.put(number)
        made.put(0)
        assert query.epoch() == made.history[-2:]
    assert query.epoch() == []


def test_a_round_reads_what_changed_since_the_one_before_and_each_version_once(server: Scripted) -> None:
    made = ChangingList()
    for number in range(10):
        made.put(number)
    query = follower(server, made)
    assert query.epoch() == made.history
    made.put(3)
    made.put(10)
    assert query.epoch() == [(3, 2), (10, 1)]
    assert query.epoch() == []
    assert made.asked[0] is None
    assert made.asked[-1] == "2024-05-01T11:59:12Z"


_CHANGES = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from([0, 0, 1, 5, 90]), st.integers(0, 60)), max_size=3
)
"""Items that change before a page is made: which, how long after the last change, and how late it is seen."""
_BARRIERS = st.builds(Barrier, rows=st.integers(1, 9))


@pytest.mark.parametrize("sort", ["changed", "newest", "id"])
@given(
    api=st.builds(
        ChangingList,
        page=st.integers(1, 4),
        filters=st.booleans(),
        written=st.sampled_from([*WRITTEN.values()]),
    ),
    tells_time=st.booleans(),
    changes=st.lists(_CHANGES, max_size=25),
    epochs=st.lists(st.tuples(st.none() | _BARRIERS, _BARRIERS), max_size=6),
)
@settings(max_examples=40, deadline=None)
def test_each_version_comes_once_while_the_list_changes_and_readers_die(
    sort: str,
    *,
    api: ChangingList,
    tells_time: bool,
    changes: list[list[tuple[int, int, int]]],
    epochs: list[tuple[Barrier | None, Barrier]],
) -> None:
    made = replace(api, sort=sort)
    has_overlap = made.written.kind == "time"

    def change() -> None:
        for number, after_s, late_s in changes.pop(0) if changes else ():
            made.put(number, after_s=after_s, late_s=late_s if has_overlap else 0)

    made.before_page = change
    with scripted_server() as server:
        query = follower(server, made)
        if not tells_time:
            server.now = None
        seen: list[tuple[int, int]] = []
        for dies, lives in epochs:
            if dies is not None:
                query.die(dies)
            seen += query.epoch(lives)
        while changes:
            seen += query.epoch()
        for _ in range(3):
            seen += query.epoch()
        assert not query.epoch()
    assert [version for version, times in Counter(seen).items() if times > 1] == []
    assert set(made.latest) <= set(seen) <= set(made.history)


def test_a_long_round_is_resumed_in_its_middle_and_its_memory_is_bounded(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.readers.http.incremental.known_items._RECENT", 200)
    made = ChangingList(page=10)
    for number in range(1_500):
        made.put(number)
    query = follower(server, made)
    seen: list[tuple[int, int]] = []
    while len(seen) < 1_500:
        seen += query.epoch(Barrier(rows=400))
    assert seen == made.history
    assert made.asked == [None] * 150
    position = LogPosition.from_json(query.position)
    assert position.known is not None
    # What lies before it is released, and the query goes on from what is left.
    query.source.release_before("query", {query.range().split.path: query.position})
    folder = log_folder("query", query.range().split.path)
    kept = query.store.list(folder)
    assert min(int(name) for name in kept if name != "begin") == position.known
    made.put(7)
    assert query.epoch() == [(7, 2)]
    # Those that were read last, and the overlap: not all.
    log = RoundLog(query.store, folder, "test", query.source.incremental.order)
    assert max(len(logged.versions) for logged in log.between(LogPosition(position.known), position)) < 800
    # And all of it, once the list is gone.
    query.source.forget_splits("query", [query.range().split.path])
    assert query.store.list(folder) == []


def test_numbers_of_a_long_first_round_must_come_in_order(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.readers.http.incremental.rounds._MOST_WITHOUT_ORDER", 10)
    made = ChangingList(written=WRITTEN["number"])
    for number in range(30):
        made.put(number)
    assert follower(server, made).epoch() == made.history

    def out_of_order(path: str) -> Answer:
        changes = range(12) if path.startswith("/a") else [3]
        items = [{"id": 100 + change, "changed": change, "version": 1} for change in changes]
        return 200, [], json.dumps({"items": items, "next": "/b" if path.startswith("/a") else None}).encode()

    query = follower(server, made)
    server.answer = out_of_order
    with pytest.raises(SourceError, match="do not come in the order of incrementalField"):
        query.epoch()
    # Nothing needs an order behind a value with which the user begins.
    query = follower(server, made, startingValue="0")
    server.answer = out_of_order
    assert len(query.epoch()) == 12


def test_too_many_changes_in_the_overlap_end_the_query(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_MOST", "_RECENT"):
        monkeypatch.setattr(f"headwater.readers.http.incremental.known_items.{name}", 10)
    made = ChangingList()
    for number in range(30):
        made.put(number)
    with pytest.raises(SourceError, match="make option incrementalOverlap smaller"):
        follower(server, made).epoch()
    assert follower(server, made, incrementalOverlap="2s").epoch() == made.history


def test_a_batch_is_one_round_from_the_starting_value(server: Scripted) -> None:
    made = ChangingList(filters=False)
    for number in range(10):
        made.put(number)
    server.answer = made.answer
    source = incremental_source(f"{server.origin}/a", startingValue="2024-05-01T14:00:08+02:00")
    begin = SplitRange(HttpSplit(source.urls[0]), LogPosition().to_json(), None)
    rows, state = run(source, Barrier(), begin)
    assert versions(rows) == [(7, 1), (8, 1), (9, 1)]
    assert state.progress[0].status is SplitStatus.FINISHED
    assert made.asked[0] == "2024-05-01T14:00:08+02:00"


def test_a_status_may_end_a_round_and_a_page_that_is_left_out_comes_with_the_next(server: Scripted) -> None:
    made = ChangingList()
    for number in range(6):
        made.put(number)
    query = follower(server, made, onStatus="404=skip,410=finish", badPages="skip")
    whole = server.answer
    status = 404

    def broken(path: str) -> Answer:
        return (status, [], b"") if "after" in path else whole(path)

    server.answer = broken
    assert query.epoch() == made.history[:3]
    assert query.epoch() == []
    server.answer = whole
    assert query.epoch() == made.history[3:]
    status = 410
    server.answer = broken
    made.put(9)
    assert query.epoch() == []
    server.answer = whole
    assert query.epoch() == [(9, 1)]


def with_a_page_to_leave_out(
    server: Scripted, bad_pages: str
) -> tuple[IncrementalHttpSource, SplitRange[Any, Any]]:
    def item(number: int) -> dict[str, object]:
        return {"id": number, "changed": number, "version": 1}

    server.say("/a", {"items": [item(1)]})
    server.say("/a?page=2", b"<html>")
    server.say("/a?page=3", {"items": [item(3)]})
    server.say("/a?page=4", {"items": []})
    source = incremental_source(
        f"{server.origin}/a",
        paging="page",
        badPages=bad_pages,
        incrementalType="number",
        stateLocation="/state",
    )
    source = replace(source, store=MemoryStateStore())
    return source, SplitRange(HttpSplit(source.urls[0]), LogPosition().to_json(), None)


@pytest.mark.parametrize("bad_pages", ["skip", "column"])
def test_a_page_that_is_left_out_is_told_once_with_the_position_behind_it_however_epochs_are_cut(
    bad_pages: str, server: Scripted
) -> None:
    source, begin = with_a_page_to_leave_out(server, bad_pages)
    events: list[JsonValue] = []
    status = SplitStatus.MORE
    while status is SplitStatus.MORE:
        _, state = run(source, Barrier(rows=1), begin)
        [progress] = state.progress
        assert not state.events or progress.position != begin.start
        status = progress.status
        begin = replace(begin, start=progress.position)
        events += state.events
    assert len(events) == 1


def test_counted_pages_go_on_behind_one_that_is_left_out_and_a_replay_leaves_it_out(server: Scripted) -> None:
    source, begin = with_a_page_to_leave_out(server, "column")
    rows, state = run(source, Barrier(), begin)
    assert [(row[1], row[2], row[4] is None) for row in rows] == [
        (0, 0, True),
        (1, None, False),
        (2, 0, True),
    ]
    server.answers.clear()
    assert run(source, Barrier(), begin, stop_at=state)[0] == rows


@pytest.mark.parametrize(
    "item", [{"id": 1}, {"changed": 1}, {"id": 1, "changed": "x"}, {"id": None, "changed": 1}, 7]
)
def test_an_item_without_key_or_value_makes_its_page_one_that_cannot_be_read(
    server: Scripted, item: object
) -> None:
    server.say("/a", {"items": [item]})
    with pytest.raises(
        CorruptRecordError, match=r"option (keyField|incrementalField).*badPages=skip or column"
    ):
        run(
            incremental_source(f"{server.origin}/a", incrementalType="number"),
            Barrier(),
            SplitRange(HttpSplit(f"{server.origin}/a"), LogPosition().to_json(), None),
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"childrenField": "more"}, "'incrementalField': does not go with lists that items name"),
        ({"incrementalOverlap": "x"}, "'incrementalOverlap': must be a duration such as 5m"),
        ({"incrementalType": "number", "incrementalOverlap": "-1"}, "must be a number of at least 0"),
        ({"incrementalType": "text", "incrementalOverlap": "1"}, "texts have no overlap"),
        (
            {"startingValue": "now"},
            "'startingValue': 'now' is no time in ISO 8601; see option incrementalType",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        incremental_source("http://x/", **options)
    with pytest.raises(OptionError, match="'startingValue': requires option incrementalField"):
        batch_source("http://x/", startingValue="1")
    with pytest.raises(OptionError, match="'incrementalParam': is required with option incrementalField"):
        batch_source("http://x/", incrementalField="at")


def test_a_round_whose_pages_bring_nothing_new_gets_on_though_each_epoch_ends_after_its_first_turn(
    server: Scripted,
) -> None:
    made = ChangingList(page=1)
    for number in range(30):
        made.put(number)
    query = follower(server, made)
    assert query.epoch() == made.history
    made.put(30)
    # The overlap is all pages, of which the last one alone brings something.
    seen: list[tuple[int, int]] = []
    for _ in range(10):
        seen += query.epoch(Barrier(duration_ms=1), clock=TickingClock())
    assert seen == [(30, 1)]


@pytest.mark.parametrize("paging", ["page", "offset"])
def test_a_round_of_an_api_that_does_not_count_by_the_parameter_is_an_error_and_goes_not_on_for_ever(
    server: Scripted, paging: str
) -> None:
    server.say("/a", {"items": [{"id": 1, "changed": "2024-05-01T12:00:00Z"}]})
    said = server.answers["/a"]
    server.answer = lambda _: said[0]
    made = incremental_source(f"{server.origin}/a", paging=paging)
    with pytest.raises(CorruptRecordError, match="the very items of the one before it"):
        run(made, Barrier(), SplitRange(HttpSplit(made.urls[0]), LogPosition().to_json(), None))

"""Where an epoch is cut, and what its state then says."""

from __future__ import annotations

import itertools
import threading

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa
import pytest

from headwater.core.barrier_reader import EpochRecord, EpochRecords
from headwater.core.clock import ManualClock
from headwater.core.epoch import AlignmentMode, Barrier, FoundSplit, InFlight, SplitProgress, SplitStatus
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.readers.runtime.epoch.barrier_handler import BarrierHandler, Cut
from headwater.readers.runtime.fetchers.events import Fetched, PendingFetch
from headwater.readers.runtime.partitions.subpartition import PartitionEvent
from tests.doubles import NumberSplit
from tests.pages import Library, Page, PageReader, PageSource, pages, rows_of, start_of
from tests.patience import PATIENCE_S
from tests.readers.runtime.epoch.rig import each_number_of_threads, positions, reading
from tests.readings import epoch_task, read_task


@each_number_of_threads
def test_an_epoch_may_end_after_one_fetch_and_what_had_no_turn_comes_first_in_the_next(threads: int) -> None:
    library = Library({label: pages(50) for label in "abcd"})
    reader = reading(library, "abcd", Barrier(rows=1), threads=threads)
    list(reader)
    fetched = {path[0] for path in library.fetched}
    assert 1 <= len(library.fetched) <= threads
    row = [progress.split.split_id for progress in reader.state().progress]
    assert row[: reader.state().unserved] == [label for label in "abcd" if label not in fetched]
    assert set(row[reader.state().unserved :]) == fetched


def test_a_duration_wakes_up_a_fetch_that_waits() -> None:
    clock = ManualClock()

    def wait(reader: PageReader) -> None:
        if len(library.fetched) == 1:
            assert reader.woken.wait(PATIENCE_S)

    library = Library({"a": pages(9)}, before_fetch=wait)
    reader = reading(library, "a", Barrier(duration_ms=60_000), clock=clock)
    assert rows_of(reader) == [("a", 0)]
    assert positions(reader.state()) == {"a": 1}


def test_a_slow_first_fetch_is_waited_for_though_the_duration_is_over() -> None:
    over = threading.Event()

    class Clock(ManualClock):
        def wait(self, event: threading.Event, timeout_ms: int) -> bool:
            super().wait(event, timeout_ms)
            over.set()
            return True

    def slow(reader: PageReader) -> None:
        assert over.wait(PATIENCE_S)

    clock = Clock()
    reader = reading(
        Library({"a": pages(9)}, before_fetch=slow),
        "a",
        Barrier(duration_ms=5),
        clock=clock,
    )
    assert len(rows_of(reader)) == 1
    assert clock.monotonic_ms() == 5


def test_caught_up_says_when_to_come_back_counted_from_the_snapshot() -> None:
    clock = ManualClock()
    reader = reading(Library({"a": pages(1), "b": pages(3)}, {"a": 500, "b": None}), "ab", clock=clock)
    batches = iter(reader)
    for _ in range(3):
        next(batches)
    clock.advance(200)
    assert len(list(batches)) == 1
    assert reader.state().progress == (
        SplitProgress(NumberSplit("a"), 1, SplitStatus.CAUGHT_UP, 300),
        SplitProgress(NumberSplit("b"), 3, SplitStatus.CAUGHT_UP, None),
    )


@pytest.mark.parametrize(("count", "goes_on"), [(2, {}), (0, {}), (0, {"a": None})])
def test_events_go_both_ways(count: int, goes_on: dict[str, int | None]) -> None:
    """With records, and without any where the split ends."""
    library = Library({"a": pages(count)}, goes_on, events=[{"seen": 1}])
    reader = reading(library, "a", events=["look at b"])
    list(reader)
    assert reader.state().events == ({"seen": 1},)
    assert library.readers[0].events == ["look at b"]


@each_number_of_threads
@hypothesis.settings(max_examples=25, deadline=None)
@hypothesis.given(
    cuts=st.lists(st.tuples(st.booleans(), st.integers(1, 6), st.none() | st.integers(0, 4)), max_size=12)
)
def test_however_an_epoch_is_cut_or_left_an_event_of_a_record_comes_once_with_its_position(
    threads: int, cuts: list[tuple[bool, int, int | None]]
) -> None:
    """Of each epoch: whether a barrier overtakes, after how many rows, and after which batch it is left."""
    library = Library({label: [Page((n,), events=(f"{label}{n}",)) for n in range(12)] for label in "ab"})
    starts = {"a": 0, "b": 0}
    restored: tuple[InFlight, ...] = ()
    events: list[JsonValue] = []
    for is_unaligned, rows, left_after in [*cuts, (False, 10_000, None)]:
        mode = AlignmentMode.UNALIGNED if is_unaligned else AlignmentMode.ALIGNED
        task = epoch_task(
            [start_of(label, at) for label, at in starts.items()], Barrier(rows=rows), mode=mode
        )
        reader = read_task(PageSource(library, threads), task, restored=restored)
        list(itertools.islice(reader, left_after))
        reader.close()
        state = reader.state()
        restored = state.in_flight
        events += state.events
        for split in state.progress:
            label, position = split.split.split_id, split.position
            assert [event for event in events if str(event)[0] == label] == [
                f"{label}{n}" for n in range(int(str(position)))
            ]
            starts[label] = int(str(position))
            if split.status is SplitStatus.FINISHED:
                del starts[label]
    assert len(events) == 24


def test_events_of_an_answer_belong_to_the_element_that_changes_a_split() -> None:
    [rows] = pa.table({"n": [1]}).to_batches()
    a = ("a",)
    both = [EpochRecord(rows, 1, events=("early",)), EpochRecord(rows, 2)]
    outcomes = [
        EpochRecords({a: both}, caught_up={a: None}, events=("late",)),
        EpochRecords(caught_up={a: None}, events=("late",)),
        EpochRecords(finished=frozenset([a]), events=("late",)),
        EpochRecords(paused={a: 5}, events=("late",)),
        EpochRecords(events=("late",)),
    ]

    def events_of(element: Fetched | PartitionEvent) -> tuple[str, object]:
        carrier = element.record if isinstance(element, Fetched) else element
        return type(element).__name__, getattr(carrier, "events", ())

    assert [list(map(events_of, PendingFetch.of(outcome, a).elements)) for outcome in outcomes] == [
        [("Fetched", ("early",)), ("Fetched", ("late",)), ("SplitsDone", ())],
        [("SplitsDone", ("late",))],
        [("SplitsDone", ("late",))],
        [("NothingFetched", ()), ("SplitsPaused", ("late",))],
        [("NothingFetched", ()), ("SourceEvents", ("late",))],
    ]


def test_splits_that_were_found_and_not_begun_are_the_loops_log() -> None:
    library = Library({"a": [Page((1,), ("x", "y")), *pages(3)], "x": pages(1), "y": pages(1)})
    reader = reading(library, "a", Barrier(rows=1))
    assert rows_of(reader) == [("a", 1)]
    assert reader.state().found == (FoundSplit(NumberSplit("x"), 0), FoundSplit(NumberSplit("y"), 0))


def test_too_many_found_splits_cut_an_epoch_that_has_a_limit_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headwater.readers.runtime.epoch.first_reading.MOST_FOUND", 3)
    children = [f"child {number}" for number in range(50)]

    def library() -> Library:
        return Library(
            {
                "a": [Page((number,), tuple(children[5 * number : 5 * number + 5])) for number in range(10)],
                **{label: pages(1) for label in children},
            }
        )

    limited = reading(library(), "a", Barrier(rows=1_000), budget_bytes=1)
    list(limited)
    # The first page finds more than may wait. One page in the channel and one before it are fetched by then.
    assert 4 <= len(limited.state().found) <= 15
    assert len(rows_of(reading(library(), "a"))) == 60


def test_a_source_that_stands_still_or_goes_back_breaks_the_contract() -> None:
    class Standing(Library):
        def position(self, page: int) -> JsonValue:
            return 4

        def page(self, position: JsonValue) -> int:
            return 0

    for start in (4, 5):
        with pytest.raises(ContractError, match="which is not behind it"):
            list(reading(Standing({"a": pages(9)}), "a", position=start))


def test_a_split_that_is_found_is_begun_by_an_idle_fetcher_while_another_fetch_takes_long() -> None:
    begun = threading.Event()

    def wait(reader: PageReader) -> None:
        if ("b",) in reader.open:
            begun.set()
        assert not library.fetched or begun.wait(PATIENCE_S)

    library = Library({"a": [Page((1,), ("b",)), Page((2,))], "b": pages(1)}, before_fetch=wait)
    assert sorted(rows_of(reading(library, "a", threads=2))) == [("a", 1), ("a", 2), ("b", 0)]


@each_number_of_threads
def test_the_channels_of_an_epoch_whose_splits_are_all_done_end(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    original = BarrierHandler.on_end_of_partition

    def on_end(handler: BarrierHandler, channel: int) -> Cut:
        ended.append(channel)
        return original(handler, channel)

    monkeypatch.setattr(BarrierHandler, "on_end_of_partition", on_end)
    cut = reading(Library({"a": pages(9)}), "a", Barrier(rows=3), threads=threads)
    assert len(rows_of(cut)) == 3
    assert not ended
    whole = reading(Library({"a": pages(2), "b": pages(3)}), "ab", Barrier(rows=30), threads=threads)
    assert len(rows_of(whole)) == 5
    assert sorted(ended) == list(range(threads))

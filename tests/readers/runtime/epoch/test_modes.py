"""What each barrier mode waits for, and what it stores."""

from __future__ import annotations

from headwater.core.clock import ManualClock
from headwater.core.epoch import Barrier
from headwater.readers.runtime.batches import read_batches
from tests.exactly_once.waiting import until
from tests.pages import Library, pages, rows_of
from tests.readers.runtime.epoch.rig import (
    ALIGNED,
    UNALIGNED,
    positions,
    prepared,
    reading,
)


def test_aligned_emits_all_that_was_fetched_before_the_barrier_and_stores_nothing() -> None:
    reader, batches = prepared(ALIGNED)
    assert rows_of(batches) == [("a", number) for number in (1, 2, 3, 4)]
    assert (positions(reader.state()), reader.state().in_flight) == ({"a": 5}, ())
    assert reader.metrics.in_flight_bytes == 0


def test_unaligned_ends_at_once_and_stores_what_the_barrier_overtook_for_the_next_epoch() -> None:
    reader, batches = prepared(UNALIGNED)
    assert rows_of(batches) == []
    state = reader.state()
    [held] = state.in_flight
    assert (positions(state), held.path, held.start) == ({"a": 5}, ("a",), 1)
    assert rows_of(read_batches(held.rows)) == [("a", number) for number in (1, 2, 3, 4)]
    assert reader.metrics.in_flight_bytes > 0
    following = reading(Library({"a": pages(9)}), "a", Barrier(rows=1), position=5, restored=state.in_flight)
    assert rows_of(following) == [("a", number) for number in (1, 2, 3, 4, 5)]
    assert following.state().in_flight == ()


def test_aligned_past_its_time_out_goes_on_as_unaligned() -> None:
    clock = ManualClock()
    reader, batches = prepared(ALIGNED, alignment_timeout_ms=100, clock=clock)
    assert rows_of([next(batches)]) == [("a", 1)]
    clock.advance(100)
    assert rows_of(batches) == []
    assert [held.start for held in reader.state().in_flight] == [2]


def test_aligned_within_its_time_out_stores_nothing() -> None:
    clock = ManualClock()
    reader, batches = prepared(ALIGNED, alignment_timeout_ms=100, clock=clock)
    clock.advance(99)
    assert len(rows_of(batches)) == 4
    assert reader.state().in_flight == ()


def test_metrics_of_a_cut() -> None:
    clock = ManualClock()
    reader, batches = prepared(ALIGNED, clock=clock)
    clock.advance(70)
    list(batches)
    assert (reader.metrics.start_delay_ms, reader.metrics.alignment_ms, reader.metrics.snapshot_ms) == (
        70,
        0,
        0,
    )
    assert 0 < reader.metrics.peak_buffered_bytes < 1_000


def test_memory_stays_within_the_budget_and_one_batch_per_channel() -> None:
    library = Library({label: pages(30, 100) for label in "ab"})
    one = 100 * 8 + 100 * 1 + 101 * 4 + 64
    reader = reading(library, "ab", threads=2, budget_bytes=3 * one)
    batches = iter(reader)
    next(batches)
    until(lambda: reader._flow.partition.pool._waiting == 2, "both fetchers to wait for room")
    assert len(library.fetched) * one <= 3 * one + 4 * one
    list(batches)
    assert reader.metrics.peak_buffered_bytes <= 4 * one

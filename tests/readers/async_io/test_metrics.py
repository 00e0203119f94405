"""Counts add up, and percentiles are right to within a bucket."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.readers.async_io.metrics import Metrics, MetricsSnapshot


def test_snapshots_of_tasks_add_up() -> None:
    metrics = Metrics()
    for _ in range(2):
        metrics.call_began()
    metrics.call_ended(0.01)
    snapshot = metrics.snapshot()
    both = snapshot + snapshot
    assert (both.requests, both.in_flight, both.peak_in_flight, sum(both.latencies)) == (4, 2, 4, 2)
    assert "requests 4" in str(both)
    assert sum([snapshot], MetricsSnapshot()) == snapshot


@given(st.lists(st.floats(0.000_01, 1000), min_size=1), st.floats(0.01, 1))
def test_percentiles(durations_s: list[float], share: float) -> None:
    metrics = Metrics()
    for duration_s in durations_s:
        metrics.call_began()
        metrics.call_ended(duration_s)
    exact_ms = (
        sorted(durations_s)[max(0, -(-int(share * len(durations_s) * 1e9) // 1_000_000_000) - 1)] * 1000
    )
    found_ms = metrics.snapshot().percentile_ms(share)
    assert exact_ms * 0.99 <= found_ms <= exact_ms * 1.2 + 0.001 or found_ms == pytest.approx(
        exact_ms, rel=0.2
    )


def test_each_duration_is_counted_once_while_others_are_added() -> None:
    metrics = Metrics()
    counted: list[int] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            counted.append(sum(metrics.snapshot().latencies))

    looking = threading.Thread(target=look)
    looking.start()
    for _ in range(20_000):
        metrics.call_ended(0.01)
    done.set()
    looking.join()
    assert counted == sorted(counted)
    assert counted[-1] <= sum(metrics.snapshot().latencies) == 20_000


def test_a_call_of_a_year_is_in_the_last_bucket() -> None:
    metrics = Metrics()
    metrics.call_ended(365 * 86400.0)
    assert metrics.snapshot().latencies[-1] == 1


def test_no_attempt_no_percentile() -> None:
    assert MetricsSnapshot().percentile_ms(0.99) == 0.0

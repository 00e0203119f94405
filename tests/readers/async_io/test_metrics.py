"""Counts add up, and percentiles are right to within a bucket."""

from __future__ import annotations

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


def test_no_attempt_no_percentile() -> None:
    assert MetricsSnapshot().percentile_ms(0.99) == 0.0

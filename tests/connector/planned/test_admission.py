"""Budgets are shared in proportion, used up, and starve nobody."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.connector.planned.admission import Admission, ReadLimits, share_budget
from headwater.core.clock import ManualClock

backlogs = st.lists(st.integers(0, 10**12), max_size=50)


@given(backlogs, st.integers(1, 10**13))
def test_a_share_never_exceeds_the_backlog_and_the_sum_never_the_budget(
    backlog: list[int], budget: int
) -> None:
    shares = share_budget(backlog, budget)
    waiting = sum(1 for size in backlog if size)
    assert all(0 <= share <= size for share, size in zip(shares, backlog, strict=True))
    assert sum(shares) == max(min(budget, sum(backlog)), min(waiting, sum(backlog)))


@given(backlogs, st.integers(1, 10**6))
def test_no_split_with_a_backlog_is_starved(backlog: list[int], budget: int) -> None:
    assert all(share for share, size in zip(share_budget(backlog, budget), backlog, strict=True) if size)


@given(st.integers(1, 1_000), st.integers(2, 1_000), st.integers(2, 500))
def test_shares_are_in_proportion(small: int, times: int, budget: int) -> None:
    a, b = share_budget([small, small * times], budget)
    assert a <= b


def test_a_byte_limit_takes_at_least_one_record_of_each_split() -> None:
    admission = Admission(ReadLimits(max_bytes=1_000), ManualClock())
    assert admission.admit([50, 50], [10_000, 100], limited=True, wait_for_more=True) == [1, 1]
    assert admission.admit([100], [100], limited=True, wait_for_more=True) == [10]


def test_both_limits_hold_together() -> None:
    admission = Admission(ReadLimits(max_rows=20, max_bytes=1_000), ManualClock())
    assert admission.admit([100], [100], limited=True, wait_for_more=True) == [10]
    assert admission.admit([100], [10], limited=True, wait_for_more=True) == [20]
    assert admission.admit([100], [10], limited=False, wait_for_more=False) == [100]

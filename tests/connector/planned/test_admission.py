"""Limits of rows are those of Spark's Kafka source; budgets are shared in proportion and starve nobody."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.connector.planned.admission import Admission, ReadLimits
from headwater.connector.planned.shares import share_budget, share_by_weight, share_rows
from headwater.core.clock import ManualClock
from headwater.core.enumerator import SplitRequest

backlogs = st.lists(st.integers(0, 10**12), max_size=50)


def rate_limit(limit: int, backlog: dict[str, int]) -> dict[str, int]:
    """What ``KafkaMicroBatchStream.rateLimit`` does, step by step, for partitions that begin at offset 0."""
    sizes = {split: size for split, size in backlog.items() if size > 0}
    total = float(sum(sizes.values()))
    if total < 1:
        return dict(backlog)
    until = {}
    for split, end in backlog.items():
        if split not in sizes:
            until[split] = end
            continue
        prorate = limit * (sizes[split] / total)
        rounded = math.ceil(prorate) if prorate < 1 else math.floor(prorate)
        until[split] = min(end, rounded)
    return until


@given(
    st.lists(st.one_of(st.integers(0, 30), st.integers(0, 2**62)), max_size=50),
    st.one_of(st.integers(1, 100), st.integers(1, 2**63 - 1)),
)
def test_shares_of_rows_are_those_of_sparks_source(backlog: list[int], limit: int) -> None:
    shares = share_rows(backlog, limit)
    assert shares == list(rate_limit(limit, {str(i): size for i, size in enumerate(backlog)}).values())
    assert all(0 < share <= size for share, size in zip(shares, backlog, strict=True) if size)


@pytest.mark.parametrize(
    ("backlog", "limit", "shares"),
    [
        ([70, 20, 10], 10, [7, 2, 1]),
        ([100, 10, 1], 10, [9, 1, 1]),
        ([80, 15, 15], 10, [7, 1, 1]),
        ([10, 3], 7, [5, 1]),
        ([1] * 5, 2, [1] * 5),
        ([5, 0, 5], 100, [5, 0, 5]),
        ([], 5, []),
    ],
)
def test_shares_of_rows_are_rounded_down_but_not_to_nothing(
    backlog: list[int], limit: int, shares: list[int]
) -> None:
    assert share_rows(backlog, limit) == shares


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


def asked_for(limits: ReadLimits) -> SplitRequest:
    return SplitRequest(
        limited=True,
        ends=False,
        max_rows=limits.max_rows,
        max_bytes=limits.max_bytes,
        max_rows_of=limits.max_rows_of,
    )


def admitted(
    limits: ReadLimits, backlog: list[int], row_bytes: list[int], groups: list[str] | None = None
) -> list[int]:
    """What a batch takes of each split."""
    admission = Admission(limits, ManualClock())
    return admission.admit(
        backlog, lambda: row_bytes, lambda: groups or [], asked_for(limits), wait_for_more=True
    )


def test_a_byte_limit_takes_at_least_one_record_of_each_split() -> None:
    limits = ReadLimits(max_bytes=1_000)
    assert admitted(limits, [50, 50], [10_000, 100]) == [1, 1]
    assert admitted(limits, [100], [100]) == [10]


def test_both_limits_hold_together() -> None:
    limits = ReadLimits(max_rows=20, max_bytes=1_000)
    assert admitted(limits, [100], [100]) == [10]
    assert admitted(limits, [100], [10]) == [20]
    assert admitted(ReadLimits(), [100], [10]) == [100]


def test_limits_of_groups_hold_beside_that_of_all() -> None:
    limits = ReadLimits(max_rows_of={"flood": 10}, max_bytes=100_000)
    taken = admitted(limits, [100, 300, 50], [100] * 3, ["flood", "flood", "calm"])
    assert taken == [2, 7, 50]


def test_a_flood_does_not_starve_the_group_that_weighs_more() -> None:
    groups = ["flood", "flood", "calm"]
    assert admitted(ReadLimits(max_rows=100), [10_000, 20_000, 60], [1] * 3, groups) == [33, 66, 1]
    weighed = ReadLimits(max_rows=100, weights={"calm": 4})
    assert admitted(weighed, [10_000, 20_000, 60], [1] * 3, groups) == [13, 26, 60]
    assert admitted(weighed, [10_000, 20_000, 1_000], [1] * 3, groups) == [6, 13, 80]
    in_bytes = ReadLimits(max_bytes=100_000, weights={"calm": 4})
    assert admitted(in_bytes, [10_000, 20_000, 1_000], [1_000] * 3, groups) == [6, 13, 80]


@given(
    st.lists(st.tuples(st.integers(0, 10_000), st.sampled_from("abc")), max_size=20),
    st.integers(1, 5_000),
    st.dictionaries(st.sampled_from("abc"), st.floats(0.01, 100), min_size=1),
)
def test_weights_share_the_whole_budget_and_starve_no_group(
    splits: list[tuple[int, str]], budget: int, weights: dict[str, float]
) -> None:
    backlog = [size for size, _ in splits]
    groups = [group for _, group in splits]
    taken = share_by_weight(backlog, groups, budget, weights, share_budget)
    assert all(0 <= rows <= size for rows, size in zip(taken, backlog, strict=True))
    for group in set(groups):
        mine = [at for at, name in enumerate(groups) if name == group]
        assert any(taken[at] for at in mine) or not any(backlog[at] for at in mine)
    # A group gets a row too few by rounding; and every split gets at least one.
    assert sum(taken) >= min(budget, sum(backlog)) - len(set(groups))
    assert sum(taken) <= max(budget + len(splits), 0)


class TestMinimum:
    """``delayBatch`` of Spark's source: what waits, and what sets the clock."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock(5)

    @pytest.fixture
    def admission(self, clock: ManualClock) -> Admission:
        return Admission(ReadLimits(min_rows=10, max_delay_ms=1_000), clock)

    @staticmethod
    def admit(admission: Admission, rows: int) -> int:
        request = asked_for(admission._limits)
        return sum(admission.admit([rows], lambda: [1], lambda: ["a"], request, wait_for_more=True))

    def test_the_first_batch_of_a_run_does_not_wait_and_the_next_one_does(
        self, admission: Admission, clock: ManualClock
    ) -> None:
        assert self.admit(admission, 6) == 6
        assert self.admit(admission, 6) == 0
        clock.advance(999)
        assert self.admit(admission, 6) == 0
        clock.advance(1)
        assert self.admit(admission, 6) == 6

    def test_a_first_look_that_finds_nothing_was_the_first_batch(
        self, admission: Admission, clock: ManualClock
    ) -> None:
        assert self.admit(admission, 0) == 0
        clock.advance(999)
        assert self.admit(admission, 9) == 0
        clock.advance(1)
        assert self.admit(admission, 9) == 9

    def test_enough_rows_set_the_clock(self, admission: Admission, clock: ManualClock) -> None:
        assert self.admit(admission, 1) == 1
        clock.advance(900)
        assert self.admit(admission, 10) == 10
        clock.advance(900)
        assert self.admit(admission, 9) == 0

    def test_a_delay_that_is_over_sets_the_clock_even_if_there_is_nothing_to_read(
        self, admission: Admission, clock: ManualClock
    ) -> None:
        assert self.admit(admission, 1) == 1
        clock.advance(1_000)
        assert self.admit(admission, 0) == 0
        clock.advance(500)
        assert self.admit(admission, 9) == 0

    def test_the_maximum_still_counts_when_the_minimum_is_there(self, clock: ManualClock) -> None:
        admission = Admission(ReadLimits(min_rows=10, max_rows=12), clock)
        assert self.admit(admission, 5) == 5
        assert self.admit(admission, 100) == 12
        assert self.admit(admission, 9) == 0

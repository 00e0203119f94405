"""Shares of tasks are those of Spark's Kafka source, which are written down here once more."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from headwater.connector.planned.cutting import shares_of_tasks


def spark_shares(sizes: list[int], min_partitions: int) -> list[int]:
    """What ``KafkaOffsetRangeCalculator.getRanges`` computes, step by step."""

    def part_count(size: int, total: int, parts: int) -> int:
        return max(math.floor(float(size) / total * parts + 0.5), 1)

    if len(sizes) >= min_partitions:
        return [1 for _ in sizes]
    total = sum(sizes)
    unsplit = {at for at, size in enumerate(sizes) if part_count(size, total, min_partitions) == 1}
    split_total = total - sum(sizes[at] for at in unsplit)
    split_parts = max(min_partitions - len(unsplit), 1)
    return [
        1 if at in unsplit else part_count(size, split_total, split_parts) for at, size in enumerate(sizes)
    ]


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30), st.integers(1, 200))
def test_each_range_is_cut_as_spark_cuts_it(sizes: list[int], min_partitions: int) -> None:
    assert shares_of_tasks(sizes, min_partitions) == spark_shares(sizes, min_partitions)


def test_ranges_without_records_are_not_cut() -> None:
    assert shares_of_tasks([0, 0], 10) == [1, 1]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(1, 60))
def test_ranges_without_records_do_not_count(sizes: list[int], min_partitions: int) -> None:
    shares = shares_of_tasks(sizes, min_partitions)
    filled = [share for size, share in zip(sizes, shares, strict=True) if size]
    assert filled == spark_shares([size for size in sizes if size], min_partitions)

"""The division of a batch for which the user asks: ``maxRecordsPerPartition`` and ``minPartitions``.

It is that of Spark's own Kafka source (``KafkaOffsetRangeCalculator``), its rounding included. Ranges with
too many records are cut first. If there are fewer pieces than ``minPartitions`` then, the larger ones are cut
in proportion to their records, until there are about so many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from headwater.core.planned_source import DEFAULT_ROW_BYTES, PlannedSource
from headwater.core.split import PositionT, SplitRange, SplitT


def cut_to_most_rows(
    source: PlannedSource[Any, SplitT, PositionT],
    whole: SplitRange[SplitT, PositionT],
    most_rows: int | None,
) -> Sequence[SplitRange[SplitT, PositionT]]:
    """Cut one range into pieces of at most so many records."""
    if most_rows is None:
        return [whole]
    rows = source.rows_between(whole.start, whole.stop)
    most = most_rows * DEFAULT_ROW_BYTES if source.counts_bytes(whole.split) else most_rows
    return [whole] if rows <= most else source.cut(whole, -(-rows // most))


def shares_of_tasks(rows: Sequence[int], min_tasks: int) -> list[int]:
    """Return into how many pieces each range is cut, so that there are about ``min_tasks``.

    A range that would not be cut counts as one task, and its records do not count for the others. One without
    records, which a batch read has for an open end, counts for nothing.
    """
    if sum(count > 0 for count in rows) >= min_tasks:
        return [1] * len(rows)
    shares = [_share(count, sum(rows), min_tasks) for count in rows]
    cut_rows = sum(count for count, share in zip(rows, shares, strict=True) if share > 1)
    whole = sum(share == 1 and count > 0 for count, share in zip(rows, shares, strict=True))
    cut_tasks = max(1, min_tasks - whole)
    return [
        _share(count, cut_rows, cut_tasks) if share > 1 else 1
        for count, share in zip(rows, shares, strict=True)
    ]


def _share(rows: int, total: int, tasks: int) -> int:
    # Java's rounding: a half goes up. Python's goes to the even number.
    return max(1, math.floor(rows / total * tasks + 0.5)) if total else 1

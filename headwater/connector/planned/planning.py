"""From ranges to tasks.

Every task, and every wave of tasks, has a price; but the bytes of a large batch need hands, and so does the
work that is done with its rows. Ranges are cut where they are large, and packed where there are more of them
than the batch is given tasks. The ranges of a batch depend on its offsets alone; a replay may be
divided among another number of tasks.

The division for which the user asks (``maxRecordsPerPartition``, ``minPartitions``) is that of Spark's own
Kafka source (``KafkaOffsetRangeCalculator``), its rounding included. Ranges with too many records are cut
first. If there are fewer parts than ``minPartitions`` then, the larger ones are cut in proportion to their
records, until there are about that many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol

from headwater.connector.coordination.dealing import SplitTimes, deal
from headwater.connector.cpus import available_cpus
from headwater.core.jsons import JsonValue
from headwater.core.options import Spec, integer, option
from headwater.core.planned_source import DEFAULT_ROW_BYTES, PlannedSource
from headwater.core.split import PositionT, SplitRange, SplitT

if TYPE_CHECKING:
    from headwater.core.task_notes import TaskNotes

    # The driver need not load the readers' runtime to plan.
    from headwater.readers.runtime.task_reports import ReportAddress


SMALL_TASK_BYTES = 4 << 20
"""Below this a second task costs more than it brings."""

LARGE_TASK_BYTES = 64 << 20
"""Above this per task, more tasks than there are cores do no harm, and a failed one loses less."""


@dataclass(frozen=True, slots=True)
class ReadTask(Generic[SplitT, PositionT]):
    """The ranges that one Spark task reads.

    Attributes:
        ranges: in this order where the source reads one split after the other.
        reports_to: where the task reports lost records and its rows; None: nowhere.
        ends_by: the condition by which a record ends a split in this batch (`PlannedSource.end_condition`).
        notes: where the splits leave theirs (`PlannedSource.leaves_note`); None: nowhere.
    """

    ranges: tuple[SplitRange[SplitT, PositionT], ...]
    reports_to: ReportAddress | None = None
    ends_by: JsonValue = None
    notes: TaskNotes | None = None


class PlanningHints(Spec):
    """How a batch is cut into tasks, as the user says. A source with other names or words has a subclass."""

    min_tasks: int = option(
        "minPartitions",
        "Cut large splits until a batch has about so many tasks.",
        default=1,
        parse=integer(1),
        shown_default="",
    )
    max_rows_per_task: int | None = option(
        "maxRowsPerPartition",
        "No task is planned for more rows than this.",
        default=None,
        parse=integer(1),
    )
    # None: it is not known. Then a batch may have a task for each split, as Spark's own Kafka source has.
    parallelism: int | None = option(
        "parallelism",
        "How many tasks the cluster runs at once: a batch has no more, unless its bytes or `minPartitions` "
        "ask for more. Where it is not known there may be one for each split.",
        default=None,
        parse=integer(1),
        shown_default="`HEADWATER_PARALLELISM`",
    )


class ChooseTasks(Protocol):
    """Says how many tasks a batch of so many rows gets, between the fewest and the most that make sense."""

    def __call__(self, rows: int, fewest: int, most: int, /) -> int: ...


def plan_tasks(
    source: PlannedSource[Any, SplitT, PositionT],
    ranges: Sequence[SplitRange[SplitT, PositionT]],
    row_bytes: Sequence[int],
    hints: PlanningHints,
    choose: ChooseTasks | None = None,
    *,
    reports_to: ReportAddress | None = None,
    times: SplitTimes | None = None,
) -> list[ReadTask[SplitT, PositionT]]:
    """Return the tasks of a batch; together they read exactly ``ranges``, each record once.

    Args:
        source: cuts its ranges.
        ranges: of the batch.
        row_bytes: about how many bytes a record has, for each range.
        hints: the user's.
        choose: says how many tasks there are to be; without it the most, as for a batch read: the cost of its
            rows is not known, and there is no earlier batch to learn from.
        reports_to: where the tasks report lost records and their rows; None: nowhere.
        times: for a byte of each split, as earlier batches took; None if none is known.
    """
    if not ranges:
        return []
    parts, part_row_bytes = _cut_as_asked(source, ranges, row_bytes, hints)
    rows = [source.rows_between(part.start, part.stop) for part in parts]
    sizes = [count * size for count, size in zip(rows, part_row_bytes, strict=True)]
    by_bytes = _tasks_for(sum(sizes), hints)
    # The pieces that the user asked for are tasks, as in Spark: also where rounding made more than that many.
    fewest = max(by_bytes, len(parts) if len(parts) > len(ranges) else min(hints.min_tasks, len(parts)))
    most = max(fewest, min(len(parts), hints.parallelism or len(parts)))
    tasks = choose(sum(rows), fewest, most) if choose is not None else most
    pieces, piece_sizes = _cut_by_bytes(source, parts, sizes, by_bytes)
    if hints.max_rows_per_task is not None or len(pieces) <= tasks:
        return [ReadTask((part,), reports_to) for part in pieces]
    # A byte more, so that pieces of nothing are dealt evenly too.
    work = [size + 1 for size in piece_sizes]
    costs = (times or SplitTimes()).costs([part.split.path for part in pieces], work)
    dealt = [[pieces[number] for number in numbers] for numbers in deal(costs, tasks)]
    return [ReadTask(tuple(parts), reports_to) for parts in dealt if parts]


def _tasks_for(total_bytes: int, hints: PlanningHints) -> int:
    """Return how many tasks the bytes of a batch need, however cheap its rows are."""
    by_bytes = min(hints.parallelism or available_cpus(), max(1, total_bytes // SMALL_TASK_BYTES))
    return max(by_bytes, -(-total_bytes // LARGE_TASK_BYTES))


def _cut_as_asked(
    source: PlannedSource[Any, SplitT, PositionT],
    ranges: Sequence[SplitRange[SplitT, PositionT]],
    row_bytes: Sequence[int],
    hints: PlanningHints,
) -> tuple[Sequence[SplitRange[SplitT, PositionT]], Sequence[int]]:
    """Cut ranges as the user asks; return the pieces, and how many bytes a record of each has."""
    if hints.max_rows_per_task is None and hints.min_tasks <= 1:
        return ranges, row_bytes
    small = [
        (part, size)
        for whole, size in zip(ranges, row_bytes, strict=True)
        for part in cut_to_most_rows(source, whole, hints.max_rows_per_task)
    ]
    rows = [source.rows_between(part.start, part.stop) for part, _ in small]
    shares = shares_of_tasks(rows, hints.min_tasks)
    cut = [
        (part, size)
        for (whole, size), share in zip(small, shares, strict=True)
        for part in (source.cut(whole, share) if share > 1 else [whole])
    ]
    return [part for part, _ in cut], [size for _, size in cut]


def _cut_by_bytes(
    source: PlannedSource[Any, SplitT, PositionT],
    ranges: Sequence[SplitRange[SplitT, PositionT]],
    sizes: Sequence[int],
    tasks: int,
) -> tuple[Sequence[SplitRange[SplitT, PositionT]], Sequence[int]]:
    """Cut ranges that are larger than an even share of the bytes; return the pieces and their sizes."""
    total_bytes = sum(sizes)
    if not total_bytes or round(tasks * max(sizes) / total_bytes) <= 1:
        return ranges, sizes
    pieces: list[SplitRange[SplitT, PositionT]] = []
    piece_sizes = []
    for whole, size in zip(ranges, sizes, strict=True):
        parts = round(tasks * size / total_bytes)
        if parts > 1:
            cut = source.cut(whole, parts)
            pieces += cut
            piece_sizes += [size // len(cut)] * len(cut)
        else:
            pieces.append(whole)
            piece_sizes.append(size)
    return pieces, piece_sizes


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

"""From ranges to tasks.

Every task, and every wave of tasks, has a price; but the bytes of a large batch need hands, and so does the
work that is done with its rows. Ranges are cut where they are large, and packed where there are more of them
than the batch is given tasks. What a batch reads depends on its offsets alone; when it is replayed it may be
divided among another number of tasks.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol

from headwater.connector.cpus import available_cpus
from headwater.core.planned_source import PlannedSource
from headwater.core.split import PositionT, SplitRange, SplitT

if TYPE_CHECKING:
    # The driver need not load the readers' runtime to plan.
    from headwater.readers.runtime.loss_reports import LossAddress

SMALL_TASK_BYTES = 4 << 20
"""Below this a second task costs more than it brings."""

LARGE_TASK_BYTES = 64 << 20
"""Above this per task, more tasks than there are cores do no harm, and a failed one loses less."""


@dataclass(frozen=True, slots=True)
class ReadTask(Generic[SplitT, PositionT]):
    """What one Spark task reads.

    Attributes:
        ranges: in this order where the source reads one split after the other.
        losses_to: where the task reports records that are gone; None if nobody counts them.
    """

    ranges: tuple[SplitRange[SplitT, PositionT], ...]
    losses_to: LossAddress | None = None


@dataclass(frozen=True, kw_only=True)
class PlanningHints:
    """What the user says about tasks.

    Attributes:
        parallelism: how many tasks the cluster runs at once; None if that is not known. Then a batch may have
            a task for each split, as Spark's own Kafka source has.
        min_tasks: cut large ranges until there are about so many tasks (``minPartitions``); a share of a task
            is rounded, as in Spark.
        max_rows_per_task: no task is planned for more records than this (``maxRecordsPerPartition``).
    """

    parallelism: int | None = None
    min_tasks: int = 1
    max_rows_per_task: int | None = None


class ChooseTasks(Protocol):
    """Says how many tasks a batch of so many rows gets, between the fewest and the most that make sense."""

    def __call__(self, rows: int, fewest: int, most: int, /) -> int: ...


def plan_tasks(
    source: PlannedSource[Any, SplitT, PositionT],
    ranges: Sequence[SplitRange[SplitT, PositionT]],
    row_bytes: Sequence[int],
    hints: PlanningHints,
    choose: ChooseTasks | None = None,
) -> list[ReadTask[SplitT, PositionT]]:
    """Return the tasks of a batch; together they read exactly ``ranges``, each record once.

    Args:
        source: cuts its ranges.
        ranges: what the batch reads.
        row_bytes: about how many bytes a record has, for each range.
        hints: the user's.
        choose: says how many tasks there are to be; without it the most, for what is done with the rows of a
            batch read is not known, and there is no batch before to learn from.
    """
    if not ranges:
        return []
    rows = [source.rows_between(piece.start, piece.stop) for piece in ranges]
    sizes = [count * size for count, size in zip(rows, row_bytes, strict=True)]
    fewest = _fewest_tasks(sum(sizes), hints)
    most = max(fewest, min(len(ranges), hints.parallelism or len(ranges)))
    wanted = choose(sum(rows), fewest, most) if choose is not None else most
    pieces, piece_sizes = _cut(source, list(zip(ranges, rows, sizes, strict=True)), fewest, hints)
    if hints.max_rows_per_task is not None or len(pieces) <= wanted:
        return [ReadTask((piece,)) for piece in pieces]
    return _pack(pieces, piece_sizes, wanted)


def _fewest_tasks(total_bytes: int, hints: PlanningHints) -> int:
    """Return how many tasks the bytes of a batch need, however cheap its rows are."""
    by_bytes = min(hints.parallelism or available_cpus(), max(1, total_bytes // SMALL_TASK_BYTES))
    return max(hints.min_tasks, by_bytes, -(-total_bytes // LARGE_TASK_BYTES))


def _cut(
    source: PlannedSource[Any, SplitT, PositionT],
    sized: Sequence[tuple[SplitRange[SplitT, PositionT], int, int]],
    tasks: int,
    hints: PlanningHints,
) -> tuple[list[SplitRange[SplitT, PositionT]], list[int]]:
    """Cut what is larger than an even share of the bytes among so many tasks; return the pieces and sizes."""
    total_bytes = sum(size for _, _, size in sized)
    pieces: list[SplitRange[SplitT, PositionT]] = []
    piece_sizes = []
    for whole, count, size in sized:
        parts = round(tasks * size / total_bytes) if total_bytes else 1
        if hints.max_rows_per_task is not None:
            parts = max(parts, -(-count // hints.max_rows_per_task))
        if parts > 1:
            cut = source.cut(whole, parts)
            pieces += cut
            piece_sizes += [size // len(cut)] * len(cut)
        else:
            pieces.append(whole)
            piece_sizes.append(size)
    return pieces, piece_sizes


def _pack(
    pieces: Sequence[SplitRange[SplitT, PositionT]], sizes: Sequence[int], bins: int
) -> list[ReadTask[SplitT, PositionT]]:
    """Put pieces into bins of about equal size: the largest first, each into the emptiest bin."""
    if bins == 1:
        return [ReadTask(tuple(pieces))]
    heap = [(0, at) for at in range(bins)]
    packed: list[list[int]] = [[] for _ in range(bins)]
    for at in sorted(range(len(pieces)), key=sizes.__getitem__, reverse=True):
        filled, emptiest = heap[0]
        packed[emptiest].append(at)
        heapq.heapreplace(heap, (filled + sizes[at] + 1, emptiest))
    return [ReadTask(tuple(pieces[at] for at in sorted(members))) for members in packed if members]

"""From ranges to tasks: few tasks for a small batch, many for a large one.

Every task, and every wave of tasks, has a price; the bytes of a large batch need hands. So ranges are cut
where they are large and packed where they are small. The plan is a pure function of its arguments: a replayed
batch gets the same tasks.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from headwater.core.planned_source import DEFAULT_ROW_BYTES, PlannedSource
from headwater.core.split import PositionT, SplitPath, SplitRange, SplitT
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
        parallelism: how many tasks the cluster runs at once; a medium batch is spread over so many.
        min_tasks: cut large ranges until there are about so many tasks (``minPartitions``); a share of a task
            is rounded, as in Spark.
        max_rows_per_task: no task is planned for more records than this (``maxRecordsPerPartition``).
    """

    parallelism: int
    min_tasks: int = 1
    max_rows_per_task: int | None = None


def plan_tasks(
    source: PlannedSource[Any, SplitT, PositionT],
    ranges: Sequence[SplitRange[SplitT, PositionT]],
    row_bytes: Mapping[SplitPath, int],
    hints: PlanningHints,
) -> list[ReadTask[SplitT, PositionT]]:
    """Return the tasks of a batch; together they read exactly ``ranges``, each record once."""
    sized = []
    for piece in ranges:
        rows = source.rows_between(piece.start, piece.stop)
        sized.append((piece, rows, rows * row_bytes.get(piece.split.path, DEFAULT_ROW_BYTES)))
    if not sized:
        return []
    wanted = _tasks_wanted(sum(size for _, _, size in sized), hints)
    pieces = _cut(source, sized, wanted, hints)
    if hints.max_rows_per_task is not None:
        return [ReadTask((piece,)) for piece, _ in pieces]
    return _pack(pieces, max(wanted, 1))


def _tasks_wanted(total_bytes: int, hints: PlanningHints) -> int:
    by_bytes = min(hints.parallelism, max(1, total_bytes // SMALL_TASK_BYTES))
    return max(hints.min_tasks, by_bytes, -(-total_bytes // LARGE_TASK_BYTES))


def _cut(
    source: PlannedSource[Any, SplitT, PositionT],
    sized: Sequence[tuple[SplitRange[SplitT, PositionT], int, int]],
    wanted: int,
    hints: PlanningHints,
) -> list[tuple[SplitRange[SplitT, PositionT], int]]:
    """Cut what is larger than an even share; return the pieces with their sizes in bytes."""
    total_bytes = sum(size for _, _, size in sized)
    pieces = []
    for whole, rows, size in sized:
        count = round(wanted * size / total_bytes) if total_bytes else 1
        if hints.max_rows_per_task is not None:
            count = max(count, -(-rows // hints.max_rows_per_task))
        cut = source.cut(whole, count) if count > 1 else [whole]
        pieces += [(piece, size // len(cut)) for piece in cut]
    return pieces


def _pack(
    pieces: Sequence[tuple[SplitRange[SplitT, PositionT], int]], bins: int
) -> list[ReadTask[SplitT, PositionT]]:
    """Put pieces into bins of about equal size: the largest first, each into the emptiest bin."""
    if len(pieces) <= bins:
        return [ReadTask((piece,)) for piece, _ in pieces]
    heap: list[tuple[int, int]] = [(0, at) for at in range(bins)]
    packed: list[list[int]] = [[] for _ in range(bins)]
    for at in sorted(range(len(pieces)), key=lambda i: -pieces[i][1]):
        filled, emptiest = heapq.heappop(heap)
        packed[emptiest].append(at)
        heapq.heappush(heap, (filled + pieces[at][1] + 1, emptiest))
    return [ReadTask(tuple(pieces[at][0] for at in sorted(members))) for members in packed if members]

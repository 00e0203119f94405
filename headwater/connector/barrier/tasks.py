"""The tasks of an epoch: how splits, and discovered splits that wait, are divided among them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from headwater.connector.barrier.event_time import task_alignment
from headwater.connector.barrier.offsets import EpochId, EpochOffset
from headwater.connector.barrier.options import EpochSettings
from headwater.connector.coordination.dealing import SplitTimes, deal
from headwater.core.barrier_source import BarrierSource
from headwater.core.epoch import Barrier, EpochState, WaitingSplits
from headwater.core.split import SplitPath, SplitRange
from headwater.core.state_store import StateStore
from headwater.readers.runtime.epoch.event_time import TaskAlignment
from headwater.readers.runtime.epoch.state_parts import SplitSegments, StateParts
from headwater.readers.runtime.epoch.task import EpochTask

_SMALL: Final = 1_000
_MOST_SMALL: Final = 64
"""Of pieces with fewer splits than the one, no more than the other are named by an offset."""
_MERGED: Final = 99_999
"""Stands for the driver in the names of segments, where others have the number of their task."""
_READERS: Final = 8

_LEAST_READY: Final = 100
"""So many splits are ready in an epoch, as far as there are found ones that wait. Those that are begun and
not finished are in the next offset, with their positions: more would make it large."""


def deal_splits(due: Sequence[SplitPath], tasks: int, times: SplitTimes) -> list[tuple[SplitPath, ...]]:
    """Deal splits to tasks by the time that each took; those of a task stay in their order."""
    dealt = deal(times.costs(due, [1.0] * len(due)), tasks)
    return [tuple(due[number] for number in numbers) for numbers in dealt]


def deal_waiting(pieces: Sequence[WaitingSplits], tasks: int) -> list[tuple[WaitingSplits, ...]]:
    """Deal found splits that wait to tasks: whole pieces, cut only if there are fewer than tasks.

    So pieces do not get more and smaller from epoch to epoch.
    """
    dealt: list[list[WaitingSplits]] = [[] for _ in range(tasks)]
    if not pieces:
        return [() for _ in dealt]
    whole = sorted(pieces, key=len, reverse=True)
    while len(whole) < tasks and len(whole[0]) > 1:
        largest = whole.pop(0)
        middle = (largest.first + largest.stop) // 2
        whole += [replace(largest, stop=middle), replace(largest, first=middle)]
        whole.sort(key=len, reverse=True)
    for part in whole:
        # The largest first, each to the task that has the least.
        min(dealt, key=lambda has: sum(map(len, has))).append(part)
    # In the order of discovery.
    return [tuple(sorted(has, key=lambda part: (part.segment, part.first))) for has in dealt]


def epoch_tasks(offset: EpochOffset, settings: EpochSettings, retry_deadline_ms: int) -> list[EpochTask]:
    """Return the tasks of an epoch: a pure function of its offset and the options. No I/O."""
    return [
        EpochTask(
            folder=offset.epoch.folder,
            number=number,
            ranges=tuple(SplitRange(offset.splits[path], offset.starts[path], None) for path in paths),
            barrier=offset.barrier,
            mode=settings.mode,
            alignment_timeout_ms=settings.alignment_timeout_ms,
            budget_bytes=settings.budget_bytes,
            restored=tuple((ref.folder, ref.task) for ref in offset.restored[number]),
            waiting=tuple(offset.waiting[number]),
            least_ready=max(1, _LEAST_READY // len(offset.tasks)),
            failing={path: offset.failing[path] for path in paths if path in offset.failing},
            retry_deadline_ms=retry_deadline_ms,
            events=offset.events[number],
            share_scans=settings.share_scans,
            tasks=len(offset.tasks),
            alignment=_alignment_of(offset, settings, paths),
        )
        for number, paths in enumerate(offset.tasks)
    ]


def _alignment_of(
    offset: EpochOffset, settings: EpochSettings, paths: Collection[SplitPath]
) -> TaskAlignment | None:
    # An epoch without a limit ends when all is read: there is nothing to align.
    if settings.event_time is None or offset.fronts is None or offset.barrier == Barrier():
        return None
    return task_alignment(settings.event_time, offset.fronts, paths)


def merged(
    source: BarrierSource[Any, Any],
    store: StateStore,
    epoch: EpochId,
    waiting: tuple[WaitingSplits, ...],
    most_small: int,
) -> tuple[WaitingSplits, ...]:
    """Return the found splits that wait, those of many small pieces in a new segment.

    Each task leaves a piece in each epoch: they are merged before the offset has too many names. A crash
    changes nothing: the same splits are the same segment.

    Args:
        source: whose splits these are.
        store: the state location.
        epoch: after which they wait.
        waiting: all of them.
        most_small: so many small pieces are few, if that is more than the usual number.
    """
    small = [part for part in waiting if len(part) < _SMALL]
    if len(small) <= max(_MOST_SMALL, most_small):
        return waiting
    segments = SplitSegments(source, epoch.query, store)
    # Several at once: object stores answer late.
    with ThreadPoolExecutor(_READERS, "headwater-segments") as pool:
        splits = list(chain.from_iterable(pool.map(segments.read, small)))
    parts = StateParts(source, epoch.folder, _MERGED)
    whole = parts.put_aside(EpochState(found=tuple(splits)), store)
    return (*(part for part in waiting if len(part) >= _SMALL), *whole.waiting)

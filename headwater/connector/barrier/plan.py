"""From an epoch's offset to its tasks."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.connector.barrier.epoch_settings import EpochSettings
from headwater.connector.barrier.offsets import EpochOffset
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.epoch.task import EpochTask


def deal(due: Sequence[SplitPath], most: int) -> list[tuple[SplitPath, ...]]:
    """Deal splits to tasks, as evenly as may be: their numbers differ by one at the most.

    Args:
        due: the splits, in order.
        most: the most tasks.
    """
    tasks = min(most, len(due))
    return [tuple(due[number::tasks]) for number in range(tasks)]


def epoch_tasks(offset: EpochOffset, settings: EpochSettings) -> list[EpochTask]:
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
            events=offset.events[number],
            share_scans=settings.share_scans,
        )
        for number, paths in enumerate(offset.tasks)
    ]

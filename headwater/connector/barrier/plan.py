"""From an epoch's offset to its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.connector.barrier.offsets import EpochOffset
from headwater.core.epoch import AlignmentMode, Barrier
from headwater.core.split import SplitPath, SplitRange
from headwater.core.state_store import StateStore
from headwater.readers.runtime.epoch.task import EpochTask

__all__ = ["BarrierHints", "Epochs", "deal", "epoch_tasks"]


@dataclass(frozen=True)
class BarrierHints:
    """What the user says about epochs.

    Attributes:
        barrier: where each task cuts its epoch.
        mode: what happens to what is in the channels then.
        alignment_timeout_ms: an aligned barrier overtakes after so long; None for never.
        parallelism: the most tasks of an epoch.
        budget_bytes: what a task may hold in its channels.
        poll_interval_ms: how long after a split was caught up it is looked at again.
        checkpoint_timeout_ms: how long a claimed place of a committed batch may take to publish.
        retained_epochs: how many epochs before the last one the state location keeps.
        share_scans: keep what is read on its host until the next epoch, for other scans of the same epoch.
    """

    barrier: Barrier
    mode: AlignmentMode = AlignmentMode.ALIGNED
    alignment_timeout_ms: int | None = None
    parallelism: int = 1
    budget_bytes: int = 64 << 20
    poll_interval_ms: int = 10_000
    checkpoint_timeout_ms: int = 60_000
    retained_epochs: int = 100
    share_scans: bool = False


@dataclass(frozen=True)
class Epochs:
    """How a query in barrier mode goes from epoch to epoch: everything that the options say.

    Picklable; opens nothing.

    Attributes:
        store: the state location; None for a batch read, which keeps nothing.
        hints: the rest.
    """

    store: StateStore | None
    hints: BarrierHints


def deal(due: Sequence[SplitPath], most: int) -> list[tuple[SplitPath, ...]]:
    """Deal splits to places, as evenly as may be.

    The numbers of splits of any two places differ by one at the most.
    """
    places = min(most, len(due))
    return [tuple(due[place::places]) for place in range(places)]


def epoch_tasks(offset: EpochOffset, hints: BarrierHints) -> list[EpochTask]:
    """Return the tasks of an epoch: a pure function of its offset and the options. No I/O."""
    return [
        EpochTask(
            folder=offset.epoch.folder,
            place=number,
            ranges=tuple(SplitRange(offset.splits[path], offset.starts[path], None) for path in place),
            barrier=offset.barrier,
            mode=hints.mode,
            alignment_timeout_ms=hints.alignment_timeout_ms,
            budget_bytes=hints.budget_bytes,
            restored=tuple((ref.folder, ref.place) for ref in offset.restored[number]),
            events=offset.events[number],
            share_scans=hints.share_scans,
        )
        for number, place in enumerate(offset.places)
    ]

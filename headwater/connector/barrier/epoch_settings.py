"""How a query in barrier mode goes from epoch to epoch: everything that the options say about it."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.epoch import AlignmentMode, Barrier
from headwater.core.state_store import StateStore


@dataclass(frozen=True, kw_only=True)
class EpochSettings:
    """Picklable; opens nothing.

    Attributes:
        store: the state location; None for a batch read, which keeps nothing.
        barrier: where each task cuts its epoch.
        mode: what happens to what is in the channels then.
        alignment_timeout_ms: an aligned barrier overtakes after so long; None for never.
        parallelism: the most tasks of an epoch.
        budget_bytes: what a task may hold in its channels.
        poll_interval_ms: how long after a split was caught up it is looked at again.
        checkpoint_timeout_ms: how long a task of a committed batch that has begun may take to publish.
        retained_epochs: how many epochs before the last one the state location keeps.
        share_scans: keep what is read on its host until the next epoch, for other scans of the same epoch.
    """

    store: StateStore | None
    barrier: Barrier
    mode: AlignmentMode = AlignmentMode.ALIGNED
    alignment_timeout_ms: int | None = None
    parallelism: int = 1
    budget_bytes: int = 64 << 20
    poll_interval_ms: int = 10_000
    checkpoint_timeout_ms: int = 60_000
    retained_epochs: int = 100
    share_scans: bool = False

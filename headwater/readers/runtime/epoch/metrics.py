"""What is measured about one epoch of one task."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class EpochMetrics:
    """Written by the task's thread; complete when the epoch is over.

    Attributes:
        rows: emitted.
        fetches: how often a reader was asked.
        start_delay_ms: from the trigger to the first barrier at the emitter: how long the fetched data held
            it up.
        alignment_ms: from the first barrier to the last one, or to the overtaking.
        in_flight_bytes: Arrow rows that were stored with the state because the barrier overtook them.
        snapshot_ms: how long copying the state took; writing it is not counted.
        peak_buffered_bytes: the most that ever lay between fetchers and emitter.
    """

    rows: int = 0
    fetches: int = 0
    start_delay_ms: int = 0
    alignment_ms: int = 0
    in_flight_bytes: int = 0
    snapshot_ms: int = 0
    peak_buffered_bytes: int = 0

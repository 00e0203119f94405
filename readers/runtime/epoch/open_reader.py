"""Makes the dataflow of an epoch's task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headwater_core.barrier_source import BarrierSource
from headwater_core.clock import Clock
from headwater_core.epoch import EpochState, InFlight
from readers.runtime.epoch.epoch_reader import EpochReader
from readers.runtime.epoch.metrics import EpochMetrics
from readers.runtime.epoch_task import EpochTask
from readers.runtime.fetchers.shape import ThreadShape

__all__ = ["open_epoch_reader"]


def open_epoch_reader(
    source: BarrierSource[Any, Any],
    task: EpochTask,
    *,
    stop_at: EpochState | None,
    restored: tuple[InFlight, ...],
    on_snapshot: Callable[[EpochState], None] | None,
    metrics: EpochMetrics,
    clock: Clock,
) -> EpochReader:
    """Return the reader of one task. Opens nothing: that comes with the first batch."""
    return EpochReader(
        source.for_query(task.query),
        task.ranges,
        task.barrier,
        mode=task.mode,
        alignment_timeout_ms=task.alignment_timeout_ms,
        stop_at=stop_at,
        restored=restored,
        budget_bytes=task.budget_bytes,
        threads=ThreadShape(source.fetcher_threads, source.splits_per_thread),
        events=task.events,
        on_snapshot=on_snapshot,
        clock=clock,
        metrics=metrics,
    )

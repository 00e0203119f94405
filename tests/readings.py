"""Readings of one epoch by one task, without a driver."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import SystemClock
from headwater.core.epoch import AlignmentMode, Barrier, Failing
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.epoch.calls import CreateCalls
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.epoch.event_time import TaskAlignment
from headwater.readers.runtime.epoch.first_reading import FirstReading
from headwater.readers.runtime.epoch.second_reading import SecondReading
from headwater.readers.runtime.epoch.task import EpochTask, ReadingContext


class TickingClock(SystemClock):
    """Each look at it finds it a millisecond later: an epoch of one millisecond ends after its first turn.

    On any machine: by the machine's clock a fast one gets through several turns.
    """

    def __init__(self) -> None:
        self._looks = itertools.count()

    def monotonic_ms(self) -> int:
        return next(self._looks)


def epoch_task(
    starts: Sequence[SplitRange[Any, Any]],
    barrier: Barrier | None = None,
    *,
    mode: AlignmentMode = AlignmentMode.ALIGNED,
    alignment_timeout_ms: int | None = None,
    budget_bytes: int = 1 << 26,
    events: Sequence[JsonValue] = (),
    folder: str = "query/epoch-1",
    share_scans: bool = False,
    least_ready: int = 0,
    failing: Mapping[SplitPath, Failing] | None = None,
    retry_deadline_ms: int | None = None,
    alignment: TaskAlignment | None = None,
    restored: Sequence[tuple[str, int]] = (),
) -> EpochTask:
    return EpochTask(
        folder=folder,
        number=0,
        ranges=tuple(starts),
        barrier=barrier or Barrier(),
        mode=mode,
        alignment_timeout_ms=alignment_timeout_ms,
        budget_bytes=budget_bytes,
        events=tuple(events),
        share_scans=share_scans,
        least_ready=least_ready,
        failing=failing or {},
        retry_deadline_ms=retry_deadline_ms,
        alignment=alignment,
        restored=tuple(restored),
    )


def read_task(
    source: BarrierSource[Any, Any], task: EpochTask, create_calls: CreateCalls | None = None, **context: Any
) -> EpochReader:
    """Read up to the barrier, or to ``stop_at`` if that is given."""
    attempt = ReadingContext(**context)
    calls = create_calls(source.schema()) if create_calls else None
    if attempt.stop_at is None:
        return FirstReading(source, task, attempt, calls)
    return SecondReading(source, task, attempt, calls)

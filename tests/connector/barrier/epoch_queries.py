"""A query in barrier mode without Spark: plan, log, read, restart."""

from __future__ import annotations

import json
import time
from typing import Any

from headwater.connector.barrier.coordinator import BarrierCoordinator
from headwater.connector.barrier.options import EpochSettings
from headwater.core.epoch import Barrier
from headwater.core.jsons import JsonObject, canonical
from headwater.core.retry import Backoff
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.epoch.read_epoch import read_epoch
from headwater.readers.runtime.epoch.task import EpochTask
from tests.epoch_doubles import Logs, LogSource, MainThreadClock, open_plain_reader, rows_of

POLL_MS = 1_000
WALL_MS = time.time_ns() // 1_000_000

OPEN: list[BarrierCoordinator] = []
"""Every coordinator that a query made."""


class Query:
    """A query on a checkpoint, as Spark drives it: an offset log, and coordinators that come and go."""

    def __init__(self, outside: Logs, store: MemoryStateStore | None = None, **settings: Any) -> None:
        self.outside = outside
        self.store = store or MemoryStateStore()
        self.clock = MainThreadClock()
        self.settings = {
            "barrier": Barrier(rows=4),
            "parallelism": 2,
            "poll_interval_ms": POLL_MS,
            **settings,
        }
        self.log: list[JsonObject] = []
        self.rows: list[tuple[str, int]] = []
        self.restart()

    def restart(self) -> None:
        """A new driver."""
        self.source = LogSource(self.outside)
        self.coordinator = BarrierCoordinator(
            self.source,
            EpochSettings(store=self.store, **self.settings),
            Backoff(deadline_ms=100),
            clock=self.clock,
            wall_ms=lambda: WALL_MS + self.clock.monotonic_ms(),
        )
        OPEN.append(self.coordinator)

    @property
    def start(self) -> JsonObject:
        return self.log[-1] if self.log else self.coordinator.initial_offset()

    def plan(self, *, limited: bool = True) -> JsonObject | None:
        """Log the next offset; None if there is nothing to do."""
        start = json.loads(json.dumps(self.start))
        end = self.coordinator.plan_next(start, limited=limited)
        if end == start:
            assert list(end) == list(start)
            return None
        assert canonical(end) == end
        self.log.append(end)
        return end

    def tasks(self) -> list[EpochTask]:
        start = self.log[-2] if len(self.log) > 1 else self.coordinator.initial_offset()
        return self.coordinator.tasks(start, self.log[-1])

    def read(self, task: EpochTask) -> list[tuple[str, int]]:
        return rows_of(read_epoch(self.source, task, self.store, open_plain_reader, self.clock))

    def batch(self, *, limited: bool = True) -> list[tuple[str, int]] | None:
        """Run one micro-batch; None if none was planned."""
        if self.plan(limited=limited) is None:
            return None
        read = [row for task in self.tasks() for row in self.read(task)]
        self.rows += read
        return read

    def drain(self) -> None:
        """Run with AvailableNow to the end."""
        self.coordinator.prepare_for_available_now()
        while self.batch() is not None:
            pass

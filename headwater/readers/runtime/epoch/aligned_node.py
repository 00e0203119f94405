"""The emitter of a task whose splits are aligned by event time: records wait for other splits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from headwater.core.clock import Clock
from headwater.core.epoch import EpochState, InFlight
from headwater.core.source import Source
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.batches import read_batches
from headwater.readers.runtime.epoch.dataflow import FeedbackLoop
from headwater.readers.runtime.epoch.emitter_node import EmitterNode
from headwater.readers.runtime.epoch.event_time import (
    EventTimeSpan,
    SplitAlignment,
    TaskAlignment,
    fronts_event,
    time_span,
)
from headwater.readers.runtime.epoch.progress import SplitFailures
from headwater.readers.runtime.fetchers.events import Fetched, SplitsDone, SplitsFailed
from headwater.readers.runtime.partitions.subpartition import PartitionEvent
from headwater.readers.runtime.task_reports import EventTimeLags

MOST_HELD = 1_000
"""This number of waiting splits ends an epoch: memory must stay small. The next one goes on without them."""


@dataclass(slots=True)
class _Held:
    """A split that waits.

    Attributes:
        span: of the first record that waits.
        queue: the records and events of the split, in order.
    """

    span: EventTimeSpan
    queue: deque[Fetched | PartitionEvent] = field(default_factory=deque)


class AlignedNode(EmitterNode):
    """Holds back records that are too far ahead, and has their splits paused.

    A record that waits was not emitted: the position is before it. If it waits still when the epoch is cut,
    it is dropped, and fetched again in an epoch in which it may be emitted. Rows that are stored with the
    snapshot (a barrier overtook them, or a call that runs) count as emitted for their split, and hold all
    splits back in the next epoch, in which they come first. Memory: of each split that waits
    the record that does, and the records that were fetched behind it before the split was paused.

    How far the splits have come goes to the driver as a source event, with the snapshot.

    Args:
        source: makes the emitter.
        alignment: the driver's settings and watermarks.
        starts: the splits that the task reads.
        loop: takes found splits.
        clock: time.
        schema: of the emitter's rows.
        failures: of the splits.
        pause_or_resume: of the fetchers.
        on_enough: called when all splits wait, for splits of other tasks, so nothing changes in this epoch;
            and when more wait than may be kept in memory.
    """

    def __init__(
        self,
        source: Source[Any, Any, Any],
        alignment: TaskAlignment,
        *,
        starts: Sequence[SplitRange[Any, Any]],
        loop: FeedbackLoop,
        clock: Clock,
        schema: pa.Schema,
        failures: SplitFailures,
        pause_or_resume: Callable[[Sequence[SplitPath], Sequence[SplitPath]], None],
        on_enough: Callable[[], None],
    ) -> None:
        super().__init__(source, starts=starts, loop=loop, clock=clock, schema=schema, failures=failures)
        self._alignment = SplitAlignment(alignment)
        self._column = alignment.column
        self.lags = EventTimeLags(alignment.column)
        self._pause_or_resume = pause_or_resume
        self._on_enough = on_enough
        self._held: dict[SplitPath, _Held] = {}

    def emit(self, fetched: Fetched) -> pa.RecordBatch | None:
        path = fetched.path
        if path in self._held:
            self._held[path].queue.append(fetched)
            return None
        state = self.progress.state(path)
        if state is None:
            return None
        self.progress.had_turn(path)
        batches, position = self._decode(fetched, state)
        span = time_span(batches, self._column)
        if span is not None and not self._alignment.admits(path, span):
            self._held[path] = _Held(span, deque([fetched]))
            self._alignment.held(path, span)
            self._pause_or_resume([path], [])
            return None
        self._alignment.emitted(path, span)
        return self._advance(fetched, state, batches, position)

    def take(self, event: PartitionEvent) -> None:
        for path in _named(event):
            # One fetch speaks of one split. What is said of one that waits is said behind its records.
            if path in self._held:
                self._held[path].queue.append(event)
                return
        self._take_now(event)

    def admitted(self) -> Iterator[pa.RecordBatch]:
        while self._held and self._alignment.has_moved:
            self._alignment.has_moved = False
            # The one that is behind the others first: it may let these go on.
            for path in sorted(self._held, key=lambda path: self._held[path].span):
                yield from self._go_on(path)
        if self._held and len(self._held) >= min(self.progress.open, MOST_HELD):
            self._on_enough()

    def snapshot(
        self, loop_log: Iterable[SplitPath], in_flight: Sequence[InFlight], taken: int
    ) -> EpochState:
        fronts = self._alignment.fronts()
        stored = time_span((rows for entry in in_flight for rows in read_batches(entry.rows)), self._column)
        if fronts or stored is not None:
            in_flight_ms = None if stored is None else stored.first_ms
            self.progress.add_events([fronts_event(fronts, in_flight_ms)])
        return super().snapshot(loop_log, in_flight, taken)

    def _go_on(self, path: SplitPath) -> Iterator[pa.RecordBatch]:
        """Yield the records of a split that need to wait no longer."""
        waiting = self._held[path]
        if not self._alignment.admits(path, waiting.span):
            return
        while waiting.queue:
            element = waiting.queue[0]
            if isinstance(element, PartitionEvent):
                waiting.queue.popleft()
                self._take_now(element)
                continue
            state = self.progress.state(path)
            assert state is not None, "a split that waits is not done"
            batches, position = self._decode(element, state)
            span = time_span(batches, self._column)
            if span is not None and not self._alignment.admits(path, span):
                waiting.span = span
                self._alignment.held(path, span)
                return
            waiting.queue.popleft()
            self._alignment.emitted(path, span)
            batch = self._advance(element, state, batches, position)
            if batch is not None:
                yield batch
        del self._held[path]
        self._pause_or_resume([], [path])

    def _take_now(self, event: PartitionEvent) -> None:
        super().take(event)
        if isinstance(event, SplitsDone):
            for path in event.finished:
                self._alignment.finished(path)
            for path in event.caught_up:
                self._alignment.at_end(path)


def _named(event: PartitionEvent) -> Iterable[SplitPath]:
    """Return the splits of which an event says something that counts behind their records."""
    if isinstance(event, SplitsDone):
        return [*event.finished, *event.caught_up]
    return event.failures if isinstance(event, SplitsFailed) else ()

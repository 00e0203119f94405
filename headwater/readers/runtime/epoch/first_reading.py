"""The first reading of an epoch: up to the barrier."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pyarrow as pa

from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import Clock
from headwater.core.epoch import Barrier, EpochState, InFlight
from headwater.core.jsons import JsonValue
from headwater.core.metrics import COUNTERS
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.batches import write_batches
from headwater.readers.runtime.epoch.aligned_node import AlignedNode
from headwater.readers.runtime.epoch.barrier_handler import BarrierHandler, Cut
from headwater.readers.runtime.epoch.calls import AsyncCalls
from headwater.readers.runtime.epoch.dataflow import Dataflow
from headwater.readers.runtime.epoch.emitter_node import EmitterNode
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.epoch.event_time import TaskAlignment
from headwater.readers.runtime.epoch.in_flight import RestoredRows, batches_with_calls, rows_of_splits
from headwater.readers.runtime.epoch.progress import SplitFailures
from headwater.readers.runtime.epoch.task import EpochTask, ReadingContext
from headwater.readers.runtime.fetchers.events import Fetched
from headwater.readers.runtime.partitions.subpartition import (
    CheckpointBarrier,
    EndOfPartition,
    PartitionBuffer,
)

MOST_FOUND = 10_000
"""This number of found splits that were not begun ends an epoch that has a limit: memory must stay small."""

_LET_IN = 16
"""How many of the waiting splits are sent to the fetchers at once."""


class FirstReading(EpochReader):
    """Reads up to the barrier, and decides thereby how far the epoch goes.

    Args:
        source: the source.
        task: where to begin, and where the epoch is cut.
        context: the attempt; without ``stop_at``.
        calls: through which all rows go, if there are such.
    """

    def __init__(
        self,
        source: BarrierSource[Any, Any],
        task: EpochTask,
        context: ReadingContext,
        calls: AsyncCalls | None,
    ) -> None:
        starts = [SplitRange(start.split, start.start, None) for start in task.ranges]
        waited = context.waiting.take(max(0, task.least_ready - len(starts)))
        ready = [SplitRange(split.split, split.start, None) for split in waited]
        flow = Dataflow(source, task, ranges=[*starts, *ready], barrier=task.barrier, clock=context.clock)
        node = _node_of(source, task, flow=flow, starts=starts, clock=context.clock)
        for split in waited:
            node.progress.add_found(split)
        COUNTERS.take()  # those of an attempt that has failed, or of a batch read
        super().__init__(source, context, flow=flow, node=node, calls=calls)
        self._clock = context.clock
        self._waiting = context.waiting
        self._barrier = task.barrier
        self._alignment = task.alignment
        self._alignment_timeout_ms = task.alignment_timeout_ms
        self._handler = BarrierHandler(
            len(flow.partition),
            task.mode,
            timeout_ms=task.alignment_timeout_ms,
            clock=context.clock,
            metrics=context.metrics,
        )
        column = None if task.alignment is None else task.alignment.column
        self._restored = RestoredRows(rows_of_splits(context.restored), column)
        self._restore_calls(batches_with_calls(context.restored))
        self._overtaken: dict[SplitPath, tuple[JsonValue, list[pa.RecordBatch]]] = {}
        # None until a barrier overtakes.
        self._overtaken_rows: list[InFlight] | None = None
        self._on_overtaken = context.on_overtaken
        self._began_ms = 0
        self._cut = Cut.NOTHING

    def waits_for_room(self) -> bool:
        """See `CallPace`: not past a barrier that overtakes."""
        self._flow.manager.check_errors()
        self._look()
        return self._cut is not Cut.OVERTAKE or self.patience_ms() != 0

    def alignment(self) -> TaskAlignment | None:
        """See `CallPace`."""
        return self._alignment

    def patience_ms(self) -> int | None:
        """See `CallPace`: aligned calls finish, others are overtaken."""
        if self._cut is Cut.COMPLETE:
            return self._aligning_ms()
        if self._flow.trigger.is_end:
            # There is nothing to read: no barrier came, and the epoch has its time, as any other.
            return self._interval_left_ms()
        return 0

    def _rows(self) -> Generator[pa.RecordBatch | None, None, None]:
        self._began_ms = self._clock.monotonic_ms()
        yield from self._restored.batches()
        self._flow.start()
        while self._cut is Cut.NOTHING:
            # Between `prepare` and `poll`: a trigger that fires after this look ends the next wait at once.
            self._flow.prepare()
            self._let_in()
            yield from self._admitted()
            self._look()
            if self._cut is Cut.NOTHING:
                yield from self._step()
        if self._cut is Cut.OVERTAKE:
            self._overtake()

    def _let_in(self) -> None:
        """Send some of the splits that wait to the fetchers, if these have taken all that was sent before.

        So the task's memory holds few of them. A split that was let in and not begun when the epoch is cut is
        found in this epoch, as if a record had named it.
        """
        if self._flow.trigger.is_reached or len(self._flow.loop):
            return
        let_in = self._waiting.take(_LET_IN)
        for split in let_in:
            self._node.add_found(split)
        if let_in:
            self._flow.manager.notify_found()

    def _step(self) -> Iterator[pa.RecordBatch | None]:
        """Take one element, or wait for one. A barrier may cut the epoch."""
        arrival = self._flow.poll()
        if arrival is None:
            yield from self._wait(self._left_ms())
            return
        channel, element = arrival
        if isinstance(element, PartitionBuffer):
            yield from self._emit(element)
        elif isinstance(element, CheckpointBarrier):
            self._note(self._handler.on_barrier(channel, element.triggered_ms))
        elif isinstance(element, EndOfPartition):
            self._note(self._handler.on_end_of_partition(channel))
        else:
            self._node.take(element)

    def _admitted(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of records that waited for other splits, and need to wait no longer."""
        found_before = len(self._flow.loop)
        yield from self._node.admitted()
        if len(self._flow.loop) > found_before:
            self._flow.manager.notify_found()

    def _look(self) -> None:
        """Look whether all splits are done, and at the clock: the epoch may be cut."""
        trigger = self._flow.trigger
        if not self._node.progress.open:
            trigger.end()
        trigger.check_time()
        if trigger.is_due:
            self._note(self._handler.on_trigger())
            self._note(self._handler.on_time(trigger.triggered_ms))

    def _note(self, cut: Cut) -> None:
        # The handler says it once; calls that wait for room may be the first to hear it.
        if cut is not Cut.NOTHING:
            self._cut = cut

    def _left_ms(self) -> int | None:
        """Return how long to wait for the next element; None for as long as it takes."""
        trigger = self._flow.trigger
        return self._handler.left_ms(trigger.triggered_ms) if trigger.is_due else trigger.left_ms()

    def _aligning_ms(self) -> int | None:
        """Return how long calls under way may still take; None for as long as they need."""
        if self._alignment_timeout_ms is None:
            return None
        triggered_ms = self._flow.trigger.triggered_ms
        return max(0, triggered_ms + self._alignment_timeout_ms - self._clock.monotonic_ms())

    def _interval_left_ms(self) -> int | None:
        """Return the rest of the epoch's time; None if it has no end."""
        if self._barrier.duration_ms is None:
            return None
        return max(0, self._began_ms + self._barrier.duration_ms - self._clock.monotonic_ms())

    def _after_record(self) -> None:
        if self._barrier != Barrier() and len(self._flow.loop) >= MOST_FOUND:
            self._flow.trigger.fire()
        # The rows of this record are not handed over yet. If the epoch is cut behind it, the positions behind
        # all overtaken rows are final: these can be uploaded meanwhile.
        self._look()
        if self._cut is Cut.OVERTAKE:
            self._overtake()

    def _overtake(self) -> None:
        """Let the barrier overtake where it is missing, once.

        Overtaken records go through the emitter, so that the position is behind them, but their rows go into
        the snapshot. Where there are calls, these rows have not come to them.
        """
        if self._overtaken_rows is not None:
            return
        barrier = CheckpointBarrier(self._flow.trigger.triggered_ms)
        for channel in sorted(self._handler.pending):
            for element in self._flow.partition.overtake(channel, barrier):
                if isinstance(element, PartitionBuffer):
                    self._capture(element.payload)
                else:
                    self._node.take(element)
        self._overtaken_rows = [
            InFlight(path, start, write_batches(batches))
            for path, (start, batches) in self._overtaken.items()
        ]
        self._on_overtaken(self._overtaken_rows)

    def _capture(self, fetched: Fetched) -> None:
        """Take the rows of a record that was overtaken."""
        state = self._node.progress.state(fetched.path)
        if state is None:
            return
        start = state.position
        batch = self._node.emit(fetched)
        if batch is None:
            return
        self._overtaken.setdefault(fetched.path, (start, []))[1].append(batch)
        self.metrics.in_flight_bytes += batch.nbytes

    def _snapshot(self) -> EpochState:
        # The loop's log comes after all barriers: no split can be found any more.
        loop_log = self._flow.loop.cut(CheckpointBarrier(self._clock.monotonic_ms()))
        began_ms = self._clock.monotonic_ms()
        state = self._node.snapshot(loop_log, list(self._in_flight()), self._waiting.taken)
        self.metrics.snapshot_ms += self._clock.monotonic_ms() - began_ms
        return state

    def _in_flight(self) -> Iterator[InFlight]:
        yield from self._restored.left()
        yield from self._overtaken_rows or ()
        unanswered = self._calls.unanswered() if self._calls is not None else []
        if unanswered:
            yield InFlight((), None, write_batches(unanswered))


def _node_of(
    source: BarrierSource[Any, Any],
    task: EpochTask,
    *,
    flow: Dataflow,
    starts: Sequence[SplitRange[Any, Any]],
    clock: Clock,
) -> EmitterNode:
    schema = source.schema()
    failures = SplitFailures(task.failing, task.retry_deadline_ms, clock)
    if task.alignment is None:
        return EmitterNode(
            source, starts=starts, loop=flow.loop, clock=clock, schema=schema, failures=failures
        )
    return AlignedNode(
        source,
        task.alignment,
        starts=starts,
        loop=flow.loop,
        clock=clock,
        schema=schema,
        failures=failures,
        pause_or_resume=flow.manager.pause_or_resume_splits,
        on_enough=flow.trigger.fire,
    )

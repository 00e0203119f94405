"""The loop of a task in barrier mode: fetch, hand over, emit, cut, snapshot."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa

from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import Clock, SystemClock
from headwater.core.epoch import AlignmentMode, Barrier, EpochState, InFlight
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.split import Path, SplitRange
from headwater.readers.runtime.epoch.barrier_handler import BarrierHandler, Cut
from headwater.readers.runtime.epoch.calls import AsyncCalls
from headwater.readers.runtime.epoch.feedback import FeedbackLoop
from headwater.readers.runtime.epoch.input_gate import InputGate
from headwater.readers.runtime.epoch.metrics import EpochMetrics
from headwater.readers.runtime.epoch.node import EmitterNode
from headwater.readers.runtime.epoch.replay import Replay
from headwater.readers.runtime.epoch.restored import RestoredRows
from headwater.readers.runtime.fetchers.events import Fetched
from headwater.readers.runtime.fetchers.fetcher_manager import SplitFetcherManager
from headwater.readers.runtime.fetchers.shape import ONE_AFTER_THE_OTHER, ThreadShape
from headwater.readers.runtime.fetchers.split_fetcher import FetcherWork
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger
from headwater.readers.runtime.partitions.buffer_pool import Buffer, BufferPool
from headwater.readers.runtime.partitions.events import CheckpointBarrier
from headwater.readers.runtime.partitions.ipc import write_batches
from headwater.readers.runtime.partitions.manager import PROCESS_PARTITIONS
from headwater.readers.runtime.partitions.partition_id import ResultPartitionId
from headwater.readers.runtime.partitions.result_partition import PipelinedResultPartition
from headwater.readers.runtime.partitions.subpartition import Element

__all__ = ["DEFAULT_BUDGET_BYTES", "MOST_FOUND", "EpochReader"]

DEFAULT_BUDGET_BYTES = 64 << 20
"""How much may lie between fetchers and emitter."""

MOST_FOUND = 10_000
"""So many splits that were found and not begun end an epoch that has a limit: its state must stay small."""

_CALLS_S = 0.05


class EpochReader:
    """Reads one epoch of one task.

    Fetchers -> channels -> (calls) -> emitter, and from the emitter back to the fetchers.

    Iterate it once, on the task's thread; then ask for `state`. Everything is closed when the iteration ends,
    fails, or is left early: no thread, socket or file outlives it. The emitted batches are all that `state`
    counts as read, except for what it holds in flight.

    Args:
        source: makes readers and emitter.
        starts: the splits of this task, each with its position; ``stop`` is not looked at.
        barrier: where the epoch is cut.
        mode: what happens between the first and the last barrier.
        alignment_timeout_ms: for ALIGNED: after this time from the trigger the barrier overtakes; None:
            never.
        stop_at: read again exactly what an earlier reading with the same ``starts`` and ``restored`` emitted,
            wherever ``barrier`` is.
        restored: what the last epoch left in flight: emitted first.
        budget_bytes: how much may lie between fetchers and emitter; what each fetcher has just fetched, or
            the emitter is at, comes on top.
        threads: how many fetchers, and how many splits each has at a time.
        events: of the enumerator, for each reader.
        calls: asynchronous calls through which all rows go, if the source has any.
        on_snapshot: called once, on the task's thread, when the state is copied at the barrier: early in
            AT_LEAST_ONCE, where rows still follow that this state does not count, and at the end in the other
            modes. Not called for a reader that is left early, nor with ``stop_at``.
        clock: time.
        metrics: written while reading.
    """

    def __init__(
        self,
        source: BarrierSource[Any, Any],
        starts: Sequence[SplitRange[Any, Any]],
        barrier: Barrier,
        *,
        mode: AlignmentMode = AlignmentMode.ALIGNED,
        alignment_timeout_ms: int | None = None,
        stop_at: EpochState | None = None,
        restored: Sequence[InFlight] = (),
        budget_bytes: int = DEFAULT_BUDGET_BYTES,
        threads: ThreadShape = ONE_AFTER_THE_OTHER,
        events: Sequence[JsonValue] = (),
        calls: AsyncCalls | None = None,
        on_snapshot: Callable[[EpochState], None] | None = None,
        clock: Clock | None = None,
        metrics: EpochMetrics | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self.metrics = metrics or EpochMetrics()
        self._source, self._calls, self._threads, self._events = source, calls, threads, events
        self._replay = None if stop_at is None else Replay(source.name, starts, restored, stop_at)
        self._stop_at, self._on_snapshot = stop_at, None if stop_at is not None else on_snapshot
        ranges = (
            [SplitRange(p.split, p.start, None) for p in starts]
            if self._replay is None
            else self._replay.ranges(starts)
        )
        self._has_limit = stop_at is None and barrier != Barrier()
        self._loop = FeedbackLoop()
        schema = source.schema() if calls is None else None
        self._node = EmitterNode(source, ranges, self._loop, self._replay, self._clock, schema=schema)
        self._trigger = BarrierTrigger(
            barrier if stop_at is None else Barrier(),
            [p.split.path for p in ranges],
            self._clock,
            self._on_trigger,
        )
        mode = mode if stop_at is None else AlignmentMode.ALIGNED
        self._alignment_timeout_ms = alignment_timeout_ms if stop_at is None else None
        self._handler = BarrierHandler(
            threads.fetchers, mode, self._alignment_timeout_ms, self._clock, self.metrics
        )
        self._attempt = uuid.uuid4().hex
        self._partition: PipelinedResultPartition[Fetched] = PipelinedResultPartition(
            ResultPartitionId(f"fetched/{source.name}", self._attempt),
            threads.fetchers,
            BufferPool(budget_bytes),
        )
        self._gate = InputGate(self._partition, self._clock)
        self._manager = SplitFetcherManager(threads, ranges, self._loop.take, self._gate.wake_up)
        self._restored, self._requests = (
            RestoredRows(restored, self._replay),
            [request for held in restored for request in held.requests],
        )
        self._captured: dict[Path, tuple[JsonValue, list[pa.RecordBatch]]] = {}
        self._final: EpochState | None = None
        self._is_failed = False
        self._batches: weakref.ref[Generator[pa.RecordBatch, None, None]] | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        # Only whoever iterates holds the generator: where it is dropped half-way, everything is closed at
        # once.
        if self._batches is None:
            batches = self._run()
            self._batches = weakref.ref(batches)
            return batches
        return self._batches() or iter(())

    def close(self) -> None:
        """Leave early: everything is closed, and `state` is what was emitted so far.

        Idempotent; means nothing after the end.
        """
        batches = self._batches() if self._batches is not None else None
        if batches is not None:
            batches.close()
        if self._final is None and not self._is_failed:
            self._end()

    def state(self) -> EpochState:
        """Return the state at the end of the iteration, or where it was left.

        Raises:
            ContractError: the iteration is still under way, or has failed.
        """
        if self._final is None or self._is_failed:
            raise ContractError(
                "the state of an epoch is known when its iteration has ended or was closed, and not after an error"
            )
        return self._final

    def _run(self) -> Generator[pa.RecordBatch, None, None]:
        try:
            with closing(self._rows()) as rows:
                for batch in rows:
                    self.metrics.rows += batch.num_rows
                    yield batch
        except GeneratorExit:
            self._end()
            raise
        except BaseException:
            self._is_failed = True
            self._release()
            raise
        self._end()

    def _rows(self) -> Generator[pa.RecordBatch, None, None]:
        PROCESS_PARTITIONS.register(self._partition)
        yield from self._restored.batches()
        requests, self._requests = self._requests, []
        if requests:
            yield from self._ask(requests)
        waits = bool(self._threads.threads)
        work = FetcherWork(
            self._source.create_reader,
            self._partition,
            self._trigger,
            self._manager.take,
            self._threads.splits_per_thread,
            waits,
        )
        self._manager.start(work, self._events, self._source.name)
        cut = Cut.NOTHING
        while cut not in {Cut.COMPLETE, Cut.OVERTAKE}:
            element, cut = self._next()
            if isinstance(element, Buffer):
                batch = self._emit(element.payload)
                if batch is not None:
                    yield from self._through_calls(batch)
                del batch
                element.recycle()
            elif self._calls is not None and self._calls.is_busy:
                yield from self._calls.poll(_CALLS_S)
            if cut is Cut.SNAPSHOT:
                self._report(self._copy(self._loop.waiting()))
        if cut is Cut.OVERTAKE:
            self._overtake()
        elif self._calls is not None:
            yield from self._calls.drain(self._aligning_ms())
        self._final = self._copy(self._cut_loop())
        self._report(self._final)

    def _next(self) -> tuple[Element[Fetched] | None, Cut]:
        """Return the next element, waiting a while for it, and what the barriers say."""
        self._gate.prepare()
        self._manager.check_errors()
        if not self._node.progress.open:
            self._trigger.fire()
        if (cut := self._look()) is not Cut.NOTHING:
            return None, cut
        found = self._gate.poll()
        if found is None:
            self._wait()
            return None, Cut.NOTHING
        channel, element = found
        if isinstance(element, CheckpointBarrier):
            return element, self._handler.on_barrier(channel, element.triggered_ms)
        if not isinstance(element, Buffer):
            self._node.take(element)
        return element, Cut.NOTHING

    def _look(self) -> Cut:
        """Look at the clock and at the trigger."""
        self._trigger.check_time()
        if not self._trigger.is_due:
            return Cut.NOTHING
        cut = self._handler.on_trigger()
        return self._handler.on_time(self._trigger.triggered_ms) if cut is Cut.NOTHING else cut

    def _aligning_ms(self) -> int | None:
        """Return how long calls that are under way may still take; None if that does not matter."""
        if self._alignment_timeout_ms is None:
            return None
        return max(0, self._trigger.triggered_ms + self._alignment_timeout_ms - self._clock.monotonic_ms())

    def _wait(self) -> None:
        if self._manager.step():
            return
        if self._calls is not None and self._calls.is_busy:
            return
        left_ms = (
            self._handler.left_ms(self._trigger.triggered_ms)
            if self._trigger.is_due
            else self._trigger.left_ms()
        )
        self._gate.wait(left_ms)

    def _emit(self, fetched: Fetched) -> pa.RecordBatch | None:
        """Emit one record, and tell the fetchers what follows from it."""
        before = len(self._loop)
        batch = self._node.emit(fetched)
        if len(self._loop) > before:
            self._manager.notify_found()
            if self._has_limit and len(self._loop) >= MOST_FOUND:
                self._trigger.fire()
        if self._node.stopped:
            self._manager.remove_splits(self._node.stopped)
            self._node.stopped.clear()
        return batch

    def _through_calls(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if self._calls is None:
            yield batch
        else:
            yield from self._ask(batch.to_pylist())

    def _ask(self, requests: Sequence[Any]) -> Iterator[pa.RecordBatch]:
        if self._calls is None:
            raise ContractError(
                f"source {self._source.name} has requests in flight and nothing that makes them"
            )
        self._calls.put(r for r in requests if self._replay is None or self._replay.was_answered(r))
        yield from self._calls.make_room()
        yield from self._calls.poll()

    def _overtake(self) -> None:
        """Let the barrier overtake where it is missing.

        What it overtook goes through the emitter, but its rows or requests into the snapshot.
        """
        barrier = CheckpointBarrier(self._trigger.triggered_ms)
        for channel in sorted(self._handler.pending):
            for element in self._partition.overtake(channel, barrier):
                if isinstance(element, Buffer):
                    self._capture(element.payload)
                else:
                    self._node.take(element)

    def _capture(self, fetched: Fetched) -> None:
        state = self._node.progress.state(fetched.path)
        if state is None:
            return
        start = state.position
        batch = self._node.emit(fetched)
        if batch is not None and self._calls is not None:
            self._calls.hold(batch.to_pylist())
        elif batch is not None:
            self._captured.setdefault(fetched.path, (start, []))[1].append(batch)
            self.metrics.in_flight_bytes += batch.nbytes

    def _cut_loop(self) -> list[Path]:
        return self._loop.cut(CheckpointBarrier(self._clock.monotonic_ms()))

    def _copy(self, loop_log: list[Path]) -> EpochState:
        """Return the state as it is now; of an epoch that is read again, the one that it has already."""
        began_ms = self._clock.monotonic_ms()
        state = self._stop_at or self._node.progress.snapshot(loop_log, self._in_flight())
        self.metrics.snapshot_ms += self._clock.monotonic_ms() - began_ms
        return state

    def _report(self, state: EpochState) -> None:
        report, self._on_snapshot = self._on_snapshot, None
        if report is not None:
            report(state)

    def _in_flight(self) -> list[InFlight]:
        held = self._restored.left()
        held += [
            InFlight(path, start, write_batches(batches)) for path, (start, batches) in self._captured.items()
        ]
        requests = self._requests + (self._calls.unanswered() if self._calls is not None else [])
        return held + ([InFlight((), None, b"", tuple(requests))] if requests else [])

    def _end(self) -> None:
        """Close everything, and copy the state unless the barrier did."""
        self._manager.close()
        if self._final is None:
            self._final = self._copy(self._cut_loop())
        self._release()

    def _release(self) -> None:
        self._manager.close()
        self._gate.close()
        PROCESS_PARTITIONS.release_produced_by(self._attempt)
        if self._calls is not None:
            self._calls.close()
        self.metrics.fetches = self._manager.fetches
        self.metrics.peak_buffered_bytes = self._partition.pool.peak_bytes

    def _on_trigger(self) -> None:
        self._manager.notify_trigger()
        self._gate.wake_up()

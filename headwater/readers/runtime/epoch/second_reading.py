"""A second reading of an epoch: exactly the rows of the first one."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pyarrow as pa

from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import Clock
from headwater.core.epoch import Barrier, EpochState, FoundSplit, InFlight, SplitStatus
from headwater.core.errors import ContractError, DataLossError
from headwater.core.jsons import JsonValue, dumps
from headwater.core.source import Source
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.batches import read_batches
from headwater.readers.runtime.epoch.calls import AsyncCalls
from headwater.readers.runtime.epoch.dataflow import Dataflow, FeedbackLoop
from headwater.readers.runtime.epoch.emitter_node import EmitterNode
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.epoch.in_flight import UnansweredRows, batches_with_calls, rows_of_splits
from headwater.readers.runtime.epoch.progress import SplitFailures
from headwater.readers.runtime.epoch.task import EpochTask, ReadingContext
from headwater.readers.runtime.fetchers.events import Fetched
from headwater.readers.runtime.partitions.subpartition import PartitionBuffer


class Replay:
    """Knows where each split stops, which restored rows were emitted, and which calls were answered.

    Args:
        source: its name, for errors.
        starts: where the epoch began.
        restored: the rows in flight then.
        stop_at: the state at its end.
    """

    def __init__(
        self,
        source: str,
        *,
        starts: Sequence[SplitRange[Any, Any]],
        restored: Sequence[InFlight],
        stop_at: EpochState,
    ) -> None:
        self._source = source
        self._starts = starts
        self._restored = rows_of_splits(restored)
        self._left = {_key(entry): entry for entry in rows_of_splits(stop_at.in_flight)}
        self._unanswered = UnansweredRows(batches_with_calls(stop_at.in_flight))
        # Later lines overrule earlier ones. A split of which the state says nothing was not read; one that
        # has rows in flight was emitted up to the first of them, though its position is behind the last.
        self._stops: dict[SplitPath, JsonValue] = {start.split.path: start.start for start in starts}
        self._stops.update((progress.split.path, progress.position) for progress in stop_at.progress)
        self._stops.update((split.split.path, split.start) for split in stop_at.found)
        carried = {_key(entry) for entry in restored}
        self._stops.update(
            (entry.path, entry.start)
            for entry in rows_of_splits(stop_at.in_flight)
            # Rows that were restored and not emitted say nothing of what was read in this epoch.
            if _key(entry) not in carried
        )

    def ranges(self) -> list[SplitRange[Any, Any]]:
        """Return the ranges to read of the splits of the task.

        Splits of which nothing was read are left out.
        """
        stops = self._stops
        return [
            SplitRange(start.split, start.start, stops[start.split.path])
            for start in self._starts
            if stops[start.split.path] != start.start
        ]

    def restored_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the restored rows that the first reading emitted. Its rest is always the end."""
        for entry in self._restored:
            batches = read_batches(entry.rows)
            rest = self._left.get(_key(entry))
            left_over = 0 if rest is None else len(read_batches(rest.rows))
            yield from batches[: len(batches) - left_over]

    def stop_of(self, split: FoundSplit) -> tuple[bool, JsonValue]:
        """Return whether a split that was found is to be read, and where it stops.

        The stop is None for a split that was read to its end.
        """
        path = split.split.path
        return path not in self._stops or self._stops[path] != split.start, self._stops.get(path)

    def is_at_stop(self, path: SplitPath, position: JsonValue) -> bool:
        """Whether a split has been read as far as the first time.

        Raises:
            DataLossError: a record reaches across the stop, where that can be told.
        """
        if path not in self._stops:
            return False
        stop = self._stops[path]
        if isinstance(stop, int) and isinstance(position, int) and position > stop:
            raise DataLossError(
                f"an epoch is read again, and a record reaches to {position}, across {stop}, where the first "
                "reading stopped",
                source=self._source,
                split="-".join(path),
                position=position,
            )
        return position == stop

    def check_end(self, path: SplitPath, position: JsonValue, *, finished: bool) -> None:
        """Accept that a split has ended by itself.

        Raises:
            DataLossError: it was read further the first time.
        """
        if path in self._stops or not finished:
            read_to = dumps(self._stops[path]) if path in self._stops else "its end"
            raise DataLossError(
                "an epoch is read again, and the split ends earlier than the first time, when it was read to "
                f"{read_to}",
                source=self._source,
                split="-".join(path),
                position=position,
            )

    def answered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch about which calls are to be asked again.

        Each row that the first reading left unanswered is left out, once. Equal rows are the same.
        """
        return self._unanswered.left_out(batch)


def _key(entry: InFlight) -> tuple[SplitPath, str]:
    return entry.path, dumps(entry.start)


_TAKEN_AT_ONCE = 1_000


class ReplayNode(EmitterNode):
    """Emits the rows that an earlier reading of the epoch emitted, and no more.

    Attributes:
        stopped: splits that have come to their stop and may still be fetched from. Emptied by the reader.

    Args:
        source: makes the emitter.
        replay: where to stop.
        loop: takes found splits.
        clock: time.
        schema: see `EmitterNode`.
        failures: of the splits.
    """

    def __init__(
        self,
        source: Source[Any, Any, Any],
        replay: Replay,
        *,
        loop: FeedbackLoop,
        clock: Clock,
        schema: pa.Schema,
        failures: SplitFailures,
    ) -> None:
        super().__init__(
            source, starts=replay.ranges(), loop=loop, clock=clock, schema=schema, failures=failures
        )
        self.stopped: list[SplitPath] = []
        self._replay = replay

    def emit(self, fetched: Fetched) -> pa.RecordBatch | None:
        batch = super().emit(fetched)
        state = self.progress.state(fetched.path)
        if state is not None and self._replay.is_at_stop(fetched.path, state.position):
            self.progress.done(fetched.path, SplitStatus.MORE)
            self.stopped.append(fetched.path)
        return batch

    def add_found(self, split: FoundSplit) -> None:
        is_read, stop = self._replay.stop_of(split)
        split_range = self.progress.add_found(split, stop)
        if split_range is None:
            return
        if is_read:
            self._loop.put(split_range)
        else:
            self.progress.done(split.split.path, SplitStatus.MORE)

    def _done(self, path: SplitPath, status: SplitStatus, delay_ms: int | None) -> None:
        state = self.progress.state(path)
        if state is not None:
            self._replay.check_end(path, state.position, finished=status is SplitStatus.FINISHED)
        super()._done(path, status, delay_ms)

    def _end_at_record(self, path: SplitPath, position: JsonValue) -> None:
        if not self._replay.is_at_stop(path, position):
            self._replay.check_end(path, position, finished=True)
        self.progress.done(path, SplitStatus.FINISHED)


class SecondReading(EpochReader):
    """Reads each split up to where it stands in a known state, wherever the task's barrier is.

    There is no barrier: the reading is over when every split has come to its stop. Its state is the known
    one, also when it is left early.

    Args:
        source: the source.
        task: where to begin.
        context: the attempt; its ``stop_at`` is a state to which the same task was read before.
        calls: through which all rows go, if there are such. Rows that the first reading left unanswered are
            not asked about.
    """

    def __init__(
        self,
        source: BarrierSource[Any, Any],
        task: EpochTask,
        context: ReadingContext,
        calls: AsyncCalls | None,
    ) -> None:
        if context.stop_at is None:
            raise ContractError("a second reading needs the state to which the first one came")
        self._stop_at = context.stop_at
        self._replay = Replay(
            source.name, starts=task.ranges, restored=context.restored, stop_at=context.stop_at
        )
        ranges = self._replay.ranges()
        flow = Dataflow(source, task, ranges=ranges, barrier=Barrier(), clock=context.clock)
        self._replay_node = ReplayNode(
            source,
            self._replay,
            loop=flow.loop,
            clock=context.clock,
            schema=source.schema(),
            failures=SplitFailures({}, task.retry_deadline_ms, context.clock),
        )
        super().__init__(source, context, flow=flow, node=self._replay_node, calls=calls)
        with_calls = batches_with_calls(context.restored)
        self._restore_calls([self._replay.answered(batch) for batch in with_calls])
        self._waiting = context.waiting

    def waits_for_room(self) -> bool:
        """See `CallPace`: as long as it takes."""
        self._flow.manager.check_errors()
        return True

    def patience_ms(self) -> int | None:
        """See `CallPace`: the first reading had all these answers."""
        return None

    def _rows(self) -> Generator[pa.RecordBatch | None, None, None]:
        for batch in self._replay.restored_batches():
            yield self._replay.answered(batch)
        # What the first reading took of those that waited; the replay knows which of them it read.
        while waited := self._waiting.take(_TAKEN_AT_ONCE):
            for split in waited:
                self._node.add_found(split)
        self._flow.start()
        while self._node.progress.open:
            self._flow.prepare()
            arrival = self._flow.poll()
            if arrival is None:
                yield from self._wait(None)
                continue
            _, element = arrival
            if isinstance(element, PartitionBuffer):
                for batch in self._emit(element):
                    yield self._replay.answered(batch)
            else:
                self._node.take(element)

    def _snapshot(self) -> EpochState:
        return self._stop_at

    def _after_record(self) -> None:
        if self._replay_node.stopped:
            self._flow.manager.remove_splits(self._replay_node.stopped)
            self._replay_node.stopped.clear()

"""A second reading of an epoch: exactly what another attempt has read."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pyarrow as pa

from headwater.core.barrier_source import BarrierSource
from headwater.core.epoch import Barrier, EpochState
from headwater.core.errors import ContractError
from headwater.readers.runtime.epoch.calls import AsyncCalls
from headwater.readers.runtime.epoch.dataflow import Dataflow
from headwater.readers.runtime.epoch.emitter_node import ReplayNode
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.epoch.in_flight import batches_with_calls
from headwater.readers.runtime.epoch.progress import SplitFailures
from headwater.readers.runtime.epoch.replay import Replay
from headwater.readers.runtime.epoch.task import EpochTask, ReadingContext
from headwater.readers.runtime.partitions.subpartition import PartitionBuffer

_TAKEN_AT_ONCE = 1_000


class SecondReading(EpochReader):
    """Reads each split up to where it stands in a known state, wherever the task's barrier is.

    There is no barrier: the reading is over when every split has come to its stop. Its state is the known
    one, also when it is left early.

    Args:
        source: what to read.
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
        calls: AsyncCalls | None = None,
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
            found = self._flow.poll()
            if found is None:
                yield from self._wait(None)
                continue
            _, element = found
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

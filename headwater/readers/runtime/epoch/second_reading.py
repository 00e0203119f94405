"""A second reading of an epoch: exactly what another attempt has read."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any

import pyarrow as pa

from headwater.core.barrier_source import BarrierSource
from headwater.core.epoch import Barrier, EpochState
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.readers.runtime.epoch.calls import calls_of
from headwater.readers.runtime.epoch.dataflow import Dataflow
from headwater.readers.runtime.epoch.emitter_node import ReplayNode
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.epoch.failures import SplitFailures
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
    """

    def __init__(self, source: BarrierSource[Any, Any], task: EpochTask, context: ReadingContext) -> None:
        if context.stop_at is None:
            raise ContractError("a second reading needs the state to which the first one came")
        self._stop_at = context.stop_at
        self._replay = Replay(
            source.name, starts=task.ranges, restored=context.restored, stop_at=context.stop_at
        )
        ranges = self._replay.ranges()
        flow = Dataflow(source, task, ranges=ranges, barrier=Barrier(), clock=context.clock)
        calls = calls_of(source)
        schema = source.schema() if calls is None else None
        self._replay_node = ReplayNode(
            source,
            self._replay,
            loop=flow.loop,
            clock=context.clock,
            schema=schema,
            failures=SplitFailures({}, task.retry_deadline_ms, context.clock),
        )
        super().__init__(source, context, flow=flow, node=self._replay_node, calls=calls)
        self._requests = [request for held in context.restored for request in held.requests]
        self._waiting = context.waiting

    def _rows(self) -> Generator[pa.RecordBatch, None, None]:
        yield from self._replay.restored_batches()
        yield from self._ask(self._requests)
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
                yield from self._emit(element)
            else:
                self._node.take(element)
        if self._calls is not None:
            yield from self._calls.drain(None)

    def _snapshot(self) -> EpochState:
        return self._stop_at

    def _after_record(self) -> None:
        if self._replay_node.stopped:
            self._flow.manager.remove_splits(self._replay_node.stopped)
            self._replay_node.stopped.clear()

    def _to_ask(self, requests: Sequence[JsonValue]) -> Iterable[JsonValue]:
        return [request for request in requests if self._replay.was_answered(request)]

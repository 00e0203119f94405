"""The base of both readings of an epoch: iterating once, asynchronous calls, leaving early, the state."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa

from headwater.core.barrier_source import BarrierSource
from headwater.core.epoch import EpochState
from headwater.core.errors import ContractError
from headwater.core.metrics import COUNTERS
from headwater.readers.runtime.epoch.calls import AsyncCalls, CallPace
from headwater.readers.runtime.epoch.dataflow import Dataflow
from headwater.readers.runtime.epoch.emitter_node import EmitterNode
from headwater.readers.runtime.epoch.task import ReadingContext
from headwater.readers.runtime.fetchers.events import Fetched
from headwater.readers.runtime.partitions.subpartition import PartitionBuffer


class EpochReader(CallPace, ABC):
    """Reads one epoch of one task: fetchers -> channels -> emitter -> (asynchronous calls) -> rows.

    Keeps the promises of `EpochReading`.

    Attributes:
        metrics: written while reading.

    Args:
        source: named in errors.
        context: the attempt.
        flow: everything before the emitter.
        node: the emitter.
        calls: through which all rows go, if there are such.
    """

    def __init__(
        self,
        source: BarrierSource[Any, Any],
        context: ReadingContext,
        *,
        flow: Dataflow,
        node: EmitterNode,
        calls: AsyncCalls | None,
    ) -> None:
        self._source = source
        self.metrics = context.metrics
        self._flow = flow
        self._node = node
        self._calls = calls
        self._state: EpochState | None = None
        self._is_failed = False
        self._batches: weakref.ref[Generator[pa.RecordBatch, None, None]] | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        # Only the consumer holds the generator. If it is dropped half-way, everything is closed at once.
        if self._batches is None:
            batches = self._run()
            self._batches = weakref.ref(batches)
            return batches
        return self._batches() or iter(())

    def close(self) -> None:
        """See `EpochReading.close`."""
        batches = self._batches() if self._batches is not None else None
        if batches is not None:
            batches.close()
        if self._state is None and not self._is_failed:
            self._end()

    def state(self) -> EpochState:
        """See `EpochReading.state`."""
        if self._state is None or self._is_failed:
            raise ContractError(
                "the state of an epoch is known when its iteration has ended or was closed, and not after an "
                "error"
            )
        return self._state

    @abstractmethod
    def _rows(self) -> Generator[pa.RecordBatch | None, None, None]:
        """Yield the rows of the epoch: those of a split in its order, the splits in any.

        None, only where there are calls: there are no rows yet, and calls may have been answered.
        """

    @abstractmethod
    def _snapshot(self) -> EpochState:
        """Return the state as it is now. Nothing is emitted afterwards."""

    @abstractmethod
    def _after_record(self) -> None:
        """Tell the fetchers the consequences of the record that was just emitted."""

    def _run(self) -> Generator[pa.RecordBatch, None, None]:
        try:
            with closing(self._rows()) as emitted, closing(self._answered(emitted)) as rows:
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

    def _restore_calls(self, unanswered: Sequence[pa.RecordBatch]) -> None:
        """Hand the calls the rows that an earlier epoch left unanswered."""
        if self._calls is not None:
            self._calls.restore(unanswered)
        elif unanswered:
            raise ContractError(
                f"rows of source {self._source.name} wait for asynchronous calls, and the query has no "
                "asyncFunction any more: give the option back, until a run with availableNow=True has ended"
            )

    def _answered(
        self, emitted: Generator[pa.RecordBatch | None, None, None]
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield the results of the calls; without calls the rows."""
        batches = emitted if self._calls is None else self._calls.process(emitted, self)
        for batch in batches:
            if batch is not None:
                yield batch

    def _emit(self, buffer: PartitionBuffer[Fetched]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one record."""
        found_before = len(self._flow.loop)
        batch = self._node.emit(buffer.payload)
        # Before the rows are yielded: a slow consumer does not hold up the fetchers.
        if len(self._flow.loop) > found_before:
            self._flow.manager.notify_found()
        self._after_record()
        if batch is not None:
            yield batch
        # After the rows were consumed: until then they are in memory, and count.
        buffer.recycle()

    def _wait(self, timeout_ms: int | None) -> Iterator[None]:
        """Wait for records; only a moment while calls are under way."""
        if self._calls is not None and self._calls.is_busy:
            self._flow.wait_a_moment()
            yield None
        else:
            self._flow.wait(timeout_ms)

    def _end(self) -> None:
        """Copy the state, unless that is done, and release everything."""
        # The state first: calls that are under way are part of it.
        if self._state is None:
            self._state = self._snapshot()
        self._release()

    def _release(self) -> None:
        self._flow.close()
        if self._calls is not None:
            self._calls.close()
        self.metrics.source = {**COUNTERS.take(), **self._node.lags.metrics}
        self.metrics.pending = [[[*path], records] for path, records in self._node.pending.items()]
        self.metrics.fetches = self._flow.manager.fetches
        self.metrics.took_ms = self._flow.manager.slowest()
        self.metrics.peak_buffered_bytes = self._flow.partition.pool.peak_bytes

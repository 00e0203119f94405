"""The operator as a stateful processor: unfinished inputs go from one micro-batch to the next.

FLIP-12 stores the inputs of its queue in every checkpoint. Here the checkpoint is the micro-batch. It waits a
while; the inputs that are then not out go into Spark's state (transformWithState, RocksDB), which is
committed with the batch. They come back in the next batch, which a timer starts if there are no new rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from headwater.connector.async_io.carried_rows import CarriedRows, pack, unpack
from headwater.connector.async_io.carry_over.buckets import PiecesInOrder
from headwater.connector.async_io.carry_over.event_time import EventTime
from headwater.connector.async_io.carry_over.queries import check_query, drains, is_first_batch
from headwater.connector.async_io.task import AsyncWait
from headwater.connector.async_io.worker_streams import InputThread
from headwater.connector.readable import readable_rows
from headwater.readers.async_io.wait_policy import WaitPolicy

_MOST_DOUBLINGS = 20


class CarryOver(StatefulProcessor):
    """One key is one bucket of rows, asked by one task.

    Made on the driver, pickled to the tasks; Spark calls it in the task's thread.

    A row that was carried over n times is waited for 2^n times as long. So a call that takes longer than the
    wait ends all the same, by its result or by its timeout, and only a row that hangs makes a batch long.
    Each batch asks with the whole timeout: time between batches, and before a restart, does not count.

    No more is carried over than the operator's queue holds, and than ``most_bytes``: a batch takes in no row
    for which there is no room, and waits until the rest is small enough.

    The state of a key is the list ``unfinished`` of `CarriedRows`; with event time also ``latest``, the
    latest time of all rows of all keys.

    Args:
        wait: the operator.
        patience_s: how long a batch waits.
        keys: the buckets that rows go to now. Others have rows of a start with more tasks.
        schema: the columns of the input.
        most_bytes: of the rows that one key carries over.
        event_time: None: rows have none.
        column: the name of the one output column, of packed rows.
        order: as in `CarriedRows`: rows are asked in it, those that were carried over first.
    """

    def __init__(
        self,
        wait: AsyncWait,
        patience_s: float,
        *,
        keys: Collection[int],
        schema: pa.Schema,
        most_bytes: int,
        event_time: EventTime | None = None,
        column: str = "rows",
        order: str | None = None,
    ) -> None:
        self._wait = wait
        self._patience_s = patience_s
        self._keys = keys
        self._rows = CarriedRows(schema, order)
        self._is_ordered = order is not None
        self._most_bytes = most_bytes
        self._event_time = event_time
        self._column = column

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._unfinished = handle.getListState("unfinished", "rows binary")
        if self._event_time is not None:
            self._latest = handle.getValueState("latest", "ms long")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        # The timer of the batch before: it would fire in this batch too, and ask the same rows twice.
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        yield from readable_rows(self._ask(key[0], rows, timerValues.getCurrentProcessingTimeInMs()))

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        yield from readable_rows(self._ask(key[0], (), timerValues.getCurrentProcessingTimeInMs()))

    def close(self) -> None:
        """Nothing is left open between buckets."""

    def _ask(self, key: int, rows: Iterable[Row], batch_ms: int) -> Iterator[Row]:
        check_query()
        latest_ms = self._latest_ms()
        fresh = _Fresh(rows, self._rows, latest_ms, PiecesInOrder() if self._is_ordered else None)
        carried = [self._rows.taken_up(unpack(bytes(packed))) for (packed,) in self._unfinished.get()]
        # Where nothing may be carried over: as long as it takes.
        patience_s = self._wait_s(carried) if self._may_carry_over(key, latest_ms) else None
        wait_policy = _BatchWaitPolicy(patience_s, fresh, self._event_time, self._most_bytes)
        with self._wait.opened() as task:
            # Before the new rows: they have waited longest.
            for batch in carried:
                task.restore(batch)
            # On a thread of its own: a failure is heard also while the input is slow.
            for batch in task.process(InputThread(fresh).items(), wait_policy):
                for packed_rows in pack(batch):
                    yield Row(**{self._column: packed_rows})
            # While the operator is open: closing cancels unfinished calls.
            unfinished = task.unfinished()
        if self._event_time is not None and fresh.latest_ms is not None:
            self._latest.update((fresh.latest_ms,))
        self._store(unfinished, batch_ms)

    def _latest_ms(self) -> int | None:
        latest = self._latest.get() if self._event_time is not None and self._latest.exists() else None
        return None if latest is None else int(latest[0])

    def _may_carry_over(self, key: int, latest_ms: int | None) -> bool:
        """Return whether rows of a key may be left for the next batch."""
        if drains():
            return False  # there may be none
        if self._event_time is None:
            return True
        # A start with fewer tasks has left keys that hear of no times; one with more tasks has keys that have
        # not heard of the latest time, which may be of an earlier batch. They cannot see which rows would be
        # late.
        return key in self._keys and (latest_ms is not None or is_first_batch())

    def _wait_s(self, carried: list[pa.RecordBatch]) -> float:
        return float(self._patience_s * 2 ** min(self._rows.rounds(carried), _MOST_DOUBLINGS))

    def _store(self, unfinished: list[pa.RecordBatch], batch_ms: int) -> None:
        if not unfinished:
            self._unfinished.clear()
            return
        stored = (self._rows.carried(rows) for rows in unfinished)
        self._unfinished.put([(packed_rows,) for rows in stored for packed_rows in pack(rows)])
        # The earliest time there is: the next batch asks again, whether there are new rows or not.
        self._handle.registerTimer(batch_ms + 1)


@dataclass(frozen=True)
class _BatchWaitPolicy(WaitPolicy):
    """How long a batch waits for the rows of a key.

    Attributes:
        patience_s: None: until all is out.
        fresh: the new rows.
        event_time: as in `CarryOver`.
        most_bytes: as in `CarryOver`.
    """

    patience_s: float | None
    fresh: _Fresh
    event_time: EventTime | None
    most_bytes: int

    def seconds(self) -> float | None:
        return self.patience_s

    def may_leave(self, unfinished: pa.RecordBatch) -> bool:
        # Asked when all rows are in: the latest time of the batch is known.
        in_time = self.event_time is None or self.event_time.may_wait(unfinished, self.fresh.latest_ms)
        return in_time and unfinished.nbytes <= self.most_bytes


class _Fresh:
    """The new rows of a key, and the latest time of all keys' rows, once all are taken.

    Iterated by the thread of the input; `latest_ms` is read by the task's when the rows are at their end.

    Attributes:
        latest_ms: the latest time of all rows ever, as far as it is known.
    """

    def __init__(
        self, rows: Iterable[Row], format_: CarriedRows, latest_ms: int | None, order: PiecesInOrder | None
    ) -> None:
        self._rows = rows
        self._format = format_
        self._order = order
        self.latest_ms = latest_ms

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for row in self._rows:
            if row.rows is not None:
                for rows in (bytes(row.rows),) if self._order is None else self._order.taken(row):
                    yield self._format.new(unpack(rows))
            elif self.latest_ms is None or row.latest_ms > self.latest_ms:
                self.latest_ms = row.latest_ms

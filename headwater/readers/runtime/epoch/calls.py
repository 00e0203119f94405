"""Asynchronous calls inside a task: what was fetched is their input, and what they answer are the rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from headwater.core.barrier_source import BarrierSource
from headwater.core.errors import OptionError
from headwater.core.jsons import JsonValue
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.settings import AsyncSettings, OnFailure
from headwater.readers.async_io.stream_element_queue import Output

_POLL_S = 0.05
"""How long a full operator is waited for before it is fed again."""


def calls_of(source: BarrierSource[Any, Any]) -> AsyncCalls | None:
    """Return the calls through which all rows of a source go, None if it has no asynchronous function."""
    function = source.create_async_function()
    return None if function is None else AsyncCalls(*function, source.schema())


class AsyncCalls:
    """Requests go in, rows come out, many are in flight. Belongs to the task's thread.

    Args:
        function: an asynchronous function of a request (a dict with the columns of the fetched row) that
            returns one row of the source's schema as a dict, several as a list, or None.
        settings: of the operator. A call that failed for good fails the task, or is dropped.
        schema: of the source.
    """

    def __init__(self, function: Any, settings: AsyncSettings, schema: pa.Schema) -> None:
        if settings.on_failure not in {OnFailure.FAIL, OnFailure.DROP}:
            raise OptionError(
                "inside a source a failed call fails the task or is dropped", option="on_failure"
            )
        self._operator = AsyncWaitOperator(function, settings)
        self._schema = schema
        self._waiting: deque[JsonValue] = deque()
        self._is_open = False

    @property
    def is_busy(self) -> bool:
        """Whether something is in flight."""
        return bool(self._waiting) or (self._is_open and len(self._operator) > 0)

    def put(self, requests: Iterable[JsonValue]) -> None:
        """Take requests. `poll` makes the calls."""
        if not self._is_open:
            self._operator.open()
            self._is_open = True
        self._waiting.extend(requests)
        self._feed()

    def hold(self, requests: Iterable[JsonValue]) -> None:
        """Take requests that are not to be made any more: `unanswered` returns them with the others."""
        self._waiting.extend(requests)

    def make_room(self) -> Iterator[pa.RecordBatch]:
        """Yield rows until every request that was put has been made: the back-pressure on fetchers."""
        while self._waiting:
            yield from self.poll(_POLL_S)

    def poll(self, timeout_s: float = 0.0) -> Iterator[pa.RecordBatch]:
        """Yield the rows that are there, waiting for the first one at most so long."""
        if self._is_open:
            outputs = self._operator.poll(timeout_s)
            self._feed()
            yield from self._rows(outputs)

    def drain(self, timeout_ms: int | None) -> Iterator[pa.RecordBatch]:
        """Yield rows until nothing is in flight, or the time is over.

        To be called after `make_room`: every request has been made.
        """
        if self._is_open:
            for outputs in self._operator.drain(None if timeout_ms is None else timeout_ms / 1000):
                yield from self._rows(outputs)

    def unanswered(self) -> list[JsonValue]:
        """Return the requests whose rows have not come out: what a snapshot stores."""
        return [*(self._operator.values() if self._is_open else ()), *self._waiting]

    def close(self) -> None:
        """Cancel what runs, leave no thread. Idempotent."""
        self._operator.close()
        self._is_open = False

    def _feed(self) -> None:
        while self._waiting and self._operator.free:
            self._operator.feed([self._waiting.popleft()])

    def _rows(self, outputs: list[Output]) -> Iterator[pa.RecordBatch]:
        rows: list[Any] = []
        for output in outputs:
            assert isinstance(output, tuple)
            result = output[1]
            if isinstance(result, list):
                rows += result
            elif result is not None:
                rows.append(result)
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=self._schema)

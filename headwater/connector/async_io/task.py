"""One task of an operator: Arrow batches in, Arrow batches out, calls in between."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from headwater.connector.async_io.arrow_task import ArrowWaitTask
from headwater.connector.async_io.batches import cut
from headwater.connector.async_io.input_rows import InputRows
from headwater.connector.async_io.input_thread import InputThread
from headwater.connector.async_io.metrics import AsyncMetrics
from headwater.connector.async_io.output_stream import check_reader, flush_output
from headwater.connector.async_io.results import ResultColumns, ResultFormat, flatten
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.function import AsyncArrowFunction
from headwater.readers.async_io.function_calls import arrow_batching
from headwater.readers.async_io.metrics import MetricsSnapshot
from headwater.readers.async_io.settings import AsyncSettings

log = logging.getLogger(__name__)
_MOST_BYTES = 8 << 20
_INPUT_WAIT_S = 0.005


@dataclass(frozen=True, kw_only=True)
class AsyncWait:
    """What is sent to the tasks: all that they need to know about an operator. Opens nothing until `opened`.

    Attributes:
        function: the user's.
        settings: per task.
        share_id: what the tasks have in common that one process runs.
        columns: the input columns that the function gets.
        key_columns: those that name a row in errors.
        kept: the input columns with which the output begins.
        results: the result columns, and how results become them.
        metrics: where counts go.
    """

    function: Any
    settings: AsyncSettings
    share_id: str
    columns: Sequence[str]
    key_columns: Sequence[str]
    kept: Sequence[str]
    results: ResultFormat
    metrics: AsyncMetrics | None

    @contextmanager
    def opened(self) -> Iterator[AsyncWaitTask | ArrowWaitTask]:
        """Open the function for one task; at the end cancel what runs, close it, and say what was counted.

        Raises:
            AsyncCallError: the function's `open` raised.
        """
        name = _task_name()
        is_arrow = isinstance(self.function, AsyncArrowFunction)
        rows = InputRows(self.columns, self.key_columns)
        settings = replace(
            self.settings, describe_row=None if is_arrow or not self.key_columns else rows.describe
        )
        operator = AsyncWaitOperator(
            self.function, settings, share_id=self.share_id, task=name, on_wait=check_reader
        )
        task: AsyncWaitTask | ArrowWaitTask = AsyncWaitTask(self, operator, rows)
        if is_arrow:
            task = ArrowWaitTask(operator, arrow_batching(settings), self.results, self.columns, self.kept)
        try:
            with operator:
                yield task
        finally:
            # After the operator is closed: calls that were cancelled are counted too.
            counted = task.metrics
            if self.metrics is not None:
                self.metrics.add(counted)
            log.info("%s, %s: %s", operator.name, name, counted)

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the output of a task. Given to ``mapInArrow``.

        Raises:
            AsyncCallError: a call failed, and the policy is to fail.
            ContractError: the function broke its contract.
        """
        with self.opened() as task:
            for batch in task.process(InputThread(batches).items(_INPUT_WAIT_S)):
                yield batch
                flush_output()


class AsyncWaitTask:
    """An operator at work. Made by `AsyncWait.opened`."""

    def __init__(self, wait: AsyncWait, operator: AsyncWaitOperator, rows: InputRows) -> None:
        self._wait = wait
        self._operator = operator
        self._rows = rows
        self._results = ResultColumns(wait.results, operator.name, rows.describe)

    @property
    def metrics(self) -> MetricsSnapshot:
        """What was counted so far; results that were no row of the schema count as failures."""
        counted = self._operator.metrics
        return replace(counted, failures=counted.failures + self._results.misfits)

    def process(
        self,
        batches: Iterable[pa.RecordBatch | None],
        patience_s: float | None = None,
        may_wait: Callable[[pa.RecordBatch], bool] = lambda _: True,
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield output batches: rows that are done together, none of them held back for long by a slow call.

        Args:
            batches: pulled one by one, as there is room. None: there is no further batch yet; what is done
                comes out meanwhile.
            patience_s: as in `AsyncWaitOperator.process`.
            may_wait: as ``may_leave`` there; gets the input of the rows that are not out.
        """

        def may_leave(rows: Sequence[Any]) -> bool:
            return not rows or may_wait(self._rows.gather(rows))

        rows = chain.from_iterable(map(self._admitted, batches))
        for outputs in self._operator.process(rows, patience_s=patience_s, may_leave=may_leave):
            yield from self._output(outputs)

    def restore(self, batch: pa.RecordBatch, waited_s: Sequence[float]) -> None:
        """Ask rows again that an earlier task left: before any others.

        Args:
            batch: their input.
            waited_s: how much of its timeout each has used up.
        """
        start = 0
        for rows in self._rows.admit(batch):
            self._operator.restore(rows, waited_s[start : start + len(rows)])
            start += len(rows)

    def unfinished(self) -> tuple[pa.RecordBatch, list[float]] | None:
        """Return the input of the rows that are not out and for how long each has waited; None if all are."""
        values = self._operator.values()
        return (self._rows.gather(values), self._operator.waited_s()) if values else None

    def _admitted(self, batch: pa.RecordBatch | None) -> Iterable[list[Any]]:
        return [[]] if batch is None else self._rows.admit(batch)

    def _output(self, outputs: Sequence[Any]) -> Iterator[pa.RecordBatch]:
        """Yield what is out, in batches of `_MOST_BYTES`; one row with one result may be larger."""
        rows, results = flatten(outputs)
        start = 0
        # A row may come once for each of its results.
        times = max(Counter(map(id, rows)).values(), default=1)
        for end in self._rows.ends(rows, _MOST_BYTES, times):
            joined = self._joined(rows[start:end], results[start:end])
            # The results may be large too.
            yield from cut(joined, _MOST_BYTES, joined.num_rows) if joined.num_rows else ()
            start = end
        # All of them, those without a result too; and last, since `gather` and errors need their places.
        self._rows.forget([row for row, _ in outputs])

    def _joined(self, rows: Sequence[Any], results: Sequence[Any]) -> pa.RecordBatch:
        rows, columns = self._results.build(rows, results)
        schema = self._results.schema
        if self._wait.kept:
            given = self._rows.gather(rows).select(list(self._wait.kept))
            columns = [*given.columns, *columns]
            schema = pa.schema([*given.schema, *schema])
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def _task_name() -> str:
    context = TaskContext.get()
    if context is None:
        return ""
    partition = f"partition {context.partitionId()} of stage {context.stageId()}"
    return f"{partition}, attempt {context.attemptNumber()}"

"""One task of an operator: Arrow batches in, Arrow batches out, calls in between."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from headwater.connector.async_io.input_rows import InputRows
from headwater.connector.async_io.metrics import AsyncMetrics
from headwater.connector.async_io.output_stream import check_reader, flush_output
from headwater.connector.async_io.results import ResultColumns, flatten
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.settings import AsyncSettings

log = logging.getLogger(__name__)


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
        result_schema: the result columns.
        error_column: the name of the column with failures, if there is one.
        metrics: where counts go.
    """

    function: Any
    settings: AsyncSettings
    share_id: str
    columns: Sequence[str]
    key_columns: Sequence[str]
    kept: Sequence[str]
    result_schema: pa.Schema
    error_column: str | None
    metrics: AsyncMetrics | None

    @contextmanager
    def opened(self) -> Iterator[AsyncWaitTask]:
        """Open the function for one task; at the end cancel what runs, close it, and say what was counted.

        Raises:
            AsyncCallError: the function's `open` raised.
        """
        name = _task_name()
        rows = InputRows(self.columns, self.key_columns)
        settings = replace(self.settings, describe_row=rows.describe if self.key_columns else None)
        operator = AsyncWaitOperator(
            self.function, settings, share_id=self.share_id, task=name, on_wait=check_reader
        )
        try:
            with operator:
                yield AsyncWaitTask(self, operator, rows)
        finally:
            # After the operator is closed: calls that were cancelled are counted too.
            if self.metrics is not None:
                self.metrics.add(operator.metrics)
            log.info("%s, %s: %s", operator.name, name, operator.metrics)

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the output of a task. Given to ``mapInArrow``.

        Raises:
            AsyncCallError: a call failed, and the policy is to fail.
            ContractError: the function broke its contract.
        """
        with self.opened() as task:
            for batch in task.process(batches):
                yield batch
                flush_output()


class AsyncWaitTask:
    """An operator at work. Made by `AsyncWait.opened`."""

    def __init__(self, wait: AsyncWait, operator: AsyncWaitOperator, rows: InputRows) -> None:
        self._wait = wait
        self._operator = operator
        self._rows = rows
        self._results = ResultColumns(wait.result_schema, operator.name, rows.describe, wait.error_column)

    def process(
        self, batches: Iterable[pa.RecordBatch], patience_s: float | None = None
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield output batches: rows that are done together, none of them held back for long by a slow call.

        Args:
            batches: pulled one by one, as there is room.
            patience_s: as in `AsyncWaitOperator.process`.
        """
        rows = chain.from_iterable(map(self._rows.admit, batches))
        for outputs in self._operator.process(rows, patience_s=patience_s):
            if (batch := self._batch(outputs)) is not None:
                yield batch

    def restore(self, batch: pa.RecordBatch) -> None:
        """Ask rows again that an earlier task left: before any others."""
        for rows in self._rows.admit(batch):
            self._operator.restore(rows)

    def unfinished(self) -> pa.RecordBatch | None:
        """Return the input of the rows that are not out, or None if all are."""
        values = self._operator.values()
        return self._rows.gather(values) if values else None

    def _batch(self, outputs: Sequence[Any]) -> pa.RecordBatch | None:
        rows, results = flatten(outputs)
        batch = self._joined(rows, results) if rows else None
        # All of them, those without a result too; and last, since `gather` and errors need their places.
        self._rows.forget([row for row, _ in outputs])
        return batch

    def _joined(self, rows: Sequence[Any], results: Sequence[Any]) -> pa.RecordBatch:
        columns = self._results.build(rows, results)
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

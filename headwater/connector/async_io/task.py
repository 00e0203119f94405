"""One task of an operator: Arrow batches in, Arrow batches out, calls in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from headwater.connector.async_io.arrow_results import ArrowResults
from headwater.connector.async_io.arrow_task import ArrowWaitTask
from headwater.connector.async_io.input_rows import MOST_ROWS, InputRows, OutRows, cut
from headwater.connector.async_io.metrics import AsyncMetrics
from headwater.connector.async_io.results import ResultColumns, ResultFormat, flatten
from headwater.connector.async_io.worker_streams import InputThread, check_reader, flush_output
from headwater.connector.readable import readable_rows
from headwater.core.redaction import logger_of
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.function import AsyncArrowFunction
from headwater.readers.async_io.function_calls import arrow_batching
from headwater.readers.async_io.metrics import MetricsSnapshot
from headwater.readers.async_io.settings import AsyncSettings
from headwater.readers.async_io.stream_element_queue import Watermark, answered
from headwater.readers.async_io.wait_policy import DriverWaitPolicy, WaitPolicy

log = logger_of(__name__)
_MOST_BYTES = 8 << 20
_PIECE_BYTES = 1 << 20
QUEUE_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True)
class AsyncWait:
    """The description of an operator that is sent to the tasks. Opens nothing until `opened`.

    Attributes:
        function: the user's.
        settings: per task.
        share_id: names the objects that the tasks of one process share.
        columns: the input columns that the function gets.
        key_columns: the columns that name a row in errors.
        kept_columns: the input columns with which the output begins.
        results: the result columns, and how results become them.
        queue_bytes: input rows that a task holds at most, in bytes of Arrow, and one piece more.
        metrics: where counts go.
    """

    function: Any
    settings: AsyncSettings
    share_id: str
    columns: Sequence[str]
    key_columns: Sequence[str]
    kept_columns: Sequence[str]
    results: ResultFormat
    queue_bytes: int = QUEUE_BYTES
    metrics: AsyncMetrics | None = None

    @contextmanager
    def opened(self) -> Iterator[AsyncWaitTask | ArrowWaitTask]:
        """Open the function for one task; at the end cancel its calls, close it, and report the counts.

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
            results = ArrowResults(
                self.results, operator.name, kept_columns=self.kept_columns, key_columns=self.key_columns
            )
            task = ArrowWaitTask(
                operator,
                arrow_batching(settings),
                results,
                columns=self.columns,
                most_bytes=self.queue_bytes,
            )
        try:
            with operator:
                yield task
        finally:
            # After the operator is closed: calls that were cancelled are counted too.
            counts = task.metrics
            if self.metrics is not None:
                self.metrics.add(counts)
            log.info("%s, %s: %s", operator.name, name, counts)

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the output of a task. Given to ``mapInArrow``.

        Raises:
            AsyncCallError: a call failed, and the policy is to fail.
            ContractError: the function broke its contract.
        """
        return readable_rows(self._outputs(batches))

    def _outputs(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with self.opened() as task:
            for batch in task.process(InputThread(batches).items()):
                # The results of a single row may be large.
                yield from cut(batch, _MOST_BYTES, batch.num_rows)
                flush_output()


class AsyncWaitTask:
    """An operator at work. Made by `AsyncWait.opened`."""

    def __init__(self, wait: AsyncWait, operator: AsyncWaitOperator, rows: InputRows) -> None:
        self._wait = wait
        self._operator = operator
        self._rows = rows
        self._results = ResultColumns(wait.results, operator.name, rows.describe)
        self._not_admitted: deque[pa.RecordBatch] = deque()
        # Whether there are watermarks among the rows: looked for in the output only then.
        self._is_parted = False

    @property
    def metrics(self) -> MetricsSnapshot:
        """The counts so far; results that were no row of the schema count as failures."""
        counts = self._operator.metrics
        return replace(counts, failures=counts.failures + self._results.misfits)

    @property
    def is_busy(self) -> bool:
        """Whether any row is not out."""
        return bool(self._rows or self._not_admitted)

    def process(
        self, batches: Iterable[pa.RecordBatch | Watermark | None], wait_policy: WaitPolicy | None = None
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield output batches: rows that are done together, none of them held back for long by a slow call.

        All results of a row are in one batch: when that is yielded, the row is out.

        Args:
            batches: pulled one by one, as there is room. None: there is no further batch yet; finished rows
                come out meanwhile. A watermark: no row passes it, and it does not come out itself.
            wait_policy: as in `AsyncWaitOperator.process`; it is asked about the input of rows.
        """
        rows = chain.from_iterable(map(self._admitted, batches))
        of_rows = DriverWaitPolicy(wait_policy or WaitPolicy(), self._rows.gather)
        for outputs in self._operator.process(rows, wait_policy=of_rows, has_room=self._has_room):
            yield from self._output(answered(outputs) if self._is_parted else outputs)

    def restore_watermark(self, watermark: Watermark) -> None:
        """Take a watermark between rows that are restored."""
        self._is_parted = True
        self._operator.restore([watermark])

    def restore(self, batch: pa.RecordBatch) -> None:
        """Ask rows again that an earlier task left: before any others, with their whole timeout."""
        for part in _pieces(batch):
            self._operator.restore(self._rows.admit(part))

    def unfinished(self) -> list[pa.RecordBatch]:
        """Return the input of the rows that are not out.

        At any time; exact whenever `process` yields, or was closed.
        """
        admitted = [self._rows.unfinished()] if self._rows else []
        return [*admitted, *self._not_admitted]

    def _has_room(self) -> bool:
        return self._rows.nbytes < self._wait.queue_bytes

    def _admitted(self, batch: pa.RecordBatch | Watermark | None) -> Iterator[list[Any] | Watermark]:
        if batch is None:
            yield []
            return
        if isinstance(batch, Watermark):
            self._is_parted = True
            yield batch
            return
        self._not_admitted.extend(_pieces(batch))
        while self._not_admitted:
            yield self._rows.admit(self._not_admitted.popleft())

    def _output(self, outputs: Sequence[Any]) -> Iterator[pa.RecordBatch]:
        """Yield finished rows in batches of `_MOST_BYTES`; one row with its results may be larger."""
        rows, results, times = flatten(outputs)
        out = OutRows(self._rows, [row for row, _ in outputs])
        start = 0
        for end in self._rows.ends(rows, _MOST_BYTES, times):
            rows_out, joined = self._joined(rows[start:end], results[start:end])
            # The results may be large too.
            for first, stop in _parts(joined, rows_out, _MOST_BYTES):
                # Before the yield, which may be the last thing that happens here.
                out.up_to(None if (end, stop) == (len(rows), len(rows_out)) else rows_out[stop - 1])
                yield joined.slice(first, stop - first)
            start = end
        out.up_to(None)

    def _joined(self, rows: Sequence[Any], results: Sequence[Any]) -> tuple[Sequence[Any], pa.RecordBatch]:
        """Return the rows that come out, one for each result, and their batch."""
        rows, columns = self._results.build(rows, results)
        schema = self._results.schema
        if self._wait.kept_columns:
            inputs = self._rows.gather(rows).select(list(self._wait.kept_columns))
            columns = [*inputs.columns, *columns]
            schema = pa.schema([*inputs.schema, *schema])
        return rows, pa.RecordBatch.from_arrays(columns, schema=schema)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    return cut(batch, _PIECE_BYTES, MOST_ROWS) if batch.num_rows else iter(())


def _parts(batch: pa.RecordBatch, rows: Sequence[Any], most_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield where a batch is cut so that its parts have no more bytes, and no row is cut.

    Args:
        batch: one line for each of ``rows``.
        rows: a row comes as often as it has results.
        most_bytes: of a part; one row with its results may be larger.
    """
    todo = [(0, len(rows))] if rows else []
    while todo:
        first, stop = todo.pop()
        middle = _border(rows, first, stop)
        if middle is None or batch.slice(first, stop - first).nbytes <= most_bytes:
            yield first, stop
        else:
            todo += [(middle, stop), (first, middle)]


def _border(rows: Sequence[Any], first: int, stop: int) -> int | None:
    """Return where a row ends, near the middle; None if all are the same row."""
    middle = (first + stop) // 2
    behind = (place for place in range(middle + 1, stop) if rows[place] is not rows[place - 1])
    earlier = (place for place in range(middle, first, -1) if rows[place] is not rows[place - 1])
    return next(earlier, None) or next(behind, None)


def _task_name() -> str:
    context = TaskContext.get()
    if context is None:
        return ""
    partition = f"partition {context.partitionId()} of stage {context.stageId()}"
    return f"{partition}, attempt {context.attemptNumber()}"

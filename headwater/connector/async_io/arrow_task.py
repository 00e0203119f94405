"""One task of an operator whose function takes whole Arrow batches: no row becomes a Python object."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from headwater.connector.async_io.batches import cut
from headwater.connector.async_io.results import ERROR_TYPE, ResultFields, ResultFormat
from headwater.core.errors import ContractError
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.metrics import MetricsSnapshot
from headwater.readers.async_io.settings import Batching, OnFailure


class ArrowWaitTask:
    """An operator at work whose "rows" are Arrow batches, one for each call.

    Args:
        operator: open while this is used.
        batching: rows, bytes and time of a call.
        form: the result columns.
        columns: the input columns that the function gets.
        kept: the input columns with which the output begins.
    """

    def __init__(
        self,
        operator: AsyncWaitOperator,
        batching: Batching,
        form: ResultFormat,
        columns: Sequence[str],
        kept: Sequence[str],
    ) -> None:
        self._operator = operator
        self._batching = batching
        self._form = form
        self._kept = list(kept)
        self._misfits = 0

    @property
    def metrics(self) -> MetricsSnapshot:
        """What was counted so far: calls, not rows; answers that do not fit the schema count as failures."""
        counted = self._operator.metrics
        return replace(counted, failures=counted.failures + self._misfits)

    def process(
        self,
        batches: Iterable[pa.RecordBatch | None],
        patience_s: float | None = None,
        may_wait: Callable[[pa.RecordBatch], bool] = lambda _: True,
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield an output batch for each call, as in `AsyncWaitTask.process`."""

        def may_leave(left: Sequence[pa.RecordBatch]) -> bool:
            return not left or may_wait(_joined(left))

        questions = ([batch] if batch is not None else [] for batch in gathered(batches, self._batching))
        for outputs in self._operator.process(
            questions, at_least=1, patience_s=patience_s, may_leave=may_leave
        ):
            # No watermarks go in: each output is a batch and its answer.
            for given, answer in cast("list[Any]", outputs):
                if answer is not None:
                    yield from self._output(given, answer)

    def restore(self, batch: pa.RecordBatch, waited_s: Sequence[float]) -> None:
        """Ask rows again that an earlier task left: before any others, as one call."""
        self._operator.restore([batch], [max(waited_s, default=0.0)])

    def unfinished(self) -> tuple[pa.RecordBatch, list[float]] | None:
        """Return the input of the rows that are not out and for how long each has waited; None if all are."""
        left = self._operator.values()
        if not left:
            return None
        waited_s = [
            waited
            for batch, waited in zip(left, self._operator.waited_s(), strict=True)
            for _ in range(batch.num_rows)
        ]
        return _joined(left), waited_s

    def _output(self, given: pa.RecordBatch, answer: Any) -> Iterator[pa.RecordBatch]:
        try:
            columns = self._columns(given, answer)
        except ContractError as error:
            self._misfits += 1
            if self._form.on_failure is OnFailure.FAIL:
                raise
            if self._form.on_failure is OnFailure.DROP:
                return
            columns = self._columns(given, Failure(error, attempts=None))
        fields = list(self._form.schema)
        if self._form.error_column is not None:
            fields.append(pa.field(self._form.error_column, ERROR_TYPE))
        kept = given.select(self._kept)
        yield pa.RecordBatch.from_arrays([*kept.columns, *columns], schema=pa.schema([*kept.schema, *fields]))

    def _columns(self, given: pa.RecordBatch, answer: Any) -> list[pa.Array[Any]]:
        rows = given.num_rows
        error = None
        if isinstance(answer, Failure):
            columns = [_nulls(rows, kind) for kind in self._form.schema.types]
            error = {"class": answer.error_class, "message": answer.message, "attempts": answer.attempts}
        else:
            columns = self._checked(answer, rows)
        if self._form.error_column is not None:
            columns.append(pa.repeat(pa.scalar(error, ERROR_TYPE), rows))
        return columns

    def _checked(self, answer: Any, rows: int) -> list[pa.Array[Any]]:
        batch = as_record_batch(answer, self._operator.name)
        if batch.num_rows != rows:
            raise self._broken(
                f"{batch.num_rows} rows for {rows}: it must return one for each, in their order"
            )
        names = batch.schema.names
        if self._form.fields is ResultFields.EXACT and sorted(names) != sorted(self._form.schema.names):
            raise self._broken(f"the columns {', '.join(map(repr, names))}")
        return [self._cast(batch, field) for field in self._form.schema]

    def _cast(self, batch: pa.RecordBatch, field: pa.Field[Any]) -> pa.Array[Any]:
        if field.name not in batch.schema.names:
            return _nulls(batch.num_rows, field.type)
        column: pa.Array[Any] = batch.column(field.name)
        if column.type == field.type:
            return column
        try:
            cast: pa.Array[Any] = pc.cast(column, field.type)
        except pa.ArrowException:
            raise self._broken(f"{column.type} that is no {field.type} as {field.name!r}") from None
        return cast

    def _broken(self, was: str) -> ContractError:
        expected = ", ".join(f"{field.name} {field.type}" for field in self._form.schema)
        return ContractError(f"{self._operator.name} returned {was}; its schema is {expected}")


def _nulls(rows: int, kind: Any) -> pa.Array[Any]:
    nulls: pa.Array[Any] = pa.nulls(rows, kind)
    return nulls


def gathered(
    batches: Iterable[pa.RecordBatch | None], batching: Batching, now: Callable[[], float] = time.monotonic
) -> Iterator[pa.RecordBatch | None]:
    """Yield batches for calls: no larger than it is said, and no smaller if more rows come in time.

    Args:
        batches: the input; None where there is no further batch yet, which is yielded too.
        batching: rows and bytes at most, and how long a batch that is not full waits for more.
        now: the time in seconds.
    """
    small: list[pa.RecordBatch] = []
    rows = 0
    began = now()
    for batch in batches:
        for piece in _cut(batch, batching) if batch is not None else ():
            if not small:
                began = now()
            small.append(piece)
            rows += piece.num_rows
            if rows >= batching.size or sum(each.nbytes for each in small) >= batching.most_bytes:
                yield from _cut(_joined(small), batching)
                small, rows = [], 0
        if small and (now() - began) * 1000 >= batching.linger_ms:
            yield from _cut(_joined(small), batching)
            small, rows = [], 0
        if batch is None:
            yield None
    if small:
        yield from _cut(_joined(small), batching)


def _cut(batch: pa.RecordBatch, batching: Batching) -> Iterator[pa.RecordBatch]:
    return cut(batch, batching.most_bytes, batching.size)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    [joined] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined


def as_record_batch(answer: Any, function: str) -> pa.RecordBatch:
    """Return what a function answered, Arrow's or a frame of pandas or polars, as one Arrow batch.

    Raises:
        ContractError: it is none of these.
    """
    if isinstance(answer, pa.RecordBatch):
        return answer
    if not isinstance(answer, pa.Table):
        library = type(answer).__module__.partition(".")[0]
        if library == "pandas":
            return pa.RecordBatch.from_pandas(answer, preserve_index=False)
        if library != "polars":
            raise ContractError(
                f"{function} returned a {type(answer).__name__}; it must return a RecordBatch, a Table, or a "
                "DataFrame of pandas or polars"
            )
        answer = answer.to_arrow()
    batches = answer.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=answer.schema)

"""One task of an operator whose function takes whole Arrow batches: no row becomes a Python object."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.connector.async_io.batches import cut
from headwater.connector.async_io.results import ERROR_TYPE, ResultFields, ResultFormat
from headwater.core.errors import ContractError
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.metrics import MetricsSnapshot
from headwater.readers.async_io.patience import Patience, PatienceOfDriver
from headwater.readers.async_io.settings import Batching, OnFailure
from headwater.readers.async_io.stream_element_queue import Watermark, answered


class ArrowWaitTask:
    """An operator at work whose "rows" are Arrow batches, one for each call.

    Args:
        operator: open while this is used.
        batching: rows, bytes and time of a call.
        form: the result columns.
        kept: the input columns with which the output begins.
        most_bytes: of input that is held at most, and one batch more.
    """

    def __init__(
        self,
        operator: AsyncWaitOperator,
        batching: Batching,
        form: ResultFormat,
        *,
        kept: Sequence[str],
        most_bytes: int,
    ) -> None:
        self._operator = operator
        self._gathering = Gathering(batching)
        self._form = form
        self._kept = list(kept)
        self._most_bytes = most_bytes
        self._misfits = 0
        # Answered, and on their way out.
        self._due: deque[tuple[pa.RecordBatch, Any]] = deque()

    @property
    def metrics(self) -> MetricsSnapshot:
        """What was counted so far: calls, not rows; answers that do not fit the schema count as failures."""
        counted = self._operator.metrics
        return replace(counted, failures=counted.failures + self._misfits)

    @property
    def is_busy(self) -> bool:
        """Whether any row is not out."""
        return bool(self._batches())

    def process(
        self, batches: Iterable[pa.RecordBatch | Watermark | None], patience: Patience | None = None
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield an output batch for each call, as in `AsyncWaitTask.process`."""
        questions = map(_question, self._gathering.gathered(batches))
        of_batches = PatienceOfDriver(patience or Patience(), _joined)
        for outputs in self._operator.process(
            questions, at_least=1, patience=of_batches, has_room=self._has_room
        ):
            self._due.extend(answered(outputs))
            while self._due:
                given, answer = self._due.popleft()
                if answer is not None:
                    yield from self._output(given, answer)

    def restore_watermark(self, watermark: Watermark) -> None:
        """Take a watermark between rows that are restored."""
        self._operator.restore([watermark])

    def restore(self, batch: pa.RecordBatch, waited_s: Sequence[float]) -> None:
        """Ask rows again that an earlier task left: before any others, as one call."""
        self._operator.restore([batch], [max(waited_s, default=0.0)])

    def unfinished(self) -> list[tuple[pa.RecordBatch, list[float]]]:
        """Return the input of the rows that are not out and for how long each has waited.

        As in `AsyncWaitTask.unfinished`.
        """
        waited = dict(zip(map(id, self._operator.values()), self._operator.waited_s(), strict=True))
        return [(batch, [waited.get(id(batch), 0.0)] * batch.num_rows) for batch in self._batches()]

    def _batches(self) -> list[pa.RecordBatch]:
        """Return all batches that are not out."""
        due = [given for given, _ in self._due]
        return [*due, *self._operator.rows(), *self._gathering.held]

    def _has_room(self) -> bool:
        return sum(batch.nbytes for batch in self._batches()) < self._most_bytes

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


class Gathering:
    """Gathers batches for calls: no larger than it is said, and no smaller if more rows come in time.

    Attributes:
        held: rows that were taken and are in no call yet.

    Args:
        batching: rows and bytes of a call at most, and how long a call that is not full waits for more.
        now: the time in seconds.
    """

    def __init__(self, batching: Batching, now: Callable[[], float] = time.monotonic) -> None:
        self._batching = batching
        self._now = now
        self._began = 0.0
        self.held: list[pa.RecordBatch] = []

    def gathered(
        self, batches: Iterable[pa.RecordBatch | Watermark | None]
    ) -> Iterator[pa.RecordBatch | Watermark | None]:
        """Yield batches for calls, of the input; None where there is no further batch yet, in both.

        A watermark stays where it is: rows before it and behind it are not in one call.
        """
        for batch in batches:
            if isinstance(batch, Watermark):
                while self.held:
                    yield self._take()
                yield batch
                continue
            if batch is not None and batch.num_rows:
                if not self.held:
                    self._began = self._now()
                self.held.append(batch)
            while self._is_full():
                yield self._take()
            if self.held and (self._now() - self._began) * 1000 >= self._batching.linger_ms:
                yield self._take()
            if batch is None:
                yield None
        while self.held:
            yield self._take()

    def _is_full(self) -> bool:
        rows = sum(batch.num_rows for batch in self.held)
        return rows >= self._batching.size or sum(map(_nbytes, self.held)) >= self._batching.most_bytes

    def _take(self) -> pa.RecordBatch:
        """Remove and return the first rows that are held, as many as a call may have."""
        joined = _joined(self.held)
        first = next(cut(joined, self._batching.most_bytes, self._batching.size))
        self.held = [joined.slice(first.num_rows)] if first.num_rows < joined.num_rows else []
        return first


def _question(batch: pa.RecordBatch | Watermark | None) -> list[pa.RecordBatch] | Watermark:
    if isinstance(batch, Watermark):
        return batch
    return [] if batch is None else [batch]


def _nbytes(batch: pa.RecordBatch) -> int:
    return batch.nbytes


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

"""One task of an operator whose function takes whole Arrow batches: no row becomes a Python object.

`Gathering` joins input batches to calls of the size that the function asks for.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from headwater.connector.async_io.arrow_results import ArrowResults
from headwater.connector.async_io.input_rows import cut
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.metrics import MetricsSnapshot
from headwater.readers.async_io.settings import Batching
from headwater.readers.async_io.stream_element_queue import Watermark, answered
from headwater.readers.async_io.wait_policy import DriverWaitPolicy, WaitPolicy


class ArrowWaitTask:
    """An operator at work whose "rows" are Arrow batches, one for each call.

    A *question* is such a batch with the columns that the function gets.

    Args:
        operator: open while this is used.
        batching: rows, bytes and time of a call.
        results: makes output of answers.
        columns: the input columns that the function gets.
        most_bytes: of input that is held at most, and one batch more.
    """

    def __init__(
        self,
        operator: AsyncWaitOperator,
        batching: Batching,
        results: ArrowResults,
        *,
        columns: Sequence[str],
        most_bytes: int,
    ) -> None:
        self._operator = operator
        self._gathering = Gathering(batching)
        self._results = results
        self._columns = list(columns)
        self._most_bytes = most_bytes
        # All columns of the questions that are not out, by the identity of the question.
        self._given: dict[int, pa.RecordBatch] = {}
        # Answered, and on their way out.
        self._due: deque[tuple[pa.RecordBatch, Any]] = deque()

    @property
    def metrics(self) -> MetricsSnapshot:
        """The counts so far: calls, not rows; answers that do not fit the schema count as failures."""
        counts = self._operator.metrics
        return replace(counts, failures=counts.failures + self._results.misfits)

    @property
    def is_busy(self) -> bool:
        """Whether any row is not out."""
        return bool(self.unfinished())

    def process(
        self, batches: Iterable[pa.RecordBatch | Watermark | None], wait_policy: WaitPolicy | None = None
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield an output batch for each call, as in `AsyncWaitTask.process`."""
        questions = map(self._question, self._gathering.gathered(batches))
        of_batches = DriverWaitPolicy(wait_policy or WaitPolicy(), self._joined)
        for outputs in self._operator.process(
            questions, at_least=1, wait_policy=of_batches, has_room=self._has_room
        ):
            self._due.extend(
                (self._given.pop(id(question)), answer) for question, answer in answered(outputs)
            )
            while self._due:
                batch, answer = self._due.popleft()
                out = self._results.joined(batch, answer)
                if out.num_rows:
                    yield out

    def restore_watermark(self, watermark: Watermark) -> None:
        """Take a watermark between rows that are restored."""
        self._operator.restore([watermark])

    def restore(self, batch: pa.RecordBatch) -> None:
        """Ask rows again that an earlier task left: before any others, with their whole timeout."""
        for part in self._gathering.pieces(batch):
            self._operator.restore([self._asking(part)])

    def unfinished(self) -> list[pa.RecordBatch]:
        """Return the input of the rows that are not out, as `AsyncWaitTask.unfinished`."""
        due = [batch for batch, _ in self._due]
        pending = [self._given[id(question)] for question in self._operator.rows()]
        return [*due, *pending, *self._gathering.held]

    def _has_room(self) -> bool:
        return sum(batch.nbytes for batch in self.unfinished()) < self._most_bytes

    def _joined(self, questions: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        return joined([self._given[id(question)] for question in questions])

    def _question(self, batch: pa.RecordBatch | Watermark | None) -> list[pa.RecordBatch] | Watermark:
        if isinstance(batch, Watermark):
            return batch
        return [] if batch is None else [self._asking(batch)]

    def _asking(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        question = batch.select(self._columns)
        self._given[id(question)] = batch
        return question


class Gathering:
    """Gathers batches for calls: no larger than `Batching` allows, and no smaller if more rows come in time.

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

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield a batch in pieces as large as a call may be."""
        return cut(batch, self._batching.most_bytes, self._batching.size)

    def _is_full(self) -> bool:
        rows = sum(batch.num_rows for batch in self.held)
        return rows >= self._batching.size or sum(map(_nbytes, self.held)) >= self._batching.most_bytes

    def _take(self) -> pa.RecordBatch:
        """Remove and return the first rows that are held, as many as a call may have."""
        batch = joined(self.held)
        first = next(self.pieces(batch))
        self.held = [batch.slice(first.num_rows)] if first.num_rows < batch.num_rows else []
        return first


def _nbytes(batch: pa.RecordBatch) -> int:
    return batch.nbytes


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return batches, one at least, as one."""
    if len(batches) == 1:
        return batches[0]
    [one] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return one

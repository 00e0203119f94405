"""How many tasks a micro-batch gets, learnt from how long those before it took.

A source sees neither Spark's scheduler nor the fate of its rows. It sees when it handed out a batch, and
when Spark asked for the next one, which it does when the batch is committed. The time between holds the work
of all rows, the price of every task, Spark's own steps, and the wait for a trigger. Its use shows
when the number of tasks is changed: with fewer tasks a batch of few and cheap rows becomes shorter, and any
other one longer.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from headwater.core.clock import Clock
from headwater.core.jsons import JsonObject

_SAMPLES = 3
"""The middle of so many batches is how long a batch takes: a single one varies by a tenth and more."""

_GAIN = 0.97
"""Batches must become shorter than this by fewer tasks, or those are not worth it."""

_CLEAR_GAIN = 0.75
_CLEAR_LOSS = 1.25
"""A single batch is enough if it is shorter or longer by so much."""

_DEARER = 1.5
"""Two batches in a row that take so many times as long as usual show that rows have become dearer."""

_BATCH_MS = 1_000
_TASK_MS = 20
"""The most that Spark's steps and a task cost. Where a batch takes twice as long as these would, the time
goes into rows, and fewer tasks are not tried."""

_FEW = 16
_FIRST_PATIENCE = 8
_MOST_PATIENCE = 512
"""So many batches go by before fewer tasks are tried again; doubled each time when they were not worth it."""


class TaskCount:
    """Learns how many tasks are best for batches of about the same number of rows.

    Begins with the most. Tries half of them, or a quarter where they are many, and stays there if batches
    have become shorter. Goes back to the most when batches take much longer than they did. So it errs on the
    safe side: a mistake about cheap rows costs the price of some tasks, and one about dear rows a single
    longer batch, more and more rarely.

    Where the wait for a trigger hides how long batches take, fewer tasks never show a gain, and it stays with
    the most.
    """

    def __init__(self) -> None:
        self._tasks: int | None = None
        self._usual_ms: float | None = None
        self._more: tuple[int, float] | None = None
        """While fewer tasks are tried: how many there were before, and how long batches took with them."""
        self._samples: list[float] = []
        self._patience = _FIRST_PATIENCE
        self._wait = 0

    def wanted(self, fewest: int, most: int) -> int:
        """Return how many tasks the next batch should have."""
        return most if self._tasks is None else min(max(self._tasks, fewest), most)

    def took(self, duration_ms: float, tasks: int, fewest: int) -> None:
        """Learn from a batch.

        Args:
            duration_ms: how long it took.
            tasks: how many it had.
            fewest: how many it might have had at the least.
        """
        if tasks != self._tasks:  # the first batch, or the limits have changed
            self._be(tasks, usual_ms=None)
        self._samples.append(duration_ms)
        if self._more is not None:
            self._judge(*self._more)
        elif len(self._samples) <= _SAMPLES:
            self._usual_ms = (
                statistics.median(self._samples) if len(self._samples) == _SAMPLES else self._usual_ms
            )
        elif self._usual_ms is not None and min(self._samples[-2:]) > _DEARER * self._usual_ms:
            self._tasks = None
            return
        self._try_fewer(fewest)

    def _judge(self, more: int, usual_ms: float) -> None:
        """Decide, if that can be done already, whether fewer tasks are worth it."""
        last_ms = self._samples[-1]
        middle_ms = statistics.median(self._samples)
        if last_ms > _CLEAR_LOSS * usual_ms or (
            len(self._samples) >= _SAMPLES and middle_ms > _GAIN * usual_ms
        ):
            self._wait = self._patience
            self._patience = min(2 * self._patience, _MOST_PATIENCE)
            self._be(more, usual_ms)
        elif last_ms < _CLEAR_GAIN * usual_ms or len(self._samples) >= _SAMPLES:
            self._more = None
            self._usual_ms = middle_ms

    def _try_fewer(self, fewest: int) -> None:
        if self._tasks is None or self._usual_ms is None or self._more is not None or self._tasks <= fewest:
            return
        if self._wait:
            self._wait -= 1
        elif self._usual_ms < 2 * (_BATCH_MS + _TASK_MS * self._tasks):
            more = (self._tasks, self._usual_ms)
            self._be(max(fewest, self._tasks // (2 if self._tasks <= _FEW else 4)), usual_ms=None)
            self._more = more

    def _be(self, tasks: int, usual_ms: float | None) -> None:
        self._tasks = tasks
        self._usual_ms = usual_ms
        self._more = None
        self._samples = []


class TaskCounts:
    """Decides how many tasks each micro-batch of a query gets. Called by Spark's one thread.

    The counts are in memory only: the first batch of a run has the most tasks, and does not count,
    because it waits for new processes.

    Args:
        clock: time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_rows: dict[int, TaskCount] = {}
        self._first = True
        self._batch: _Batch | None = None

    def choose(self, end: JsonObject, rows: int, fewest: int, most: int) -> int:
        """Return how many tasks a batch gets; the same each time that Spark asks for it.

        Args:
            end: the batch's offset.
            rows: how many records it has.
            fewest: how many tasks its bytes need.
            most: how many may do something at once.
        """
        if self._batch is not None and self._batch.end == end:
            return self._batch.tasks
        count = self._by_rows.setdefault(rows.bit_length() // 2, TaskCount())
        tasks = most if self._first else count.wanted(fewest, most)
        self._batch = _Batch(end, tasks, fewest, None if self._first else count, self._clock.monotonic_ms())
        self._first = False
        return tasks

    def committed(self, end: JsonObject) -> None:
        """Spark asks for the batch after this offset: if it is the last one's, that batch has just ended."""
        batch = self._batch
        if batch is None or batch.count is None or batch.end != end:
            return
        batch.count.took(self._clock.monotonic_ms() - batch.began_ms, batch.tasks, batch.fewest)
        batch.count = None  # Spark asks again and again while there is nothing new


@dataclass(slots=True)
class _Batch:
    """The last batch that was handed out.

    Attributes:
        end: its offset.
        tasks: how many it has.
        fewest: how many it might have had.
        count: learns from it; None when it has, and for the first batch of a run.
        began_ms: when it was handed out.
    """

    end: JsonObject
    tasks: int
    fewest: int
    count: TaskCount | None
    began_ms: int

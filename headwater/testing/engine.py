"""Spark's micro-batch loop in this process, without Spark: an offset log, a sink, and crashes on demand."""

from __future__ import annotations

import enum
import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any, Self, cast

from headwater.connector.coordination.coordinator import SourceCoordinator
from headwater.connector.sources.configured import ConfiguredSource
from headwater.connector.sources.user_sources import SourceClass
from headwater.core.jsons import JsonObject, dumps
from headwater.core.source import Boundedness
from headwater.testing.making import configured

_MOST_BATCHES = 10_000


class Step(enum.Enum):
    """The steps of a checkpoint: a crash may come after each."""

    PLANNED = "the next batch is planned, and not logged"
    LOGGED = "the batch is logged, and nothing of it is read"
    READ_PARTLY = "the first task has read one record batch"
    READ = "everything is read, and not written"
    WRITTEN = "the sink has the batch, and it is not committed"
    COMMITTED = "the batch is committed"


class CrashError(BaseException):
    """Ends the process, for a test. Not an ``Exception``, so that no code of a source catches it."""


class MicroBatchEngine:
    """One query with the trigger AvailableNow on one checkpoint, which outlives its crashes.

    Attributes:
        offsets: Spark's offset log.
        sink: the rows of each batch; writing a batch again replaces it.

    Args:
        configure: makes the source from its options, as every new process does.
    """

    def __init__(self, configure: Callable[[], ConfiguredSource]) -> None:
        self._configure = configure
        self.offsets: list[str] = []
        self.sink: dict[int, list[dict[str, Any]]] = {}
        self._committed = 0
        self._crash: tuple[Step, int] | None = None

    @classmethod
    def of(cls, source: SourceClass | str, options: Mapping[str, str]) -> Self:
        """Return a query that reads a source as a stream.

        Args:
            source: the class, or the name of a source that is built in or installed.
            options: of the source. Each run looks at them anew.
        """
        return cls(lambda: configured(source, options, Boundedness.CONTINUOUS_UNBOUNDED))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the sink, in the order of batches."""
        return [row for number in sorted(self.sink) for row in self.sink[number]]

    def run(self, *, crash_after: Step | None = None, in_batch: int = 0) -> bool:
        """Run until everything that was there is read; return whether the run crashed before.

        The next run goes on where the log ends.

        Args:
            crash_after: the step after which the process dies; everything but log, sink and outside is lost.
            in_batch: the first batch in which it may, counted from 0 over all runs: a batch without rows is
                never read partly.
        """
        self._crash = (crash_after, in_batch) if crash_after else None
        configured = self._configure()
        coordinator = configured.create_coordinator()
        try:
            coordinator.prepare_for_available_now()
            initial = coordinator.initial_offset()
            if len(self.offsets) > self._committed:
                self._execute(configured, coordinator, initial)
            for _ in range(_MOST_BATCHES):
                start = self._offset(len(self.offsets) - 1, initial)
                end = coordinator.plan_next(start, limited=True)
                if end == start:
                    return False
                self._reach(Step.PLANNED, len(self.offsets))
                self.offsets.append(dumps(end))
                self._execute(configured, coordinator, initial)
        except CrashError:
            return True
        finally:
            coordinator.close()
        raise AssertionError(
            f"the source does not come to an end under AvailableNow: {_MOST_BATCHES} batches were planned"
        )

    def _execute(
        self, configured: ConfiguredSource, coordinator: SourceCoordinator[Any], initial: JsonObject
    ) -> None:
        number = len(self.offsets) - 1
        self._reach(Step.LOGGED, number)
        rows: list[dict[str, Any]] = []
        for task in coordinator.tasks(self._offset(number - 1, initial), self._offset(number, initial)):
            rows += self._read(configured, task, number)
        self._reach(Step.READ, number)
        self.sink[number] = rows
        self._reach(Step.WRITTEN, number)
        self._committed = number + 1
        self._reach(Step.COMMITTED, number)

    def _read(self, configured: ConfiguredSource, task: Any, number: int) -> Iterator[dict[str, Any]]:
        batches = configured.read_task(pickle.loads(pickle.dumps(task)))
        for batch in batches:
            yield from batch.to_pylist()
            if self._crashes(Step.READ_PARTLY, number):
                batches.throw(CrashError())

    def _reach(self, step: Step, number: int) -> None:
        if self._crashes(step, number):
            raise CrashError

    def _crashes(self, step: Step, number: int) -> bool:
        return self._crash is not None and self._crash[0] is step and number >= self._crash[1]

    def _offset(self, number: int, initial: JsonObject) -> JsonObject:
        return cast("JsonObject", json.loads(self.offsets[number])) if number >= 0 else initial


def read_batch(configured: ConfiguredSource) -> list[dict[str, Any]]:
    """Return the rows of a batch read, as ``spark.read`` does."""
    with closing(configured.create_coordinator()) as coordinator:
        tasks = coordinator.plan_all()
    return [row for task in tasks for batch in configured.read_task(task) for row in batch.to_pylist()]


def count_rows(rows: list[dict[str, Any]]) -> Counter[str]:
    """Return how often each row comes: equal for equal rows in any order."""
    return Counter(repr(sorted(row.items())) for row in rows)

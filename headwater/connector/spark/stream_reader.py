"""``spark.readStream.format("headwater")``."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)

from headwater.connector.coordination.coordinator import SourceCoordinator
from headwater.connector.readable import readable
from headwater.connector.sources.configured import ConfiguredSource
from headwater.connector.spark.batch_reader import planned_rows
from headwater.connector.spark.handover import acknowledge, show_log
from headwater.core.errors import HeadwaterError
from headwater.core.jsons import JsonObject


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Exists in three kinds of processes.

    In Spark's planner, which only pickles it; in Spark's source runner, which plans with it; and in every
    task, which reads with it. The coordinator is made by the first call that needs it: so only the runner's
    copy ever has one, and no copy that is pickled holds a thread.
    """

    def __init__(self, configured: ConfiguredSource, schema: pa.Schema) -> None:
        self._configured = configured
        self._schema = schema
        self._coordinator: SourceCoordinator[Any] | None = None
        self._planned = False

    @readable
    def initialOffset(self) -> JsonObject:  # noqa: N802 - Spark's name
        """Return the genesis: a constant.

        Called twice in a first batch, and again after a crash before the first commit.
        """
        return self._get_coordinator().initial_offset()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the limit that Spark hands back with every trigger.

        Except Once, which passes ReadAllAvailable: that is how Once is recognized.
        """
        return self._configured.read_limit()

    @readable
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Called once, before anything else, under AvailableNow."""
        self._get_coordinator().prepare_for_available_now()

    @readable
    def latestOffset(self, start: JsonObject, limit: ReadLimit) -> JsonObject:  # noqa: N802 - Spark's name
        """Plan the next batch; ``start``, byte for byte, if there is nothing to do.

        Called at every trigger.
        """
        end = self._get_coordinator().plan_next(start, limited=not isinstance(limit, ReadAllAvailable))
        if not self._planned:
            # What is loaded now stays for the life of this process, which Spark made for this query alone.
            # Without this, a batch over thousands of splits makes the collector look at all of it again.
            gc.freeze()
            self._planned = True
        return end

    @readable
    def reportLatestOffset(self) -> JsonObject | None:  # noqa: N802 - Spark's name
        """Return the heads as of the last look, for the query's progress. Called at every trigger: no I/O."""
        return self._get_coordinator().latest()

    @readable
    def partitions(self, start: JsonObject, end: JsonObject) -> Sequence[InputPartition]:
        """Return the tasks of a logged batch. No I/O; may be called several times."""
        return [InputPartition(task) for task in self._get_coordinator().tasks(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task. On an executor."""
        return planned_rows(self._configured, partition.value, self._schema)

    @readable
    def commit(self, end: JsonObject) -> None:
        """Take note of a committed batch. Spark is one batch late, and never commits the last one."""
        self._get_coordinator().commit(end)

    def stop(self) -> None:
        """Close the coordinator.

        Spark calls this only after an error; on an ordinary stop it kills the process.
        """
        coordinator, self._coordinator = self._coordinator, None
        if coordinator is not None:
            coordinator.close()

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_coordinator": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        acknowledge()  # in a task: Spark holds back the task's input until then
        show_log()

    def _get_coordinator(self) -> SourceCoordinator[Any]:
        if self._coordinator is None:
            self._coordinator = self._configured.create_coordinator()
        return self._coordinator


class RefusedStream(StreamReader):
    """Stands in for a reader whose options or schema were refused, and says so at the first call.

    An error while the reader is made shows to the user with one of Spark's own at its end: the runner then
    stops a reader that it does not have.
    """

    def __init__(self, error: HeadwaterError) -> None:
        self._error = error
        self._coordinator = None

    @readable
    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        raise self._error

    @readable
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Readers for tasks are made later than the one that plans: what was fine then may be refused now.
        raise self._error

    def _get_coordinator(self) -> SourceCoordinator[Any]:
        raise self._error

"""``spark.read.format("headwater")``."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from headwater.connector.readable import readable, readable_rows
from headwater.connector.sources.configured import ConfiguredSource
from headwater.connector.spark.handover import acknowledge, end_quietly, show_log


def planned_rows(
    configured: ConfiguredSource, task: Any, planned: pa.Schema
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of a task. On an executor. An error on the way is readable.

    Args:
        configured: the source, with the schema that Spark plans with.
        task: of its coordinator.
        planned: that schema, as Spark's workers send it to the JVM.

    Raises:
        HeadwaterError: any error of reading, or a value that Spark's type does not hold.
    """
    try:
        yield from readable_rows(_rows(configured, task, planned))
    except GeneratorExit:
        end_quietly()
        raise


def _rows(
    configured: ConfiguredSource, task: Any, planned: pa.Schema
) -> Generator[pa.RecordBatch, None, None]:
    # Imported late: every process that makes a reader loads this module, and only a task reads.
    from headwater.readers.runtime.batches import cast_batch

    with closing(configured.read_task(task)) as batches:
        for batch in batches:
            yield cast_batch(batch, planned, configured.source.name)


class BatchReader(DataSourceReader):
    """Reads from the first position of every split to its head.

    Spark plans once for a loaded DataFrame, in its planner process: all actions on it read the same splits,
    and a new ``load()`` looks again. Where they begin and end is fixed then too, except for the ends that the
    source leaves open, which each action finds anew (`PlannedSource.leave_open`).
    """

    def __init__(self, configured: ConfiguredSource, schema: pa.Schema) -> None:
        self._configured = configured
        self._schema = schema

    @readable
    def partitions(self) -> list[InputPartition]:
        """Look at the outside and plan. In the planner, once."""
        with closing(self._configured.create_coordinator()) as coordinator:
            return [InputPartition(task) for task in coordinator.plan_all()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task. On an executor."""
        if partition.value is None:  # Spark's stand-in where there is nothing to read
            return iter(())
        return planned_rows(self._configured, partition.value, self._schema)

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        acknowledge()  # in a task: Spark holds back the task's input until then
        show_log()


class PushdownBatchReader(BatchReader):
    """A batch reader that hands Spark's filters to its source.

    A class of its own: while ``spark.sql.python.filterPushdown.enabled`` is off, as it is by default, Spark
    refuses every reader that has `pushFilters`.
    """

    @readable
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Show all filters to the source, and return all: Spark applies them again."""
        self._configured = replace(self._configured, source=self._configured.source.with_filters(filters))
        return filters

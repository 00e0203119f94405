"""``spark.read.format("headwater")``."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from headwater.connector.sources.configured import ConfiguredSource
from headwater.connector.spark.partition import TaskPartition, read_partition


class BatchReader(DataSourceReader):
    """Reads from the first position of every split to where it ends when the batch is planned.

    Spark plans once for a loaded DataFrame, in its planner process: all actions on it read the same range; a
    new ``load()`` looks again.
    """

    def __init__(self, configured: ConfiguredSource) -> None:
        self._configured = configured

    def partitions(self) -> list[InputPartition]:
        """Look at the outside and plan. In the planner, once."""
        coordinator = self._configured.create_coordinator()
        try:
            return [TaskPartition(task) for task in coordinator.plan_all()]
        finally:
            coordinator.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task. On an executor."""
        return read_partition(self._configured, partition)

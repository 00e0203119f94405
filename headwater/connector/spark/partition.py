"""What travels from the driver to a task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import InputPartition

from headwater.connector.sources.configured import ConfiguredSource

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.connector.planned.planning import ReadTask
    from headwater.readers.runtime.epoch.task import EpochTask


class TaskPartition(InputPartition):
    """One task's ranges, as Spark's partition: the only thing that carries a batch's facts to an executor."""

    def __init__(self, task: ReadTask[Any, Any] | EpochTask) -> None:
        super().__init__(task)


def read_partition(configured: ConfiguredSource, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one partition. On an executor."""
    if partition.value is None:  # Spark's stand-in for a batch read that has nothing to read
        return iter(())
    return configured.read_task(partition.value)

"""What travels from the driver to a task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import InputPartition

from headwater.connector.planned.planning import ReadTask
from headwater.connector.sources.registry import ConfiguredSource
from headwater.core.errors import ContractError

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.core.barrier_source import BarrierSource
    from headwater.readers.runtime.epoch.task import EpochTask

__all__ = ["TaskPartition", "read_partition"]


class TaskPartition(InputPartition):
    """One task's ranges, as Spark's partition: the only thing that carries a batch's facts to an executor."""

    def __init__(self, task: ReadTask[Any, Any] | EpochTask) -> None:
        super().__init__(task)


def read_partition(configured: ConfiguredSource, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one partition, on an executor. Loads only the mode that the query is in."""
    task = partition.value
    if task is None:  # Spark's stand-in for a batch read that has nothing to read
        return iter(())
    if isinstance(task, ReadTask):
        from headwater.readers.runtime.source_reader import read_ranges

        return read_ranges(configured.source, task.ranges)
    if configured.epochs is not None:
        from headwater.readers.runtime.epoch.open_reader import open_epoch_reader
        from headwater.readers.runtime.epoch.task import EpochTask, read_epoch

        if isinstance(task, EpochTask):
            return read_epoch(
                cast("BarrierSource[Any, Any]", configured.source),
                task,
                configured.epochs.store,
                open_epoch_reader,
            )
    raise ContractError(f"a partition that headwater did not plan: {partition!r}")

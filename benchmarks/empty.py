"""A Python source that reads nothing: what is left of a cold start is Spark's own."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit
from pyspark.sql.types import StructType

__all__ = ["EmptyDataSource"]


class EmptyDataSource(DataSource):
    """``format("headwater-empty")``.

    Takes any option, and has one task without rows, in a stream one batch.
    """

    @classmethod
    def name(cls) -> str:
        return "headwater-empty"

    def schema(self) -> str:
        return "value binary"

    def reader(self, schema: StructType) -> EmptyReader:
        return EmptyReader()

    def streamReader(self, schema: StructType) -> EmptyStreamReader:  # noqa: N802 - Spark's signature
        return EmptyStreamReader()


class EmptyReader(DataSourceReader):
    """One task, no rows."""

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return iter(())


class EmptyStreamReader(DataSourceStreamReader):
    """One batch of one task, no rows."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadAllAvailable()

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {"batches": 0}

    # Spark's signature.
    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        return {"batches": 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return iter(())

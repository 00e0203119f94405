"""The ceiling of the files source: batches that were made before, handed to Spark by a task.

A data source that plans the same tasks as headwater and decodes nothing: each task yields the batches that
headwater made of the same files, out of mapped memory. What is left is the price of handing rows from Python
to the JVM, which no source that is written in Python can avoid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from headwater.connector.compat import arrow_schema
from headwater.connector.sources.files.source import configure_files
from headwater.connector.sources.spark_schema import bind_schema
from headwater.connector.spark.batch_reader import BatchReader
from headwater.connector.spark.datasource import HeadwaterDataSource
from headwater.core.source import Boundedness

__all__ = ["FilesCeilingDataSource", "make_batches"]


class FilesCeilingDataSource(HeadwaterDataSource):
    """``format("headwater-files-ceiling")``; batches only. Takes headwater's options."""

    @classmethod
    def name(cls) -> str:
        return "headwater-files-ceiling"

    def reader(self, schema: StructType) -> FilesCeilingReader:
        return FilesCeilingReader(self._bind(Boundedness.BOUNDED, schema), arrow_schema(schema))


class FilesCeilingReader(BatchReader):
    """Plans as headwater does, and reads what `make_batches` left for each task."""

    def partitions(self) -> list[InputPartition]:
        planned = super().partitions()
        return [InputPartition(str(_made(planned, number))) for number in range(len(planned))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(partition.value) as file, pa.ipc.open_file(file) as batches:
            for number in range(batches.num_record_batches):
                yield batches.get_batch(number)


def make_batches(path: str, options: Mapping[str, str], schema: StructType) -> None:
    """Read a folder as headwater's tasks would, and keep the batches of each beside it."""
    given = {name.lower(): value for name, value in options.items() if name != "source"}
    configured = configure_files({**given, "path": path, "timezone": "UTC"}, Boundedness.BOUNDED)
    reader = BatchReader(bind_schema(configured, schema, given=True), arrow_schema(schema))
    planned = reader.partitions()
    for number, partition in enumerate(planned):
        made = _made(planned, number)
        made.parent.mkdir(exist_ok=True)
        batches = reader.read(partition)
        first = next(batches)
        with pa.OSFile(str(made), "wb") as file, pa.ipc.new_file(file, first.schema) as writer:
            writer.write_batch(first)
            for batch in batches:
                writer.write_batch(batch)


def _made(planned: list[InputPartition], number: int) -> Path:
    """Return where the batches of a task lie: in a folder beside that of its files."""
    url = planned[number].value.ranges[0].split.file.url
    folder = Path(urlsplit(url).path).parent
    return folder.with_name(f"{folder.name}-made") / f"{number}.arrow"

"""Reads of ``format("headwater")`` in this process, step by step as Spark's own Python workers run them."""

from __future__ import annotations

import gc
import json
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import CaseInsensitiveDict, DataSourceReader, InputPartition
from pyspark.sql.datasource_internal import _streamReader
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType
from pyspark.sql.worker.plan_data_source_read import records_to_arrow_batches

from headwater.connector.spark.datasource import HeadwaterDataSource
from headwater.connector.spark.stream_reader import StreamReader

__all__ = [
    "JAVA_ZONE",
    "SESSION_ZONE",
    "LocalBatch",
    "LocalStream",
    "path_options",
    "read_batch",
    "read_stream",
]

SESSION_ZONE = "spark.sql.session.timeZone"
JAVA_ZONE = "user.timezone"
"""In the settings of a task: the default zone of the driver's JVM."""
_MOST_ROWS = 10_000
"""`spark.sql.execution.arrow.maxRecordsPerBatch`; batches of Arrow pass as they are."""


def path_options(url: str | Sequence[str]) -> dict[str, str]:
    """Return the option that Spark makes of what ``load`` was given."""
    urls = [url] if isinstance(url, str) else list(url)
    return {"path": urls[0]} if len(urls) == 1 else {"paths": json.dumps(urls)}


class LocalBatch:
    """A batch read. It is planned when it is read first, and read any number of times.

    Attributes:
        schema: that the user gave, or that the source has.

    Args:
        options: of the reader, ``source`` among them.
        schema: that the user gave.
        settings: what the session was given, and the default zone of its JVM.
    """

    def __init__(
        self, options: Mapping[str, str], schema: StructType | None, settings: Mapping[str, str]
    ) -> None:
        self._source, self.schema = _source(options, schema)
        self._settings = settings

    def tables(self) -> list[pa.Table]:
        """Return what each task reads."""
        reader, partitions = self._planned
        return [
            _table(self._source, reader, [partition], self.schema, self._settings) for partition in partitions
        ]

    @cached_property
    def _planned(self) -> tuple[DataSourceReader, Sequence[InputPartition]]:
        reader = self._source.reader(self.schema)
        return reader, reader.partitions() or [InputPartition(None)]


class LocalStream:
    """What plans a streaming query from one of its starts to its stop, and reads its tasks.

    Attributes:
        schema: as of `LocalBatch`.
        reader: plans.

    Args:
        options: as of `LocalBatch`.
        schema: as of `LocalBatch`.
        settings: as of `LocalBatch`.
        reads_all: whether no limit of the source counts.
    """

    def __init__(
        self,
        options: Mapping[str, str],
        schema: StructType | None,
        settings: Mapping[str, str],
        *,
        reads_all: bool = False,
    ) -> None:
        self._source, self.schema = _source(options, schema)
        self._settings = settings
        reader = _streamReader(self._source, self.schema)
        assert isinstance(reader, StreamReader)
        self.reader = reader
        self._limit = ReadAllAvailable() if reads_all else reader.getDefaultReadLimit()

    def initial_offset(self) -> Any:
        """Return where the first batch begins, as Spark's log has it."""
        return _through_json(self.reader.initialOffset())

    def latest_offset(self, start: Any) -> Any:
        """Return where the next batch ends, as Spark's log has it."""
        return _through_json(self.reader.latestOffset(start, self._limit))

    def table(self, partitions: Iterable[InputPartition]) -> pa.Table:
        """Return what tasks read."""
        return _table(self._source, self.reader, partitions, self.schema, self._settings)

    def close(self) -> None:
        """Stop planning."""
        self.reader.stop()
        gc.unfreeze()  # what the reader has frozen is more than its own here


def read_batch(
    options: Mapping[str, str], schema: StructType | None, settings: Mapping[str, str]
) -> tuple[StructType, pa.Table]:
    """Return schema and rows of a batch read; arguments are those of `LocalBatch`."""
    batch = LocalBatch(options, schema, settings)
    return batch.schema, pa.concat_tables(batch.tables())


def read_stream(
    options: Mapping[str, str], schema: StructType | None, settings: Mapping[str, str]
) -> tuple[StructType, list[pa.Table]]:
    """Return schema and batches of a new query with the trigger AvailableNow.

    Arguments are those of `LocalBatch`.
    """
    stream = LocalStream(options, schema, settings)
    tables = []
    try:
        stream.reader.prepareForTriggerAvailableNow()
        start = stream.initial_offset()
        while (end := stream.latest_offset(start)) != start:
            tables.append(stream.table(stream.reader.partitions(start, end)))
            stream.reader.commit(end)
            start = end
    finally:
        stream.close()
    return stream.schema, tables


def _source(options: Mapping[str, str], schema: StructType | None) -> tuple[HeadwaterDataSource, StructType]:
    given = CaseInsensitiveDict()
    for name, value in options.items():
        given[name] = value
    source = HeadwaterDataSource(cast("dict[str, str]", given))
    if schema is None:
        schema = source.schema()
    copied: HeadwaterDataSource = pickle.loads(pickle.dumps(source))
    return copied, schema


def _table(
    source: HeadwaterDataSource,
    reader: Any,
    partitions: Iterable[InputPartition],
    schema: StructType,
    settings: Mapping[str, str],
) -> pa.Table:
    copied = pickle.dumps(reader)
    batches: list[pa.RecordBatch] = []
    # Spark's worker has a variable of this name, of which `compat.worker_zone` takes the zone.
    runner_conf = SimpleNamespace(timezone=settings.get(SESSION_ZONE, settings.get(JAVA_ZONE)))  # noqa: F841
    with _task(settings):
        for partition in partitions:
            rows = pickle.loads(copied).read(pickle.loads(pickle.dumps(partition)))
            batches += records_to_arrow_batches(iter(rows), _MOST_ROWS, schema, source)
    return pa.Table.from_batches(batches, to_arrow_schema(schema, timezone="UTC"))


def _through_json(offset: Any) -> Any:
    return json.loads(json.dumps(offset))


@contextmanager
def _task(settings: Mapping[str, str]) -> Iterator[None]:
    """Let readers see a task's context, with what the session was given."""
    before = TaskContext.get()
    context = object.__new__(TaskContext)
    context._localProperties = dict(settings)
    TaskContext._setTaskContext(context)
    try:
        yield
    finally:
        TaskContext._setTaskContext(before)

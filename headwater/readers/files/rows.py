"""Columns of a file, of its path, and about it, put together as Spark expects them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast
from urllib.parse import unquote

import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.settings import METADATA_COLUMN, METADATA_TYPE, ReadSettings
from headwater.readers.files.values import parse_column

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


class RowAssembler:
    """Makes rows of one schema out of what files hold. One for each half of a task's reader.

    Args:
        settings: the schema, and what the paths say.
    """

    def __init__(self, settings: ReadSettings) -> None:
        assert settings.schema is not None
        self._settings = settings
        self._schema = settings.schema
        # Every block of a file asks for the same ones.
        self._partitions = lru_cache(maxsize=64)(settings.partitions_of)

    def file_columns(self, url: str) -> pa.Schema:
        """Return the columns of the schema that are to be found in this file."""
        elsewhere = {METADATA_COLUMN, *self._settings.special_columns, *self._partitions(url)}
        return pa.schema([field for field in self._schema if field.name not in elsewhere])

    def assemble(self, batch: pa.RecordBatch, file: FileStatus, start: int, stop: int) -> pa.RecordBatch:
        """Return a batch of exactly the schema.

        Args:
            batch: columns of the file, by name; those that are missing are null.
            file: where they come from.
            start: where the range that is read begins, for ``_metadata``.
            stop: where it ends.

        Raises:
            CorruptRecordError: a column does not fit the schema.
        """
        columns = [self._column(field, batch, file, start, stop) for field in self._schema]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _column(
        self, field: pa.Field[Any], batch: pa.RecordBatch, file: FileStatus, start: int, stop: int
    ) -> pa.Array[Any]:
        partitions = self._partitions(file.url)
        # A column of the file hides a folder of the same name, as in Spark.
        if field.name in partitions and field.name not in batch.schema.names:
            return cast("pa.Array[Any]", pa.repeat(_partition(field, partitions, file), batch.num_rows))
        if field.name == METADATA_COLUMN:
            return _metadata(file, start, stop, batch.num_rows)
        at = batch.schema.get_field_index(field.name)
        if at < 0:
            return cast("pa.Array[Any]", pa.nulls(batch.num_rows, field.type))
        return _cast(batch.column(at), field, file)


def partition_value(raw: str) -> str | None:
    """Return the value of a ``key=value`` folder as Hive means it: unquoted, None for its word for null."""
    return None if raw == _NULL_PARTITION else unquote(raw)


def _partition(field: pa.Field[Any], partitions: Mapping[str, str], file: FileStatus) -> Any:
    """Return the value of a folder, as a scalar of the field's type."""
    raw = partitions[field.name]
    try:
        parsed = parse_column(pa.array([partition_value(raw)], pa.string()), field.type)
    except pa.ArrowInvalid as error:
        raise CorruptRecordError(
            f"the folder {field.name}={raw} is no {field.type}: {error}", source="files", split=file.url
        ) from error
    return parsed[0]


def _metadata(file: FileStatus, start: int, stop: int, rows: int) -> pa.Array[Any]:
    """Return the column ``_metadata``: the same value in every row."""
    values = {
        "file_path": file.url,
        "file_name": file.url.rpartition("/")[2],
        "file_size": file.size_bytes,
        "file_block_start": start,
        "file_block_length": stop - start,
        "file_modification_time": file.modified_ms * 1000,  # Spark knows no more than milliseconds
    }
    return cast("pa.Array[Any]", pa.repeat(pa.scalar(values, METADATA_TYPE), rows))


def _cast(column: pa.Array[Any], field: pa.Field[Any], file: FileStatus) -> pa.Array[Any]:
    if column.type == field.type:
        return column
    try:
        if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(field.type):
            # Nanoseconds become microseconds, as in Spark, and no error.
            return column.cast(field.type, safe=False)
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise CorruptRecordError(
            f"column {field.name!r} is {column.type} in this file and {field.type} in the schema: {error}",
            source="files",
            split=file.url,
        ) from error

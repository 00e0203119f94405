"""Columns of a file, of its path, and about it, put together as Spark expects them.

Rows that fail a filter that Spark pushes down need not come out: Spark applies every filter again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import CorruptRecordError, SourceError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.partitions import partition_scalar
from headwater.readers.files.settings import METADATA_TYPE, ReadSettings, is_metadata

_NOT_IN_URI = re.compile(r"[^A-Za-z0-9_.!~'()*:@&=+$,;/\x80-\U0010ffff-]")
"""Characters that Java writes with percent signs in the path of a URI."""


Filters = Sequence[tuple[str, str, object]]
"""Column, operator (``==``, ``<``, ``<=``, ``>``, ``>=``, ``in``, ``null``, ``not null``), value."""

# Column and value: which rows pass.
_ROWS: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda column, value: pc.equal(column, pa.scalar(value, column.type)),
    "<": lambda column, value: pc.less(column, pa.scalar(value, column.type)),
    "<=": lambda column, value: pc.less_equal(column, pa.scalar(value, column.type)),
    ">": lambda column, value: pc.greater(column, pa.scalar(value, column.type)),
    ">=": lambda column, value: pc.greater_equal(column, pa.scalar(value, column.type)),
    "in": lambda column, values: pc.is_in(column, pa.array(values, column.type)),
    "null": lambda column, _: pc.is_null(column),
    "not null": lambda column, _: pc.is_valid(column),
}


class RowAssembler:
    """Makes rows of one schema out of columns of files. One for each half of a task's reader.

    Args:
        settings: the schema, and the columns in paths.
    """

    def __init__(self, settings: ReadSettings) -> None:
        assert settings.schema is not None
        self._settings = settings
        self._schema = settings.schema
        # Every block of a file asks for the same ones.
        self._partitions = lru_cache(maxsize=64)(self._folders_of)

    def _folders_of(self, url: str) -> Mapping[str, str]:
        """Return the raw values of a file's folders by names in lower case: case does not count.

        Raises:
            SourceError: it counts in this session, and a folder's name differs from a column in case alone.
        """
        folders = self._settings.partitions_of(url)
        if self._settings.is_case_sensitive:
            for name in self._schema.names:
                if name not in folders and name.lower() in {key.lower() for key in folders}:
                    raise SourceError(
                        "the session has spark.sql.caseSensitive=true, and a folder is called as the column "
                        f"{name!r} but for case: one column here. Unset it, or use Spark's own reader",
                        source="files",
                        split=url,
                    )
        return {name.lower(): raw for name, raw in folders.items()}

    def file_columns(self, url: str) -> pa.Schema:
        """Return the columns of the schema that are to be found in this file."""
        folders = self._partitions(url)
        elsewhere = self._settings.special_columns
        return pa.schema(
            [
                field
                for field in self._schema
                if not (field.name in elsewhere or is_metadata(field) or field.name.lower() in folders)
            ]
        )

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
        # A folder hides a column of the file of the same name, as in Spark.
        raw = self._partitions(file.url).get(field.name.lower())
        if raw is not None:
            value = _partition(field, raw, file, self._settings.records.time_zone)
            return cast("pa.Array[Any]", pa.repeat(value, batch.num_rows))
        if is_metadata(field):
            return _metadata(file, start, stop, batch.num_rows)
        at = batch.schema.get_field_index(field.name)
        if at < 0:
            return cast("pa.Array[Any]", pa.nulls(batch.num_rows, field.type))
        return _cast(batch.column(at), field, file)


def _partition(field: pa.Field[Any], raw: str, file: FileStatus, time_zone: str | None) -> Any:
    """Return the value of a folder, as a scalar of the field's type."""
    try:
        return partition_scalar(raw, field.type, time_zone)
    except (ArithmeticError, KeyError, ValueError, pa.ArrowException) as error:
        raise CorruptRecordError(
            f"the folder {field.name}={raw} is no {field.type}: {error}", source="files", split=file.url
        ) from error


def _metadata(file: FileStatus, start: int, stop: int, rows: int) -> pa.Array[Any]:
    """Return the column ``_metadata``: the same value in every row."""
    path = _uri(file.url)
    values = {
        "file_path": path,
        "file_name": path.rpartition("/")[2],
        "file_size": file.size_bytes,
        "file_block_start": start,
        "file_block_length": stop - start,
        "file_modification_time": file.modified_ms * 1000,  # Spark knows no more than milliseconds
    }
    return cast("pa.Array[Any]", pa.repeat(pa.scalar(values, METADATA_TYPE), rows))


def _uri(url: str) -> str:
    """Return a URL as Spark shows it: a local one without an authority, encoded as by Java."""
    protocol, separator, path = url.partition("://")
    encoded = _NOT_IN_URI.sub(lambda match: f"%{ord(match[0]):02X}", path)
    return f"file:{encoded}" if protocol == "file" else f"{protocol}{separator}{encoded}"


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


def drop_failing(batch: pa.RecordBatch, filters: Filters) -> pa.RecordBatch:
    """Return the rows of a batch that may pass.

    Floats are left to Spark, whose NaN is equal to itself and larger than all.
    """
    for name, operator, value in filters:
        at = batch.schema.get_field_index(name)
        if at < 0 or pa.types.is_floating(batch.schema.field(at).type):
            continue
        try:
            batch = batch.filter(_ROWS[operator](batch.column(at), value))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            continue  # the column cannot hold the value: what that means is left to Spark
    return batch

"""Avro, by fastavro: slow, but it reads all of Avro."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.core.imports import importing
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.file_format import FileBlock, FileFormat

_BATCH_ROWS = 8_192
_SIMPLE: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
    "fixed": pa.binary(),
    "null": pa.null(),
    "date": pa.date32(),
    "timestamp-millis": pa.timestamp("us", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "uuid": pa.string(),
}


class AvroFormat(FileFormat):
    """A file is read whole: its blocks have no index. Codecs are fastavro's."""

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        records = self._records(file, status)
        present = _fields(records.writer_schema) if columns.names else {}
        schema = pa.schema([field for field in columns if field.name in present])
        done = 0
        while rows := self._next_rows(records, status, done):
            yield FileBlock(self._batch(rows, schema, status), 0, 0)
            done += len(rows)

    def decode(self, block: FileBlock, file: FileStatus, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield cast("pa.RecordBatch", block.data)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        records = self._records(file, status)
        return pa.schema([pa.field(name, kind) for name, kind in _fields(records.writer_schema).items()])

    def _next_rows(self, records: Any, status: FileStatus, done: int) -> list[Any]:
        try:
            return list(islice(records, _BATCH_ROWS))
        except (ValueError, EOFError) as error:
            raise CorruptRecordError(
                f"this is a damaged avro file: {error!r}", source="files", split=status.url, position=done
            ) from error

    def _batch(self, rows: list[Any], schema: pa.Schema, status: FileStatus) -> pa.RecordBatch:
        if not schema.names:
            return pa.RecordBatch.from_arrays([pa.nulls(len(rows))], [""])
        try:
            return pa.RecordBatch.from_pylist(rows, schema=schema)
        except (ValueError, pa.ArrowTypeError) as error:
            raise CorruptRecordError(
                f"the file does not fit the schema {schema}: {error}", source="files", split=status.url
            ) from error

    def _records(self, file: Any, status: FileStatus) -> Any:
        with importing("the format avro", extra="avro"):
            import fastavro
        try:
            return fastavro.reader(file)
        except (ValueError, EOFError) as error:
            raise CorruptRecordError(
                f"this is no avro file: {error!r}", source="files", split=status.url
            ) from error


def _fields(schema: Any) -> dict[str, pa.DataType]:
    return {field["name"]: _arrow_type(field["type"]) for field in schema["fields"]}


def _arrow_type(schema: Any) -> pa.DataType:
    """Return the Arrow type of a schema of Avro's specification; string for unions of several types."""
    branches = [branch for branch in schema if branch != "null"] if isinstance(schema, list) else [schema]
    if len(branches) != 1:
        return pa.string()
    (branch,) = branches
    if isinstance(branch, str):
        return _SIMPLE.get(branch, pa.string())
    kind = branch["type"]
    logical = branch.get("logicalType")
    found: pa.DataType
    if logical == "decimal":
        found = pa.decimal128(branch["precision"], branch.get("scale", 0))
    elif logical in _SIMPLE:
        found = _SIMPLE[logical]
    elif kind == "record":
        found = pa.struct([(field["name"], _arrow_type(field["type"])) for field in branch["fields"]])
    elif kind == "array":
        found = pa.list_(_arrow_type(branch["items"]))
    elif kind == "map":
        found = pa.map_(pa.string(), _arrow_type(branch["values"]))
    else:
        found = _arrow_type(kind)
    return found

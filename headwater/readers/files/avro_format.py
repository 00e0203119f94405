"""Avro, by fastavro: not fast, but all of Avro."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.core.imports import importing
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.block import FileBlock
from headwater.readers.files.file_format import FileFormat

__all__ = ["AvroFormat"]

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
        present = set(_fields(records.writer_schema)) if columns.names else set()
        schema = pa.schema([field for field in columns if field.name in present])
        done = 0
        while True:
            try:
                rows = list(islice(records, _BATCH_ROWS))
                batch = (
                    pa.RecordBatch.from_pylist(rows, schema=schema)
                    if schema.names
                    else pa.RecordBatch.from_arrays([pa.nulls(len(rows))], [""])
                )
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise CorruptRecordError(
                    f"the file does not fit the schema {schema}: {error}", source="files", split=status.url
                ) from error
            except (ValueError, EOFError) as error:
                raise CorruptRecordError(
                    f"this is a damaged avro file: {error!r}", source="files", split=status.url, position=done
                ) from error
            if not rows:
                return
            yield FileBlock(batch, 0, 0)
            done += len(rows)

    def decode(self, block: FileBlock, url: str, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield cast("pa.RecordBatch", block.data)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        records = self._records(file, status)
        return pa.schema([pa.field(name, kind) for name, kind in _fields(records.writer_schema).items()])

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
    kinds = [kind for kind in schema if kind != "null"] if isinstance(schema, list) else [schema]
    if len(kinds) != 1 or isinstance(kinds[0], str):
        return _SIMPLE.get(kinds[0], pa.string()) if len(kinds) == 1 else pa.string()
    schema = kinds[0]
    logical, kind = schema.get("logicalType"), schema["type"]
    if logical == "decimal":
        return pa.decimal128(schema["precision"], schema.get("scale", 0))
    if kind == "record":
        return pa.struct([(field["name"], _arrow_type(field["type"])) for field in schema["fields"]])
    if kind == "array":
        return pa.list_(_arrow_type(schema["items"]))
    if kind == "map":
        return pa.map_(pa.string(), _arrow_type(schema["values"]))
    return _SIMPLE[logical] if logical in _SIMPLE else _arrow_type(kind)

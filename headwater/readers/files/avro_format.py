"""Avro's container files, by the kernel that decodes Avro's values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headwater.core.errors import CorruptRecordError, FormatSchemaError, SourceError
from headwater.core.imports import importing
from headwater.enumerators.files.split import FileStatus
from headwater.readers.compression import LargeBlockError
from headwater.readers.files.avro_types import (
    avro_conversion,
    check_inferred,
    decoded_type,
    read_as,
    wanted_fields,
)
from headwater.readers.files.column_types import ColumnConversion, UnfitTypeError, conversion
from headwater.readers.files.file_format import FileBlock, FileFormat
from headwater.readers.files.rebase import Rebase
from headwater.readers.files.spark_notes import noted_avro_type
from headwater.readers.formats.avro.columns import arrow_schema
from headwater.readers.formats.avro.schema import parse_schema, schema_json
from headwater.readers.formats.avro.types import RecordField, RecordType

if TYPE_CHECKING:
    from headwater.readers.formats.avro.container import ContainerBlock, ContainerDecoder, ContainerHeader

_BATCH_ROWS = 32_768
_BATCH_BYTES = 4 << 20


class AvroFormat(FileFormat):
    """A range reads the blocks whose marker before them begins in it."""

    def is_splittable(self, url: str) -> bool:
        return True

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        with _named_errors(status):
            container = _container()
            header = container.read_header(file)
            rebase = Rebase.of(status.url, header.metadata, self.settings.rebase)
            fields, plan = _plan(self._reader(header), columns, rebase)
            most = self.settings.most_inflated_bytes
            blocks = container.read_blocks(file, header, start, stop, most)
            if not fields:
                for block in blocks:
                    yield FileBlock(_nulls(block.rows), block.start, block.stop)
                return
            writer = _record(header.schema)
            decoder = container.ContainerDecoder(writer, replace(self._reader(header), fields=tuple(fields)))
            for begin, end in _decoded(decoder, blocks):
                rows = decoder.finish()
                arrays = [convert(column) for column, (_, convert) in zip(rows.columns, plan, strict=True)]
                schema = pa.schema([field for field, _ in plan])
                yield FileBlock(pa.RecordBatch.from_arrays(arrays, schema=schema), begin, end)

    def decode(self, block: FileBlock, file: FileStatus, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield block.batch

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        with _named_errors(status):
            header = _container().read_header(file)
            record = self._reader(header)
            node = schema_json(self.settings.avro_schema or header.schema)
            nodes = {field["name"]: field["type"] for field in node["fields"]}
            noted = [
                field.with_type(noted_avro_type(nodes[field.name], field.type, field.name))
                for field in arrow_schema(record)
            ]
            check_inferred(record)
            return pa.schema(noted)

    def _reader(self, header: ContainerHeader) -> RecordType:
        """Return the schema that is read: the user's, else the file's own."""
        return _record(self.settings.avro_schema or header.schema)


def _plan(
    record: RecordType, columns: pa.Schema, rebase: Rebase
) -> tuple[list[RecordField], list[tuple[pa.Field[Any], ColumnConversion]]]:
    """Return the fields that are decoded, and the column and the conversion of each."""
    targets = wanted_fields(record, columns)
    fields = [
        replace(field, type=read_as(field.type, targets[field.name].type))
        for field in record.fields
        if field.name in targets
    ]

    def convert_leaf(source: Any, target: Any, _at: int) -> ColumnConversion:
        return avro_conversion(source, target, rebase)

    plan: list[tuple[pa.Field[Any], ColumnConversion]] = []
    for field in fields:
        column = targets[field.name]
        path = f"column {column.name!r}"
        source = decoded_type(field.type, column.type, path)
        plan.append((column, conversion(source, column.type, convert_leaf, path)))
    return fields, plan


def _decoded(decoder: ContainerDecoder, blocks: Iterator[ContainerBlock]) -> Iterator[tuple[int, int]]:
    """Decode blocks. Yield where in the file they lie whenever there are rows enough for a batch.

    Values before a damaged place come first. The damaged block counts as not read.
    """
    start = stop = 0
    size = 0
    failure: ValueError | None = None
    while failure is None:
        try:
            block = next(blocks, None)
            if block is None:
                break
            start = start or block.start
            stop = block.start
            decoder.append(block)
        except ValueError as error:
            failure = error
            break
        stop = block.stop
        size += len(block.content)
        if decoder.rows >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield start, stop
            start = size = 0
    if decoder.rows:
        yield start, stop
    if failure is not None:
        raise failure


def _nulls(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(rows)], names=[""])


def _record(text: str) -> RecordType:
    # A record in itself may be among the fields that are not read.
    schema = parse_schema(text, recursive=True, any_names=True)
    if not isinstance(schema, RecordType):
        raise FormatSchemaError("the schema of the file is no record, so it has no columns")
    return schema


def _container() -> ModuleType:
    with importing("the format avro", extra="avro"):
        from headwater.readers.formats.avro import container
    return container


@contextmanager
def _named_errors(status: FileStatus) -> Iterator[None]:
    """Name the file, and the place in it, in errors."""
    try:
        yield
    except (UnfitTypeError, FormatSchemaError) as error:
        raise CorruptRecordError(str(error), source="files", split=status.url) from error
    except LargeBlockError as error:
        raise SourceError(str(error), source="files", split=status.url, position=error.position) from error
    except (ValueError, pa.ArrowException) as error:
        raise CorruptRecordError(
            f"this is no avro file, or a damaged one: {error}",
            source="files",
            split=status.url,
            position=getattr(error, "position", None),
        ) from error

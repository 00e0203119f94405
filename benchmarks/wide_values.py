"""Values of very many columns of strings, and values with a list of objects of strings, in every format."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro
import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from headwater.readers.formats.avro.avro_format import AvroValueFormat
from headwater.readers.formats.csv.csv_format import CsvValueFormat
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.format import Format, FormatOptions
from headwater.readers.formats.json.json_format import JsonValueFormat
from headwater.readers.formats.protobuf.format import ProtobufFormat

__all__ = ["FORMATS", "nested", "wide", "written"]

FORMATS = ("JSON", "CSV", "Avro", "Protobuf")
_FIELD = descriptor_pb2.FieldDescriptorProto


def wide(rows: int, columns: int) -> list[dict[str, Any]]:
    """Return rows of strings."""
    return [{f"c{column}": f"value-{row}-{column}" for column in range(columns)} for row in range(rows)]


def nested(rows: int, elements: int, columns: int) -> list[dict[str, Any]]:
    """Return rows that have one list of objects of strings."""
    return [{"list": wide(elements, columns)} for _ in range(rows)]


def written(name: str, rows: Sequence[Mapping[str, Any]]) -> tuple[Format, list[bytes]]:
    """Return a format of all columns of the rows, and the rows as its values. CSV has no lists."""
    columns = list(rows[0])
    inner = list(rows[0]["list"][0]) if "list" in rows[0] else None
    return {"JSON": _json, "CSV": _csv, "Avro": _avro, "Protobuf": _protobuf}[name](rows, columns, inner)


def _schema(columns: Sequence[str], inner: Sequence[str] | None) -> bytes:
    strings = [pa.field(each, pa.string()) for each in inner or columns]
    schema = pa.schema(strings if inner is None else [pa.field("list", pa.list_(pa.struct(strings)))])
    return schema.serialize().to_pybytes()


def _json(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], inner: Sequence[str] | None
) -> tuple[Format, list[bytes]]:
    made_by = JsonValueFormat(_schema(columns, inner), FormatOptions())
    return made_by, [json.dumps(row, separators=(",", ":")).encode() for row in rows]


def _csv(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], inner: Sequence[str] | None
) -> tuple[Format, list[bytes]]:
    made_by = CsvValueFormat(_schema(columns, inner), FormatOptions(), CsvDialect())
    return made_by, [",".join(row.values()).encode() for row in rows]


def _avro(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], inner: Sequence[str] | None
) -> tuple[Format, list[bytes]]:
    fields = [{"name": each, "type": "string"} for each in inner or columns]
    schema: dict[str, Any] = {"type": "record", "name": "Row", "fields": fields}
    if inner is not None:
        items = {"name": "list", "type": {"type": "array", "items": schema}}
        schema = {"type": "record", "name": "Rows", "fields": [items]}
    parsed = fastavro.parse_schema(schema)
    values = []
    for row in rows:
        datum = io.BytesIO()
        fastavro.schemaless_writer(datum, parsed, dict(row))
        values.append(datum.getvalue())
    return AvroValueFormat(json.dumps(schema)), values


def _protobuf(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], inner: Sequence[str] | None
) -> tuple[Format, list[bytes]]:
    file = descriptor_pb2.FileDescriptorProto(name="wide.proto", package="wide", syntax="proto3")
    message = file.message_type.add(name="Row")
    for number, each in enumerate(inner or columns, 1):
        message.field.add(name=each, number=number, type=_FIELD.TYPE_STRING, label=_FIELD.LABEL_OPTIONAL)
    outer = file.message_type.add(name="Rows")
    outer.field.add(
        name="list",
        number=1,
        type=_FIELD.TYPE_MESSAGE,
        type_name=".wide.Row",
        label=_FIELD.LABEL_REPEATED,
    )
    name = "wide.Row" if inner is None else "wide.Rows"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    build: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    files = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    made_by = ProtobufFormat(descriptor_set=files, message=name)
    return made_by, [build(**row).SerializeToString() for row in rows]

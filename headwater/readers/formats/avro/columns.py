"""Avro types as Arrow types, as Spark's from_avro has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.errors import FormatSchemaError
from headwater.readers.formats.avro.types import (
    ArrayType,
    AvroDecimal,
    AvroMapType,
    AvroType,
    EnumType,
    FixedType,
    PrimitiveType,
    RecordType,
    RecursiveType,
    UnionType,
)

if TYPE_CHECKING:
    import pyarrow as pa

VALUE_COLUMN = "value"
"""The one column of a schema that is no record."""
_MOST_PRECISION = 38


def value_record(schema: AvroType) -> RecordType | None:
    """Return the record whose fields are the columns; None if the value itself is the one column."""
    branches = chosen_type(schema)
    return branches if isinstance(branches, RecordType) else None


def chosen_type(schema: AvroType) -> AvroType:
    """Return the type of a union of it and null; any other type as it is."""
    if isinstance(schema, UnionType) and len(schema.without_null) == 1:
        return schema.without_null[0]
    return schema


def widened(union: UnionType) -> str | None:
    """Return the type that takes all values of a union of numbers: ``long`` or ``double``; None of others."""
    match sorted(branch.kind for branch in union.without_null):
        case ["int", "long"]:
            return "long"
        case ["double", "float"]:
            return "double"
    return None


def arrow_schema(schema: AvroType) -> pa.Schema:
    """Return the columns of a schema.

    Raises:
        FormatSchemaError: the schema has a type that no column can hold.
    """
    import pyarrow as pa

    record = value_record(schema)
    if record is None:
        return pa.schema([pa.field(VALUE_COLUMN, arrow_type(schema, VALUE_COLUMN))])
    if not record.fields:
        raise FormatSchemaError(f"the record {record.name!r} has no fields, so there is nothing to read")
    return pa.schema([pa.field(field.name, arrow_type(field.type, field.name)) for field in record.fields])


def arrow_type(schema: AvroType, path: str) -> pa.DataType:  # noqa: PLR0911 - a case for each type
    """Return the type of a column or a part of it.

    Args:
        schema: the type in Avro.
        path: of the value with this type, for messages.
    """
    import pyarrow as pa

    match schema:
        case RecursiveType():
            raise FormatSchemaError(
                f"{path} is of the type {schema.name}, which contains itself: columns cannot hold that. "
                "Leave that field out of the schema that you read with"
            )
        case EnumType():
            return pa.string()
        case FixedType():
            return _bytes(schema.decimal, path)
        case ArrayType():
            return pa.list_(arrow_type(schema.items, f"{path}[]"))
        case AvroMapType():
            return pa.map_(pa.string(), arrow_type(schema.values, f"{path}[]"))
        case RecordType():
            return pa.struct(
                [(each.name, arrow_type(each.type, f"{path}.{each.name}")) for each in schema.fields]
            )
        case UnionType():
            return _union(schema, path)
    return _primitive(schema, path)


def _union(union: UnionType, path: str) -> pa.DataType:
    import pyarrow as pa

    branches = chosen_type(union)
    if branches is not union:
        return arrow_type(branches, path)
    if number := widened(union):
        return pa.int64() if number == "long" else pa.float64()
    members = [(f"member{i}", branch) for i, branch in enumerate(union.without_null)]
    if not members:
        return arrow_type(union.branches[0], path)
    return pa.struct([(name, arrow_type(branch, f"{path}.{name}")) for name, branch in members])


def _primitive(primitive: PrimitiveType, path: str) -> pa.DataType:
    import pyarrow as pa

    match primitive.kind, primitive.logical:
        case "null", _:
            raise FormatSchemaError(
                f"{path} has the type null and nothing else: leave it out of the schema that you read with"
            )
        case "bytes", _:
            return _bytes(primitive.decimal, path)
        case "int", "date":
            return pa.date32()
        case "long", "timestamp-millis" | "timestamp-micros":
            return pa.timestamp("us", tz="UTC")
        case "long", "local-timestamp-millis" | "local-timestamp-micros":
            return pa.timestamp("us")
    kinds: dict[str, pa.DataType] = {
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
    }
    return kinds[primitive.kind]


def _bytes(decimal: AvroDecimal | None, path: str) -> pa.DataType:
    import pyarrow as pa

    if decimal is None:
        return pa.binary()
    if decimal.precision > _MOST_PRECISION:
        raise FormatSchemaError(
            f"{path} is a decimal of {decimal.precision} digits; Spark's have {_MOST_PRECISION} at most"
        )
    return pa.decimal128(decimal.precision, decimal.scale)

"""Debezium's change events: their envelopes, as JSON and as Avro in Confluent's wire format."""

from __future__ import annotations

import json as json_text
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from headwater.connector.formats import plain_formats, registered_formats
from headwater.connector.formats.format_request import ChosenFormat, FormatRequest
from headwater.connector.formats.options import PartOptions
from headwater.readers.formats.debezium_json import ENVELOPE, PAYLOAD

if TYPE_CHECKING:
    from headwater.readers.formats.format import Format


def json(request: FormatRequest) -> ChosenFormat:
    """JSON, with and without the schema beside it. The user names the fields of a row."""
    _refuse_keys(request.part)
    part = request.part
    row: StructType = part.require(
        "schema", " for the format 'debezium-json': it names the columns of the table"
    )
    if path := _decimal_in(row, ""):
        raise part.refusal(
            "schema",
            f"{path!r} is a decimal, which Debezium writes as Base64 of its digits by default, and that may "
            "look like a number: set decimal.handling.mode=string in the connector, name the column a string "
            "here, and cast it",
        )
    types: dict[str, DataType] = {
        **dict.fromkeys(ENVELOPE, StringType()),
        "before": row,
        "after": row,
        "ts_ms": LongType(),
    }
    fields = StructType([StructField(name, types[name]) for name in ENVELOPE])
    corrupt = request.options.corrupt_column
    if corrupt in fields.names:
        raise part.refusal("corrupt_column", f"{corrupt!r} is a field of envelopes: choose another name")

    def make() -> Format:
        from headwater.readers.formats.debezium_json import DebeziumJsonFormat

        both = StructType([*fields.fields, StructField(PAYLOAD, fields)])
        plain = plain_formats.json_format(request, both)
        without = replace(plain, options=replace(plain.options, corrupt_column=None))
        return DebeziumJsonFormat(without, corrupt)

    return ChosenFormat(fields=fields, make=make, has_times=plain_formats.has_times(row))


def avro(request: FormatRequest) -> ChosenFormat:
    """Avro: the registry has the schema of the envelope, and with it that of a row."""
    _refuse_keys(request.part)
    return registered_formats.avro(request, lambda text: envelope_of(text, request.part))


def envelope_of(text: str, part: PartOptions) -> str:
    """Return the schema of an envelope with the fields that become columns, in their order.

    Values are resolved to it, so that others (`transaction`, later additions) are passed over.

    Raises:
        OptionError: it is not the schema of an envelope.
    """
    try:
        schema = json_text.loads(text)
    except ValueError:
        schema = None
    fields = {str(each.get("name")): each for each in _fields(schema)}
    if "before" not in fields and "after" in fields:
        fields |= _with_before(fields["after"], schema)
    if missing := [name for name in ENVELOPE if name not in fields]:
        raise part.refusal(
            "format",
            f"the Avro schema is not that of an envelope of Debezium: it has no field {missing[0]!r}. What "
            "the transform ExtractNewRecordState has unwrapped is of the format 'confluent-avro'",
        )
    return json_text.dumps({**schema, "fields": [fields[name] for name in ENVELOPE]})


def _with_before(after: dict[str, Any], envelope: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return both fields of a row of a connector that knows no earlier one (Cassandra), which is null.

    The first one in the order of columns defines the type of a row, the other one names it.
    """
    branches = after["type"] if isinstance(after.get("type"), list) else [after.get("type")]
    row = next((each for each in branches if isinstance(each, dict) and each.get("type") == "record"), None)
    if row is None:
        return {}
    name = str(row.get("name"))
    namespace = row.get(
        "namespace", str(envelope.get("name")).rpartition(".")[0] or envelope.get("namespace")
    )
    full = name if "." in name or not namespace else f"{namespace}.{name}"
    return {
        "before": {"name": "before", "type": ["null", row], "default": None},
        "after": {**after, "type": [full if each is row else each for each in branches]},
    }


def _fields(schema: Any) -> list[dict[str, Any]]:
    fields = schema.get("fields") if isinstance(schema, dict) else None
    return [each for each in fields if isinstance(each, dict)] if isinstance(fields, list) else []


def _refuse_keys(part: PartOptions) -> None:
    if part.PART == "key":
        raise part.refusal(
            "format",
            "is for values: the key of a change event is no envelope, but of the format 'json' or "
            "'confluent-avro'",
        )


def _decimal_in(kind: DataType, path: str) -> str:
    """Return the path of the first decimal; empty if there is none."""
    match kind:
        case StructType():
            paths = (_decimal_in(field.dataType, f"{path}{field.name}.") for field in kind.fields)
            return next(filter(None, paths), "")
        case ArrayType():
            return _decimal_in(kind.elementType, path)
        case MapType():
            return _decimal_in(kind.valueType, path)
    return path.removesuffix(".") if isinstance(kind, DecimalType) else ""

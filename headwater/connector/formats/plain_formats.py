"""Formats whose schema the user gives, as text or in a file on the driver."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    MapType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
)

from headwater.connector.compat import arrow_schema, spark_fields
from headwater.connector.formats.format_request import ChosenFormat, FormatRequest
from headwater.connector.formats.options import PartOptions
from headwater.core.errors import FormatSchemaError, OptionError
from headwater.core.options import Option
from headwater.readers.formats.format import FormatOptions

if TYPE_CHECKING:
    from headwater.readers.formats.format import Format
    from headwater.readers.formats.json.json_format import JsonValueFormat
    from headwater.readers.formats.protobuf.format import ProtobufFormat

_OF_CSV: Final = (
    *(NumericType, BooleanType, StringType, BinaryType, DateType, TimestampType, TimestampNTZType),
    *(DayTimeIntervalType, TimeType),
)
_AVRO_TEXT: Final = re.compile(r"\s*([\[{\"]|//|/\*|(null|boolean|int|long|float|double|bytes|string)\s*$)")


def text(_request: FormatRequest) -> ChosenFormat:
    """Strings."""

    def make() -> Format:
        from headwater.readers.formats.text import TextValueFormat

        return TextValueFormat()

    return ChosenFormat(
        fields=StructType([StructField("value", StringType())]), make=make, is_single_value=True
    )


def json(request: FormatRequest) -> ChosenFormat:
    """JSON objects, by Spark's DDL."""
    part = request.part
    fields: StructType | None = part.schema
    if fields is None and request.infer is not None:
        fields = request.infer(part)
    if fields is None:
        fields = part.require(
            "schema", " for the format 'json': it names the fields, which .schema(...) does not"
        )
    return ChosenFormat(fields=fields, make=lambda: json_format(request, fields), has_times=has_times(fields))


def json_format(request: FormatRequest, fields: StructType) -> JsonValueFormat:
    """Make the format of JSON objects."""
    from headwater.readers.formats.json.json_format import JsonValueFormat

    schema = arrow_schema(fields)
    return JsonValueFormat(schema.serialize().to_pybytes(), request.options)


def csv(request: FormatRequest) -> ChosenFormat:
    """Records of CSV, by Spark's DDL.

    Raises:
        OptionError: a column has a type that CSV has no values of.
    """
    part = request.part
    hint = " for the format 'csv': it names the columns, which .schema(...) does not"
    fields: StructType = part.require("schema", hint)
    if refused := refused_by_csv(fields):
        raise part.refusal("schema", refused)

    def make() -> Format:
        from headwater.readers.formats.csv.csv_format import CsvValueFormat

        schema = arrow_schema(fields).serialize().to_pybytes()
        return CsvValueFormat(schema, request.options, part.csv_options)

    return ChosenFormat(fields=fields, make=make, has_times=has_times(fields))


def refused_by_csv(fields: StructType) -> str | None:
    """Return why CSV has no values of a column, as the end of a sentence; None if it has of all."""
    for field in fields.fields:
        if not isinstance(field.dataType, _OF_CSV):
            return f"the column {field.name!r} is {field.dataType.simpleString()}, which CSV cannot hold"
    return None


def has_times(kind: DataType) -> bool:
    """Return whether a type has points in time, at any depth."""
    match kind:
        case StructType():
            return any(has_times(field.dataType) for field in kind.fields)
        case ArrayType():
            return has_times(kind.elementType)
        case MapType():
            return has_times(kind.valueType)
    return isinstance(kind, TimestampType)


def avro(request: FormatRequest) -> ChosenFormat:
    """Avro values without a header."""
    from headwater.readers.formats.avro.avro_format import AvroValueFormat

    part = request.part
    reader = avro_text(part, "avro_schema")
    if reader is None:
        raise part.refusal("avro_schema", "is required for the format 'avro': its JSON, or a file")
    writer = avro_text(part, "avro_writer_schema")
    return chosen(
        lambda options: AvroValueFormat(reader, writer, options),
        request,
        "avro_schema" if writer is None else "avro_writer_schema",
    )


def avro_text(part: PartOptions, name: str) -> str | None:
    """Return an Avro schema, which the user gives as text or in a file.

    Args:
        part: the options.
        name: the field with the schema or its path.

    Raises:
        OptionError: the file cannot be read.
    """
    text: str | None = getattr(part, name)
    if text is None or _AVRO_TEXT.match(text):
        return text
    try:
        return file_content(text, part.OPTIONS[name]).decode()
    except UnicodeDecodeError:
        raise part.refusal(name, f"{text!r} is not a file of text") from None


def protobuf(request: FormatRequest) -> ChosenFormat:
    """Protobuf messages without a header."""
    part = request.part
    descriptors = part.require("descriptor", " for the format 'protobuf': protoc writes it")
    message = part.require("message", " for the format 'protobuf'")
    content = file_content(descriptors, part.OPTIONS["descriptor"])
    return chosen(lambda options: protobuf_format(request, content, message, options), request, "message")


def protobuf_format(
    request: FormatRequest, descriptors: bytes, message: str, options: FormatOptions
) -> ProtobufFormat:
    """Make the format of messages."""
    from headwater.readers.formats.protobuf.format import ProtobufFormat

    part = request.part
    return ProtobufFormat(
        descriptor_set=descriptors,
        message=message,
        options=options,
        defaults=part.emit_defaults,
        enums_as_ints=part.enums_as_ints,
        upcast_unsigned=part.upcast_unsigned,
    )


def chosen(make: Callable[[FormatOptions], Format], request: FormatRequest, name: str) -> ChosenFormat:
    """Return a format whose columns only it knows.

    Args:
        make: makes it.
        request: the user's options.
        name: the field of the option that the schema comes from.

    Raises:
        OptionError: no columns can be made of the schema.
    """
    try:
        value_format = make(request.options)
        without = make(replace(request.options, corrupt_column=None))
        fields = spark_fields(without.schema())
    except (FormatSchemaError, OptionError) as error:
        raise request.part.refusal(name, str(error)) from error
    return ChosenFormat(
        fields=fields, make=lambda: value_format, is_single_value=value_format.is_single_value
    )


def file_content(path: str, option: Option[str | None]) -> bytes:
    """Return the content of a file: a local one, or one of any file system of fsspec.

    Raises:
        OptionError: it cannot be read.
    """
    try:
        if "://" not in path:
            return Path(path).read_bytes()
        import fsspec

        with fsspec.open(path, "rb") as file:
            return bytes(file.read())
    except (OSError, ValueError) as error:
        raise OptionError(f"{path!r} cannot be read on the driver: {error}", option=option.name) from error

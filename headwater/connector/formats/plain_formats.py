"""Formats whose schema the user gives, as text or in a file on the driver."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
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
from headwater.connector.formats.schema_files import file_content
from headwater.core.errors import FormatSchemaError, OptionError
from headwater.core.options import Option
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.format_options import FormatOptions

if TYPE_CHECKING:
    from headwater.readers.formats.format import Format
    from headwater.readers.formats.json.json_format import JsonValueFormat
    from headwater.readers.formats.protobuf.format import ProtobufFormat

_OF_CSV: Final = (
    *(NumericType, BooleanType, StringType, BinaryType, DateType, TimestampType, TimestampNTZType),
    *(DayTimeIntervalType, TimeType),
)
_AVRO_TEXT: Final = re.compile(r"\s*[\[{\"]|null|boolean|int|long|float|double|bytes|string")


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
    rows = request.rows
    fields: StructType | None = request.given[rows.schema]
    if fields is None and request.infer is not None:
        fields = request.infer(rows)
    if fields is None:
        fields = request.given.require(rows.schema, " for the format 'json': it names the fields")
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
    rows = request.rows
    fields: StructType = request.given.require(rows.schema, " for the format 'csv': it names the columns")
    if refused := refused_by_csv(fields):
        raise request.refusal(rows.schema, refused)

    def make() -> Format:
        from headwater.readers.formats.csv.csv_format import CsvValueFormat

        schema = arrow_schema(fields).serialize().to_pybytes()
        return CsvValueFormat(schema, request.options, request.given[rows.csv_options] or CsvDialect())

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

    rows = request.rows
    reader = avro_text(request, rows.avro_schema)
    if reader is None:
        raise request.refusal(rows.avro_schema, "is required for the format 'avro': its JSON, or a file")
    writer = avro_text(request, rows.avro_writer_schema)
    return chosen(
        lambda options: AvroValueFormat(reader, writer, options),
        request,
        rows.avro_schema if writer is None else rows.avro_writer_schema,
    )


def avro_text(request: FormatRequest, option: Option[str | None]) -> str | None:
    """Return an Avro schema, which the user gives as text or in a file.

    Raises:
        OptionError: the file cannot be read.
    """
    given = request.given[option]
    if given is None or _AVRO_TEXT.match(given):
        return given
    try:
        return file_content(given, option).decode()
    except UnicodeDecodeError:
        raise request.refusal(option, f"{given!r} is not a file of text") from None


def protobuf(request: FormatRequest) -> ChosenFormat:
    """Protobuf messages without a header."""
    rows = request.rows
    descriptors = request.given.require(rows.descriptor, " for the format 'protobuf': protoc writes it")
    message = request.given.require(rows.message, " for the format 'protobuf'")
    content = file_content(descriptors, rows.descriptor)
    return chosen(lambda options: protobuf_format(request, content, message, options), request, rows.message)


def protobuf_format(
    request: FormatRequest, descriptors: bytes, message: str, options: FormatOptions
) -> ProtobufFormat:
    """Make the format of messages."""
    from headwater.readers.formats.protobuf.format import ProtobufFormat

    given, rows = request.given, request.rows
    return ProtobufFormat(
        descriptor_set=descriptors,
        message=message,
        options=options,
        defaults=given[rows.emit_defaults] or False,
        enums_as_ints=given[rows.enums_as_ints] or False,
        upcast_unsigned=given[rows.upcast_unsigned] or False,
    )


def chosen(
    make: Callable[[FormatOptions], Format], request: FormatRequest, option: Option[str | None]
) -> ChosenFormat:
    """Return a format whose columns only it knows.

    Args:
        make: makes it.
        request: the user's options.
        option: where the schema comes from.

    Raises:
        OptionError: no columns can be made of the schema.
    """
    try:
        made = make(request.options)
        without = make(replace(request.options, corrupt_column=None))
        fields = spark_fields(without.schema())
    except (FormatSchemaError, OptionError) as error:
        raise request.refusal(option, str(error)) from error
    return ChosenFormat(fields=fields, make=lambda: made, is_single_value=made.is_single_value)

"""Formats in Confluent's wire format: each value names its schema in a registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headwater.connector.formats import plain_formats
from headwater.connector.formats.format_request import ChosenFormat, FormatRequest
from headwater.connector.formats.json_schema import fields_of_json_schema
from headwater.connector.formats.registry_options import registered_schema, registry_settings
from headwater.connector.formats.schema_files import file_content
from headwater.core.errors import FormatSchemaError

if TYPE_CHECKING:
    from headwater.core.options import Option
    from headwater.readers.formats.format import Format
    from headwater.readers.formats.registry.client import RegisteredSchema


def avro(request: FormatRequest, adapt: Callable[[str], str] = str) -> ChosenFormat:
    """Avro: each value is resolved from the schema that it names.

    Args:
        request: the user's options.
        adapt: makes the schema of the columns of the one that the user or the registry has.
    """
    from headwater.readers.formats.avro.avro_format import ConfluentAvroFormat

    rows = request.rows
    registry = registry_settings(request)
    reader = plain_formats.avro_text(request, rows.avro_schema)
    references: tuple[str, ...] = ()
    if reader is None:
        found = _registered(request, "AVRO")
        reader = found.text
        references = tuple(text for _, text in found.references)
    else:
        _refuse_versions(request, rows.avro_schema)
    schema = adapt(reader)
    return plain_formats.chosen(
        lambda options: ConfluentAvroFormat(schema, registry, references, options), request, rows.avro_schema
    )


def json(request: FormatRequest) -> ChosenFormat:
    """JSON: what the id of a value stands for is not needed."""
    rows = request.rows
    fields = request.given[rows.schema]
    if fields is None:
        try:
            fields = fields_of_json_schema(_registered(request, "JSON").text)
        except FormatSchemaError as error:
            raise request.refusal(rows.schema, f"{error}. Name the fields here") from error
    else:
        _refuse_versions(request, rows.schema)

    def make() -> Format:
        from headwater.readers.formats.json.json_format import ConfluentJsonFormat

        return ConfluentJsonFormat(plain_formats.json_format(request, fields), request.options.corrupt_column)

    return ChosenFormat(fields=fields, make=make, has_times=plain_formats.has_times(fields))


def protobuf(request: FormatRequest) -> ChosenFormat:
    """Protobuf: messages of one type, by the name that the writer's schema gives them."""
    from headwater.readers.formats.protobuf.format import ConfluentProtobufFormat, registered_messages

    given, rows = request.given, request.rows
    registry = registry_settings(request)
    message = given[rows.message]
    path = given[rows.descriptor]
    if path is None:
        found = _registered(request, "PROTOBUF")
        try:
            descriptors, message = registered_messages(found, message)
        except FormatSchemaError as error:
            raise request.refusal(rows.descriptor, str(error)) from error
    else:
        _refuse_versions(request, rows.descriptor)
        message = given.require(rows.message, f" with option {rows.descriptor.name!r}")
        descriptors = file_content(path, rows.descriptor)
    name = message
    return plain_formats.chosen(
        lambda options: ConfluentProtobufFormat(
            plain_formats.protobuf_format(request, descriptors, name, options), registry
        ),
        request,
        rows.message,
    )


def _registered(request: FormatRequest, kind: str) -> RegisteredSchema:
    """Return the schema that the columns are made of.

    Raises:
        OptionError: it is of another kind.
    """
    found = registered_schema(request, serialized=kind == "PROTOBUF")
    if found.kind != kind:
        raise request.refusal(
            request.rows.format, f"the schema in the registry is of the kind {found.kind}, not {kind}"
        )
    return found


def _refuse_versions(request: FormatRequest, instead: Option[str | None]) -> None:
    rows = request.rows
    options = [rows.subject, rows.subject_strategy, rows.version]
    if instead is not rows.descriptor:
        options.append(rows.message)
    for option in options:
        if request.given[option] is not None:
            raise request.refusal(option, f"counts only without option {instead.name!r}: remove one of them")

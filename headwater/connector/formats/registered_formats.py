"""Formats in the wire formats of Confluent and AWS Glue: each value names its schema in a registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headwater.connector.formats import plain_formats
from headwater.connector.formats.format_request import ChosenFormat, FormatRequest
from headwater.connector.formats.json_schema import fields_of_json_schema
from headwater.connector.formats.options import FORMATS
from headwater.connector.formats.registered_schema import registered_schema, registry_settings
from headwater.core.errors import FormatSchemaError
from headwater.readers.formats.registry.settings import RegistrySettings

if TYPE_CHECKING:
    from headwater.readers.formats.format import Format
    from headwater.readers.formats.registry.registry import RegisteredSchema


def avro(request: FormatRequest, adapt: Callable[[str], str] = str) -> ChosenFormat:
    """Avro: each value is resolved from the schema that it names.

    Args:
        request: the user's options.
        adapt: makes the schema of the columns of the one that the user or the registry has.
    """
    from headwater.readers.formats.avro.avro_format import ConfluentAvroFormat, GlueAvroFormat

    part = request.part
    registry = registry_settings(request)
    reader = plain_formats.avro_text(part, "avro_schema")
    references: tuple[str, ...] = ()
    if reader is None:
        registered = _registered(request, "AVRO")
        reader = registered.text
        references = tuple(text for _, text in registered.references)
    else:
        _refuse_versions(request, "avro_schema")
    schema = adapt(reader)
    made = ConfluentAvroFormat if isinstance(registry, RegistrySettings) else GlueAvroFormat
    return plain_formats.chosen(
        lambda options: made(schema, registry, references, options), request, "avro_schema"
    )


def json(request: FormatRequest) -> ChosenFormat:
    """JSON: the schema of a value's id is not needed."""
    part = request.part
    fields = part.schema
    if fields is None:
        try:
            fields = fields_of_json_schema(_registered(request, "JSON").text)
        except FormatSchemaError as error:
            raise part.refusal("schema", f"{error}. Name the fields here") from error
    else:
        _refuse_versions(request, "schema")

    def make() -> Format:
        from headwater.readers.formats.json.json_format import ConfluentJsonFormat, GlueJsonFormat

        made = GlueJsonFormat if FORMATS[part.format or ""].registry == "glue" else ConfluentJsonFormat
        return made(plain_formats.json_format(request, fields), request.options.corrupt_column)

    return ChosenFormat(fields=fields, make=make, has_times=plain_formats.has_times(fields))


def protobuf(request: FormatRequest) -> ChosenFormat:
    """Protobuf: messages of one type, by the name that the writer's schema gives them."""
    from headwater.readers.formats.protobuf.format import ConfluentProtobufFormat, registered_messages

    part = request.part
    registry = registry_settings(request)
    message = part.message
    path = part.descriptor
    if path is None:
        registered = _registered(request, "PROTOBUF")
        try:
            descriptors, message = registered_messages(registered, message)
        except FormatSchemaError as error:
            raise part.refusal("descriptor", str(error)) from error
    else:
        _refuse_versions(request, "descriptor")
        message = part.require("message", f" with option {part.OPTIONS['descriptor'].name!r}")
        descriptors = plain_formats.file_content(path, part.OPTIONS["descriptor"])
    name = message
    return plain_formats.chosen(
        lambda options: ConfluentProtobufFormat(
            plain_formats.protobuf_format(request, descriptors, name, options), registry
        ),
        request,
        "message",
    )


def _registered(request: FormatRequest, kind: str) -> RegisteredSchema:
    """Return the schema that the columns are made of.

    Raises:
        OptionError: it is of another kind.
    """
    schema = registered_schema(request, serialized=kind == "PROTOBUF")
    if schema.kind != kind:
        raise request.part.refusal(
            "format", f"the schema in the registry is of the kind {schema.kind}, not {kind}"
        )
    return schema


def _refuse_versions(request: FormatRequest, instead: str) -> None:
    """Refuse options that name a schema of the registry where the user names another one, by its field."""
    part = request.part
    names = ["subject", "subject_strategy", "version"]
    if instead != "descriptor":
        names.append("message")
    for name in names:
        if request.gives(name):
            option = part.OPTIONS[instead].name
            raise part.refusal(name, f"excludes option {option!r}: remove one of them")

"""The format ``protobuf``: values that are messages of one type, known from a descriptor set.

In Confluent's wire format the id of a schema, and the place of the message in it, stand before each.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.core.errors import FormatSchemaError, OptionError, SourceError
from headwater.core.imports import importing
from headwater.readers.formats.format import Format, FormatOptions, ValueDecoder
from headwater.readers.formats.registry.glue_settings import GlueSettings
from headwater.readers.formats.registry.settings import RegistrySettings

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.formats.protobuf.descriptors import MessageNames
    from headwater.readers.formats.protobuf.message_indexes import MessageHeader
    from headwater.readers.formats.registry.registry import RegisteredSchema


NEEDED_FOR = "the format protobuf"


@dataclass(frozen=True, kw_only=True)
class ProtobufFormat(Format):
    """Messages of one type, as Spark's ``from_protobuf`` and protobuf's own library read them.

    Attributes:
        descriptor_set: the output of ``protoc --include_imports --descriptor_set_out=FILE``.
        message: the name of the type.
        options: of these only the column for corrupt values, which holds them as Base64.
        defaults: fields without presence have their default value when they are not set, instead of null
            (Spark's ``emit.default.values``).
        enums_as_ints: enums become their numbers, not their names (Spark's ``enums.as.ints``).
        upcast_unsigned: uint32 becomes a long and uint64 a decimal(20, 0) (Spark's ``upcast.unsigned.ints``);
            else they keep their bits, and large ones are negative.
    """

    descriptor_set: bytes
    message: str
    options: FormatOptions = field(default_factory=FormatOptions)
    defaults: bool = False
    enums_as_ints: bool = False
    upcast_unsigned: bool = False

    def schema(self) -> pa.Schema:
        """Return the columns of the message, then the one for corrupt values.

        Raises:
            OptionError: the descriptor set has no such message, or one that cannot become columns:
                it contains itself, or has no fields.
            MissingDependencyError: protobuf is not installed.
        """
        with importing(NEEDED_FOR, extra="formats"):
            import pyarrow as pa

            from headwater.readers.formats.protobuf.descriptors import find_message
            from headwater.readers.formats.protobuf.schema import MessageSchema

        message = find_message(self.descriptor_set, self.message)
        columns = MessageSchema(upcast_unsigned=self.upcast_unsigned, enums_as_ints=self.enums_as_ints)
        fields = columns.of(message)
        if not fields:
            raise OptionError(f"the message {message.full_name} has no field that becomes a column")
        if self.options.corrupt_column is not None:
            fields.append(pa.field(self.options.corrupt_column, pa.string()))
        return pa.schema(fields)

    def decoder(self) -> ValueDecoder:
        """Make a decoder: see `Format.decoder`."""
        with importing(NEEDED_FOR, extra="formats"):
            from headwater.readers.formats.protobuf.decoder import ProtobufDecoder
            from headwater.readers.formats.protobuf.descriptors import find_message

        return ProtobufDecoder(
            find_message(self.descriptor_set, self.message),
            self.schema(),
            corrupt=self.options.corrupt_column is not None,
            defaults=self.defaults,
        )


@dataclass(frozen=True)
class ConfluentProtobufFormat(Format):
    """Messages of one type behind the id of their schema and their message indexes.

    They are decoded as the one descriptor says that the columns are made of: fields are known by their
    numbers. A writer's schema gives only the name of the message. One of another name is bad.

    Args:
        plain: the format behind the header.
        registry: where the schemas of the writers are.
    """

    plain: ProtobufFormat
    registry: RegistrySettings | GlueSettings

    def schema(self) -> pa.Schema:
        return self.plain.schema()

    @property
    def base64_at(self) -> int | None:
        return None if self.plain.options.corrupt_column is None else len(self.schema()) - 1

    def prefix_of(self, header: bytes) -> bytes | None:
        from headwater.readers.formats.registry.named import prefix_of

        return prefix_of(header, self.registry)

    def decoder(self) -> ValueDecoder:
        with importing(NEEDED_FOR, extra="formats"):
            from headwater.readers.formats.protobuf.descriptors import find_message
            from headwater.readers.formats.protobuf.message_indexes import MessageHeaders
        from headwater.readers.formats.wire_format import BehindHeader, Reasons, base64_text, behind_ids

        full_name = find_message(self.plain.descriptor_set, self.plain.message).full_name

        def refused(header: MessageHeader, row: int) -> str:
            name = self._name(header, row)
            if name is None:
                return f"has the message indexes {list(header.indexes)}, which its schema does not have"
            return "" if name == full_name else f"is a message of type {name}, and not {full_name}"

        reasons = Reasons()
        return BehindHeader(
            self.plain.decoder(),
            behind_ids(MessageHeaders(refused, reasons), reasons),
            reasons,
            corrupt_at=None if self.plain.options.corrupt_column is None else len(self.schema()) - 1,
            shown=base64_text,
        )

    def _name(self, header: MessageHeader, row: int) -> str | None:
        """Return the name of the message that a value says that it is."""
        from headwater.readers.formats.registry.client import registry

        try:
            registered = registry(self.registry).by_id(header.schema_id, serialized=True)
        except SourceError as error:
            raise type(error)(error.message, source=error.source, position=row) from error
        if registered.kind != "PROTOBUF":
            raise SourceError(
                f"{registered.name} is of the kind {registered.kind}, not PROTOBUF",
                position=row,
            )
        return _names(registered.text).at(header.indexes)


@functools.lru_cache(maxsize=64)
def _names(schema: str) -> MessageNames:
    """Return the messages of a schema: values may name each of them."""
    from headwater.readers.formats.protobuf.descriptors import MessageNames

    return MessageNames(schema)


def registered_messages(schema: RegisteredSchema, message: str | None) -> tuple[bytes, str]:
    """Return the descriptor set and the message for `ProtobufFormat`, of a schema in a registry.

    Args:
        schema: asked for as a descriptor.
        message: the name of the message; None: the first one of the file.

    Raises:
        FormatSchemaError: the registry has it as text only.
    """
    with importing(NEEDED_FOR, extra="formats"):
        from google.protobuf import descriptor_pb2

        from headwater.readers.formats.protobuf.descriptors import MessageNames, serialized_descriptor

    files = descriptor_pb2.FileDescriptorSet()
    for name, text in (*schema.references, ("", schema.text)):
        file = serialized_descriptor(text)
        if file is None:
            raise FormatSchemaError(
                "the schema registry has the schema as text only, not as a descriptor: let protoc write one"
            )
        file.name = name or file.name or "schema.proto"
        files.file.append(file)
    first = MessageNames(schema.text).at((0,))
    if message is None and first is None:
        raise FormatSchemaError("the schema has no message")
    return files.SerializeToString(), message or str(first)

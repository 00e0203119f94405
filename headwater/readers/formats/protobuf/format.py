"""The format ``protobuf``: values that are messages of one type, known from a descriptor set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.core.errors import OptionError
from headwater.core.imports import importing
from headwater.readers.formats.format import Format, ValueDecoder
from headwater.readers.formats.format_options import FormatOptions

if TYPE_CHECKING:
    import pyarrow as pa

NEEDED_FOR = "the format protobuf"


@dataclass(frozen=True, kw_only=True)
class ProtobufFormat(Format):
    """Messages of one type, as Spark's ``from_protobuf`` and protobuf's own library read them.

    Attributes:
        descriptor_set: what ``protoc --include_imports --descriptor_set_out=FILE`` writes.
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

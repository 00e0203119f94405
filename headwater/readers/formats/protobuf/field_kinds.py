"""The words of a plan for the kernel: how each field is written, its conversion, and blocks of such words."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from google.protobuf import descriptor_pb2, empty_pb2
from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.unknown_fields import UnknownFieldSet

from headwater.readers.formats.columns import layout as table
from headwater.readers.formats.protobuf import layout
from headwater.readers.kernels.arrays import Int64Array, address

_WIRES: Final[Mapping[int, int]] = {
    FieldDescriptor.TYPE_DOUBLE: layout.WIRE_64_BITS,
    FieldDescriptor.TYPE_FIXED64: layout.WIRE_64_BITS,
    FieldDescriptor.TYPE_SFIXED64: layout.WIRE_64_BITS,
    FieldDescriptor.TYPE_FLOAT: layout.WIRE_32_BITS,
    FieldDescriptor.TYPE_FIXED32: layout.WIRE_32_BITS,
    FieldDescriptor.TYPE_SFIXED32: layout.WIRE_32_BITS,
    FieldDescriptor.TYPE_STRING: layout.WIRE_BYTES,
    FieldDescriptor.TYPE_BYTES: layout.WIRE_BYTES,
    FieldDescriptor.TYPE_MESSAGE: layout.WIRE_BYTES,
    FieldDescriptor.TYPE_GROUP: layout.WIRE_GROUP,
}
_CONVERSIONS: Final[Mapping[int, int]] = {
    FieldDescriptor.TYPE_SINT32: layout.CONVERT_ZIGZAG_INT,
    FieldDescriptor.TYPE_SINT64: layout.CONVERT_ZIGZAG_LONG,
    FieldDescriptor.TYPE_BYTES: layout.CONVERT_BINARY,
}
_OF_COLUMNS: Final[Mapping[int, int]] = {
    table.TYPE_BOOLEAN: layout.CONVERT_BOOLEAN,
    table.TYPE_INT: layout.CONVERT_INT,
    table.TYPE_FLOAT: layout.CONVERT_INT,
    table.TYPE_LONG: layout.CONVERT_LONG,
    table.TYPE_DOUBLE: layout.CONVERT_LONG,
    table.TYPE_DECIMAL: layout.CONVERT_UNSIGNED_LONG,
    table.TYPE_TIMESTAMP: layout.CONVERT_LONG,
    table.TYPE_DURATION: layout.CONVERT_LONG,
    table.TYPE_STRING: layout.CONVERT_BINARY,
    table.TYPE_BINARY: layout.CONVERT_BINARY,
}

_JAVA_FEATURES: Final = 1001
_JAVA_UTF8_VALIDATION: Final = 2
_JAVA_VERIFY: Final = 2
"""Numbers in Protobuf's java_features.proto."""
NOTHING: Final = 0
"""The index of no block: the plan itself stands there."""


def wire_of(field: FieldDescriptor) -> int:
    """Return the wire type of a value."""
    return _WIRES.get(field.type, layout.WIRE_VARINT)


def tag_of(field: FieldDescriptor) -> int:
    """Return the tag of a value."""
    return int(field.number) << 3 | wire_of(field)


def packed_tag_of(field: FieldDescriptor) -> int | None:
    """Return the tag of many values at once; None if there is none."""
    if not field.is_repeated or wire_of(field) in {layout.WIRE_BYTES, layout.WIRE_GROUP}:
        return None
    return int(field.number) << 3 | layout.WIRE_BYTES


def conversion_of(field: FieldDescriptor, column: int) -> int:
    """Return the conversion of a field's values to those of a column, whose type is ``column``."""
    if field.type == FieldDescriptor.TYPE_ENUM:
        return layout.CONVERT_ENUM_NAME if column == table.TYPE_STRING else layout.CONVERT_ENUM
    if field.type == FieldDescriptor.TYPE_STRING:
        return layout.CONVERT_CHECKED_TEXT if _is_checked(field) else layout.CONVERT_TEXT
    if field.type == FieldDescriptor.TYPE_UINT32 and column == table.TYPE_LONG:
        return layout.CONVERT_UNSIGNED_INT
    return _CONVERSIONS.get(field.type, stored_as(column))


def stored_as(column: int) -> int:
    """Return the conversion that writes a column's bits; -1 for a struct, a list or a map."""
    return _OF_COLUMNS.get(column, -1)


def default_of(field: FieldDescriptor, *, as_name: bool) -> bytes | int:
    """Return the default value as bytes, or as the bits that its column holds."""
    value = field.default_value
    if as_name:
        return enum_names(field.enum_type)[value].encode()
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, float):
        kind = "<fi" if field.type == FieldDescriptor.TYPE_FLOAT else "<dq"
        return int(struct.unpack(f"<{kind[2]}", struct.pack(kind[:2], value))[0])
    if isinstance(value, int):
        return value - (1 << 64) if value >> 63 == 1 else int(value)  # the plan holds signed words
    assert isinstance(value, bytes)
    return value


def enum_names(enum: EnumDescriptor) -> dict[int, str]:
    """Return the names of an enum by number. Of several names for one number it is the first, as in Java."""
    return {value.number: value.name for value in reversed(enum.values)}


def _is_checked(field: FieldDescriptor) -> bool:
    """Return whether a string has to be UTF-8, as in Protobuf's library for Java.

    It has to be in maps, in proto3, in files with ``java_string_check_utf8``, and in editions unless a
    feature says otherwise and Java's own feature does not.
    """
    message = field.containing_type
    file = descriptor_pb2.FileDescriptorProto()
    field.file.CopyToProto(file)
    if message.GetOptions().map_entry or file.options.java_string_check_utf8:
        return True
    if file.syntax != "editions":
        return bool(file.syntax == "proto3")
    # The options of a descriptor have lost their features: those of its definition have them.
    around = descriptor_pb2.DescriptorProto()
    message.CopyToProto(around)
    own = next(each.options for each in around.field if each.number == field.number)
    features = (own.features, file.options.features)
    return _nearest(map(_said, features)) is not False or _nearest(map(_said_for_java, features)) is True


def _nearest(answers: Iterable[bool | None]) -> bool | None:
    """Return the first one that says anything."""
    return next((answer for answer in answers if answer is not None), None)


def _said(features: descriptor_pb2.FeatureSet) -> bool | None:
    """Return whether strings are to be UTF-8, None if the features do not say so."""
    if not features.HasField("utf8_validation"):
        return None
    return bool(features.utf8_validation == descriptor_pb2.FeatureSet.VERIFY)


def _said_for_java(features: descriptor_pb2.FeatureSet) -> bool | None:
    """Do the same for ``features.(pb.java).utf8_validation``, which Python's library does not know."""
    verifies: bool | None = None
    for extension in _fields(features.SerializeToString()):
        if extension.field_number == _JAVA_FEATURES:
            for field in _fields(extension.data):
                if field.field_number == _JAVA_UTF8_VALIDATION:
                    verifies = field.data == _JAVA_VERIFY
    return verifies


def _fields(message: bytes) -> UnknownFieldSet:
    """Return the fields of a message of any type."""
    return UnknownFieldSet(empty_pb2.Empty.FromString(message))


class PlanWords:
    """Collects blocks of words, each known by the index of its first word until `finish`."""

    def __init__(self) -> None:
        self._words = [0] * layout.PLAN_FIELDS
        self._references: list[int] = []
        self._enums: dict[str, int] = {}

    def block(self, words: Sequence[int], references: Sequence[int] = ()) -> int:
        """Append words, and return the index of the first one.

        Args:
            words: numbers, and indexes of blocks.
            references: which of them are indexes of blocks.
        """
        begin = len(self._words)
        self._words += words
        self._references += [begin + at for at in references if words[at] != NOTHING]
        return begin

    def refer(self, place: int, block: int) -> None:
        """Let one word, which may be of the plan itself, name a block."""
        self._words[place] = block
        self._references.append(place)

    def put(self, place: int, number: int) -> None:
        """Set one word."""
        self._words[place] = number

    def bytes(self, data: bytes) -> int:
        """Append bytes."""
        padded = data + bytes(-len(data) % 8)
        return self.block(struct.unpack(f"<{len(padded) // 8}q", padded))

    def enum(self, enum: EnumDescriptor) -> int:
        """Append the names of an enum, unless they are there."""
        if enum.full_name not in self._enums:
            names = enum_names(enum)
            prefix = f"UNKNOWN_ENUM_VALUE_{enum.name}_".encode()  # as Java writes it, and so Spark
            words = [len(names), int(enum.is_closed), self.bytes(prefix), len(prefix)]
            references = [layout.ENUM_PREFIX]
            for number, name in sorted(names.items()):
                references.append(len(words) + 1)
                words += [number, self.bytes(name.encode()), len(name.encode())]
            self._enums[enum.full_name] = self.block(words, references)
        return self._enums[enum.full_name]

    def operation(self, words: Sequence[int]) -> int:
        """Append an operation."""
        return self.block(words, layout.OP_REFERENCES)

    def table(self, operations: Mapping[int, int]) -> tuple[int, int]:
        """Append a hash table of operations by tag, and return it with its mask."""
        places = 1 << max(1, (2 * len(operations)).bit_length())
        rows = [0] * (2 * places)
        references = []
        for tag, operation in operations.items():
            place = (tag >> 3) & (places - 1)
            while rows[2 * place]:
                place = (place + 1) & (places - 1)
            rows[2 * place : 2 * place + 2] = tag, operation
            references.append(2 * place + 1)
        return self.block(rows, references), places - 1

    def finish(self) -> Int64Array:
        """Return the plan. It names addresses inside of itself, and cannot be copied."""
        plan: Int64Array = np.array(self._words, np.int64)
        references = np.array(self._references, np.int64)
        plan[references] = plan[references] * 8 + address(plan)
        return plan

"""Turns the fields of a message and their columns into the plan that the kernel follows."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from headwater.readers.formats import table_layout as table
from headwater.readers.formats.column_table import ColumnTable
from headwater.readers.formats.protobuf import layout
from headwater.readers.formats.protobuf.schema import is_map, is_message, is_time
from headwater.readers.kernels.arrays import Int64Array, address

_WIRES: Mapping[int, int] = {
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
_CONVERSIONS = {
    FieldDescriptor.TYPE_INT32: layout.CONVERT_INT,
    FieldDescriptor.TYPE_UINT32: layout.CONVERT_INT,
    FieldDescriptor.TYPE_FIXED32: layout.CONVERT_INT,
    FieldDescriptor.TYPE_SFIXED32: layout.CONVERT_INT,
    FieldDescriptor.TYPE_FLOAT: layout.CONVERT_INT,
    FieldDescriptor.TYPE_SINT32: layout.CONVERT_ZIGZAG_INT,
    FieldDescriptor.TYPE_SINT64: layout.CONVERT_ZIGZAG_LONG,
    FieldDescriptor.TYPE_BOOL: layout.CONVERT_BOOLEAN,
    FieldDescriptor.TYPE_BYTES: layout.CONVERT_BINARY,
}
_WIDTHS = {
    table.TYPE_BOOLEAN: 0,
    table.TYPE_INT: 4,
    table.TYPE_FLOAT: 4,
    table.TYPE_LONG: 8,
    table.TYPE_DOUBLE: 8,
    table.TYPE_DECIMAL: 16,
    table.TYPE_TIMESTAMP: 8,
    table.TYPE_DURATION: 8,
}
_BYTES = frozenset({table.TYPE_STRING, table.TYPE_BINARY})
_LISTS = frozenset({table.TYPE_LIST, table.TYPE_MAP})
_NULL = layout.MISSING_IS_NULL


class _Entries:
    """What has one entry each for a row, an element of a list, or an entry of a map."""

    def __init__(self) -> None:
        self.nodes: list[int] = []
        self.ends: list[int] = []


class PlanBuilder:
    """Makes the plan of one message.

    Args:
        columns: the table that the kernel fills.
        defaults: fields without presence have their default value when they are not set, instead of null.
    """

    def __init__(self, columns: ColumnTable, *, defaults: bool) -> None:
        self._table = columns.nodes.tolist()
        self._base = address(columns.nodes)
        self._defaults = defaults
        self._words = [0] * layout.PLAN_FIELDS
        self._enums: dict[str, int] = {}

    def build(self, message: Descriptor, columns: Sequence[pa.Field[Any]], *, corrupt: bool) -> Int64Array:
        """Return the plan.

        Args:
            message: whose fields.
            columns: those of the message.
            corrupt: there is one more column, for corrupt values.
        """
        self._words[layout.PLAN_STACK] = self._block([0] * (layout.MOST_DEPTH * layout.STACK_FIELDS))
        entries = _Entries()
        operations = self._operations(message, columns, 0, entries)
        if corrupt:
            node = self._child(0) + len(columns)
            self._words[layout.PLAN_CORRUPT] = self._address(node)
            self._add(entries, node)
        self._words[layout.PLAN_UNKNOWN_FRAME] = self._frame({}, _Entries())
        self._words[layout.PLAN_FRAME] = self._frame(operations, entries)
        return np.array(self._words, np.int64)

    def _operations(
        self,
        message: Descriptor,
        columns: Sequence[pa.Field[Any]],
        node: int,
        entries: _Entries,
        parent: int = 0,
    ) -> dict[int, int]:
        """Return the operations of a message's fields, by tag.

        Args:
            message: whose fields.
            columns: those of them that become columns.
            node: the struct of these columns.
            entries: gets the columns that have one entry for each entry of the struct.
            parent: the address of the struct, if it may be null in an entry.
        """
        operations: dict[int, int] = {}
        nodes = {column.name: self._child(node) + i for i, column in enumerate(columns)}
        kinds = {column.name: column.type for column in columns}
        oneofs = {oneof.name: self._block([0]) for oneof in message.oneofs if len(oneof.fields) > 1}
        for field in message.fields:
            operation = [0] * layout.OP_FIELDS
            if field.containing_oneof is not None:
                operation[layout.OP_ONEOF] = oneofs.get(field.containing_oneof.name, 0)
            if field.name not in nodes:
                operation[layout.OP_ACTION] = layout.ACTION_MESSAGE
                operation[layout.OP_FRAME] = self._frame({}, _Entries())
                operations[_tag(field)] = self._block(operation)
                continue
            at = nodes[field.name]
            kind = kinds[field.name]
            if field.is_repeated:
                self._add(entries, at, parent)
                at = self._child(at)
                kind = _entries_type(kind) if is_map(field) else kind.value_type
                operation[layout.OP_REPEATED] = 1
            operation[layout.OP_NODE] = self._address(at)
            if is_message(field):
                self._message(operation, field, kind, at, entries, parent)
            else:
                self._value(operation, field, at)
                if not field.is_repeated:
                    missing = self._missing(field)
                    as_name = operation[layout.OP_CONVERSION] == layout.CONVERT_ENUM_NAME
                    operation[layout.OP_IMPLICIT] = int(not field.has_presence and missing == _NULL)
                    self._add(entries, at, parent, missing, _default(field, as_name=as_name))
            operations[_tag(field)] = self._block(operation)
            if field.is_repeated and _wire(field) not in {layout.WIRE_BYTES, layout.WIRE_GROUP}:
                operation[layout.OP_ACTION] = layout.ACTION_PACKED
                operation[layout.OP_PACKED_WIRE] = _wire(field)
                operations[field.number << 3 | layout.WIRE_BYTES] = self._block(operation)
        return operations

    def _message(  # noqa: PLR0917 - what the caller has found out
        self,
        operation: list[int],
        field: FieldDescriptor,
        kind: pa.DataType,
        node: int,
        entries: _Entries,
        parent: int,
    ) -> None:
        """Complete the operation of a field whose values are messages."""
        members = entries
        if field.is_repeated:
            members = _Entries()
            members.nodes.append(self._address(node))
        else:
            self._add(entries, node, parent, self._missing(field))
        if is_time(field):
            operation[layout.OP_ACTION] = layout.ACTION_TIME
            operation[layout.OP_TIME] = self._block([0, 0])
            parts = self._parts(field.message_type, operation[layout.OP_TIME])
            operation[layout.OP_FRAME] = self._frame(parts, _Entries())
            return
        operation[layout.OP_ACTION] = layout.ACTION_MESSAGE
        above = 0 if field.is_repeated else self._address(node)
        assert isinstance(kind, pa.StructType)
        columns = [kind.field(i) for i in range(kind.num_fields)]
        operations = self._operations(field.message_type, columns, node, members, above)
        operation[layout.OP_FRAME] = self._frame(operations, members, is_map_entry=is_map(field))

    def _parts(self, time: Descriptor, words: int) -> dict[int, int]:
        """Return the operations of a time's seconds and nanoseconds, which go to these two words."""
        operations = {}
        conversions = (layout.CONVERT_PART, layout.CONVERT_PART_INT)
        for i, (field, conversion) in enumerate(zip(time.fields, conversions, strict=True)):
            operation = [0] * layout.OP_FIELDS
            operation[layout.OP_CONVERSION] = conversion
            operation[layout.OP_TARGET] = words + i
            operations[_tag(field)] = self._block(operation)
        return operations

    def _value(self, operation: list[int], field: FieldDescriptor, node: int) -> None:
        """Complete the operation of a field that is no message."""
        code = self._table[node][table.NODE_TYPE]
        operation[layout.OP_WIDTH] = _WIDTHS.get(code, 0)
        if field.type == FieldDescriptor.TYPE_ENUM:
            is_name = code == table.TYPE_STRING
            operation[layout.OP_CONVERSION] = layout.CONVERT_ENUM_NAME if is_name else layout.CONVERT_ENUM
            operation[layout.OP_ENUM] = self._enum(field.enum_type)
        elif field.type == FieldDescriptor.TYPE_STRING:
            checked = _is_checked(field)
            operation[layout.OP_CONVERSION] = layout.CONVERT_CHECKED_TEXT if checked else layout.CONVERT_TEXT
        elif field.type == FieldDescriptor.TYPE_UINT32 and code == table.TYPE_LONG:
            operation[layout.OP_CONVERSION] = layout.CONVERT_UNSIGNED_INT
        else:
            operation[layout.OP_CONVERSION] = _CONVERSIONS.get(field.type, layout.CONVERT_BITS)

    def _missing(self, field: FieldDescriptor) -> int:
        """Return what a field that is not repeated becomes where it is not set."""
        if field.containing_type.GetOptions().map_entry:
            return layout.MISSING_IS_DEFAULT
        if field.is_required:
            return layout.MISSING_IS_BAD
        if field.has_default_value or (self._defaults and not field.has_presence):
            return layout.MISSING_IS_DEFAULT
        return _NULL

    def _add(
        self, entries: _Entries, node: int, parent: int = 0, missing: int = _NULL, default: bytes | int = 0
    ) -> None:
        """Add a node that has an entry for each of ``entries``, and what is to be done at their end."""
        code = self._table[node][table.NODE_TYPE]
        entries.nodes.append(self._address(node))
        end = [0] * layout.END_FIELDS
        end[layout.END_NODE] = self._address(node)
        end[layout.END_PARENT] = parent
        end[layout.END_MISSING] = missing
        end[layout.END_WIDTH] = _WIDTHS.get(code, 0)
        if code in _BYTES:
            end[layout.END_KIND] = layout.END_OF_BYTES
        elif code in _LISTS:
            end[layout.END_KIND] = layout.END_OF_LIST
            end[layout.END_CHILD] = self._address(self._child(node))
        elif code == table.TYPE_STRUCT:
            end[layout.END_KIND] = layout.END_OF_STRUCT
        if isinstance(default, bytes):
            end[layout.END_DEFAULT] = self._bytes(default)
            end[layout.END_DEFAULT_SIZE] = len(default)
        else:
            end[layout.END_DEFAULT] = default
        if missing != _NULL or code in _BYTES or code in _LISTS:
            entries.ends += end

    def _enum(self, enum: EnumDescriptor) -> int:
        if enum.full_name not in self._enums:
            names = _names(enum)
            prefix = f"UNKNOWN_ENUM_VALUE_{enum.name}_".encode()  # as Java writes it, and so Spark
            words = [len(names), int(enum.is_closed), self._bytes(prefix), len(prefix)]
            for number, name in sorted(names.items()):
                words += [number, self._bytes(name.encode()), len(name.encode())]
            self._enums[enum.full_name] = self._block(words)
        return self._enums[enum.full_name]

    def _frame(self, operations: Mapping[int, int], entries: _Entries, *, is_map_entry: bool = False) -> int:
        places = 1 << max(1, (2 * len(operations)).bit_length())
        found = [0] * (2 * places)
        for tag, operation in operations.items():
            place = (tag >> 3) & (places - 1)
            while found[2 * place]:
                place = (place + 1) & (places - 1)
            found[2 * place : 2 * place + 2] = tag, operation
        frame = [0] * layout.FRAME_FIELDS
        frame[layout.FRAME_FIELDS_TABLE] = self._block(found)
        frame[layout.FRAME_MASK] = places - 1
        frame[layout.FRAME_NODES] = self._block(entries.nodes)
        frame[layout.FRAME_NODE_COUNT] = len(entries.nodes)
        frame[layout.FRAME_ENDS] = self._block(entries.ends)
        frame[layout.FRAME_END_COUNT] = len(entries.ends) // layout.END_FIELDS
        frame[layout.FRAME_IS_MAP_ENTRY] = int(is_map_entry)
        return self._block(frame)

    def _block(self, words: Sequence[int]) -> int:
        """Append words to the plan, and return the index of the first one."""
        self._words += words
        return len(self._words) - len(words)

    def _bytes(self, data: bytes) -> int:
        padded = data + bytes(-len(data) % 8)
        return self._block(struct.unpack(f"<{len(padded) // 8}q", padded))

    def _child(self, node: int) -> int:
        """Return the first child of a node."""
        return int(self._table[node][table.NODE_FIRST_CHILD])

    def _address(self, node: int) -> int:
        return self._base + 8 * table.NODE_FIELDS * node


def _wire(field: FieldDescriptor) -> int:
    return _WIRES.get(field.type, layout.WIRE_VARINT)


def _tag(field: FieldDescriptor) -> int:
    return int(field.number) << 3 | _wire(field)


def _default(field: FieldDescriptor, *, as_name: bool) -> bytes | int:
    """Return the default value as bytes, or as the bits that its column holds."""
    value = field.default_value
    if as_name:
        return _names(field.enum_type)[value].encode()
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, float):
        kind = "<fi" if field.type == FieldDescriptor.TYPE_FLOAT else "<dq"
        return int(struct.unpack(f"<{kind[2]}", struct.pack(kind[:2], value))[0])
    if isinstance(value, int):
        return value - (1 << 64) if value >> 63 == 1 else int(value)  # the plan holds signed words
    assert isinstance(value, bytes)
    return value


def _names(enum: EnumDescriptor) -> dict[int, str]:
    """Return the names of an enum by number. Of several names for one number it is the first, as in Java."""
    return {value.number: value.name for value in reversed(enum.values)}


def _entries_type(kind: pa.DataType) -> pa.DataType:
    assert isinstance(kind, pa.MapType)
    return pa.struct([kind.key_field, kind.item_field])


def _is_checked(field: FieldDescriptor) -> bool:
    """Return whether a string has to be UTF-8: in proto3, and in editions unless a feature says otherwise."""
    file = descriptor_pb2.FileDescriptorProto()
    field.file.CopyToProto(file)
    if file.syntax != "editions":
        return bool(file.syntax == "proto3")
    for options in (field.GetOptions(), file.options):
        if options.features.HasField("utf8_validation"):
            return bool(options.features.utf8_validation == descriptor_pb2.FeatureSet.VERIFY)
    return True

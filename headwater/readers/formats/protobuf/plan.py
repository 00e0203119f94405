"""Turns the fields of a message and their columns into the plan that the kernel follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from headwater.readers.formats.columns import layout as table
from headwater.readers.formats.columns.table import ColumnTable
from headwater.readers.formats.protobuf import layout
from headwater.readers.formats.protobuf.field_kinds import (
    NOTHING,
    PlanWords,
    conversion_of,
    default_of,
    packed_tag_of,
    stored_as,
    tag_of,
    wire_of,
)
from headwater.readers.formats.protobuf.schema import is_map, is_message, is_time
from headwater.readers.kernels.arrays import Int64Array, address

_BYTES: Final = frozenset({table.TYPE_STRING, table.TYPE_BINARY})
_LISTS: Final = frozenset({table.TYPE_LIST, table.TYPE_MAP})
_ENUMS: Final = frozenset({layout.CONVERT_ENUM, layout.CONVERT_ENUM_NAME})
_TABLE_FIELD: Final = 8


@dataclass
class _Entries:
    """The nodes with one entry for each row, element of a list, or entry of a map.

    Attributes:
        nodes: their addresses.
        offsets: pairs, see ``FRAME_OFFSETS``.
        lists: addresses of nodes.
        ends: fields ``END_...`` of one node after the other.
        defaults: which of these are indexes of blocks.
    """

    nodes: list[int] = dataclass_field(default_factory=list)
    offsets: list[int] = dataclass_field(default_factory=list)
    lists: list[int] = dataclass_field(default_factory=list)
    ends: list[int] = dataclass_field(default_factory=list)
    defaults: list[int] = dataclass_field(default_factory=list)


@dataclass(frozen=True)
class _Place:
    """Where the fields of a message go.

    Attributes:
        node: the struct of their columns.
        entries: get the columns that have one entry for each entry of the struct.
        parent: the address of the struct, if it may be null in an entry; else 0.
    """

    node: int
    entries: _Entries
    parent: int = 0


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
        self._words = PlanWords()
        self._unknown = NOTHING

    def build(self, message: Descriptor, columns: Sequence[pa.Field[Any]], *, corrupt: bool) -> Int64Array:
        """Return the plan.

        Args:
            message: whose fields.
            columns: those of the message.
            corrupt: there is one more column, for corrupt values.
        """
        words = self._words
        self._unknown = self._unknown_operation()
        entries = _Entries()
        operations = self._operations(message, columns, _Place(0, entries))
        if corrupt:
            node = self._child(0) + len(columns)
            words.put(layout.PLAN_CORRUPT, self._address(node))
            self._add(entries, node)
        words.put(layout.PLAN_NODES, self._base)
        words.refer(layout.PLAN_STACK, words.block([0] * (layout.MOST_DEPTH * layout.STACK_FIELDS)))
        words.refer(layout.PLAN_UNKNOWN, self._unknown)
        mismatch = [0] * layout.OP_FIELDS
        mismatch[layout.OP_FIRST_BYTE] = mismatch[layout.OP_TAG] = -1
        mismatch[layout.OP_ACTION] = layout.ACTION_MISMATCH
        at = words.operation(mismatch)
        words.refer(at + layout.OP_FRAME, self._frame({}, _Entries()))
        words.refer(at + layout.OP_NEXT, at)
        words.refer(layout.PLAN_MISMATCH, at)
        words.refer(layout.PLAN_FRAME, self._frame(operations, entries))
        return words.finish()

    def _unknown_operation(self) -> int:
        """Append the operation of unknown tags, and its frame: that of unknown groups."""
        operation = [0] * layout.OP_FIELDS
        operation[layout.OP_FIRST_BYTE] = operation[layout.OP_TAG] = -1
        operation[layout.OP_ACTION] = layout.ACTION_UNKNOWN
        at = self._words.operation(operation)
        self._unknown = at
        self._words.refer(at + layout.OP_FRAME, self._frame({}, _Entries()))
        return at

    def _operations(
        self, message: Descriptor, columns: Sequence[pa.Field[Any]], place: _Place
    ) -> dict[int, int]:
        """Return the operations of a message's fields, by tag.

        Args:
            message: whose fields.
            columns: those of them that become columns.
            place: where these are.
        """
        operations: dict[int, int] = {}
        nodes = {column.name: self._child(place.node) + i for i, column in enumerate(columns)}
        kinds = {column.name: column.type for column in columns}
        oneofs = {oneof.name: self._words.block([0]) for oneof in message.oneofs if len(oneof.fields) > 1}
        for field in sorted(message.fields, key=lambda each: int(each.number)):
            operation = [0] * layout.OP_FIELDS
            if field.containing_oneof is not None:
                operation[layout.OP_ONEOF] = oneofs.get(field.containing_oneof.name, NOTHING)
            if field.name in nodes:
                self._complete(operation, field, kinds[field.name], nodes[field.name], place)
            else:
                operation[layout.OP_ACTION] = layout.ACTION_ANY_MESSAGE
                operation[layout.OP_FRAME] = self._frame({}, _Entries())
            packed = packed_tag_of(field)
            if packed is not None:
                as_packed = [*operation]
                as_packed[layout.OP_ACTION] = layout.ACTION_PACKED
                as_packed[layout.OP_PACKED_WIRE] = wire_of(field)
                operations[packed] = self._operation(packed, as_packed)
            operations[tag_of(field)] = self._operation(tag_of(field), operation)
        self._expect(list(operations.values()))
        return operations

    def _complete(
        self, operation: list[int], field: FieldDescriptor, kind: pa.DataType, node: int, place: _Place
    ) -> None:
        """Complete the operation of a field that becomes a column."""
        if field.is_repeated:
            self._add(place.entries, node)
            node = self._child(node)
            kind = _element_type(kind)
            operation[layout.OP_REPEATED] = 1
        operation[layout.OP_NODE] = self._address(node)
        if not is_message(field):
            self._value(operation, field, node, place)
            return
        members = place.entries
        if field.is_repeated:
            members = _Entries([self._address(node)])
        else:
            self._add(members, node)
            self._missing(operation, field, node, place)
        is_any = field.is_repeated or operation[layout.OP_ONEOF]
        if is_time(field):
            operation[layout.OP_ACTION] = layout.ACTION_ANY_MESSAGE if is_any else layout.ACTION_TIME
            operation[layout.OP_WORDS] = self._words.block([0, 0])
            parts = self._parts(field.message_type, operation[layout.OP_WORDS])
            operation[layout.OP_FRAME] = self._frame(parts, _Entries())
            return
        operation[layout.OP_ACTION] = layout.ACTION_ANY_MESSAGE if is_any else layout.ACTION_MESSAGE
        above = 0 if field.is_repeated else self._address(node)
        assert isinstance(kind, pa.StructType)
        columns = [kind.field(i) for i in range(kind.num_fields)]
        operations = self._operations(field.message_type, columns, _Place(node, members, above))
        operation[layout.OP_FRAME] = self._frame(operations, members, is_map_entry=is_map(field))

    def _value(self, operation: list[int], field: FieldDescriptor, node: int, place: _Place) -> None:
        """Complete the operation of a field that is no message."""
        conversion = conversion_of(field, self._type(node))
        operation[layout.OP_CONVERSION] = conversion
        if conversion in _ENUMS:
            operation[layout.OP_ENUM] = self._words.enum(field.enum_type)
        if field.is_repeated or operation[layout.OP_ONEOF] or conversion in _ENUMS:
            operation[layout.OP_ACTION] = layout.ACTION_ANY_VALUE
        elif conversion >= layout.CONVERT_BINARY:
            operation[layout.OP_ACTION] = layout.ACTION_BYTES
        if not field.is_repeated:
            self._add(place.entries, node)
            self._missing(operation, field, node, place)

    def _missing(self, operation: list[int], field: FieldDescriptor, node: int, place: _Place) -> None:
        """Add the default of a field that is not repeated, for entries where it is not set."""
        missing = self._becomes(field)
        if missing == layout.MISSING_IS_NULL:
            operation[layout.OP_IMPLICIT] = int(not field.has_presence)
            return
        end = [0] * layout.END_FIELDS
        end[layout.END_NODE] = self._address(node)
        end[layout.END_PARENT] = place.parent
        end[layout.END_MISSING] = missing
        end[layout.END_CONVERSION] = stored_as(self._type(node))
        if not is_message(field):
            as_name = operation[layout.OP_CONVERSION] == layout.CONVERT_ENUM_NAME
            default = default_of(field, as_name=as_name)
            if isinstance(default, bytes):
                end[layout.END_DEFAULT] = self._words.bytes(default)
                end[layout.END_DEFAULT_SIZE] = len(default)
                place.entries.defaults.append(len(place.entries.ends) + layout.END_DEFAULT)
            else:
                end[layout.END_DEFAULT] = default
        place.entries.ends += end

    def _becomes(self, field: FieldDescriptor) -> int:
        """Return the value of a field that is not repeated where it is not set."""
        if field.containing_type.GetOptions().map_entry:
            return layout.MISSING_IS_DEFAULT
        if field.is_required:
            return layout.MISSING_IS_BAD
        if field.has_default_value or (self._defaults and not field.has_presence):
            return layout.MISSING_IS_DEFAULT
        return layout.MISSING_IS_NULL

    def _parts(self, time: Descriptor, words: int) -> dict[int, int]:
        """Return the operations of a time's seconds and nanoseconds, which go to these two words."""
        operations = {}
        conversions = (layout.CONVERT_LONG, layout.CONVERT_INT)
        for i, (field, conversion) in enumerate(zip(time.fields, conversions, strict=True)):
            operation = [0] * layout.OP_FIELDS
            operation[layout.OP_ACTION] = layout.ACTION_PART
            operation[layout.OP_CONVERSION] = conversion
            operation[layout.OP_WORDS] = words + i
            operations[tag_of(field)] = self._operation(tag_of(field), operation)
        self._expect(list(operations.values()))
        return operations

    def _operation(self, tag: int, operation: list[int]) -> int:
        operation[layout.OP_TAG] = tag
        operation[layout.OP_FIRST_BYTE] = tag if tag < 0x80 else -1
        return self._words.operation(operation)

    def _expect(self, operations: Sequence[int]) -> None:
        """Let each operation expect the one behind it, and the last one the first."""
        for operation, following in pairwise([*operations, *operations[:1]]):
            self._words.refer(operation + layout.OP_NEXT, following)

    def _add(self, entries: _Entries, node: int) -> None:
        """Add a node that has an entry for each of ``entries``."""
        code = self._type(node)
        entries.nodes.append(self._address(node))
        if code in _BYTES:
            filled = self._address(node) + _TABLE_FIELD * table.NODE_DATA_SIZE
            entries.offsets += [self._address(node), filled]
        elif code in _LISTS:
            filled = self._address(self._child(node)) + _TABLE_FIELD * table.NODE_ENTRIES
            entries.offsets += [self._address(node), filled]
            entries.lists.append(self._address(node))

    def _frame(self, operations: dict[int, int], entries: _Entries, *, is_map_entry: bool = False) -> int:
        words = self._words
        frame = [0] * layout.FRAME_FIELDS
        frame[layout.FRAME_TABLE], frame[layout.FRAME_MASK] = words.table(operations)
        frame[layout.FRAME_FIRST] = next(iter(operations.values()), self._unknown)
        frame[layout.FRAME_NODES] = words.block(entries.nodes)
        frame[layout.FRAME_NODE_COUNT] = len(entries.nodes)
        frame[layout.FRAME_OFFSETS] = words.block(entries.offsets)
        frame[layout.FRAME_OFFSET_COUNT] = len(entries.offsets) // 2
        frame[layout.FRAME_LISTS] = words.block(entries.lists)
        frame[layout.FRAME_LIST_COUNT] = len(entries.lists)
        frame[layout.FRAME_ENDS] = words.block(entries.ends, entries.defaults)
        frame[layout.FRAME_END_COUNT] = len(entries.ends) // layout.END_FIELDS
        frame[layout.FRAME_IS_MAP_ENTRY] = int(is_map_entry)
        return words.block(frame, layout.FRAME_REFERENCES)

    def _type(self, node: int) -> int:
        return int(self._table[node][table.NODE_TYPE])

    def _child(self, node: int) -> int:
        """Return the first child of a node."""
        return int(self._table[node][table.NODE_FIRST_CHILD])

    def _address(self, node: int) -> int:
        return self._base + 8 * table.NODE_FIELDS * node


def _element_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the elements of a list, or of the entries of a map."""
    if isinstance(kind, pa.MapType):
        return pa.struct([kind.key_field, kind.item_field])
    assert isinstance(kind, pa.ListType)
    elements: pa.DataType = kind.value_type
    return elements

"""The plan of a message, as the kernel reads it: one array of 64-bit words.

Whatever the plan speaks of, frames, operations, enums, names, stands in the array, and is named by the index
of its first word; 0 is none. Nodes of columns are named by their address.

These values are compiled into machine code: see `headwater.readers.formats.table_layout`.
"""

from __future__ import annotations

PLAN_FRAME = 0
"""The frame of the message itself."""
PLAN_CORRUPT = 1
"""The node that holds bad values as Base64; 0: none."""
PLAN_STACK = 2
"""Room for `MOST_DEPTH` entries of the stack."""
PLAN_UNKNOWN_FRAME = 3
"""A frame that knows no field: that of groups which the schema does not name."""
PLAN_FIELDS = 4

MOST_DEPTH = 100
"""How deep messages and groups may be nested, those that the schema does not know included."""

# A frame is a message in its place: its fields write to columns of their own.
FRAME_FIELDS_TABLE = 0
"""A hash table: pairs of a tag, 0 for a free place, and its operation."""
FRAME_MASK = 1
"""A number and this is the first place to look at, the next ones follow."""
FRAME_NODES = 2
"""The nodes that have one entry for each entry of the frame; only where entries begin: see `FRAME_ENDS`."""
FRAME_NODE_COUNT = 3
FRAME_ENDS = 4
"""What is to be done at the end of an entry: a row, an element of a list, an entry of a map."""
FRAME_END_COUNT = 5
FRAME_IS_MAP_ENTRY = 6
FRAME_FIELDS = 7

# An operation: what to do with a tag, which is a field's number and a wire type.
OP_ACTION = 0
OP_CONVERSION = 1
OP_WIDTH = 2
"""Bytes that a value takes in its column; 0 is a bit."""
OP_NODE = 3
"""Where values go; for a repeated field it is the node of the elements. 0: nowhere."""
OP_REPEATED = 4
OP_IMPLICIT = 5
"""1: the default value means that the field is not set."""
OP_FRAME = 6
OP_ENUM = 7
OP_ONEOF = 8
"""The word that holds which node of the oneof was set last; 0: in no oneof with others."""
OP_TARGET = 9
"""The word that gets the value, for the parts of a time."""
OP_TIME = 10
"""Two words, for the seconds and nanoseconds of the time in hand."""
OP_PACKED_WIRE = 11
OP_FIELDS = 12

ACTION_VALUE = 0
ACTION_PACKED = 1
ACTION_MESSAGE = 2
ACTION_TIME = 3
"""A message of seconds and nanoseconds that becomes microseconds."""

CONVERT_BITS = 0
CONVERT_INT = 1
CONVERT_UNSIGNED_INT = 2
CONVERT_ZIGZAG_INT = 3
CONVERT_ZIGZAG_LONG = 4
CONVERT_BOOLEAN = 5
CONVERT_ENUM = 6
"""To its number."""
CONVERT_ENUM_NAME = 7
CONVERT_PART = 8
"""To the word `OP_TARGET`."""
CONVERT_PART_INT = 9
# Those from here on are bytes.
CONVERT_BINARY = 10
CONVERT_CHECKED_TEXT = 11
"""Bytes that are not UTF-8 make the value bad."""
CONVERT_TEXT = 12
"""Bytes that are not UTF-8 are replaced."""

WIRE_VARINT = 0
WIRE_64_BITS = 1
WIRE_BYTES = 2
WIRE_GROUP = 3
WIRE_GROUP_END = 4
WIRE_32_BITS = 5

# An enum: these fields, then for each value number, name and size of the name, ascending by number.
ENUM_COUNT = 0
ENUM_CLOSED = 1
"""1: a number without a name is an unknown field."""
ENUM_PREFIX = 2
"""The name of a number that has none begins so; the number follows."""
ENUM_PREFIX_SIZE = 3
ENUM_VALUES = 4
ENUM_VALUE_FIELDS = 3

# What is to be done with a node at the end of an entry.
END_NODE = 0
END_PARENT = 1
"""The struct above, if it may be null in an entry; else 0."""
END_KIND = 2
END_CHILD = 3
END_MISSING = 4
END_DEFAULT = 5
"""Its bits, or where its bytes are."""
END_DEFAULT_SIZE = 6
END_WIDTH = 7
END_FIELDS = 8

END_OF_VALUE = 0
END_OF_BYTES = 1
END_OF_LIST = 2
END_OF_STRUCT = 3

MISSING_IS_NULL = 0
MISSING_IS_DEFAULT = 1
MISSING_IS_BAD = 2

# An entry of the stack: what goes on after the message in hand.
STACK_END = 0
STACK_FRAME = 1
STACK_ENTRY = 2
STACK_GROUP = 3
STACK_OP = 4
"""The operation that began the message in hand; 0: an unknown group."""
STACK_DROPPED = 5
STACK_FIELDS = 6

# Reasons why a value is bad.
BAD_WIRE = 1
BAD_TEXT = 2
BAD_REQUIRED = 3
BAD_TIME = 4
BAD_DEPTH = 5

# Beside those, what the kernel's functions return.
GOOD = 0
NO_ROOM = -1
UNKNOWN = -2
"""A number without a name, of an enum that is closed."""

KERNEL_ARGUMENTS = 11

"""The plan of a message, as the kernel reads it: one array of 64-bit words.

The frames, operations, enums and names of the plan stand in the array too, and are referred to by the
address of its first word; 0 is none. Nodes of columns are named by their address.

These values are compiled into machine code: see `headwater.readers.formats.columns.layout`.
"""

from __future__ import annotations

PLAN_FRAME = 0
"""The frame of the message itself."""
PLAN_CORRUPT = 1
"""The node that holds bad values as Base64; 0: none."""
PLAN_STACK = 2
"""Room for `MOST_DEPTH` entries of the stack."""
PLAN_UNKNOWN = 3
"""The operation of tags that the schema does not name."""
PLAN_NODES = 4
"""The table of columns, which has room for all values."""
# The input: the decoder writes it before each call.
PLAN_DATA = 5
PLAN_LIMIT = 6
"""The end of all bytes that may be loaded."""
PLAN_STARTS = 7
"""Where each value begins in the data."""
PLAN_SIZES = 8
"""How many bytes each value has; below 0 is null."""
PLAN_COUNT = 9
"""How many values there are."""
PLAN_STATE = 10
"""Gets why the kernel returned, and how many bad values there are."""
PLAN_BAD_ROWS = 11
PLAN_BAD_REASONS = 12
PLAN_MISMATCH = 13
"""The operation of tags of the message itself that name a field of the schema by another wire type."""
PLAN_FIELDS = 14

MOST_DEPTH = 100
"""How deep messages and groups may be nested, unknown ones included."""

# A frame is a message in its place: its fields write to columns of their own.
FRAME_TABLE = 0
"""A hash table: pairs of a tag, 0 for a free place, and its operation."""
FRAME_MASK = 1
"""A field's number and this is the first place to look at, the next ones follow."""
FRAME_FIRST = 2
"""The operation that is expected first."""
FRAME_NODES = 3
"""The nodes that have one entry for each entry of the frame."""
FRAME_NODE_COUNT = 4
# The work at the end of an entry: a row, an element of a list, an entry of a map.
FRAME_OFFSETS = 5
"""Pairs: a node of variable size, and where it is counted how far its data or elements are filled."""
FRAME_OFFSET_COUNT = 6
FRAME_LISTS = 7
"""The nodes that are never null: a field that is not there is a list without elements."""
FRAME_LIST_COUNT = 8
FRAME_ENDS = 9
"""The nodes that are not just null where they are missing: see ``END_...``."""
FRAME_END_COUNT = 10
FRAME_IS_MAP_ENTRY = 11
FRAME_FIELDS = 12
FRAME_REFERENCES = (FRAME_TABLE, FRAME_FIRST, FRAME_NODES, FRAME_OFFSETS, FRAME_LISTS, FRAME_ENDS)
"""The ones that are addresses in the plan."""

# An operation for a tag, which is a field's number and a wire type.
OP_FIRST_BYTE = 0
"""The tag if it is of one byte; else -1."""
OP_TAG = 1
OP_NEXT = 2
"""The operation that is expected next: fields are written in the order of their numbers."""
OP_ACTION = 3
OP_CONVERSION = 4
OP_NODE = 5
"""Where values go; for a repeated field it is the node of the elements. 0: nowhere."""
OP_IMPLICIT = 6
"""1: the default value means that the field is not set."""
OP_REPEATED = 7
OP_FRAME = 8
OP_ENUM = 9
OP_ONEOF = 10
"""The word that holds which node of the oneof was set last; 0: in no oneof with others."""
OP_WORDS = 11
"""For the parts of a time the word that gets the value; for a time both words, seconds and nanoseconds. 0:
no time."""
OP_PACKED_WIRE = 12
OP_FIELDS = 13
OP_REFERENCES = (OP_FRAME, OP_ENUM, OP_ONEOF, OP_WORDS)
"""The ones that are addresses in the plan, `OP_NEXT` too once it is known."""

# Those of most fields come first: they need the least.
ACTION_NUMBER = 0
ACTION_BYTES = 1
ACTION_MESSAGE = 2
ACTION_TIME = 3
"""A message of seconds and nanoseconds that becomes microseconds."""
ACTION_PART = 4
"""Of a time: a number to the word `OP_WORDS`."""
ACTION_ANY_VALUE = 5
"""A number or bytes, perhaps of a list, a oneof, or an enum."""
ACTION_ANY_MESSAGE = 6
"""A message or time, perhaps of a list, a map, a oneof, or of no column."""
ACTION_PACKED = 7
ACTION_UNKNOWN = 8
ACTION_MISMATCH = 9

# How a number on the wire becomes one in a column.
CONVERT_LONG = 0
"""64 bits as they are; so is a double."""
CONVERT_INT = 1
"""The lowest 32 bits; so is a float."""
CONVERT_BOOLEAN = 2
CONVERT_ZIGZAG_INT = 3
CONVERT_ZIGZAG_LONG = 4
CONVERT_UNSIGNED_INT = 5
"""To 64 bits."""
CONVERT_UNSIGNED_LONG = 6
"""To the 128 bits of a decimal."""
CONVERT_ENUM = 7
"""To its number."""
CONVERT_ENUM_NAME = 8
# Those from here on are bytes.
CONVERT_BINARY = 9
CONVERT_CHECKED_TEXT = 10
"""Bytes that are not UTF-8 make the value bad."""
CONVERT_TEXT = 11
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

# The work for a node that is missing at the end of an entry.
END_NODE = 0
END_PARENT = 1
"""The struct above, if it may be null in an entry; else 0."""
END_MISSING = 2
END_CONVERSION = 3
"""``CONVERT_...`` of a default; -1 for a struct."""
END_DEFAULT = 4
"""The number as on the wire, or where the bytes are."""
END_DEFAULT_SIZE = 5
END_FIELDS = 6

MISSING_IS_NULL = 0
MISSING_IS_DEFAULT = 1
MISSING_IS_BAD = 2

# An entry of the stack: the state to go on with after the current message.
STACK_END = 0
STACK_FRAME = 1
STACK_ENTRY = 2
STACK_GROUP = 3
STACK_OP = 4
"""The operation that began the current message."""
STACK_EXPECTED = 5
STACK_DROPPED = 6
"""1: the entry of a map is left out."""
STACK_FIELDS = 7

# Reasons why a value is bad.
BAD_WIRE = 1
BAD_TEXT = 2
BAD_REQUIRED = 3
BAD_TIME = 4
BAD_DEPTH = 5
BAD_FIELD = 6
"""The message itself has a field of the schema whose value is of another wire type, or of no name of a closed
enum: `from_protobuf` finds it among the unknown fields."""

# Beside these, results of the kernel's functions.
GOOD = 0
STOPPED = -1
"""There is not enough room: the state says where."""
UNKNOWN = -2
"""A number without a name, of an enum that is closed."""
DEFAULT = -3
"""`GOOD`, and the value is the default of its type."""

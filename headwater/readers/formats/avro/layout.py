"""Numbers that the kernel and Python share: operations, and the tables that they are in.

These values are compiled into machine code. So the text of this module is part of the key under which
`headwater.readers.kernels.cache` keeps that code, and a change here compiles it anew.
"""

from __future__ import annotations

# An operation is a row of the program: its code, the place of the node that it writes (bytes from the begin
# of the table of columns), and two arguments. The next row follows, if nothing else is said.
OP_FIELDS = 4
OP_CODE = 0
OP_NODE = 1
OP_A = 2
OP_B = 3

# Values: read from the bytes, and written as an entry of the node.
OP_END = 0
"""The value is complete."""
OP_INT = 1
OP_LONG = 2
OP_INT_LONG = 3
OP_LONG_TIMES = 4
"""A long times A: a time in a coarser unit."""
OP_FLOAT = 5
OP_DOUBLE = 6
OP_FLOAT_DOUBLE = 7
# Those from here to `OP_LONG_DOUBLE` are integers that become numbers with a fraction; B is 1 for a double
# that is to be a float before: the branch of a union that a double stands for in the column.
OP_INT_FLOAT = 8
OP_INT_DOUBLE = 9
OP_LONG_FLOAT = 10
OP_LONG_DOUBLE = 11
OP_BOOLEAN = 12
OP_STRING = 13
OP_BYTES = 14
OP_FIXED = 15
"""A bytes, or `SIZE_IS_REST`; B is 1 for text."""
OP_DECIMAL = 16
"""A number of A bytes; below 0: as many as the length before it says, or `SIZE_IS_REST`."""
OP_ENUM = 17
"""One of B symbols. Two numbers for each of them, from A on: where its text begins, and its size, below 0 if
the reader does not have it."""

SIZE_IS_REST = -2
"""All bytes up to the end of the value."""

# Structure.
OP_STRUCT = 18
"""An entry that is not null."""
OP_NULL = 19
"""A null in each of B nodes: the node, and if it is a struct all that have an entry for each of its entries.
The numbers from A on are their places in the table."""
OP_UNION = 20
"""The number of one of B branches. The numbers from A on say where the operations of each begin."""
OP_JUMP = 21
"""Go on at A."""
OP_LIST = 22
"""A list or map begins; its loop is the next operation."""
OP_ITEM = 23
"""Read the next element, or go on at B. A is the place of the node of the elements."""
OP_ITEM_END = 24
"""An element is complete: back to its loop at B. A is the place of the node of the elements."""
OP_DEFAULT = 25
"""Read from the data at A of B bytes, until `OP_DEFAULT_END`: a field that the writer does not have."""
OP_DEFAULT_END = 26
OP_FAIL = 27
"""The value cannot be read with the reader's schema. A is the reason."""

# Values that the reader does not have.
OP_SKIP_INT = 28
OP_SKIP_LONG = 29
OP_SKIP_FIXED = 30
"""A bytes."""
OP_SKIP_BYTES = 31
"""As many bytes as the length before them says."""
OP_SKIP_LIST = 32
"""A list or map begins; its loop is the next operation."""
OP_SKIP_ITEM = 33
"""Skip the next element, or go on at B."""
OP_SKIP_ITEM_END = 34
"""An element is complete: back to its loop at B."""

OP_SKIP_CALL = 35
"""Skip a record that may contain itself: go on at A, and come back with `OP_SKIP_RETURN`."""
OP_SKIP_RETURN = 36

# A frame of a loop or a call: lists in lists are as deep as the schema, calls up to `MOST_FRAMES`.
FRAME_FIELDS = 4
FRAME_ENTRY = 0
"""The entry of the list, to which its elements belong."""
FRAME_LEFT = 1
"""How many elements of the current block are left."""
FRAME_BEGIN = 2
"""Where the current element begins: to notice elements without bytes, and where a bad one is.
At the end of the list: the place behind it."""
FRAME_IS_LAST = 3
"""1 if no other block follows the current one."""
FRAME_OP = 0
"""Of a call: its operation."""
MOST_FRAMES = 10_000
"""How deep records and lists may be in records of their own type."""

MOST_EMPTY_ITEMS = 1_024
"""The most elements without bytes in a value: an array of empty records needs few bytes to have very
many, and a batch has up to 65,536 values."""

# The inputs of the kernel: addresses and numbers.
IN_DATA = 0
IN_DATA_SIZE = 1
IN_STARTS = 2
IN_SIZES = 3
IN_ROWS = 4
IN_HEADER = 5
"""How many bytes of each value are before Avro's: 5 of Confluent's wire format, or 0."""
IN_PROGRAMS = 6
IN_PROGRAM_COUNT = 7
IN_NODES = 8
IN_NODE_COUNT = 9
IN_FRAMES = 10
IN_BAD_ROWS = 11
IN_BAD_REASONS = 12
IN_STATE = 13
IN_NULLS = 14
"""The nodes that have one entry a row, as `OP_NULL` has them."""
IN_NULL_COUNT = 15
IN_CORRUPT = 16
"""The place of the node for bad values, which is the last column, if there is one."""
IN_CORRUPT_COUNT = 17
"""1 if there is one, else 0."""
IN_SOLE_BLOCK = 18
"""1 if values are lists of one block, without the end that lists have: as containers keep their values."""
IN_LAST_FRAME = 19
"""From this frame on no call may begin."""
IN_FIELDS = 20
# The programs: one for each schema that was met.
PROGRAM_FIELDS = 4
PROGRAM_ID = 0
PROGRAM_OPERATIONS = 1
PROGRAM_NUMBERS = 2
PROGRAM_TEXTS = 3

STOP_SCHEMA = 16
"""The current value is of a schema that has no program yet."""

REASON_TRUNCATED = 0
REASON_NUMBER = 1
REASON_LENGTH = 2
REASON_BRANCH = 3
REASON_SYMBOL = 4
REASON_DECIMAL = 5
REASON_TIME = 6
REASON_EMPTY_ITEMS = 7
REASON_HEADER = 8
"""There is no header: Python looks at the bytes there."""
REASON_NO_DIGITS = 9
REASON_DEPTH = 10
REASONS_OF_PROGRAMS = 64
"""From here on reasons are of the schemas that were resolved."""
REASONS = {
    REASON_TRUNCATED: "ends in the middle of a value",
    REASON_NUMBER: "has a number that is longer than its type",
    REASON_LENGTH: "has a length below 0 or beyond its end",
    REASON_BRANCH: "names a branch that its union does not have",
    REASON_SYMBOL: "names a symbol that the enum does not have",
    REASON_DECIMAL: "has a decimal with more digits than its type",
    REASON_NO_DIGITS: "has a decimal without a byte",
    REASON_DEPTH: f"has records inside of each other deeper than {MOST_FRAMES:,} levels",
    REASON_TIME: "has a time that is too far away for microseconds",
    REASON_EMPTY_ITEMS: f"has more than {MOST_EMPTY_ITEMS:,} elements without bytes",
}

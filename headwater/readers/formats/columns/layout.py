"""The memory layout that kernels of formats and Python share: the table of columns, the kernel's state.

These values are compiled into machine code. So the text of this module is part of the key under which
`headwater.readers.kernels.cache` keeps that code, and a change here compiles it anew.
"""

from __future__ import annotations

# The types of nodes. A value of fixed width stands in the node's values; those of variable size have 32-bit
# offsets there, and bytes or children behind them.
TYPE_STRUCT = 0
TYPE_BOOLEAN = 1
"""Its values are bits."""
TYPE_BYTE = 2
TYPE_SHORT = 3
TYPE_INT = 4
TYPE_LONG = 5
TYPE_FLOAT = 6
TYPE_DOUBLE = 7
TYPE_DECIMAL = 8
"""The unscaled value in 128 bits."""
TYPE_STRING = 9
TYPE_BINARY = 10
TYPE_DATE = 11
"""Days since 1970-01-01 in 32 bits."""
TYPE_TIMESTAMP = 12
"""Microseconds since 1970-01-01 UTC."""
TYPE_LOCAL_TIMESTAMP = 13
"""Microseconds since 1970-01-01 of a clock without a zone (Spark's TIMESTAMP_NTZ)."""
TYPE_LIST = 14
"""One child: the elements."""
TYPE_MAP = 15
"""One child: the entries, a struct without nulls of key and value."""
TYPE_DURATION = 16
"""Microseconds (Spark's INTERVAL DAY TO SECOND)."""
TYPE_TIME = 17
"""Nanoseconds since midnight (Spark's TIME)."""

# The fields of a node. The last ones are changed only by the kernel, while it decodes.
NODE_TYPE = 0
NODE_PARENT = 1
"""-1 for the root: node 0, a struct without nulls whose children are the columns."""
NODE_FIRST_CHILD = 2
NODE_CHILDREN = 3
NODE_NAME = 4
"""The address of the name in UTF-8, followed by a quotation mark and zeros."""
NODE_NAME_SIZE = 5
"""Bytes, without the quotation mark."""
NODE_PRECISION = 6
NODE_SCALE = 7
NODE_VALUES = 8
"""The address of fixed-width values, bits or offsets; of nothing for a struct."""
NODE_VALIDITY = 9
"""The address of a bit for each entry, 1 for a value. The kernel writes each bit, 0 or 1."""
NODE_DATA = 10
"""The address of the bytes of strings."""
NODE_MOST_ENTRIES = 11
"""For how many entries there is room. A node and the children of a struct have room for the same."""
NODE_MOST_DATA = 12
"""For how many bytes there is room in the data."""
NODE_ENTRIES = 13
"""How many entries are filled, those of the current row included."""
NODE_DATA_SIZE = 14
"""How many bytes of the data are filled, those of the current row included."""
NODE_VALUE_BITS = 15
"""How many bits of values an entry has; offsets have one more entry."""
NODE_OWNED = 16
"""Which buffers are memory of their own, out of the region: bit 0 for `NODE_VALUES`, 1 and 2 for the next."""
NODE_FIELDS = 17

# The results of a kernel.
STATE_STOP = 0
"""Why it returned: one of ``STOP_...``."""
STATE_NODE = 1
"""Which node could get no more room."""
STATE_BAD = 2
"""How many bad values there are so far in this call of `append`."""
STATE_ZONES = 3
"""The address of the known time zones, `ZONE_BYTES` each: the first is that of times without a zone."""
STATE_ZONE_COUNT = 4
STATE_ZONE_TEXT = 5
"""With `STOP_ZONE`: the address of the zone's name."""
STATE_ZONE_SIZE = 6
STATE_PATTERNS = 7
"""The address of `PATTERN_FIELDS` addresses: of programs, 0 where times are as in ISO 8601."""
STATE_FIELDS = 40
"""The others are for the kernel's own use."""

STOP_DONE = 0
"""All values are decoded."""
STOP_NO_ROOM = 1
"""The node in `STATE_NODE` can hold no more: Arrow's limit, or the system has no memory."""
STOP_ZONE = 4
"""A value names a time zone that is not among the known ones. The current row was taken back."""
STOP_MORE_INPUT = 6
"""The last value does not end in the bytes that there are."""

MOST = (1 << 31) - (1 << 10)
"""The most entries or bytes of data in a node: Arrow's offsets have 31 bits."""

SPARE_BYTES = 64
"""How many bytes after each buffer may be written, so that a kernel can copy many bytes at once."""

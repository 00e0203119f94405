"""Numbers that the compiled code of PostgreSQL's formats shares with Python: fields of its states, by index.

Each function of the kernel takes the address of 64-bit numbers. Addresses are among them.
"""

from __future__ import annotations

from typing import Final

FUNCTION_SCAN: Final = 0
FUNCTION_FRAME: Final = 1
FUNCTION_TEXT: Final = 2

NULL: Final = -1
"""The length of a value that is NULL."""
UNCHANGED: Final = -2
"""The length of a TOAST value that an update has not changed, so that the server does not send it."""

# Of `scan` and `frame`.
DATA: Final = 0
"""The address of messages as they came, one behind the other, each with the header of XLogData."""
ENDS: Final = 1
"""The address of an int64 for each message: where it ends, counted from `DATA`."""
COUNT: Final = 2
"""How many messages there are."""
AT: Final = 3
"""The message that comes next."""
STOP_LSN: Final = 4
"""Transactions whose commit record starts there or later are not read."""
FINAL_LSN: Final = 5
"""Of the transaction that is read: where its commit record starts."""
SINCE_BEGIN: Final = 6
"""Of `scan`: how many messages with changes came since the last BEGIN."""
HAS_ENDED: Final = 7
"""Whether the COMMIT of the last transaction was seen."""
SCAN_FIELDS: Final = 8

# Of `frame` alone.
START_LSN: Final = 8
"""Transactions whose commit record starts before it are passed over."""
XID: Final = 9
"""Of the transaction, 32 bits."""
COMMIT_TIME: Final = 10
"""Of the transaction, in microseconds since 1970."""
SEQUENCE: Final = 11
"""The number of the next row in the transaction."""
TABLE: Final = 12
"""The oid of the table of the last change; -1 where its entry in `FORMS` is to be looked at again."""
MAP: Final = 13
"""The address of an int64 for each column of its last Relation message: which column it is, or -1."""
MAP_COUNT: Final = 14
"""How many columns that message had; -1 if there was none yet."""
COLUMNS: Final = 15
"""How many columns there are."""
KEYS: Final = 16
"""The address of an int64 for each column: whether it is part of the key by which a move is noticed."""
FORM: Final = 17
"""The number of that message."""
ROOM: Final = 18
"""For how many rows there is memory."""
ROW: Final = 19
"""How many rows there are."""
KINDS: Final = 20
"""The address of a byte for each row: its `OP_...`."""
LSNS: Final = 21
"""The address of an int64 for each row, as those that follow."""
SEQUENCES: Final = 22
"""The address of an int32 for each row."""
XIDS: Final = 23
TIMES: Final = 24
STARTS: Final = 25
"""The address of an int64 for each column and row, column by column: where the value begins in `DATA`."""
LENGTHS: Final = 26
"""The address of an int32 for each column and row: how many bytes it has, `NULL` or `UNCHANGED`."""
OLD_STARTS: Final = 27
"""The same of the row as it was before; 0 where that is not wanted."""
OLD_LENGTHS: Final = 28
HAS_OLD: Final = 29
"""The address of a byte for each row: whether it is known how it was before."""
PREIMAGES: Final = 30
"""Whether an update whose old row is known makes two rows: `OP_BEFORE` and `OP_UPDATE`."""
UNCHANGED_ROWS: Final = 31
"""How many rows have an `UNCHANGED` value."""
OLD_TUPLE: Final = 32
"""The address of an int64 start and an int64 length for each column: room for one row."""
FORMS: Final = 33
"""The address of `FORM_FIELDS` int64 for each table: its oid, then its `MAP`, `MAP_COUNT`, `KEYS` and `FORM`.
Changes of other tables are passed over."""
TABLES: Final = 34
"""How many tables there are."""
ROW_FORMS: Final = 35
"""The address of an int32 for each row: `FORM`."""
FRAME_FIELDS: Final = 36
FORM_FIELDS: Final = 5

OP_INSERT: Final = 0
OP_UPDATE: Final = 1
OP_DELETE: Final = 2
OP_TRUNCATE: Final = 3
OP_BEFORE: Final = 4

# Why `frame` returned.
END_OF_MESSAGES: Final = 0
END_OF_ROOM: Final = 1
END_OF_RANGE: Final = 2
RELATION: Final = 3
"""The message at `AT` is a Relation message."""
UNKNOWN_RELATION: Final = 4
"""The message at `AT` is a change of a table that no Relation message described."""
MALFORMED: Final = 5
"""The message at `AT` is none that this protocol has, or is cut off."""

HEADER_BYTES: Final = 25
"""Of XLogData: a byte, two LSNs and a time."""
EPOCH_MICROS: Final = 946_684_800_000_000
"""2000-01-01, from which PostgreSQL counts."""
LAST_DAY: Final = 2_932_896
"""9999-12-31, counted from 1970: later ones have no place in Spark."""
DAY_MICROS: Final = 86_400_000_000

# Of `text`.
TEXT_KIND: Final = 0
TEXT_DATA: Final = 1
TEXT_STARTS: Final = 2
TEXT_LENGTHS: Final = 3
TEXT_COUNT: Final = 4
TEXT_VALUES: Final = 5
"""The address of the values that are made; of offsets for texts and bytes."""
TEXT_VALIDITY: Final = 6
"""The address of the bits of an Arrow array that say which values there are; all are 0."""
TEXT_BYTES: Final = 7
"""The address where texts and bytes are put."""
TEXT_PRECISION: Final = 8
TEXT_SCALE: Final = 9
TEXT_SCRATCH: Final = 10
"""The address of bytes for the longest text, and 32 more."""
TEXT_NULLS: Final = 11
"""How many values are NULL."""
TEXT_FIELDS: Final = 12

KIND_BOOL: Final = 0
KIND_INT16: Final = 1
KIND_INT32: Final = 2
KIND_INT64: Final = 3
KIND_FLOAT: Final = 4
KIND_DOUBLE: Final = 5
KIND_DECIMAL: Final = 6
KIND_DATE: Final = 7
KIND_TIMESTAMP: Final = 8
KIND_LOCAL_TIMESTAMP: Final = 9
KIND_TEXT: Final = 10
KIND_BYTES: Final = 11

"""Numbers that kernels and Python share: kinds of values, reasons to stop."""

from __future__ import annotations

BOOL = 0
INT16 = 1
INT32 = 2
"""Also a float of 32 bits: the same bits."""
INT64 = 3
"""Also a double."""
OID = 4
"""32 bits without a sign, as a long."""
DATE = 5
TIMESTAMP = 6
"""With or without a zone: both are microseconds."""
DECIMAL = 7
UUID = 8
BYTES = 9
TEXT = 10
JSONB = 11
"""A byte with the version, then text."""

NULL = -1
"""The length of a value that is NULL."""
UNCHANGED = -2
"""The length of a value that a change did not touch, and that is not sent: TOAST."""

MORE = 0
"""The message is not whole yet."""
FULL = 1
"""There is no room for another row."""
OTHER = 2
"""A message that is no row of COPY."""
BROKEN = 3
"""A row that has not the columns that were asked for."""

AT, REASON, NEEDED, HEADER = 0, 1, 2, 3
"""The state that the framing kernel leaves, as int64: where it stopped, why, how many bytes the message
has, whether the head of COPY's answer has passed."""
STATE = 4
"""How many there are."""

UNIX_DAYS = 10_957
"""From 1970 to 2000, from which PostgreSQL counts."""
UNIX_US = 946_684_800_000_000
"""The same in microseconds."""
FIRST_DAY = -730_119
"""0001-01-01, from 2000."""
LAST_DAY = 2_921_939
"""9999-12-31, from 2000."""
DAY_US = 86_400_000_000
"""The microseconds of a day."""

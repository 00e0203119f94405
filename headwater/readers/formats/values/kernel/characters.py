"""Characters of ASCII. A position is an address, as in all functions that read text."""

from __future__ import annotations

from headwater.readers.kernels.memory import inlined, int64, load_byte

QUOTE = 0x22
APOSTROPHE = 0x27
PLUS = 0x2B
COMMA = 0x2C
MINUS = 0x2D
DOT = 0x2E
COLON = 0x3A
BACKSLASH = 0x5C
OPEN_LIST = 0x5B
CLOSE_LIST = 0x5D
OPEN_OBJECT = 0x7B
CLOSE_OBJECT = 0x7D


@inlined
def peek(at: int, end: int) -> int:
    """Return the byte here, 0 at the end."""
    return load_byte(at) if at < end else int64(0)


@inlined
def is_digit(byte: int) -> bool:
    """Return whether a byte is 0 to 9."""
    return byte >= 48 and byte <= 57

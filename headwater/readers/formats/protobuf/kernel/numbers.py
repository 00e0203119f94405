"""Numbers and enums, for the kernel: from the wire into columns."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import offset
from headwater.readers.formats.columns.kernel.room import has_room_up_to
from headwater.readers.formats.protobuf import layout as L
from headwater.readers.kernels.memory import (
    always_inlined,
    called,
    copy_bytes,
    get,
    load_byte,
    load_int64,
    put,
    store_byte,
    store_int32,
    store_int64,
)
from headwater.readers.kernels.varints import unzigzag, unzigzag_int

_MOST_DIGITS = 11
"""Characters of a number of 32 bits."""


@always_inlined
def store_number(conversion: int, values: int, entry: int, number: int) -> int:
    """Write a number as an entry of values. Return the bits that were written: 0 is the default."""
    if conversion == L.CONVERT_LONG:
        put(values, entry, number)
        return number
    if conversion == L.CONVERT_BOOLEAN:
        number = 1 if number != 0 else 0
        byte = values + (entry >> 3)
        place = entry & 7
        store_byte(byte, (load_byte(byte) & ~(1 << place)) | (number << place))
        return number
    if conversion == L.CONVERT_ZIGZAG_LONG:
        number = unzigzag(number)
        put(values, entry, number)
        return number
    if conversion == L.CONVERT_UNSIGNED_INT:
        number &= 0xFFFFFFFF
        put(values, entry, number)
        return number
    if conversion == L.CONVERT_UNSIGNED_LONG:
        store_int64(values + 16 * entry, number)
        store_int64(values + 16 * entry + 8, 0)
        return number
    if conversion == L.CONVERT_ZIGZAG_INT:
        number = unzigzag_int(number)
    store_int32(values + 4 * entry, number)
    return number & 0xFFFFFFFF


@always_inlined
def low_int(number: int) -> int:
    """Return the number with a sign that the lowest 32 bits are."""
    return ((number & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


@called
def enum_value(enum: int, number: int) -> int:
    """Return the address of the value with this number; 0 if there is none."""
    values = enum + 8 * L.ENUM_VALUES
    low = 0
    high = get(enum, L.ENUM_COUNT) - 1
    if 0 <= number <= high and load_int64(values + 8 * L.ENUM_VALUE_FIELDS * number) == number:
        return values + 8 * L.ENUM_VALUE_FIELDS * number
    while low <= high:
        middle = (low + high) >> 1
        middle_number = load_int64(values + 8 * L.ENUM_VALUE_FIELDS * middle)
        if middle_number == number:
            return values + 8 * L.ENUM_VALUE_FIELDS * middle
        if middle_number < number:
            low = middle + 1
        else:
            high = middle - 1
    return 0


@called
def write_enum_name(enum: int, number: int, node: int, entry: int) -> bool:
    """Write the name of an enum's number. Return False if its data can have no more room."""
    begin = offset(node, entry)
    value = enum_value(enum, number)
    prefix = get(enum, L.ENUM_PREFIX_SIZE)
    size = get(value, 2) if value != 0 else prefix + _MOST_DIGITS
    if not has_room_up_to(node, begin + size):
        return False
    to = get(node, T.NODE_DATA) + begin
    if value != 0:
        copy_bytes(to, get(value, 1), size)
    else:
        copy_bytes(to, get(enum, L.ENUM_PREFIX), prefix)
        size = _put_digits(to + prefix, number) - to
    put(node, T.NODE_DATA_SIZE, begin + size)
    return True


@called
def _put_digits(at: int, number: int) -> int:
    """Write a number in decimal digits; return its end."""
    if number < 0:
        store_byte(at, 0x2D)
        at += 1
        number = -number
    digits = 1
    above = 10
    while above <= number:
        digits += 1
        above *= 10
    for i in range(digits - 1, -1, -1):
        store_byte(at + i, 0x30 + number % 10)
        number //= 10
    return at + digits

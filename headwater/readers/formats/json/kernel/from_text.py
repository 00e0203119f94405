"""The text of a string as a value of another type: a number, a date, a time, bytes."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import (
    MISMATCH,
    TAKEN,
    end_data,
    offset,
)
from headwater.readers.formats.columns.kernel.room import has_data_room, no_room
from headwater.readers.formats.json import layout as L
from headwater.readers.formats.json.kernel.scanner import skip_special
from headwater.readers.formats.json.kernel.text import TEXT_SPARE
from headwater.readers.formats.values import layout as V
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit
from headwater.readers.formats.values.kernel.entries import put_decimal, put_double, put_int, put_moment
from headwater.readers.formats.values.kernel.exact_numbers import to_integer
from headwater.readers.formats.values.kernel.lenient_times import text_as_date, text_as_timestamp
from headwater.readers.formats.values.kernel.moments import rebased
from headwater.readers.formats.values.kernel.numbers import to_double
from headwater.readers.kernels.memory import called, get, inlined, int64, load_byte, put, store_byte

_PADDING = 0x3D


@called
def put_from_text(
    nodes: int, node: int, kind: int, entry: int, at: int, value_end: int, text: int, end: int, state: int
) -> tuple[int, int]:
    """Write the string between ``at`` and ``value_end``, whose text is given, into a node of another type."""
    if kind == T.TYPE_BINARY:
        if not has_data_room(node, end - text):
            return no_room(nodes, node, state), at
        to = get(node, T.NODE_DATA) + get(node, T.NODE_DATA_SIZE)
        last = put_base64(text, end, to)
        if last == 0:
            return MISMATCH, at
        if get(node, T.NODE_ENTRIES) > entry:
            # An earlier field of this name, whose bytes lie before these.
            put(node, T.NODE_ENTRIES, entry)
            earlier = get(node, T.NODE_DATA) + offset(node, entry)
            for i in range(last - to):
                store_byte(earlier + i, load_byte(to + i))
            last = earlier + last - to
        end_data(node, last)
        return TAKEN, value_end
    if text == end:
        return MISMATCH, at
    if kind == T.TYPE_DOUBLE or kind == T.TYPE_FLOAT:
        if is_digit(load_byte(text)) or skip_special(text, end) != end:
            return MISMATCH, at
        if get(state, L.STATE_NO_SPECIALS) == 1:
            return MISMATCH, at
        return put_double(node, kind, entry, to_double(text, end, text)), value_end
    if kind == T.TYPE_DECIMAL:
        status = put_decimal(node, entry, text, end)
        return status, value_end if status == TAKEN else at
    if kind == T.TYPE_DATE:
        fits, days = _date(text, end, state)
        if not fits:
            return MISMATCH, at
        return put_int(node, entry, days), value_end
    if kind == T.TYPE_TIMESTAMP or kind == T.TYPE_LOCAL_TIMESTAMP:
        outcome, micros, zone, size = _timestamp(text, end, kind == T.TYPE_LOCAL_TIMESTAMP, state)
        status = put_moment(node, entry, outcome, micros, zone, size, state)
        return status, value_end if status == TAKEN else at
    return MISMATCH, at


@called
def _timestamp(text: int, end: int, local: bool, state: int) -> tuple[int, int, int, int]:
    return text_as_timestamp(
        text,
        end,
        get(state, T.STATE_PATTERNS),
        V.PATTERN_LOCAL_TIMESTAMP if local else V.PATTERN_TIMESTAMP,
        get(state, T.STATE_ZONES),
        get(state, T.STATE_ZONE_COUNT),
        local,
        get(state, L.STATE_TIMESTAMP_FALLBACK) == 1,
        get(state, L.STATE_SCRATCH),
        L.SCRATCH_BYTES - TEXT_SPARE,
    )


@called
def _date(text: int, end: int, state: int) -> tuple[bool, int]:
    """Return whether a text is a date, and its days since 1970-01-01.

    Old versions of Spark wrote these days as a number.
    """
    fallback = get(state, L.STATE_DATE_FALLBACK) == 1
    scratch = get(state, L.STATE_SCRATCH)
    fits, days = text_as_date(
        text,
        end,
        get(state, T.STATE_PATTERNS),
        V.PATTERN_DATE,
        fallback,
        scratch,
        L.SCRATCH_BYTES - TEXT_SPARE,
    )
    if fits or not fallback:
        return fits, days
    sign = load_byte(text)
    fits, number = to_integer(text + 1 if sign == C.PLUS and end > text + 1 else text, end)
    digits = is_digit(load_byte(end - 1)) and (sign != C.PLUS or load_byte(text + 1) != C.MINUS)
    return fits and digits and number >= -(1 << 31) and number < 1 << 31, rebased(number)


@inlined
def _six_bits(byte: int) -> int:
    if byte >= 65 and byte <= 90:
        return byte - 65
    if byte >= 97 and byte <= 122:
        return byte - 71
    if byte >= 48 and byte <= 57:
        return byte + 4
    return int64(62 if byte == 0x2B else 63 if byte == 0x2F else -1)


@called
def put_base64(at: int, end: int, to: int) -> int:
    """Write the bytes that a text means, and return their end; 0 if it means none."""
    while True:
        while at < end and load_byte(at) <= 32:
            at += 1
        if at == end:
            return to
        if end - at < 4:
            return 0
        one = _six_bits(load_byte(at))
        two = _six_bits(load_byte(at + 1))
        third = load_byte(at + 2)
        fourth = load_byte(at + 3)
        at += 4
        three = _six_bits(third)
        four = _six_bits(fourth)
        if (one | two) < 0:
            return 0
        store_byte(to, one << 2 | two >> 4)
        to += 1
        if third == _PADDING:
            if fourth != _PADDING:
                return 0
            continue
        if three < 0:
            return 0
        store_byte(to, two << 4 | three >> 2)
        to += 1
        if fourth == _PADDING:
            continue
        if four < 0:
            return 0
        store_byte(to, three << 6 | four)
        to += 1

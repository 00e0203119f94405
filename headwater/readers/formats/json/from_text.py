"""The text of a string as a value of another type: a number, a date, a time, bytes."""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: C901, PLR0911, PLR0912, PLR0915, PLR0917, PLR1714, SIM109
# Compiled functions take positions only, and have no cheap sets; a token is read in one loop with many ends.

from __future__ import annotations

import numba

from headwater.readers.formats.json.base64 import put_base64
from headwater.readers.formats.json.days import rebased
from headwater.readers.formats.json.entries import (
    MISMATCH,
    TAKEN,
    begin_entry,
    data_room,
    end_data,
    more_data,
    stop,
)
from headwater.readers.formats.json.exact_numbers import to_decimal, to_integer
from headwater.readers.formats.json.layout import (
    PATTERN_DATE,
    PATTERN_LOCAL_TIMESTAMP,
    PATTERN_TIMESTAMP,
    PATTERN_WORK,
    SCRATCH_BYTES,
    STATE_NO_SPECIALS,
    STATE_PATTERNS,
    STATE_SCRATCH,
    STATE_ZONE_COUNT,
    STATE_ZONE_SIZE,
    STATE_ZONE_TEXT,
    STATE_ZONES,
    STOP_ZONE,
)
from headwater.readers.formats.json.moments import FINE, UNKNOWN_ZONE, WRONG
from headwater.readers.formats.json.numbers import to_double
from headwater.readers.formats.json.pattern_matching import date_by_pattern, timestamp_by_pattern
from headwater.readers.formats.json.scanner import MINUS, PLUS, is_digit, skip_special
from headwater.readers.formats.json.text import TEXT_SPARE
from headwater.readers.formats.json.times import to_date, to_timestamp
from headwater.readers.formats.kernel_columns import get, offset, put
from headwater.readers.formats.table_layout import (
    NODE_DATA,
    NODE_DATA_SIZE,
    NODE_ENTRIES,
    NODE_PRECISION,
    NODE_SCALE,
    TYPE_BINARY,
    TYPE_DATE,
    TYPE_DECIMAL,
    TYPE_DOUBLE,
    TYPE_FLOAT,
    TYPE_LOCAL_TIMESTAMP,
    TYPE_TIMESTAMP,
)
from headwater.readers.kernels.memory import (
    called,
    inlined,
    int64,
    load_byte,
    load_int32,
    load_int64,
    store_byte,
    store_double,
    store_float,
    store_int32,
    store_int64,
)

_GMT = 0x544D47


@inlined
def put_decimal(node: int, entry: int, at: int, end: int) -> int:
    """Write a number as an entry of a node of decimals. Return `TAKEN` or `MISMATCH`."""
    fits, low, high = to_decimal(at, end, get(node, NODE_PRECISION), get(node, NODE_SCALE))
    if not fits:
        return int64(MISMATCH)
    values = begin_entry(node, entry)
    store_int64(values + 16 * entry, low)
    store_int64(values + 16 * entry + 8, high)
    return int64(TAKEN)


@called
def put_from_text(
    nodes: int, node: int, kind: int, entry: int, at: int, after: int, text: int, end: int, state: int
) -> tuple[int, int]:
    """Write the string between ``at`` and ``after``, whose text is given, into a node of another type."""
    if kind == TYPE_BINARY:
        if data_room(node) < end - text:
            return more_data(nodes, node, state), at
        to = get(node, NODE_DATA) + get(node, NODE_DATA_SIZE)
        last = put_base64(text, end, to)
        if last == 0:
            return MISMATCH, at
        if get(node, NODE_ENTRIES) > entry:
            # An earlier field of this name, whose bytes lie before these.
            put(node, NODE_ENTRIES, entry)
            earlier = get(node, NODE_DATA) + offset(node, entry)
            for i in range(last - to):
                store_byte(earlier + i, load_byte(to + i))
            last = earlier + last - to
        end_data(node, last)
        return TAKEN, after
    if text == end:
        return MISMATCH, at
    if kind == TYPE_DOUBLE or kind == TYPE_FLOAT:
        if is_digit(load_byte(text)) or skip_special(text, end) != end:
            return MISMATCH, at
        if load_int64(state + 8 * STATE_NO_SPECIALS) == 1:
            return MISMATCH, at
        value = to_double(text, end, text)
        if kind == TYPE_DOUBLE:
            store_double(begin_entry(node, entry) + 8 * entry, value)
        else:
            store_float(begin_entry(node, entry) + 4 * entry, numba.float32(value))
        return TAKEN, after
    if kind == TYPE_DECIMAL:
        status = put_decimal(node, entry, text, end)
        return status, after if status == TAKEN else at
    if kind == TYPE_DATE:
        program = _pattern(state, PATTERN_DATE)
        if program != 0:
            fits, days = date_by_pattern(program, text, end, _pattern(state, PATTERN_WORK))
        else:
            fits, days = to_date(text, end)
            if not fits:
                fits, days = _odd_date(text, end, state)
        if not fits:
            return MISMATCH, at
        store_int32(begin_entry(node, entry) + 4 * entry, days)
        return TAKEN, after
    if kind == TYPE_TIMESTAMP or kind == TYPE_LOCAL_TIMESTAMP:
        local = kind == TYPE_LOCAL_TIMESTAMP
        program = _pattern(state, PATTERN_LOCAL_TIMESTAMP if local else PATTERN_TIMESTAMP)
        if program != 0:
            work = _pattern(state, PATTERN_WORK)
            zones = load_int64(state + 8 * STATE_ZONES)
            found, micros, zone, size = timestamp_by_pattern(program, text, end, work, zones, local)
        else:
            found, micros, zone, size = _timestamp(text, end, local, state)
        if found == WRONG and kind == TYPE_TIMESTAMP and program == 0:
            text, end = _without_gmt(text, end, state)
            if text != 0:
                found, micros, zone, size = _timestamp(text, end, False, state)
        if found == UNKNOWN_ZONE:
            store_int64(state + 8 * STATE_ZONE_TEXT, zone)
            store_int64(state + 8 * STATE_ZONE_SIZE, size)
            return stop(state, STOP_ZONE, 0), at
        if found != FINE:
            return MISMATCH, at
        store_int64(begin_entry(node, entry) + 8 * entry, micros)
        return TAKEN, after
    return MISMATCH, at


@inlined
def _pattern(state: int, which: int) -> int:
    return get(load_int64(state + 8 * STATE_PATTERNS), which)


@inlined
def _timestamp(text: int, end: int, local: bool, state: int) -> tuple[int, int, int, int]:
    zones = load_int64(state + 8 * STATE_ZONES)
    return to_timestamp(text, end, zones, load_int64(state + 8 * STATE_ZONE_COUNT), local)


@called
def _odd_date(text: int, end: int, state: int) -> tuple[bool, int]:
    """Return whether a text is a date as old versions of Spark wrote them, and its days since 1970-01-01."""
    begin, last = _without_gmt(text, end, state)
    if begin != 0:
        fits, days = to_date(begin, last)
        if fits:
            return fits, days
    sign = load_byte(text)
    fits, number = to_integer(text + 1 if sign == PLUS and end > text + 1 else text, end)
    digits = is_digit(load_byte(end - 1)) and (sign != PLUS or load_byte(text + 1) != MINUS)
    return fits and digits and number >= -(1 << 31) and number < 1 << 31, rebased(number)


@called
def _without_gmt(text: int, end: int, state: int) -> tuple[int, int]:
    """Return the text without each ``GMT`` in it, as Spark tries it in the end; 0 if it has none."""
    if end - text > SCRATCH_BYTES - TEXT_SPARE:
        return int64(0), end
    first = load_int64(state + 8 * STATE_SCRATCH)
    to = first
    at = text
    while at < end:
        if end - at >= 3 and load_int32(at) & 0xFFFFFF == _GMT:
            at += 3
        else:
            store_byte(to, load_byte(at))
            to += 1
            at += 1
    return first if to - first < end - text else int64(0), to

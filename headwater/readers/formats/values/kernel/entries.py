"""Values that were read from text, written as entries of nodes: one place for each width.

`put_...` returns `TAKEN`, or `MISMATCH` if the value does not fit the node; nothing is written then.
"""

from __future__ import annotations

import numba

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import MISMATCH, TAKEN, begin_entry, stop
from headwater.readers.formats.values.kernel.exact_numbers import to_decimal
from headwater.readers.formats.values.kernel.moments import FINE, UNKNOWN_ZONE
from headwater.readers.kernels.memory import (
    called,
    get,
    inlined,
    int64,
    put,
    store_byte,
    store_double,
    store_float,
    store_int16,
    store_int32,
)


@inlined
def put_int(node: int, entry: int, value: int) -> int:
    """Write 32 bits: an int, or the days of a date."""
    store_int32(begin_entry(node, entry) + 4 * entry, value)
    return int64(TAKEN)


@inlined
def put_long(node: int, entry: int, value: int) -> int:
    """Write 64 bits: a long, or a time in microseconds or nanoseconds."""
    put(begin_entry(node, entry), entry, value)
    return int64(TAKEN)


@inlined
def put_integer(node: int, kind: int, entry: int, value: int, most_byte: int) -> int:
    """Write an integer in the width of the node's type, in which a byte is at most ``most_byte``."""
    if kind == T.TYPE_LONG:
        return put_long(node, entry, value)
    if kind == T.TYPE_INT and value >= -(1 << 31) and value < 1 << 31:
        return put_int(node, entry, value)
    if kind == T.TYPE_SHORT and value >= -(1 << 15) and value < 1 << 15:
        store_int16(begin_entry(node, entry) + 2 * entry, value)
        return int64(TAKEN)
    if kind == T.TYPE_BYTE and value >= -128 and value <= most_byte:
        store_byte(begin_entry(node, entry) + entry, value)
        return int64(TAKEN)
    return int64(MISMATCH)


@inlined
def put_double(node: int, kind: int, entry: int, value: float) -> int:
    """Write a double, or the float that is nearest to it."""
    if kind == T.TYPE_DOUBLE:
        store_double(begin_entry(node, entry) + 8 * entry, value)
    else:
        store_float(begin_entry(node, entry) + 4 * entry, numba.float32(value))
    return int64(TAKEN)


@called
def put_decimal(node: int, entry: int, at: int, end: int) -> int:
    """Write the number in a text into a node of decimals."""
    fits, low, high = to_decimal(at, end, get(node, T.NODE_PRECISION), get(node, T.NODE_SCALE))
    if not fits:
        return int64(MISMATCH)
    values = begin_entry(node, entry)
    put(values, 2 * entry, low)
    put(values, 2 * entry + 1, high)
    return int64(TAKEN)


@inlined
def put_moment(node: int, entry: int, outcome: int, micros: int, zone: int, size: int, state: int) -> int:
    """Write the result of `to_timestamp`. Return `STOPPED` if its zone has to be looked up."""
    if outcome == UNKNOWN_ZONE:
        ask_for_zone(zone, size, state)
        return stop(state, T.STOP_ZONE, 0)
    return put_long(node, entry, micros) if outcome == FINE else int64(MISMATCH)


@inlined
def ask_for_zone(zone: int, size: int, state: int) -> None:
    """Note the name of an unknown zone: for `STOP_ZONE`."""
    put(state, T.STATE_ZONE_TEXT, zone)
    put(state, T.STATE_ZONE_SIZE, size)

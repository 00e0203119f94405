"""The kernel that decodes Protobuf messages into columns, row by row. It is compiled once."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.protobuf import layout as L
from headwater.readers.formats.protobuf.kernel.entries import empty, end_entry, put_corrupt, put_offsets
from headwater.readers.formats.protobuf.kernel.messages import read_message
from headwater.readers.kernels.memory import called, get, load_byte, put, store_byte, store_int64


@called
def _clear_bits(at: int, first: int, count: int) -> None:
    """Make bits 0, and perhaps unused ones behind them."""
    end = at + ((first + count + 7) >> 3)
    at += first >> 3
    if at < end:
        store_byte(at, load_byte(at) & ((1 << (first & 7)) - 1))
        at += 1
    while at < end:
        store_int64(at, 0)
        at += 8


def decode(plan: int, value: int) -> int:
    """Decode the values from ``value`` on; return how many are done, those before included.

    The plan is as `layout` describes it.
    """
    frame = get(plan, L.PLAN_FRAME)
    nodes = get(plan, L.PLAN_NODES)
    state = get(plan, L.PLAN_STATE)
    count = get(plan, L.PLAN_COUNT)
    members = get(frame, L.FRAME_NODES)
    row = get(nodes, T.NODE_ENTRIES)
    for i in range(get(frame, L.FRAME_NODE_COUNT)):
        _clear_bits(get(get(members, i), T.NODE_VALIDITY), row, count - value)
    put(state, T.STATE_STOP, T.STOP_DONE)
    while value < count:
        size = get(get(plan, L.PLAN_SIZES), value)
        if size < 0:
            put_offsets(frame, row)
        else:
            at = get(plan, L.PLAN_DATA) + get(get(plan, L.PLAN_STARTS), value)
            status = read_message(plan, at, at + size, row)
            if status == L.GOOD:
                status = end_entry(plan, frame, row)
            if status != L.GOOD:
                empty(nodes, nodes, row)
                if status != L.STOPPED:
                    status = _put_bad(plan, status, value, row, at, size)
                if status == L.STOPPED:
                    break
                put_offsets(frame, row)
        row += 1
        value += 1
    put(nodes, T.NODE_ENTRIES, row)
    for i in range(get(frame, L.FRAME_NODE_COUNT)):
        put(get(members, i), T.NODE_ENTRIES, row)
    return value


@called
def _put_bad(plan: int, reason: int, value: int, row: int, at: int, size: int) -> int:
    """Note a bad value, and why it is bad."""
    corrupt = get(plan, L.PLAN_CORRUPT)
    if corrupt != 0 and put_corrupt(plan, corrupt, row, at, size) == L.STOPPED:
        return L.STOPPED
    state = get(plan, L.PLAN_STATE)
    bad = get(state, T.STATE_BAD)
    put(get(plan, L.PLAN_BAD_ROWS), bad, value)
    put(get(plan, L.PLAN_BAD_REASONS), bad, reason)
    put(state, T.STATE_BAD, bad + 1)
    return L.GOOD

"""The kernel that decodes Protobuf messages into columns, row by row. It is compiled once."""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

from __future__ import annotations

from headwater.readers.formats.kernel_columns import get, put
from headwater.readers.formats.protobuf.kernel_entries import (
    empty,
    end_entry,
    put_corrupt,
    put_offsets,
)
from headwater.readers.formats.protobuf.kernel_messages import read_message
from headwater.readers.formats.protobuf.layout import (
    FRAME_NODE_COUNT,
    FRAME_NODES,
    GOOD,
    KERNEL_ARGUMENTS,
    PLAN_BAD_REASONS,
    PLAN_BAD_ROWS,
    PLAN_CORRUPT,
    PLAN_COUNT,
    PLAN_DATA,
    PLAN_FRAME,
    PLAN_NODES,
    PLAN_SIZES,
    PLAN_STARTS,
    PLAN_STATE,
    STOPPED,
)
from headwater.readers.formats.table_layout import (
    NODE_ENTRIES,
    NODE_VALIDITY,
    STATE_BAD,
    STATE_STOP,
    STOP_DONE,
)
from headwater.readers.kernels.compiling import compile_function
from headwater.readers.kernels.memory import (
    called,
    load_byte,
    load_field,
    store_byte,
    store_field,
    store_int64,
)


@called
def _clear_bits(at: int, first: int, count: int) -> None:
    """Make bits 0, and perhaps some behind them that nobody has written."""
    end = at + ((first + count + 7) >> 3)
    at += first >> 3
    if at < end:
        store_byte(at, load_byte(at) & ((1 << (first & 7)) - 1))
        at += 1
    while at < end:
        store_int64(at, 0)
        at += 8


def _decode(plan: int, done: int) -> int:
    """Decode the values from ``done`` on; return how many are done, those before included.

    The plan is as `layout` describes it.
    """
    frame = load_field(plan, PLAN_FRAME)
    nodes = load_field(plan, PLAN_NODES)
    state = load_field(plan, PLAN_STATE)
    count = load_field(plan, PLAN_COUNT)
    members = load_field(frame, FRAME_NODES)
    row = get(nodes, NODE_ENTRIES)
    for i in range(load_field(frame, FRAME_NODE_COUNT)):
        _clear_bits(get(load_field(members, i), NODE_VALIDITY), row, count - done)
    store_field(state, STATE_STOP, STOP_DONE)
    while done < count:
        size = load_field(load_field(plan, PLAN_SIZES), done)
        if size < 0:
            put_offsets(frame, row)
        else:
            at = load_field(plan, PLAN_DATA) + load_field(load_field(plan, PLAN_STARTS), done)
            status = read_message(plan, at, at + size, row)
            if status == GOOD:
                status = end_entry(plan, frame, row)
            if status != GOOD:
                empty(nodes, nodes, row)
                if status != STOPPED:
                    status = _put_bad(plan, status, done, row, at, size)
                if status == STOPPED:
                    break
                put_offsets(frame, row)
        row += 1
        done += 1
    put(nodes, NODE_ENTRIES, row)
    for i in range(load_field(frame, FRAME_NODE_COUNT)):
        put(load_field(members, i), NODE_ENTRIES, row)
    return done


@called
def _put_bad(plan: int, reason: int, value: int, row: int, at: int, size: int) -> int:  # noqa: PLR0917 - positions only
    """Note a bad value, and why it is bad."""
    corrupt = load_field(plan, PLAN_CORRUPT)
    if corrupt != 0 and put_corrupt(plan, corrupt, row, at, size) == STOPPED:
        return STOPPED
    state = load_field(plan, PLAN_STATE)
    bad = load_field(state, STATE_BAD)
    store_field(load_field(plan, PLAN_BAD_ROWS), bad, value)
    store_field(load_field(plan, PLAN_BAD_REASONS), bad, reason)
    store_field(state, STATE_BAD, bad + 1)
    return GOOD


def compile_kernel() -> tuple[str, bytes]:
    """Return the name of the C function, and an object file that holds it: see `compile_function`."""
    return compile_function(_decode, KERNEL_ARGUMENTS)

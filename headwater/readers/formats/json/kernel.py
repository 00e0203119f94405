"""The kernel: JSON values into columns, in one pass, without allocation or the GIL.

`kernel_entry` compiles it.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: C901, PLR0917
# Compiled functions take positions only, and have no cheap sets; a token is read in one loop with many ends.

from __future__ import annotations

from headwater.readers.formats.json.entries import STOPPED, SYNTAX, TAKEN, more_data, stop
from headwater.readers.formats.json.frames import (
    close_struct,
    has_room,
)
from headwater.readers.formats.json.layout import (
    REASON_NOT_AN_OBJECT,
    REASON_NOT_JSON,
    STATE_CORRUPT,
    STATE_FIELDS_OF_ROOT,
    STATE_PASSED_COUNT,
    STATE_REASON,
    STATE_RESCUE,
)
from headwater.readers.formats.json.objects import AGAIN, put_object
from headwater.readers.formats.json.rescue import (
    begin_rescue,
    end_rescue,
)
from headwater.readers.formats.json.scanner import (
    OPEN_OBJECT,
    skip_space,
)
from headwater.readers.formats.kernel_columns import (
    append_null,
    append_value,
    get,
    node_at,
    truncate,
)
from headwater.readers.formats.kernel_text import append_text
from headwater.readers.formats.table_layout import (
    NODE_ENTRIES,
    STATE_BAD,
    STATE_STOP,
    STOP_DONE,
    STOP_MORE_ENTRIES,
)
from headwater.readers.kernels.memory import called, inlined, int64, load_byte, load_int64, store_int64


@inlined
def _null_row(nodes: int, count: int) -> None:
    append_value(nodes)
    close_struct(nodes, nodes, count)


@called
def _row(nodes: int, at: int, size: int, state: int) -> int:
    """Decode one value into the next row. Return `TAKEN` or `STOPPED`."""
    count = load_int64(state + 8 * STATE_FIELDS_OF_ROOT)
    store_int64(state + 8 * STATE_REASON, 0)
    begin_rescue(state)
    row = get(nodes, NODE_ENTRIES)
    if not has_room(nodes):
        return stop(state, STOP_MORE_ENTRIES, 0)
    end = at + max(size, 0)
    first = skip_space(at, end)
    if first == end:
        _null_row(nodes, count)
    elif load_byte(first) == OPEN_OBJECT:
        store_int64(state + 8 * STATE_PASSED_COUNT, 0)
        status = put_object(nodes, first, end, state)
        while status == AGAIN:
            truncate(nodes, nodes, row)
            status = put_object(nodes, first, end, state)
        if status == STOPPED:
            return status
        if status == SYNTAX:
            truncate(nodes, nodes, row)
            _null_row(nodes, count)
            begin_rescue(state)
            store_int64(state + 8 * STATE_REASON, REASON_NOT_JSON)
    else:
        _null_row(nodes, count)
        store_int64(state + 8 * STATE_REASON, REASON_NOT_AN_OBJECT)
    if load_int64(state + 8 * STATE_RESCUE) != 0:
        end_rescue(nodes, state)
    corrupt = load_int64(state + 8 * STATE_CORRUPT)
    if corrupt != 0:
        column = node_at(nodes, corrupt)
        if load_int64(state + 8 * STATE_REASON) == 0:
            append_null(nodes, column)
        elif not append_text(column, at, size):
            return more_data(nodes, column, state)
    return int64(TAKEN)


@inlined
def decode(
    nodes: int, starts: int, sizes: int, first: int, count: int, state: int, rows: int, reasons: int
) -> int:
    """Decode values from the first one on, and return how many are done.

    Args:
        nodes: the address of `ColumnTable.nodes`.
        starts: the address of the values' addresses, behind each of which 64 bytes may be loaded.
        sizes: the address of their sizes; below 0 is null.
        first: how many values are done.
        count: how many there are.
        state: the address of the state.
        rows: the address of room for the numbers of bad values.
        reasons: the address of room for their reasons.
    """
    store_int64(state + 8 * STATE_STOP, STOP_DONE)
    for i in range(first, count):
        filled = get(nodes, NODE_ENTRIES)
        if _row(nodes, load_int64(starts + 8 * i), load_int64(sizes + 8 * i), state) != TAKEN:
            truncate(nodes, nodes, filled)
            return i
        reason = load_int64(state + 8 * STATE_REASON)
        if reason != 0:
            bad = load_int64(state + 8 * STATE_BAD)
            store_int64(rows + 8 * bad, i)
            store_int64(reasons + 8 * bad, reason)
            store_int64(state + 8 * STATE_BAD, bad + 1)
    return count

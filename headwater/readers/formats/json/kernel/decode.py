"""The kernel: JSON values into columns, in one pass, without allocation or the GIL."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import (
    AGAIN,
    STOPPED,
    SYNTAX,
    TAKEN,
    append_null,
    append_value,
    node_at,
    truncate,
)
from headwater.readers.formats.columns.kernel.room import has_room, no_room
from headwater.readers.formats.columns.kernel.text import append_text
from headwater.readers.formats.json import layout as L
from headwater.readers.formats.json.kernel.frames import close_struct, fields_end
from headwater.readers.formats.json.kernel.objects import put_object
from headwater.readers.formats.json.kernel.rescue import begin_rescue, end_rescue
from headwater.readers.formats.json.kernel.scanner import skip_space
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.kernels.memory import called, get, inlined, int64, load_byte, put


@inlined
def _null_row(nodes: int, state: int) -> None:
    append_value(nodes)
    close_struct(nodes, nodes, fields_end(nodes, nodes, state))


@called
def _row(nodes: int, at: int, size: int, state: int) -> int:
    """Decode one value into the next row. Return `TAKEN` or `STOPPED`."""
    put(state, L.STATE_REASON, 0)
    begin_rescue(state)
    row = get(nodes, T.NODE_ENTRIES)
    if not has_room(nodes, nodes):
        return no_room(nodes, nodes, state)
    end = at + max(size, 0)
    first = skip_space(at, end)
    if first == end:
        _null_row(nodes, state)
    elif load_byte(first) == C.OPEN_OBJECT:
        put(state, L.STATE_PASSED_COUNT, 0)
        status = put_object(nodes, first, end, state)
        while status == AGAIN:
            truncate(nodes, nodes, row)
            status = put_object(nodes, first, end, state)
        if status == STOPPED:
            return status
        if status == SYNTAX:
            truncate(nodes, nodes, row)
            _null_row(nodes, state)
            begin_rescue(state)
            put(state, L.STATE_REASON, L.REASON_NOT_JSON)
    else:
        _null_row(nodes, state)
        put(state, L.STATE_REASON, L.REASON_NOT_AN_OBJECT)
    if get(state, L.STATE_RESCUE) != 0:
        end_rescue(nodes, state)
    corrupt = get(state, L.STATE_CORRUPT)
    if corrupt != 0:
        column = node_at(nodes, corrupt)
        if get(state, L.STATE_REASON) == 0:
            append_null(nodes, column)
        elif not append_text(column, at, size):
            return no_room(nodes, column, state)
    return int64(TAKEN)


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
    put(state, T.STATE_STOP, T.STOP_DONE)
    for i in range(first, count):
        filled = get(nodes, T.NODE_ENTRIES)
        if _row(nodes, get(starts, i), get(sizes, i), state) != TAKEN:
            truncate(nodes, nodes, filled)
            return i
        reason = get(state, L.STATE_REASON)
        if reason != 0:
            if reason >> L.REASON_BITS != 0:
                reason |= (get(state, L.STATE_MISFIT) - get(starts, i)) << L.REASON_AND_NODE_BITS
            bad = get(state, T.STATE_BAD)
            put(rows, bad, i)
            put(reasons, bad, reason)
            put(state, T.STATE_BAD, bad + 1)
    return count

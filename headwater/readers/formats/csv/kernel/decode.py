"""The kernel: CSV records into columns, in one pass, without allocation or the GIL."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import (
    MISMATCH,
    STOPPED,
    TAKEN,
    append_null,
    append_value,
    node_at,
    truncate,
)
from headwater.readers.formats.columns.kernel.room import has_room, no_room
from headwater.readers.formats.columns.kernel.text import append_text
from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.csv.kernel.cells import put_cell
from headwater.readers.formats.csv.kernel.machine import NOTHING, RECORD_READ, exact_record
from headwater.readers.formats.csv.kernel.plain_tokens import plain_record, trimmed_record
from headwater.readers.formats.csv.kernel.reader import newline, option
from headwater.readers.kernels.memory import (
    called,
    get,
    inlined,
    int64,
    load_byte,
    load_int64,
    put,
    store_int64,
)

_LINE_FEED = 10
_CARRIAGE_RETURN = 13


@inlined
def _tokens(state: int) -> int:
    """Cut the next record. Return `RECORD_READ` or `NOTHING`."""
    put(state, L.FATAL, 0)
    plain = option(state, L.OPTION_PLAIN)
    if (plain == L.PLAIN and plain_record(state)) or (plain == L.PLAIN_TRIMMED and trimmed_record(state)):
        put(state, L.SAW_END, 0)
        return int64(RECORD_READ)
    return exact_record(state)


@called
def _null_row(nodes: int, state: int) -> None:
    for i in range(get(state, L.COLUMNS)):
        append_null(nodes, node_at(nodes, 1 + i))


@called
def _row(nodes: int, state: int, outcome: int) -> tuple[int, int]:
    """Append the record's row. Return `TAKEN` and why it is bad, 0 if it is not; or `STOPPED`."""
    if not has_room(nodes, nodes):
        return no_room(nodes, nodes, state), int64(0)
    append_value(nodes)
    reason = get(state, L.FATAL)
    count = get(state, L.COLUMNS)
    value_count = get(state, L.TOKEN_COUNT)
    if reason != 0 or outcome == NOTHING:
        _null_row(nodes, state)
        reason = reason if reason != 0 else int64(L.REASON_NOTHING)
    else:
        reason = int64(0) if value_count == count or get(state, L.ANY_WIDTH) == 1 else int64(L.REASON_COLUMNS)
        token = get(state, L.TOKENS)
        for i in range(count):
            node = node_at(nodes, 1 + i)
            if i >= value_count:
                append_null(nodes, node)
                continue
            status = put_cell(nodes, node, load_int64(token), load_int64(token + 8), state)
            if status == STOPPED:
                return int64(STOPPED), int64(0)
            if status == MISMATCH and reason == 0:
                reason = int64(L.REASON_MISMATCH) | ((1 + i) << L.REASON_BITS)
            token += L.TOKEN_BYTES
    return _corrupt(nodes, state, reason), reason


@inlined
def _corrupt(nodes: int, state: int, reason: int) -> int:
    """Append the text of a bad record to its column, if there is one."""
    place = get(state, L.CORRUPT)
    if place == 0:
        return int64(TAKEN)
    column = node_at(nodes, place)
    if reason == 0 or reason == L.REASON_NOTHING:
        append_null(nodes, column)
        return int64(TAKEN)
    at = get(state, L.RECORD)
    end = get(state, L.AT)
    if end > at:
        last = load_byte(end - 1)
        if last == _LINE_FEED or last == _CARRIAGE_RETURN:
            end -= 1
            if last == _LINE_FEED and end > at and load_byte(end - 1) == _CARRIAGE_RETURN:
                end -= 1
    if not append_text(column, at, end - at):
        return no_room(nodes, column, state)
    return int64(TAKEN)


@inlined
def _note_bad(state: int, rows: int, reasons: int, row: int, reason: int) -> None:
    bad = get(state, T.STATE_BAD)
    put(rows, bad, row)
    put(reasons, bad, reason)
    put(state, T.STATE_BAD, bad + 1)


@called
def _decode_values(
    nodes: int, starts: int, sizes: int, first: int, count: int, state: int, rows: int, reasons: int
) -> int:
    reader = get(state, L.READER)
    for i in range(first, count):
        filled = get(nodes, T.NODE_ENTRIES)
        at = get(starts, i)
        size = get(sizes, i)
        put(state, L.AT, at)
        put(state, L.END, at + max(size, 0))
        put(state, L.RECORD, at)
        put(reader, L.CHARACTER, newline(state))
        put(reader, L.PREVIOUS, 0)
        if size < 0:
            if not _null_value(nodes, state):
                truncate(nodes, nodes, filled)
                return i
            continue
        outcome = int64(NOTHING) if size == 0 else _tokens(state)
        put(state, L.FATAL, get(state, L.FATAL) if size > 0 else 0)
        status = int64(STOPPED)
        reason = int64(0)
        if get(state, T.STATE_STOP) == T.STOP_DONE:
            status, reason = _row(nodes, state, outcome)
        if status != TAKEN:
            truncate(nodes, nodes, filled)
            return i
        if reason != 0:
            if reason >> L.REASON_BITS != 0:
                reason |= _place(state, at, reason >> L.REASON_BITS)
            _note_bad(state, rows, reasons, i, reason)
    return count


@called
def _place(state: int, at: int, node: int) -> int:
    """Return where the text of a column stands in the value, as reasons have it."""
    token = get(state, L.TOKENS) + (node - 1) * L.TOKEN_BYTES
    begin = load_int64(token)
    place = begin - at + 1
    if begin < at or begin > get(state, L.END) or place > L.MOST_PLACE:
        return int64(0)
    size = min(load_int64(token + 8), L.MOST_TEXT)
    return (place | (size << L.PLACE_BITS)) << L.REASON_AND_NODE_BITS


@called
def _null_value(nodes: int, state: int) -> bool:
    """Append a row of nulls. Return whether there is room."""
    if not has_room(nodes, nodes):
        no_room(nodes, nodes, state)
        return False
    append_value(nodes)
    _null_row(nodes, state)
    if get(state, L.CORRUPT) != 0:
        append_null(nodes, node_at(nodes, get(state, L.CORRUPT)))
    return True


@called
def _decode_stream(
    nodes: int, at: int, end: int, first: int, count: int, state: int, rows: int, reasons: int
) -> int:
    """Decode records up to the end of the input, and return how many rows there are."""
    put(state, L.AT, at)
    put(state, L.END, end)
    reader = get(state, L.READER)
    for i in range(first, count):
        at = get(state, L.AT)
        filled = get(nodes, T.NODE_ENTRIES)
        character = get(reader, L.CHARACTER)
        previous = get(reader, L.PREVIOUS)
        outcome = _tokens(state)
        status = int64(STOPPED)
        reason = int64(0)
        if get(state, L.SAW_END) == 1 and get(state, L.LAST) == 0:
            put(state, T.STATE_STOP, T.STOP_MORE_INPUT)
        elif outcome == NOTHING and get(state, L.FATAL) == 0:
            return i
        elif get(state, T.STATE_STOP) == T.STOP_DONE:
            status, reason = _row(nodes, state, outcome)
        if status != TAKEN:
            truncate(nodes, nodes, filled)
            put(state, L.AT, at)
            put(reader, L.CHARACTER, character)
            put(reader, L.PREVIOUS, previous)
            return i
        place = get(state, L.PLACES) + 16 * i
        store_int64(place, get(state, L.RECORD))
        store_int64(place + 8, get(state, L.AT))
        if reason != 0:
            _note_bad(state, rows, reasons, i, reason)
    return count


def decode(
    nodes: int, starts: int, sizes: int, first: int, count: int, state: int, rows: int, reasons: int
) -> int:
    """Decode records from the first one on, and return how many are done.

    Args:
        nodes: the address of `ColumnTable.nodes`.
        starts: the address of the records' addresses, behind each of which 64 bytes may be loaded; of a
            stream the address of its bytes.
        sizes: the address of their sizes; below 0 is null; of a stream where its bytes end.
        first: how many records are done.
        count: how many there are; of a stream how many are wanted.
        state: the address of the state.
        rows: the address of room for the numbers of bad records.
        reasons: the address of room for their reasons.
    """
    put(state, T.STATE_STOP, T.STOP_DONE)
    if get(state, L.STREAM) == 1:
        return _decode_stream(nodes, starts, sizes, first, count, state, rows, reasons)
    return _decode_values(nodes, starts, sizes, first, count, state, rows, reasons)

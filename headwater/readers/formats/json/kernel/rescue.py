"""The column of rescued fields: the row's JSON, but only fields that the schema lacks or could not take.

It has the nesting of the row. An object or list begins in it with the first of its members that is rescued;
`_open_level` writes the levels around it. So a row without any costs nothing. A list or map that does not fit
as a whole takes back the fields that were rescued inside of it.
"""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import (
    AGAIN,
    NODE_BYTES,
    append_null,
    end_data,
    node_at,
    offset,
)
from headwater.readers.formats.columns.kernel.room import has_room_up_to, no_room
from headwater.readers.formats.json import layout as L
from headwater.readers.formats.json.kernel.frames import frame_at
from headwater.readers.formats.json.kernel.text import TEXT_GROWTH, TEXT_SPARE, put_compact, put_quoted
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.kernels.memory import called, get, inlined, int64, put, rare, store_byte, store_int32

_NULL = 0x6C6C756E
_NULL_BYTES = 5
"""With a comma."""
_MOST_LEVELS = 256
"""How many bytes are reserved for the ends of open objects and lists."""
_NAME_GROWTH = 6


@inlined
def rescue_column(nodes: int, state: int) -> int:
    """Return the node of the column."""
    return node_at(nodes, get(state, L.STATE_RESCUE))


@rare
def more_rescue_room(nodes: int, state: int) -> int:
    """Double the room of the column, whose entry may be half written. Return `AGAIN` or `STOPPED`."""
    column = rescue_column(nodes, state)
    if has_room_up_to(column, get(column, T.NODE_MOST_DATA) + 1):
        return int64(AGAIN)
    return no_room(nodes, column, state)


@inlined
def begin_rescue(state: int) -> None:
    """Begin a row."""
    put(state, L.STATE_RESCUE_END, 0)
    put(state, L.STATE_RESCUE_DEPTH, 0)


@rare
def note_frame(state: int, depth: int, at: int) -> None:
    """Note in a frame that opens where its value begins, and how far the rescued text is."""
    frame = frame_at(state, depth)
    open_levels = get(state, L.STATE_RESCUE_DEPTH)
    put(frame, L.FRAME_BEGIN, at)
    put(frame, L.FRAME_RESCUE_END, get(state, L.STATE_RESCUE_END))
    put(frame, L.FRAME_RESCUE_DEPTH, open_levels)
    if open_levels > 0:
        put(frame, L.FRAME_RESCUE_WRITTEN, get(frame_at(state, open_levels - 1), L.FRAME_WRITTEN))


@rare
def take_back(state: int, depth: int) -> int:
    """Take back the fields rescued inside of a frame, and return where its value begins."""
    frame = frame_at(state, depth)
    open_levels = get(frame, L.FRAME_RESCUE_DEPTH)
    put(state, L.STATE_RESCUE_END, get(frame, L.FRAME_RESCUE_END))
    put(state, L.STATE_RESCUE_DEPTH, open_levels)
    if open_levels > 0:
        put(frame_at(state, open_levels - 1), L.FRAME_WRITTEN, get(frame, L.FRAME_RESCUE_WRITTEN))
    return get(frame, L.FRAME_BEGIN)


@rare
def end_frame(state: int, depth: int) -> None:
    """Write the end of a frame that closes, if anything was rescued inside of it."""
    if get(state, L.STATE_RESCUE_DEPTH) != depth + 1:
        return
    end = get(state, L.STATE_RESCUE_END)
    store_byte(
        end, C.CLOSE_LIST if get(frame_at(state, depth), L.FRAME_KIND) == T.TYPE_LIST else C.CLOSE_OBJECT
    )
    put(state, L.STATE_RESCUE_END, end + 1)
    put(state, L.STATE_RESCUE_DEPTH, depth)


@rare
def rescue(nodes: int, state: int, depth: int, node: int, name: int, at: int, value_end: int) -> bool:
    """Write a field of the struct in a frame, and its value between two places.

    Args:
        nodes: the table.
        state: the kernel's state.
        depth: the number of the frame.
        node: the field; 0 if the schema does not name it.
        name: where the field's name begins in the row, if the schema does not name it.
        at: where the value begins.
        value_end: where it ends.

    Returns:
        Whether there was room: see `more_rescue_room`.
    """
    column = rescue_column(nodes, state)
    limit = get(column, T.NODE_DATA) + get(column, T.NODE_MOST_DATA) - _MOST_LEVELS
    to = get(state, L.STATE_RESCUE_END)
    # The first field that is rescued in this row.
    if to == 0:
        to = get(column, T.NODE_DATA) + get(column, T.NODE_DATA_SIZE)
    level = get(state, L.STATE_RESCUE_DEPTH)
    # The containers around the field, as far as they are not written yet.
    while level <= depth:
        to = _open_level(state, level, to, limit)
        if to == 0:
            return False
        level += 1
    to = _put_name(state, depth, node, name, at, to, limit)
    room = 2 * (TEXT_GROWTH * (value_end - at) + TEXT_SPARE)
    if to == 0 or limit - to < room:
        return False
    to = put_compact(at, value_end, to, room, get(state, L.STATE_SCRATCH), True)
    put(state, L.STATE_RESCUE_END, to)
    put(state, L.STATE_RESCUE_DEPTH, depth + 1)
    return True


@called
def _open_level(state: int, depth: int, to: int, limit: int) -> int:
    """Write the path to the value of a frame, and its beginning. Return the end; 0 without room."""
    frame = frame_at(state, depth)
    node = get(frame, L.FRAME_NODE)
    if depth > 0:
        outer = frame_at(state, depth - 1)
        kind = get(outer, L.FRAME_KIND)
        if kind == T.TYPE_STRUCT:
            to = _put_name(state, depth - 1, node, int64(0), int64(0), to, limit)
        elif kind == T.TYPE_MAP:
            to = _put_key(outer, node - NODE_BYTES, to, limit)
        else:
            to = _put_nulls(outer, node, to, limit)
        if to == 0:
            return int64(0)
    elif limit <= to:
        return int64(0)
    store_byte(to, C.OPEN_LIST if get(frame, L.FRAME_KIND) == T.TYPE_LIST else C.OPEN_OBJECT)
    put(frame, L.FRAME_WRITTEN, 0)
    return to + 1


@inlined
def _put_comma(frame: int, to: int) -> int:
    written = get(frame, L.FRAME_WRITTEN)
    put(frame, L.FRAME_WRITTEN, written + 1)
    if written == 0:
        return to
    store_byte(to, C.COMMA)
    return to + 1


@called
def _put_name(state: int, depth: int, node: int, name: int, value: int, to: int, limit: int) -> int:
    """Write the name of a field of the struct in a frame, that of a node or the one in the row."""
    size = get(node, T.NODE_NAME_SIZE) if node != 0 else value - name
    room = 2 * (TEXT_GROWTH * size + TEXT_SPARE) + _NAME_GROWTH * size
    if limit - to < room:
        return int64(0)
    to = _put_comma(frame_at(state, depth), to)
    if node != 0:
        to = put_quoted(to, get(node, T.NODE_NAME), get(node, T.NODE_NAME) + size)
        store_byte(to, C.COLON)
        return to + 1
    # The name, the colon, and no space between them.
    return put_compact(name, value, to, room, get(state, L.STATE_SCRATCH), True)


@called
def _put_key(outer: int, key: int, to: int, limit: int) -> int:
    """Write the last key of a map, whose value is the current one."""
    last = get(key, T.NODE_ENTRIES) - 1
    begin = offset(key, last)
    size = offset(key, last + 1) - begin
    if limit - to < _NAME_GROWTH * size + TEXT_SPARE:
        return int64(0)
    to = _put_comma(outer, to)
    to = put_quoted(to, get(key, T.NODE_DATA) + begin, get(key, T.NODE_DATA) + begin + size)
    store_byte(to, C.COLON)
    return to + 1


@called
def _put_nulls(outer: int, node: int, to: int, limit: int) -> int:
    """Write nulls for the elements of a list before the current one that are not written."""
    items = get(outer, L.FRAME_NODE)
    entry = get(node, T.NODE_ENTRIES) - offset(items, get(items, T.NODE_ENTRIES))
    if _is_struct(node):
        entry -= 1  # a struct has its entry when it opens
    written = get(outer, L.FRAME_WRITTEN)
    if limit - to < _NULL_BYTES * (entry - written) + TEXT_SPARE:
        return int64(0)
    while written < entry:
        to = _put_comma(outer, to)
        store_int32(to, _NULL)
        to += 4
        written += 1
    return _put_comma(outer, to)


@inlined
def _is_struct(node: int) -> bool:
    return get(node, T.NODE_TYPE) == T.TYPE_STRUCT


@called
def end_rescue(nodes: int, state: int) -> None:
    """Append the row's entry: the rescued fields, or null."""
    column = rescue_column(nodes, state)
    end = get(state, L.STATE_RESCUE_END)
    if end == 0:
        append_null(nodes, column)
        return
    end_data(column, end)

"""An object of JSON as a row of the columns.

A value that does not fit its column is a null, and the row is bad; inside of a list or map, all of that list
or map is the null. Of fields with one name the last one counts whose value fits.
"""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import (
    AGAIN,
    MISMATCH,
    NODE_BYTES,
    SYNTAX,
    TAKEN,
    append_end,
    append_null,
    append_value,
    node_at,
    truncate,
)
from headwater.readers.formats.columns.kernel.room import has_room, no_room
from headwater.readers.formats.json import layout as L
from headwater.readers.formats.json.kernel.frames import (
    close_struct,
    fields_end,
    find_field,
    frame_at,
    is_name,
    is_passed,
    open_frame,
    pass_by,
)
from headwater.readers.formats.json.kernel.rescue import (
    begin_rescue,
    end_frame,
    more_rescue_room,
    note_frame,
    rescue,
    take_back,
)
from headwater.readers.formats.json.kernel.scalars import put_scalar
from headwater.readers.formats.json.kernel.scanner import (
    skip_rest,
    skip_scalar,
    skip_space,
    skip_string,
    skip_value,
)
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import peek
from headwater.readers.kernels.memory import called, get, int64, load_byte, put, rare
from headwater.readers.kernels.utf8 import is_utf8

_NULL = 0x6E


@rare
def _is_broken_text(at: int, end: int) -> bool:
    """Whether a string begins here that has halves of surrogate pairs as bytes: see `relaxed`."""
    byte = load_byte(at)
    return (byte == C.QUOTE or byte == C.APOSTROPHE) and not is_utf8(at, skip_string(at, end))


@called
def put_object(nodes: int, at: int, end: int, state: int) -> int:
    """Decode the object that begins here as a row. Return `TAKEN`, `SYNTAX`, `STOPPED` or `AGAIN`."""
    depth = int64(0)
    levels = get(state, L.STATE_LEVELS)
    plain_names = get(state, L.STATE_PLAIN_NAMES)
    container = nodes
    kind = int64(T.TYPE_STRUCT)
    frame = frame_at(state, 0)
    open_frame(nodes, nodes, T.TYPE_STRUCT, frame)
    last = fields_end(nodes, nodes, state)
    append_value(nodes)
    at = skip_space(at + 1, end)
    empty = peek(at, end) == C.CLOSE_OBJECT
    rescues = get(state, L.STATE_RESCUE) != 0
    rewritten = get(state, L.STATE_PLACES) != 0
    name = at
    if rescues:
        begin_rescue(state)
    # Each turn reads one member or element, then the ends of containers behind it. Nested containers are
    # frames and not calls: so the variables stay in registers.
    while True:
        if not empty:
            node = int64(0)
            entry = int64(0)
            if kind == T.TYPE_LIST:
                node = get(frame, L.FRAME_NEXT)
                if not has_room(nodes, node):
                    return no_room(nodes, node, state)
                entry = get(node, T.NODE_ENTRIES)
            elif kind == T.TYPE_STRUCT:
                byte = peek(at, end)
                name = at
                node = get(frame, L.FRAME_NEXT)
                # Members mostly come in the order of the schema: the next name is compared first.
                if byte == C.QUOTE and plain_names == 1 and node < last and is_name(node, at + 1, end):
                    at += get(node, T.NODE_NAME_SIZE) + 2
                elif byte == C.QUOTE or byte == C.APOSTROPHE:
                    first = node_at(nodes, get(container, T.NODE_FIRST_CHILD))
                    node, at = find_field(first, last, at, end, state)
                    if at == 0:
                        return int64(SYNTAX)
                else:
                    return int64(SYNTAX)
                if node != 0:
                    put(frame, L.FRAME_NEXT, node + NODE_BYTES)
                # The entry of the struct is there already; its fields get theirs now.
                entry = get(container, T.NODE_ENTRIES) - 1
            else:
                entries = get(frame, L.FRAME_NEXT)
                byte = peek(at, end)
                if byte != C.QUOTE and byte != C.APOSTROPHE:
                    return int64(SYNTAX)
                if not has_room(nodes, entries):
                    return no_room(nodes, entries, state)
                entry = append_value(entries)
                key = node_at(nodes, get(entries, T.NODE_FIRST_CHILD))
                status, at = put_scalar(nodes, key, entry, at, end, state, depth)
                if status != TAKEN:
                    return status
                # The value of a map stands behind its key in the table.
                node = key + NODE_BYTES
            if kind != T.TYPE_LIST:
                if peek(at, end) != C.COLON:
                    at = skip_space(at, end)
                    if peek(at, end) != C.COLON:
                        return int64(SYNTAX)
                at = skip_space(at + 1, end)
            begin = at
            # The schema has no such field.
            if node == 0:
                at = skip_value(at, end, levels, depth + 1)
                if at == 0:
                    return int64(SYNTAX)
                if rescues and not rescue(nodes, state, depth, int64(0), name, begin, at):
                    return more_rescue_room(nodes, state)
            else:
                value_kind = get(node, T.NODE_TYPE)
                byte = peek(at, end)
                opens = (
                    byte == C.OPEN_OBJECT and (value_kind == T.TYPE_STRUCT or value_kind == T.TYPE_MAP)
                ) or (byte == C.OPEN_LIST and value_kind == T.TYPE_LIST)
                replaced = int64(0)
                # A name that comes again replaces the earlier value, if the new one fits.
                if get(node, T.NODE_ENTRIES) > entry and (
                    opens or byte == _NULL or value_kind == T.TYPE_STRING
                ):
                    replaced = at
                    if opens and value_kind != T.TYPE_STRUCT and is_passed(state, at):
                        opens = False
                    else:
                        truncate(nodes, node, entry)
                if opens:
                    depth += 1
                    frame = frame_at(state, depth)
                    open_frame(nodes, node, value_kind, frame)
                    put(frame, L.FRAME_REPLACED, replaced)
                    if rescues:
                        note_frame(state, depth, at)
                    container = node
                    kind = value_kind
                    last = fields_end(nodes, node, state)
                    if kind == T.TYPE_STRUCT:
                        append_value(node)
                    at = skip_space(at + 1, end)
                    empty = peek(at, end) == (C.CLOSE_LIST if kind == T.TYPE_LIST else C.CLOSE_OBJECT)
                    continue
                if byte == _NULL:
                    at = skip_scalar(at, end)
                    if at == 0:
                        return int64(SYNTAX)
                    put(node, T.NODE_ENTRIES, entry)
                    append_null(nodes, node)
                else:
                    if at >= end or (rewritten and _is_broken_text(at, end)):
                        return int64(SYNTAX)
                    # A scalar, where the schema has a container.
                    if value_kind == T.TYPE_STRUCT or value_kind == T.TYPE_LIST or value_kind == T.TYPE_MAP:
                        status = int64(MISMATCH)
                    else:
                        status, at = put_scalar(nodes, node, entry, at, end, state, depth + 1)
                    if status == MISMATCH:
                        if not rescues and get(state, L.STATE_REASON) == 0:
                            number = (node - nodes) // NODE_BYTES
                            put(state, L.STATE_REASON, L.REASON_MISMATCH | (number << L.REASON_BITS))
                            put(state, L.STATE_MISFIT, begin)
                        at = skip_value(at, end, levels, depth + 1)
                        # Lists and maps around it are nulls as a whole, up to the next struct.
                        while at != 0 and kind != T.TYPE_STRUCT:
                            replaced = get(frame, L.FRAME_REPLACED)
                            # The earlier value, which was dropped, counts: the row is decoded anew without
                            # this one.
                            if replaced != 0 and pass_by(state, replaced):
                                return int64(AGAIN)
                            at = skip_rest(at, end, kind == T.TYPE_MAP, levels, depth)
                            if rescues:
                                begin = take_back(state, depth)
                            depth -= 1
                            frame = frame_at(state, depth)
                            node = container
                            container = get(frame, L.FRAME_NODE)
                            kind = get(frame, L.FRAME_KIND)
                            last = fields_end(nodes, container, state)
                            if at != 0 and kind == T.TYPE_STRUCT:
                                truncate(nodes, node, get(container, T.NODE_ENTRIES) - 1)
                        if at == 0:
                            return int64(SYNTAX)
                        if rescues and not rescue(nodes, state, depth, node, name, begin, at):
                            return more_rescue_room(nodes, state)
                    elif status != TAKEN:
                        return status
        empty = False
        while True:
            at = skip_space(at, end)
            byte = peek(at, end)
            at += 1
            if byte == C.COMMA:
                at = skip_space(at, end)
                break
            if byte != (C.CLOSE_LIST if kind == T.TYPE_LIST else C.CLOSE_OBJECT):
                return int64(SYNTAX)
            if rescues:
                end_frame(state, depth)
            if kind == T.TYPE_STRUCT:
                close_struct(nodes, container, last)
                if depth == 0:
                    return int64(TAKEN)
            else:
                append_end(container, get(get(frame, L.FRAME_NEXT), T.NODE_ENTRIES))
            depth -= 1
            frame = frame_at(state, depth)
            container = get(frame, L.FRAME_NODE)
            kind = get(frame, L.FRAME_KIND)
            last = fields_end(nodes, container, state)

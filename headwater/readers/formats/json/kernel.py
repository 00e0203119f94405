"""The kernel: JSON values into columns, in one pass, without allocation or the GIL.

`kernel_entry` compiles it. A frame is a struct, list or map that is open. A value that does not fit its
column is a null, and the row is bad; inside of a list or map, all of that list or map is the null. Of fields
with one name the last one counts whose value fits.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: C901, PLR0911, PLR0912, PLR0915, PLR0917, PLR1714, SIM109
# Compiled functions take positions only, and have no cheap sets; a token is read in one loop with many ends.

from __future__ import annotations

from headwater.readers.formats.json.entries import MISMATCH, STOPPED, SYNTAX, TAKEN, more_data, stop
from headwater.readers.formats.json.layout import (
    FRAME_BYTES,
    FRAME_KIND,
    FRAME_NEXT,
    FRAME_NODE,
    FRAME_REPLACED,
    MOST_PASSED,
    REASON_MISMATCH,
    REASON_NOT_AN_OBJECT,
    REASON_NOT_JSON,
    STATE_CORRUPT,
    STATE_FIELDS_OF_ROOT,
    STATE_LEVELS,
    STATE_PASSED,
    STATE_PASSED_COUNT,
    STATE_PLAIN_NAMES,
    STATE_REASON,
    STATE_STACK,
)
from headwater.readers.formats.json.scalars import put_scalar
from headwater.readers.formats.json.scanner import (
    APOSTROPHE,
    CLOSE_LIST,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    OPEN_LIST,
    OPEN_OBJECT,
    QUOTE,
    peek,
    skip_rest,
    skip_scalar,
    skip_space,
    skip_string,
    skip_value,
)
from headwater.readers.formats.json.strings import unescaped
from headwater.readers.formats.kernel_columns import (
    NODE_BYTES,
    append_end,
    append_null,
    append_text,
    append_value,
    get,
    node_at,
    put,
    truncate,
)
from headwater.readers.formats.table_layout import (
    NODE_CHILDREN,
    NODE_ENTRIES,
    NODE_FIRST_CHILD,
    NODE_MOST_ENTRIES,
    NODE_NAME,
    NODE_NAME_SIZE,
    NODE_TYPE,
    STATE_BAD,
    STATE_STOP,
    STOP_DONE,
    STOP_MORE_ENTRIES,
    TYPE_LIST,
    TYPE_MAP,
    TYPE_STRING,
    TYPE_STRUCT,
)
from headwater.readers.kernels.memory import called, inlined, int64, load_byte, load_int64, store_int64

_NULL = 0x6E
_AGAIN = 4
"""Beside the results of `put_scalar`: the row must be decoded anew."""


@inlined
def _is_name(node: int, at: int, end: int) -> bool:
    """Return whether a node's name and a quotation mark stand here."""
    left = get(node, NODE_NAME_SIZE) + 1
    if left > end - at:
        return False
    name = get(node, NODE_NAME)
    while left >= 8:
        if load_int64(name) != load_int64(at):
            return False
        name += 8
        at += 8
        left -= 8
    return (load_int64(name) ^ load_int64(at)) & ((1 << (8 * left)) - 1) == 0


@called
def _find(first: int, count: int, at: int, end: int, state: int) -> tuple[int, int]:
    """Return the field whose name begins here with a quotation mark, 0 if there is none, and the name's end.

    The end is 0 if this is no string.
    """
    after = skip_string(at, end)
    if after == 0:
        return int64(0), int64(0)
    if load_int64(state + 8 * STATE_PLAIN_NAMES) == 1 and load_byte(at) == QUOTE:
        child = first
        for _ in range(count):
            if _is_name(child, at + 1, after):
                return child, after
            child += NODE_BYTES
    text, last = unescaped(at, after, state)
    if text == 0 or (
        text == at + 1 and load_byte(at) == QUOTE and load_int64(state + 8 * STATE_PLAIN_NAMES) == 1
    ):
        return int64(0), after
    child = first
    for _ in range(count):
        if get(child, NODE_NAME_SIZE) == last - text:
            name = get(child, NODE_NAME)
            i = 0
            while i < last - text and load_byte(name + i) == load_byte(text + i):
                i += 1
            if i == last - text:
                return child, after
        child += NODE_BYTES
    return int64(0), after


@inlined
def _frame(state: int, depth: int) -> int:
    return load_int64(state + 8 * STATE_STACK) + FRAME_BYTES * depth


@inlined
def _open(nodes: int, node: int, kind: int, frame: int) -> None:
    store_int64(frame + 8 * FRAME_NODE, node)
    store_int64(frame + 8 * FRAME_KIND, kind)
    store_int64(frame + 8 * FRAME_NEXT, node_at(nodes, get(node, NODE_FIRST_CHILD)))


@inlined
def _close_struct(nodes: int, node: int, count: int) -> None:
    """Make nulls of the fields that the object did not have."""
    entries = get(node, NODE_ENTRIES)
    child = node_at(nodes, get(node, NODE_FIRST_CHILD))
    for _ in range(count):
        if get(child, NODE_ENTRIES) < entries:
            append_null(nodes, child)
        child += NODE_BYTES


@inlined
def _has_room(node: int) -> bool:
    return get(node, NODE_ENTRIES) < get(node, NODE_MOST_ENTRIES)


@called
def _object(nodes: int, at: int, end: int, state: int) -> int:
    """Decode the object that begins here as a row. Return `TAKEN`, `SYNTAX`, `STOPPED` or `_AGAIN`."""
    depth = int64(0)
    levels = load_int64(state + 8 * STATE_LEVELS)
    root_count = load_int64(state + 8 * STATE_FIELDS_OF_ROOT)
    plain_names = load_int64(state + 8 * STATE_PLAIN_NAMES)
    container = nodes
    kind = int64(TYPE_STRUCT)
    frame = _frame(state, 0)
    _open(nodes, nodes, TYPE_STRUCT, frame)
    count = root_count
    append_value(nodes)
    at = skip_space(at + 1, end)
    empty = peek(at, end) == CLOSE_OBJECT
    while True:
        if not empty:
            node = int64(0)
            entry = int64(0)
            if kind == TYPE_LIST:
                node = load_int64(frame + 8 * FRAME_NEXT)
                if not _has_room(node):
                    return stop(state, STOP_MORE_ENTRIES, (node - nodes) // NODE_BYTES)
                entry = get(node, NODE_ENTRIES)
            elif kind == TYPE_STRUCT:
                byte = peek(at, end)
                node = load_int64(frame + 8 * FRAME_NEXT)
                if (
                    byte == QUOTE
                    and plain_names == 1
                    and node < node_at(nodes, get(container, NODE_FIRST_CHILD) + count)
                    and _is_name(node, at + 1, end)
                ):
                    at += get(node, NODE_NAME_SIZE) + 2
                elif byte == QUOTE or byte == APOSTROPHE:
                    first = node_at(nodes, get(container, NODE_FIRST_CHILD))
                    node, at = _find(first, count, at, end, state)
                    if at == 0:
                        return int64(SYNTAX)
                else:
                    return int64(SYNTAX)
                if node != 0:
                    store_int64(frame + 8 * FRAME_NEXT, node + NODE_BYTES)
                entry = get(container, NODE_ENTRIES) - 1
            else:
                entries = load_int64(frame + 8 * FRAME_NEXT)
                byte = peek(at, end)
                if byte != QUOTE and byte != APOSTROPHE:
                    return int64(SYNTAX)
                if not _has_room(entries):
                    return stop(state, STOP_MORE_ENTRIES, (entries - nodes) // NODE_BYTES)
                entry = append_value(entries)
                key = node_at(nodes, get(entries, NODE_FIRST_CHILD))
                status, at = put_scalar(nodes, key, entry, at, end, state, depth)
                if status != TAKEN:
                    return status
                node = key + NODE_BYTES
            if kind != TYPE_LIST:
                if peek(at, end) != COLON:
                    at = skip_space(at, end)
                    if peek(at, end) != COLON:
                        return int64(SYNTAX)
                at = skip_space(at + 1, end)
            if node == 0:
                at = skip_value(at, end, levels, depth + 1)
                if at == 0:
                    return int64(SYNTAX)
            else:
                value_kind = get(node, NODE_TYPE)
                byte = peek(at, end)
                opens = (byte == OPEN_OBJECT and (value_kind == TYPE_STRUCT or value_kind == TYPE_MAP)) or (
                    byte == OPEN_LIST and value_kind == TYPE_LIST
                )
                replaced = int64(0)
                if get(node, NODE_ENTRIES) > entry and (opens or byte == _NULL or value_kind == TYPE_STRING):
                    replaced = at
                    if opens and value_kind != TYPE_STRUCT and _is_passed(state, at):
                        opens = False
                    else:
                        truncate(nodes, node, entry)
                if opens:
                    depth += 1
                    frame = _frame(state, depth)
                    _open(nodes, node, value_kind, frame)
                    store_int64(frame + 8 * FRAME_REPLACED, replaced)
                    container = node
                    kind = value_kind
                    count = get(node, NODE_CHILDREN)
                    if kind == TYPE_STRUCT:
                        append_value(node)
                    at = skip_space(at + 1, end)
                    empty = peek(at, end) == (CLOSE_LIST if kind == TYPE_LIST else CLOSE_OBJECT)
                    continue
                if byte == _NULL:
                    at = skip_scalar(at, end)
                    if at == 0:
                        return int64(SYNTAX)
                    put(node, NODE_ENTRIES, entry)
                    append_null(nodes, node)
                else:
                    if at >= end:
                        return int64(SYNTAX)
                    if value_kind == TYPE_STRUCT or value_kind == TYPE_LIST or value_kind == TYPE_MAP:
                        status = int64(MISMATCH)
                    else:
                        status, at = put_scalar(nodes, node, entry, at, end, state, depth + 1)
                    if status == MISMATCH:
                        store_int64(state + 8 * STATE_REASON, REASON_MISMATCH)
                        at = skip_value(at, end, levels, depth + 1)
                        # Lists and maps around it are nulls as a whole, up to the next struct.
                        while at != 0 and kind != TYPE_STRUCT:
                            replaced = load_int64(frame + 8 * FRAME_REPLACED)
                            if replaced != 0 and _pass(state, replaced):
                                return int64(_AGAIN)
                            at = skip_rest(at, end, kind == TYPE_MAP, levels, depth)
                            depth -= 1
                            frame = _frame(state, depth)
                            node = container
                            container = load_int64(frame + 8 * FRAME_NODE)
                            kind = load_int64(frame + 8 * FRAME_KIND)
                            count = get(container, NODE_CHILDREN) if depth > 0 else root_count
                            if at != 0 and kind == TYPE_STRUCT:
                                truncate(nodes, node, get(container, NODE_ENTRIES) - 1)
                        if at == 0:
                            return int64(SYNTAX)
                    elif status != TAKEN:
                        return status
        empty = False
        while True:
            at = skip_space(at, end)
            byte = peek(at, end)
            at += 1
            if byte == COMMA:
                at = skip_space(at, end)
                break
            if byte != (CLOSE_LIST if kind == TYPE_LIST else CLOSE_OBJECT):
                return int64(SYNTAX)
            if kind == TYPE_STRUCT:
                _close_struct(nodes, container, count)
                if depth == 0:
                    return int64(TAKEN)
            else:
                append_end(container, get(load_int64(frame + 8 * FRAME_NEXT), NODE_ENTRIES))
            depth -= 1
            frame = _frame(state, depth)
            container = load_int64(frame + 8 * FRAME_NODE)
            kind = load_int64(frame + 8 * FRAME_KIND)
            count = get(container, NODE_CHILDREN) if depth > 0 else root_count


@called
def _is_passed(state: int, at: int) -> bool:
    for i in range(load_int64(state + 8 * STATE_PASSED_COUNT)):
        if load_int64(state + 8 * (STATE_PASSED + i)) == at:
            return True
    return False


@called
def _pass(state: int, at: int) -> bool:
    """Note a list or map that does not fit, and return whether there was room for that."""
    count = load_int64(state + 8 * STATE_PASSED_COUNT)
    if count == MOST_PASSED:
        return False
    store_int64(state + 8 * (STATE_PASSED + count), at)
    store_int64(state + 8 * STATE_PASSED_COUNT, count + 1)
    return True


@inlined
def _null_row(nodes: int, count: int) -> None:
    append_value(nodes)
    _close_struct(nodes, nodes, count)


@called
def _row(nodes: int, at: int, size: int, state: int) -> int:
    """Decode one value into the next row. Return `TAKEN` or `STOPPED`."""
    count = load_int64(state + 8 * STATE_FIELDS_OF_ROOT)
    store_int64(state + 8 * STATE_REASON, 0)
    row = get(nodes, NODE_ENTRIES)
    if not _has_room(nodes):
        return stop(state, STOP_MORE_ENTRIES, 0)
    end = at + max(size, 0)
    first = skip_space(at, end)
    if first == end:
        _null_row(nodes, count)
    elif load_byte(first) == OPEN_OBJECT:
        store_int64(state + 8 * STATE_PASSED_COUNT, 0)
        status = _object(nodes, first, end, state)
        while status == _AGAIN:
            truncate(nodes, nodes, row)
            status = _object(nodes, first, end, state)
        if status == STOPPED:
            return status
        if status == SYNTAX:
            truncate(nodes, nodes, row)
            _null_row(nodes, count)
            store_int64(state + 8 * STATE_REASON, REASON_NOT_JSON)
    else:
        _null_row(nodes, count)
        store_int64(state + 8 * STATE_REASON, REASON_NOT_AN_OBJECT)
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

"""Frames: the structs, lists and maps that are open in a row, and the fields of a struct by their names."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import NODE_BYTES, append_null, node_at
from headwater.readers.formats.json import layout as L
from headwater.readers.formats.json.kernel.scanner import skip_string
from headwater.readers.formats.json.kernel.strings import unescaped
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.kernels.memory import called, get, inlined, int64, load_byte, load_int64, put


@inlined
def frame_at(state: int, depth: int) -> int:
    """Return the address of a frame; the root's is 0."""
    return get(state, L.STATE_STACK) + L.FRAME_BYTES * depth


@inlined
def open_frame(nodes: int, node: int, kind: int, frame: int) -> None:
    """Begin a frame for a node."""
    put(frame, L.FRAME_NODE, node)
    put(frame, L.FRAME_KIND, kind)
    put(frame, L.FRAME_NEXT, node_at(nodes, get(node, T.NODE_FIRST_CHILD)))


@inlined
def close_struct(nodes: int, node: int, count: int) -> None:
    """Make nulls of the fields that the object did not have."""
    entries = get(node, T.NODE_ENTRIES)
    child = node_at(nodes, get(node, T.NODE_FIRST_CHILD))
    for _ in range(count):
        if get(child, T.NODE_ENTRIES) < entries:
            append_null(nodes, child)
        child += NODE_BYTES


@called
def is_passed(state: int, at: int) -> bool:
    """Return whether the list or map that begins here is known not to fit."""
    for i in range(get(state, L.STATE_PASSED_COUNT)):
        if get(state, L.STATE_PASSED + i) == at:
            return True
    return False


@called
def pass_by(state: int, at: int) -> bool:
    """Note a list or map that does not fit, and return whether there was room for that."""
    count = get(state, L.STATE_PASSED_COUNT)
    if count == L.MOST_PASSED:
        return False
    put(state, L.STATE_PASSED + count, at)
    put(state, L.STATE_PASSED_COUNT, count + 1)
    return True


@inlined
def is_name(node: int, at: int, end: int) -> bool:
    """Return whether a node's name and a quotation mark stand here."""
    remaining = get(node, T.NODE_NAME_SIZE) + 1
    if remaining > end - at:
        return False
    name = get(node, T.NODE_NAME)
    while remaining >= 8:
        if load_int64(name) != load_int64(at):
            return False
        name += 8
        at += 8
        remaining -= 8
    return (load_int64(name) ^ load_int64(at)) & ((1 << (8 * remaining)) - 1) == 0


@called
def find_field(first: int, count: int, at: int, end: int, state: int) -> tuple[int, int]:
    """Return the field whose name begins here with a quotation mark, 0 if there is none, and the name's end.

    The end is 0 if this is no string.
    """
    plain = get(state, L.STATE_PLAIN_NAMES) == 1 and load_byte(at) == C.QUOTE
    if plain:
        # A name that is one of the schema has no escapes: it need not be looked at before.
        child = first
        for _ in range(count):
            if is_name(child, at + 1, end):
                return child, at + get(child, T.NODE_NAME_SIZE) + 2
            child += NODE_BYTES
    name_end = skip_string(at, end)
    if name_end == 0:
        return int64(0), int64(0)
    text, last = unescaped(at, name_end, state)
    if text == 0 or (plain and text == at + 1):
        return int64(0), name_end
    child = first
    for _ in range(count):
        if get(child, T.NODE_NAME_SIZE) == last - text:
            name = get(child, T.NODE_NAME)
            i = 0
            while i < last - text and load_byte(name + i) == load_byte(text + i):
                i += 1
            if i == last - text:
                return child, name_end
        child += NODE_BYTES
    return int64(0), name_end

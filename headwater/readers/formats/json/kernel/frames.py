"""Frames: the structs, lists and maps that are open in a row, and the fields of a struct by their names."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import NODE_BYTES, append_null, node_at
from headwater.readers.formats.json import layout as L
from headwater.readers.formats.json.kernel.scanner import skip_string
from headwater.readers.formats.json.kernel.strings import unescaped
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.kernels.memory import called, get, inlined, int64, load_byte, load_int64, put, rare


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
def close_struct(nodes: int, node: int, end: int) -> None:
    """Make nulls of the fields that the object did not have. They end before the node ``end``."""
    entries = get(node, T.NODE_ENTRIES)
    child = node_at(nodes, get(node, T.NODE_FIRST_CHILD))
    # No range, which would divide.
    while child < end:
        if get(child, T.NODE_ENTRIES) < entries:
            append_null(nodes, child)
        child += NODE_BYTES


@inlined
def fields_end(nodes: int, node: int, state: int) -> int:
    """Return the node behind the last field of a struct; of the root, other columns follow them."""
    count = get(state, L.STATE_FIELDS_OF_ROOT) if node == nodes else get(node, T.NODE_CHILDREN)
    return node_at(nodes, get(node, T.NODE_FIRST_CHILD) + count)


@rare
def is_passed(state: int, at: int) -> bool:
    """Return whether the list or map that begins here is known not to fit."""
    for i in range(get(state, L.STATE_PASSED_COUNT)):
        if get(state, L.STATE_PASSED + i) == at:
            return True
    return False


@rare
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


@inlined
def _has_name(node: int, text: int, end: int) -> bool:
    """Return whether a text is a node's name."""
    if get(node, T.NODE_NAME_SIZE) != end - text:
        return False
    name = get(node, T.NODE_NAME)
    while text < end and load_byte(name) == load_byte(text):
        name += 1
        text += 1
    return text == end


@inlined
def _looked_up(parent: int, text: int, end: int, state: int) -> int:
    """Return the field of a wide struct with this name, 0 if there is none."""
    index = get(state, L.STATE_NAME_INDEX)
    mask = get(state, L.STATE_NAME_MASK)
    place = parent + 1
    for at in range(text, end):
        place = (place ^ load_byte(at)) * L.NAME_FACTOR
    place = (place >> L.NAME_SHIFT) & mask
    node = get(index, place)
    while node != 0 and (get(node, T.NODE_PARENT) != parent or not _has_name(node, text, end)):
        place = (place + 1) & mask
        node = get(index, place)
    return node


@called
def find_field(first: int, last: int, at: int, end: int, state: int) -> tuple[int, int]:
    """Return the field whose name begins here with a quotation mark, 0 if there is none, and the name's end.

    The fields are the nodes from ``first`` on, before ``last``. The end is 0 if this is no string.
    """
    few = last - first <= NODE_BYTES * L.FEW_FIELDS
    plain = few and get(state, L.STATE_PLAIN_NAMES) == 1 and load_byte(at) == C.QUOTE
    if plain:
        # A name that is one of the schema has no escapes: it need not be looked at before.
        child = first
        while child < last:
            if is_name(child, at + 1, end):
                return child, at + get(child, T.NODE_NAME_SIZE) + 2
            child += NODE_BYTES
    name_end = skip_string(at, end)
    if name_end == 0:
        return int64(0), int64(0)
    text, text_end = unescaped(at, name_end, state)
    if text == 0 or (plain and text == at + 1):
        return int64(0), name_end
    if not few:
        return _looked_up(get(first, T.NODE_PARENT), text, text_end, state), name_end
    for child in range(first, last, NODE_BYTES):
        if _has_name(child, text, text_end):
            return child, name_end
    return int64(0), name_end

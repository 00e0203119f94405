"""Frames: the structs, lists and maps that are open in a row."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import NODE_BYTES, append_null, get, node_at
from headwater.readers.formats.json import layout as L
from headwater.readers.kernels.memory import called, inlined, load_int64, store_int64


@inlined
def frame_at(state: int, depth: int) -> int:
    """Return the address of a frame; the root's is 0."""
    return load_int64(state + 8 * L.STATE_STACK) + L.FRAME_BYTES * depth


@inlined
def open_frame(nodes: int, node: int, kind: int, frame: int) -> None:
    """Begin a frame for a node."""
    store_int64(frame + 8 * L.FRAME_NODE, node)
    store_int64(frame + 8 * L.FRAME_KIND, kind)
    store_int64(frame + 8 * L.FRAME_NEXT, node_at(nodes, get(node, T.NODE_FIRST_CHILD)))


@inlined
def close_struct(nodes: int, node: int, count: int) -> None:
    """Make nulls of the fields that the object did not have."""
    entries = get(node, T.NODE_ENTRIES)
    child = node_at(nodes, get(node, T.NODE_FIRST_CHILD))
    for _ in range(count):
        if get(child, T.NODE_ENTRIES) < entries:
            append_null(nodes, child)
        child += NODE_BYTES


@inlined
def has_room(node: int) -> bool:
    """Return whether a node can take one more entry."""
    return get(node, T.NODE_ENTRIES) < get(node, T.NODE_MOST_ENTRIES)


@called
def is_passed(state: int, at: int) -> bool:
    """Return whether the list or map that begins here is known not to fit."""
    for i in range(load_int64(state + 8 * L.STATE_PASSED_COUNT)):
        if load_int64(state + 8 * (L.STATE_PASSED + i)) == at:
            return True
    return False


@called
def pass_by(state: int, at: int) -> bool:
    """Note a list or map that does not fit, and return whether there was room for that."""
    count = load_int64(state + 8 * L.STATE_PASSED_COUNT)
    if count == L.MOST_PASSED:
        return False
    store_int64(state + 8 * (L.STATE_PASSED + count), at)
    store_int64(state + 8 * L.STATE_PASSED_COUNT, count + 1)
    return True

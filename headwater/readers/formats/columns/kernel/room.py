"""Room in nodes, for all kernels: a buffer that is full goes on in larger memory of its own.

A buffer lies in the region that `ColumnTable` has leased, until it is full. Then it moves into memory of the
C library, which belongs to the table. So a value costs its own bytes: no other buffer moves, and no row is
decoded again. A kernel loads the address of a buffer anew after each call that may make room.
"""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import NODE_BYTES, below, node_at, stop
from headwater.readers.kernels.memory import copy_bytes, get, inlined, int64, put, rare, reallocate


@inlined
def has_room(nodes: int, node: int) -> bool:
    """Return whether a node can take one more entry, and make room for it if need be."""
    return get(node, T.NODE_ENTRIES) < get(node, T.NODE_MOST_ENTRIES) or more_entries(nodes, node)


@inlined
def has_data_room(node: int, size: int) -> bool:
    """Return whether a node can take more bytes behind the filled ones, and make room if need be."""
    return has_room_up_to(node, get(node, T.NODE_DATA_SIZE) + size)


@inlined
def has_room_up_to(node: int, end: int) -> bool:
    """Return whether the data of a node can end there, counted from its first byte; make room if need be."""
    return end <= get(node, T.NODE_MOST_DATA) or _more_data(node, end)


@rare
def no_room(nodes: int, node: int, state: int) -> int:
    """Note that a node can hold no more, and return `STOPPED`."""
    return stop(state, T.STOP_NO_ROOM, (node - nodes) // NODE_BYTES)


@rare
def more_entries(nodes: int, node: int) -> bool:
    """Double the room for entries of a node, and of the nodes below that have an entry for each of its."""
    room = get(node, T.NODE_MOST_ENTRIES)
    larger = min(2 * room, T.MOST)
    if room == larger or not _move_entries(node, larger):
        return False
    first, last = below(nodes, node, node)
    while first <= last:
        for child in range(first, last + 1, NODE_BYTES):
            parent = node_at(nodes, get(child, T.NODE_PARENT))
            entries = get(parent, T.NODE_MOST_ENTRIES)
            # Those below lists and maps have entries of their own number.
            shared = get(parent, T.NODE_TYPE) == T.TYPE_STRUCT and get(child, T.NODE_MOST_ENTRIES) < entries
            if shared and not _move_entries(child, entries):
                put(node, T.NODE_MOST_ENTRIES, room)
                return False
        first, last = below(nodes, first, last)
    return True


@rare
def _move_entries(node: int, entries: int) -> bool:
    room = get(node, T.NODE_MOST_ENTRIES)
    bits = get(node, T.NODE_VALUE_BITS)
    if bits > 0 and not _move(node, int64(T.NODE_VALUES), _bytes(room * bits), _bytes(entries * bits)):
        return False
    if not _move(node, int64(T.NODE_VALIDITY), _bytes(room), _bytes(entries)):
        return False
    put(node, T.NODE_MOST_ENTRIES, entries)
    return True


@inlined
def _bytes(bits: int) -> int:
    """Return the bytes for bits, and for the first one of offsets."""
    return (bits + 7 >> 3) + 4


@rare
def _more_data(node: int, end: int) -> bool:
    room = get(node, T.NODE_MOST_DATA)
    larger = min(max(2 * room, end), T.MOST)
    if end > larger or not _move(node, int64(T.NODE_DATA), room, larger):
        return False
    put(node, T.NODE_MOST_DATA, larger)
    return True


@rare
def _move(node: int, field: int, size: int, larger: int) -> bool:
    """Move a buffer with all its bytes into larger memory. Return False if the system has none."""
    owned = get(node, T.NODE_OWNED)
    bit = 1 << (field - T.NODE_VALUES)
    at = get(node, field)
    moved = reallocate(at if owned & bit else int64(0), larger + T.SPARE_BYTES)
    if moved == 0:
        return False
    if owned & bit == 0:
        copy_bytes(moved, at, size)
    put(node, field, moved)
    put(node, T.NODE_OWNED, owned | bit)
    return True

"""Nodes of columns, for all kernels: appends values and nulls, takes entries back.

Nodes are given by the address of their row in the table of `ColumnTable.nodes`. A struct gets its entry
before its children do, a list or map after its elements. So within a row a child of a struct whose entry is
missing has fewer entries than the struct.
"""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.kernels.memory import (
    called,
    get,
    inlined,
    int64,
    load_byte,
    load_int32,
    put,
    store_byte,
    store_int32,
)

NODE_BYTES = 8 * T.NODE_FIELDS
TAKEN = 0
MISMATCH = 1
SYNTAX = 2
STOPPED = 3
AGAIN = 4
"""The row must be decoded anew."""


@inlined
def node_at(nodes: int, index: int) -> int:
    """Return the address of a node: ``nodes`` is that of the table."""
    return nodes + NODE_BYTES * index


@inlined
def put_validity(node: int, entry: int, valid: int) -> None:
    """Write the bit of the last entry; those behind it become 0."""
    byte = get(node, T.NODE_VALIDITY) + (entry >> 3)
    bit = entry & 7
    store_byte(byte, (load_byte(byte) & ((1 << bit) - 1)) | (valid << bit))


@inlined
def put_boolean(node: int, entry: int, value: int) -> None:
    """Write the last entry of a node of booleans, 0 or 1."""
    byte = get(node, T.NODE_VALUES) + (entry >> 3)
    bit = entry & 7
    store_byte(byte, (load_byte(byte) & ((1 << bit) - 1)) | (value << bit))


@inlined
def is_variable(kind: int) -> bool:
    """Return whether values of this type have offsets."""
    return kind in (T.TYPE_STRING, T.TYPE_BINARY, T.TYPE_LIST, T.TYPE_MAP)


@inlined
def offset(node: int, entry: int) -> int:
    """Return where the data or elements of an entry begin: where those of the one before it end."""
    return load_int32(get(node, T.NODE_VALUES) + 4 * entry)


@inlined
def append_value(node: int) -> int:
    """Append an entry that is not null, whose value the caller writes; return its number.

    The caller has seen that there is room for one more entry.
    """
    entry = get(node, T.NODE_ENTRIES)
    put_validity(node, entry, 1)
    put(node, T.NODE_ENTRIES, entry + 1)
    return entry


@inlined
def append_end(node: int, end: int) -> None:
    """Append an entry of variable size whose data or elements are filled, up to ``end``."""
    entry = append_value(node)
    store_int32(get(node, T.NODE_VALUES) + 4 * (entry + 1), end)


@inlined
def _append_one_null(node: int) -> None:
    entry = get(node, T.NODE_ENTRIES)
    put_validity(node, entry, 0)
    put(node, T.NODE_ENTRIES, entry + 1)
    if is_variable(get(node, T.NODE_TYPE)):
        store_int32(get(node, T.NODE_VALUES) + 4 * (entry + 1), offset(node, entry))


@inlined
def below(nodes: int, first: int, last: int) -> tuple[int, int]:
    """Return the first and the last child of neighbours: these are neighbours too, level by level.

    The last one is before the first one where there are none.
    """
    behind = get(last, T.NODE_FIRST_CHILD) + get(last, T.NODE_CHILDREN)
    return node_at(nodes, get(first, T.NODE_FIRST_CHILD)), node_at(nodes, behind - 1)


@called
def append_null(nodes: int, node: int) -> None:
    """Append a null, to the children of a struct too."""
    _append_one_null(node)
    if get(node, T.NODE_TYPE) != T.TYPE_STRUCT:
        return
    first, last = below(nodes, node, node)
    while first <= last:
        for child in range(first, last + 1, NODE_BYTES):
            parent = node_at(nodes, get(child, T.NODE_PARENT))
            if get(parent, T.NODE_TYPE) == T.TYPE_STRUCT and get(child, T.NODE_ENTRIES) < get(
                parent, T.NODE_ENTRIES
            ):
                _append_one_null(child)
        first, last = below(nodes, first, last)


@called
def truncate(nodes: int, node: int, entries: int) -> None:
    """Take entries back until ``entries`` remain, with all that is below them.

    With the root and the number of whole rows it takes back the current row, however far that has come.
    """
    _truncate_one(node, entries)
    first, last = below(nodes, node, node)
    while first <= last:
        for child in range(first, last + 1, NODE_BYTES):
            parent = node_at(nodes, get(child, T.NODE_PARENT))
            remaining = get(parent, T.NODE_ENTRIES)
            if get(parent, T.NODE_TYPE) != T.TYPE_STRUCT:
                remaining = offset(parent, remaining)
            if get(child, T.NODE_ENTRIES) > remaining:
                _truncate_one(child, remaining)
        first, last = below(nodes, first, last)


@inlined
def _truncate_one(node: int, entries: int) -> None:
    put(node, T.NODE_ENTRIES, entries)
    kind = get(node, T.NODE_TYPE)
    if kind in (T.TYPE_STRING, T.TYPE_BINARY):
        put(node, T.NODE_DATA_SIZE, offset(node, entries))


@inlined
def stop(state: int, why: int, node: int) -> int:
    """Note why the kernel has to return, and return `STOPPED`."""
    put(state, T.STATE_STOP, why)
    put(state, T.STATE_NODE, node)
    return int64(STOPPED)


@inlined
def begin_entry(node: int, entry: int) -> int:
    """Append the value's entry, or begin the one anew that an earlier field of this name has filled."""
    put_validity(node, entry, 1)
    put(node, T.NODE_ENTRIES, entry + 1)
    return get(node, T.NODE_VALUES)


@inlined
def end_data(node: int, end: int) -> None:
    """Append the entry whose bytes end here."""
    filled = end - get(node, T.NODE_DATA)
    put(node, T.NODE_DATA_SIZE, filled)
    append_end(node, filled)

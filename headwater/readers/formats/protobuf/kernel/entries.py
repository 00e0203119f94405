"""Entries of columns, for the kernel: opened, filled in any order, emptied, and ended.

A message may say the same field again, and in any order. So in each row, element of a list and entry of a map
all nodes below it that have one value each are open until its end: a value is overwritten by a later one, and
a message is merged with a later one. Bytes that were overwritten are given back, since only the last entry of
a node is open.
"""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import node_at, offset, put_validity, truncate
from headwater.readers.formats.columns.kernel.room import has_room, no_room
from headwater.readers.formats.columns.kernel.text import write_base64, write_bytes
from headwater.readers.formats.protobuf import layout as L
from headwater.readers.formats.protobuf.kernel.numbers import store_number
from headwater.readers.kernels.memory import (
    always_inlined,
    called,
    get,
    inlined,
    load_byte,
    load_int64,
    put,
    store_byte,
    store_int32,
    store_int64,
)


@always_inlined
def is_set(node: int, entry: int) -> int:
    """Return the bit of an entry."""
    return (load_byte(get(node, T.NODE_VALIDITY) + (entry >> 3)) >> (entry & 7)) & 1


@always_inlined
def set_valid(node: int, entry: int) -> None:
    """Set the bit of an entry, and no other."""
    byte = get(node, T.NODE_VALIDITY) + (entry >> 3)
    store_byte(byte, load_byte(byte) | (1 << (entry & 7)))


@called
def empty(nodes: int, node: int, entry: int) -> None:
    """Make the open entry null, and give back the entries below it."""
    byte = get(node, T.NODE_VALIDITY) + (entry >> 3)
    store_byte(byte, load_byte(byte) & ~(1 << (entry & 7)))
    kind = get(node, T.NODE_TYPE)
    if kind in (T.TYPE_STRING, T.TYPE_BINARY):
        put(node, T.NODE_DATA_SIZE, offset(node, entry))
    elif kind in (T.TYPE_LIST, T.TYPE_MAP):
        truncate(nodes, node_at(nodes, get(node, T.NODE_FIRST_CHILD)), offset(node, entry))
    elif kind == T.TYPE_STRUCT:
        for i in range(get(node, T.NODE_CHILDREN)):
            empty(nodes, node_at(nodes, get(node, T.NODE_FIRST_CHILD) + i), entry)


@called
def choose(plan: int, op: int, entry: int) -> None:
    """Note which field of a oneof is set: the one that is set last makes the others null."""
    oneof = get(op, L.OP_ONEOF)
    if oneof != 0:
        previous = load_int64(oneof)
        node = get(op, L.OP_NODE)
        if previous not in (0, node) and is_set(previous, entry):
            empty(get(plan, L.PLAN_NODES), previous, entry)
        store_int64(oneof, node)


@called
def full(plan: int, node: int) -> int:
    """Say which node can hold no more, and return `STOPPED`."""
    no_room(get(plan, L.PLAN_NODES), node, get(plan, L.PLAN_STATE))
    return L.STOPPED


@inlined
def append_element(plan: int, node: int) -> int:
    """Append an entry that is not null, and return its number, or `STOPPED`."""
    if not has_room(get(plan, L.PLAN_NODES), node):
        return full(plan, node)
    entry = get(node, T.NODE_ENTRIES)
    put_validity(node, entry, 1)
    put(node, T.NODE_ENTRIES, entry + 1)
    return entry


@called
def begin_entry(plan: int, frame: int, node: int) -> int:
    """Open one more entry of an element or map entry, and return its number, or `STOPPED`."""
    entry = append_element(plan, node)
    if entry != L.STOPPED:
        at = get(frame, L.FRAME_NODES)
        for i in range(get(frame, L.FRAME_NODE_COUNT)):
            each = get(at, i)
            put_validity(each, entry, 0)
            put(each, T.NODE_ENTRIES, entry + 1)
        set_valid(node, entry)
    return entry


@called
def _put_default(plan: int, end: int, node: int, entry: int) -> int:
    conversion = get(end, L.END_CONVERSION)
    default = get(end, L.END_DEFAULT)
    if conversion == L.CONVERT_BINARY:
        size = get(end, L.END_DEFAULT_SIZE)
        filled = write_bytes(node, offset(node, entry), default, size, 0)
        if filled < 0:
            return full(plan, node)
        put(node, T.NODE_DATA_SIZE, filled)
    elif conversion >= 0:
        store_number(conversion, get(node, T.NODE_VALUES), entry, default)
    set_valid(node, entry)
    return L.GOOD


@called
def _put_missing(plan: int, frame: int, entry: int) -> int:
    """Write defaults where fields are missing."""
    end = get(frame, L.FRAME_ENDS)
    for _ in range(get(frame, L.FRAME_END_COUNT)):
        node = get(end, L.END_NODE)
        if not is_set(node, entry):
            parent = get(end, L.END_PARENT)
            if parent == 0 or is_set(parent, entry):
                if get(end, L.END_MISSING) == L.MISSING_IS_BAD:
                    return L.BAD_REQUIRED
                if _put_default(plan, end, node, entry) != L.GOOD:
                    return L.STOPPED
        end += 8 * L.END_FIELDS
    return L.GOOD


@always_inlined
def end_entry(plan: int, frame: int, entry: int) -> int:
    """Complete an entry behind its values: defaults, lists without elements, offsets."""
    if get(frame, L.FRAME_END_COUNT) != 0:
        status = _put_missing(plan, frame, entry)
        if status != L.GOOD:
            return status
    lists = get(frame, L.FRAME_LISTS)
    for i in range(get(frame, L.FRAME_LIST_COUNT)):
        set_valid(get(lists, i), entry)
    put_offsets(frame, entry)
    return L.GOOD


@always_inlined
def put_offsets(frame: int, entry: int) -> None:
    """Write where data and elements of an entry end; alone it makes a null."""
    pair = get(frame, L.FRAME_OFFSETS)
    for _ in range(get(frame, L.FRAME_OFFSET_COUNT)):
        filled = load_int64(get(pair, 1))
        store_int32(get(get(pair, 0), T.NODE_VALUES) + 4 * (entry + 1), filled)
        pair += 16


@called
def put_corrupt(plan: int, node: int, row: int, at: int, size: int) -> int:
    """Write a bad value into the column for these."""
    filled = write_base64(node, offset(node, row), at, size)
    if filled < 0:
        return full(plan, node)
    put(node, T.NODE_DATA_SIZE, filled)
    set_valid(node, row)
    return L.GOOD

"""What every format's kernel does with columns: appends values and nulls, takes entries back, checks UTF-8.

Nodes are given by the address of their row in the table of `ColumnTable.nodes`. A struct gets its entry
before its children do, a list or map after its elements. So within a row a child of a struct whose entry is
missing has fewer entries than the struct.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from headwater.readers.formats.table_layout import (
    NODE_CHILDREN,
    NODE_DATA,
    NODE_DATA_SIZE,
    NODE_ENTRIES,
    NODE_FIELDS,
    NODE_FIRST_CHILD,
    NODE_MOST_DATA,
    NODE_PARENT,
    NODE_TYPE,
    NODE_VALIDITY,
    NODE_VALUES,
    TYPE_BINARY,
    TYPE_LIST,
    TYPE_MAP,
    TYPE_STRING,
    TYPE_STRUCT,
)
from headwater.readers.kernels.memory import (
    CHUNK_BYTES,
    called,
    copy_bytes,
    inlined,
    load_byte,
    load_field,
    load_int32,
    non_ascii,
    store_byte,
    store_field,
    store_int32,
)

NODE_BYTES = 8 * NODE_FIELDS
REPLACEMENT_GROWTH = 3
"""So many bytes one byte of invalid UTF-8 may become: U+FFFD has three."""


@inlined
def node_at(nodes: int, index: int) -> int:
    """Return the address of a node: ``nodes`` is that of the table."""
    return nodes + NODE_BYTES * index


get = cast("Callable[[int, int], int]", load_field)
"""Return one of the fields ``NODE_...`` of a node."""
put = cast("Callable[[int, int, int], None]", store_field)
"""Set one of the fields ``NODE_...`` of a node."""


@inlined
def put_validity(node: int, entry: int, valid: int) -> None:
    """Write the bit of the last entry; those behind it become 0."""
    byte = get(node, NODE_VALIDITY) + (entry >> 3)
    bit = entry & 7
    store_byte(byte, (load_byte(byte) & ((1 << bit) - 1)) | (valid << bit))


@inlined
def put_boolean(node: int, entry: int, value: int) -> None:
    """Write the last entry of a node of booleans, 0 or 1."""
    byte = get(node, NODE_VALUES) + (entry >> 3)
    bit = entry & 7
    store_byte(byte, (load_byte(byte) & ((1 << bit) - 1)) | (value << bit))


@inlined
def is_variable(kind: int) -> bool:
    """Return whether values of this type have offsets."""
    return kind in (TYPE_STRING, TYPE_BINARY, TYPE_LIST, TYPE_MAP)


@inlined
def offset(node: int, entry: int) -> int:
    """Return where the data or elements of an entry begin: where those of the one before it end."""
    return load_int32(get(node, NODE_VALUES) + 4 * entry)


@inlined
def append_value(node: int) -> int:
    """Append an entry that is not null, whose value the caller writes; return its number.

    The caller has seen that there is room for one more entry.
    """
    entry = get(node, NODE_ENTRIES)
    put_validity(node, entry, 1)
    put(node, NODE_ENTRIES, entry + 1)
    return entry


@inlined
def append_end(node: int, end: int) -> None:
    """Append an entry of variable size whose data or elements are filled, up to ``end``."""
    entry = append_value(node)
    store_int32(get(node, NODE_VALUES) + 4 * (entry + 1), end)


@inlined
def _append_one_null(node: int) -> None:
    entry = get(node, NODE_ENTRIES)
    put_validity(node, entry, 0)
    put(node, NODE_ENTRIES, entry + 1)
    if is_variable(get(node, NODE_TYPE)):
        store_int32(get(node, NODE_VALUES) + 4 * (entry + 1), offset(node, entry))


@inlined
def _below(nodes: int, first: int, last: int) -> tuple[int, int]:
    """Return the first and the last child of neighbours: these are neighbours too, level by level.

    The last one is before the first one where there are none.
    """
    behind = get(last, NODE_FIRST_CHILD) + get(last, NODE_CHILDREN)
    return node_at(nodes, get(first, NODE_FIRST_CHILD)), node_at(nodes, behind - 1)


@called
def append_null(nodes: int, node: int) -> None:
    """Append a null, to the children of a struct too."""
    _append_one_null(node)
    if get(node, NODE_TYPE) != TYPE_STRUCT:
        return
    first, last = _below(nodes, node, node)
    while first <= last:
        for child in range(first, last + 1, NODE_BYTES):
            parent = node_at(nodes, get(child, NODE_PARENT))
            if get(parent, NODE_TYPE) == TYPE_STRUCT and get(child, NODE_ENTRIES) < get(parent, NODE_ENTRIES):
                _append_one_null(child)
        first, last = _below(nodes, first, last)


@called
def truncate(nodes: int, node: int, entries: int) -> None:
    """Take entries back until so many are left, with all that is below them.

    With the root and the number of whole rows it takes back the row in hand, however far that has come.
    """
    _truncate_one(node, entries)
    first, last = _below(nodes, node, node)
    while first <= last:
        for child in range(first, last + 1, NODE_BYTES):
            parent = node_at(nodes, get(child, NODE_PARENT))
            left = get(parent, NODE_ENTRIES)
            if get(parent, NODE_TYPE) != TYPE_STRUCT:
                left = offset(parent, left)
            if get(child, NODE_ENTRIES) > left:
                _truncate_one(child, left)
        first, last = _below(nodes, first, last)


@inlined
def _truncate_one(node: int, entries: int) -> None:
    put(node, NODE_ENTRIES, entries)
    kind = get(node, NODE_TYPE)
    if kind in (TYPE_STRING, TYPE_BINARY):
        put(node, NODE_DATA_SIZE, offset(node, entries))


@called
def is_utf8(at: int, end: int) -> bool:
    """Return whether these bytes are well-formed UTF-8. Up to `CHUNK_BYTES` bytes behind them are loaded."""
    while at < end:
        if load_byte(at) < 0x80:
            if end - at >= CHUNK_BYTES and non_ascii(at) == 0:
                at += CHUNK_BYTES
            else:
                at += 1
            continue
        size = _sequence(at, end)
        if size <= 0:
            return False
        at += size
    return True


@called
def put_utf8(to: int, at: int, end: int) -> int:
    """Copy bytes as well-formed UTF-8, and return the end of the copy.

    Each maximal part of a sequence that is broken off, and each byte that begins none, becomes U+FFFD, as
    Unicode recommends; so does a surrogate of three bytes, as in Java. There is room for
    `REPLACEMENT_GROWTH` times the bytes.
    """
    while at < end:
        byte = load_byte(at)
        if byte < 0x80:
            store_byte(to, byte)
            to += 1
            at += 1
            continue
        size = _sequence(at, end)
        if size > 0:
            for i in range(size):
                store_byte(to + i, load_byte(at + i))
            to += size
            at += size
        else:
            store_byte(to, 0xEF)
            store_byte(to + 1, 0xBF)
            store_byte(to + 2, 0xBD)
            to += 3
            at -= size
    return to


@inlined
def _sequence(at: int, end: int) -> int:
    """Return how many bytes the sequence here has; if it is broken, how many belong to it, below 0."""
    lead = load_byte(at)
    if lead < 0x80:
        return 1
    if lead < 0xC2 or lead > 0xF4:
        return -1
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    # The second byte is what tells overlong forms, and what is above U+10FFFF.
    least = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
    most = 0x8F if lead == 0xF4 else 0xBF
    for i in range(1, size):
        if at + i >= end:
            return -i
        byte = load_byte(at + i)
        if byte < least or byte > most:
            return -i
        least = 0x80
        most = 0xBF
    if lead == 0xED and load_byte(at + 1) > 0x9F:
        return -3  # a surrogate
    return size


@called
def append_bytes(node: int, at: int, size: int) -> bool:
    """Append a value of bytes. Return False, and append nothing, if its data has not enough room."""
    used = get(node, NODE_DATA_SIZE)
    if size > get(node, NODE_MOST_DATA) - used:
        return False
    copy_bytes(get(node, NODE_DATA) + used, at, size)
    put(node, NODE_DATA_SIZE, used + size)
    append_end(node, used + size)
    return True


@called
def append_text(node: int, at: int, size: int) -> bool:
    """Append a string, as `put_utf8` makes it. Return False, and append nothing, without enough room."""
    if is_utf8(at, at + size):
        return append_bytes(node, at, size)
    used = get(node, NODE_DATA_SIZE)
    if REPLACEMENT_GROWTH * size > get(node, NODE_MOST_DATA) - used:
        return False
    data = get(node, NODE_DATA)
    filled = put_utf8(data + used, at, at + size) - data
    put(node, NODE_DATA_SIZE, filled)
    append_end(node, filled)
    return True

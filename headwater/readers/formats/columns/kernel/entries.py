"""Entries of nodes, as the functions that decode values fill them, and how these end."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import NODE_BYTES, append_end, get, put, put_validity
from headwater.readers.kernels.memory import inlined, int64, store_int64

TAKEN = 0
MISMATCH = 1
SYNTAX = 2
STOPPED = 3


@inlined
def stop(state: int, why: int, node: int) -> int:
    """Note why the kernel has to return, and return `STOPPED`."""
    store_int64(state + 8 * T.STATE_STOP, why)
    store_int64(state + 8 * T.STATE_NODE, node)
    return int64(STOPPED)


@inlined
def begin_entry(node: int, entry: int) -> int:
    """Append the value's entry, or begin the one anew that an earlier field of this name has filled."""
    put_validity(node, entry, 1)
    put(node, T.NODE_ENTRIES, entry + 1)
    return get(node, T.NODE_VALUES)


@inlined
def data_room(node: int) -> int:
    """Return how many more bytes the data of a node can hold."""
    return get(node, T.NODE_MOST_DATA) - get(node, T.NODE_DATA_SIZE)


@inlined
def more_data(nodes: int, node: int, state: int) -> int:
    """Ask for more room for the bytes of a node."""
    return stop(state, T.STOP_MORE_DATA, (node - nodes) // NODE_BYTES)


@inlined
def end_data(node: int, end: int) -> None:
    """Append the entry whose bytes end here."""
    filled = end - get(node, T.NODE_DATA)
    put(node, T.NODE_DATA_SIZE, filled)
    append_end(node, filled)

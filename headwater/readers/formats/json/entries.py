"""Entries of nodes, as the functions that decode values fill them, and how these end."""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

from __future__ import annotations

from headwater.readers.formats.kernel_columns import NODE_BYTES, append_end, get, put, put_validity
from headwater.readers.formats.table_layout import (
    NODE_DATA,
    NODE_DATA_SIZE,
    NODE_ENTRIES,
    NODE_MOST_DATA,
    NODE_VALUES,
    STATE_NODE,
    STATE_STOP,
    STOP_MORE_DATA,
)
from headwater.readers.kernels.memory import inlined, int64, store_int64

TAKEN = 0
MISMATCH = 1
SYNTAX = 2
STOPPED = 3


@inlined
def stop(state: int, why: int, node: int) -> int:
    """Note why the kernel has to return, and return `STOPPED`."""
    store_int64(state + 8 * STATE_STOP, why)
    store_int64(state + 8 * STATE_NODE, node)
    return int64(STOPPED)


@inlined
def begin_entry(node: int, entry: int) -> int:
    """Append the value's entry, or begin the one anew that an earlier field of this name has filled."""
    put_validity(node, entry, 1)
    put(node, NODE_ENTRIES, entry + 1)
    return get(node, NODE_VALUES)


@inlined
def data_room(node: int) -> int:
    """Return how many more bytes the data of a node can hold."""
    return get(node, NODE_MOST_DATA) - get(node, NODE_DATA_SIZE)


@inlined
def more_data(nodes: int, node: int, state: int) -> int:
    """Ask for more room for the bytes of a node."""
    return stop(state, STOP_MORE_DATA, (node - nodes) // NODE_BYTES)


@inlined
def end_data(node: int, end: int) -> None:
    """Append the entry whose bytes end here."""
    filled = end - get(node, NODE_DATA)
    put(node, NODE_DATA_SIZE, filled)
    append_end(node, filled)

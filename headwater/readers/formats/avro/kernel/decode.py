"""The kernel: runs a program of operations over each value, and fills the columns.

A program comes from two schemas: which of the writer's bytes become which of the reader's columns. Every read
is checked against the end of its value, and every write against the room of its node.
"""

from __future__ import annotations

from headwater.readers.formats.avro import layout as L
from headwater.readers.formats.avro.kernel.operations import GOOD, NO_ROOM, read_value
from headwater.readers.formats.avro.kernel.values import put_end, put_nulls
from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import NODE_BYTES, offset, put_validity
from headwater.readers.formats.columns.kernel.room import no_room
from headwater.readers.formats.columns.kernel.text import write_base64
from headwater.readers.kernels.memory import called, get, load_byte, load_int32, put, swapped_int32

_PROGRAM_BYTES = 8 * L.PROGRAM_FIELDS


def decode(inputs: int, row: int) -> int:
    """Decode values from ``row`` on. Return how many are done; the state says why there are no more.

    Args:
        inputs: the address of the numbers ``IN_...``.
        row: the first value.
    """
    data = get(inputs, L.IN_DATA)
    limit = data + get(inputs, L.IN_DATA_SIZE)
    starts = get(inputs, L.IN_STARTS)
    sizes = get(inputs, L.IN_SIZES)
    rows = get(inputs, L.IN_ROWS)
    header = get(inputs, L.IN_HEADER)
    nodes = get(inputs, L.IN_NODES)
    filled = get(nodes, T.NODE_ENTRIES) - row
    program = get(inputs, L.IN_PROGRAMS)
    stop = T.STOP_DONE
    while row < rows:
        size = get(sizes, row)
        if size < 0:
            put_nulls(nodes, get(inputs, L.IN_NULLS), get(inputs, L.IN_NULL_COUNT), filled + row)
            row += 1
            continue
        put_nulls(nodes, inputs + 8 * L.IN_CORRUPT, get(inputs, L.IN_CORRUPT_COUNT), filled + row)
        begin = data + get(starts, row)
        outcome = L.REASON_HEADER
        if header == 0:
            outcome = read_value(begin, begin + size, filled + row, program, inputs, limit)
        elif size >= header and load_byte(begin) == 0:
            schema: int = swapped_int32(load_int32(begin + 1))
            if schema >= 0:
                if schema != get(program, L.PROGRAM_ID):
                    program = _program_of(inputs, schema)
                    if program == 0:
                        stop = L.STOP_SCHEMA
                        break
                outcome = read_value(begin + header, begin + size, filled + row, program, inputs, limit)
        if outcome >= 0:
            outcome = _put_bad(inputs, row, filled + row, outcome)
        if outcome != GOOD:
            stop = T.STOP_NO_ROOM
            break
        row += 1
    _settle(nodes, get(inputs, L.IN_NODE_COUNT), filled + row)
    put(get(inputs, L.IN_STATE), T.STATE_STOP, stop)
    return row


@called
def _program_of(inputs: int, schema: int) -> int:
    """Return the program of a schema; 0 if there is none yet."""
    program = get(inputs, L.IN_PROGRAMS)
    for _ in range(get(inputs, L.IN_PROGRAM_COUNT)):
        if get(program, L.PROGRAM_ID) == schema:
            return program
        program += _PROGRAM_BYTES
    return 0


@called
def _put_bad(inputs: int, row: int, entry: int, reason: int) -> int:
    """Make nulls of a bad value, and note it. Return `GOOD`, or `NO_ROOM` as `read_value` does."""
    nodes = get(inputs, L.IN_NODES)
    state = get(inputs, L.IN_STATE)
    _settle(nodes, get(inputs, L.IN_NODE_COUNT), entry)
    put_nulls(nodes, get(inputs, L.IN_NULLS), get(inputs, L.IN_NULL_COUNT), entry)
    if get(inputs, L.IN_CORRUPT_COUNT) == 1:
        corrupt = nodes + get(inputs, L.IN_CORRUPT)
        at = get(inputs, L.IN_DATA) + get(get(inputs, L.IN_STARTS), row)
        end = write_base64(corrupt, offset(corrupt, entry), at, get(get(inputs, L.IN_SIZES), row))
        if end < 0:
            no_room(nodes, corrupt, state)
            return NO_ROOM
        put_end(corrupt, entry, end)
        put_validity(corrupt, entry, 1)
    bad = get(state, T.STATE_BAD)
    put(get(inputs, L.IN_BAD_ROWS), bad, row)
    put(get(inputs, L.IN_BAD_REASONS), bad, reason)
    put(state, T.STATE_BAD, bad + 1)
    return GOOD


@called
def _settle(nodes: int, count: int, rows: int) -> None:
    """Set the size of each column to that of ``rows`` whole rows: entries beyond are taken back."""
    put(nodes, T.NODE_ENTRIES, rows)
    node = nodes
    for _ in range(1, count):
        node += NODE_BYTES
        parent = nodes + NODE_BYTES * get(node, T.NODE_PARENT)
        entries = get(parent, T.NODE_ENTRIES)
        kind = get(parent, T.NODE_TYPE)
        if kind in (T.TYPE_LIST, T.TYPE_MAP):
            entries = offset(parent, entries)
        put(node, T.NODE_ENTRIES, entries)
        kind = get(node, T.NODE_TYPE)
        if kind in (T.TYPE_STRING, T.TYPE_BINARY):
            put(node, T.NODE_DATA_SIZE, offset(node, entries))

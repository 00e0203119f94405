"""The kernel: runs a program of operations over each value, and fills the columns.

A program comes from two schemas: which of the writer's bytes become which of the reader's columns. Every read
is checked against the end of its value, and every write against the room of its node.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

from __future__ import annotations

from headwater.readers.formats.avro.kernel_operations import GOOD, MORE_DATA, MORE_ENTRIES, read_value
from headwater.readers.formats.avro.kernel_values import put_end, put_nulls
from headwater.readers.formats.avro.layout import (
    IN_BAD_REASONS,
    IN_BAD_ROWS,
    IN_CORRUPT,
    IN_CORRUPT_COUNT,
    IN_DATA,
    IN_DATA_SIZE,
    IN_HEADER,
    IN_NODE_COUNT,
    IN_NODES,
    IN_NULL_COUNT,
    IN_NULLS,
    IN_PROGRAM_COUNT,
    IN_PROGRAMS,
    IN_ROWS,
    IN_SIZES,
    IN_STARTS,
    IN_STATE,
    PROGRAM_FIELDS,
    PROGRAM_ID,
    REASON_HEADER,
    STOP_SCHEMA,
)
from headwater.readers.formats.kernel_columns import (
    NODE_BYTES,
    get,
    node_index,
    offset,
    put,
    put_validity,
)
from headwater.readers.formats.kernel_text import write_base64
from headwater.readers.formats.table_layout import (
    NODE_DATA_SIZE,
    NODE_ENTRIES,
    NODE_PARENT,
    NODE_TYPE,
    STATE_BAD,
    STATE_NODE,
    STATE_STOP,
    STOP_DONE,
    STOP_MORE_DATA,
    STOP_MORE_ENTRIES,
    TYPE_BINARY,
    TYPE_LIST,
    TYPE_MAP,
    TYPE_STRING,
)
from headwater.readers.kernels.memory import (
    called,
    inlined,
    load_byte,
    load_field,
    load_int32,
    store_int64,
    swapped_int32,
)

_PROGRAM_BYTES = 8 * PROGRAM_FIELDS

_at = load_field


@inlined
def decode(given: int, row: int) -> int:
    """Decode values from ``row`` on. Return how many are done; the state says why there are no more.

    Args:
        given: the address of the numbers ``IN_...``.
        row: the first value.
    """
    data = _at(given, IN_DATA)
    limit = data + _at(given, IN_DATA_SIZE)
    starts = _at(given, IN_STARTS)
    sizes = _at(given, IN_SIZES)
    rows = _at(given, IN_ROWS)
    header = _at(given, IN_HEADER)
    nodes = _at(given, IN_NODES)
    filled = get(nodes, NODE_ENTRIES) - row
    program = _at(given, IN_PROGRAMS)
    stop = STOP_DONE
    while row < rows:
        size = _at(sizes, row)
        if size < 0:
            put_nulls(nodes, _at(given, IN_NULLS), _at(given, IN_NULL_COUNT), filled + row)
            row += 1
            continue
        put_nulls(nodes, given + 8 * IN_CORRUPT, _at(given, IN_CORRUPT_COUNT), filled + row)
        begin = data + _at(starts, row)
        outcome = REASON_HEADER
        if header == 0:
            outcome = read_value(begin, begin + size, filled + row, program, given, limit)
        elif size >= header and load_byte(begin) == 0:
            schema: int = swapped_int32(load_int32(begin + 1))
            if schema >= 0:
                if schema != _at(program, PROGRAM_ID):
                    program = _program_of(given, schema)
                    if program == 0:
                        stop = STOP_SCHEMA
                        break
                outcome = read_value(begin + header, begin + size, filled + row, program, given, limit)
        if outcome >= 0:
            outcome = _put_bad(given, row, filled + row, outcome)
        if outcome != GOOD:
            stop = STOP_MORE_ENTRIES if outcome == MORE_ENTRIES else STOP_MORE_DATA
            break
        row += 1
    _settle(nodes, _at(given, IN_NODE_COUNT), filled + row)
    store_int64(_at(given, IN_STATE) + 8 * STATE_STOP, stop)
    return row


@called
def _program_of(given: int, schema: int) -> int:
    """Return the program of a schema; 0 if there is none yet."""
    program = _at(given, IN_PROGRAMS)
    for _ in range(_at(given, IN_PROGRAM_COUNT)):
        if _at(program, PROGRAM_ID) == schema:
            return program
        program += _PROGRAM_BYTES
    return 0


@called
def _put_bad(given: int, row: int, entry: int, reason: int) -> int:
    """Make nulls of a bad value, and note it. Return `GOOD`, or `MORE_DATA` as `read_value` does."""
    nodes = _at(given, IN_NODES)
    state = _at(given, IN_STATE)
    _settle(nodes, _at(given, IN_NODE_COUNT), entry)
    put_nulls(nodes, _at(given, IN_NULLS), _at(given, IN_NULL_COUNT), entry)
    if _at(given, IN_CORRUPT_COUNT) == 1:
        corrupt = nodes + _at(given, IN_CORRUPT)
        at = _at(given, IN_DATA) + _at(_at(given, IN_STARTS), row)
        end = write_base64(corrupt, offset(corrupt, entry), at, _at(_at(given, IN_SIZES), row))
        if end < 0:
            store_int64(state + 8 * STATE_NODE, node_index(nodes, corrupt))
            return MORE_DATA
        put_end(corrupt, entry, end)
        put_validity(corrupt, entry, 1)
    bad = _at(state, STATE_BAD)
    store_int64(_at(given, IN_BAD_ROWS) + 8 * bad, row)
    store_int64(_at(given, IN_BAD_REASONS) + 8 * bad, reason)
    store_int64(state + 8 * STATE_BAD, bad + 1)
    return GOOD


@called
def _settle(nodes: int, count: int, rows: int) -> None:
    """Set how much of each column is filled once so many rows are whole: what is beyond is taken back."""
    put(nodes, NODE_ENTRIES, rows)
    node = nodes
    for _ in range(1, count):
        node += NODE_BYTES
        parent = nodes + NODE_BYTES * get(node, NODE_PARENT)
        entries = get(parent, NODE_ENTRIES)
        kind = get(parent, NODE_TYPE)
        if kind in (TYPE_LIST, TYPE_MAP):
            entries = offset(parent, entries)
        put(node, NODE_ENTRIES, entries)
        kind = get(node, NODE_TYPE)
        if kind in (TYPE_STRING, TYPE_BINARY):
            put(node, NODE_DATA_SIZE, offset(node, entries))

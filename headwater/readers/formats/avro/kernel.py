"""The kernel: runs a program of operations over each value, and fills the columns.

A program comes from two schemas: which of the writer's bytes become which of the reader's columns. Every read
is checked against the end of its value, and every write against the room of its node.

All columns that have an entry a row share the row's number; those in lists share the number of the element.
So no entries are counted but those of elements, and a row that is given up leaves nothing to tidy but these:
where each column ends follows from the offsets of the last whole row.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: PLR1714, SIM109 - comparisons are compiled to jumps, tuples are made and searched

from __future__ import annotations

import numba

from headwater.readers.formats.avro.layout import (
    FRAME_BEGIN,
    FRAME_ENTRY,
    FRAME_FIELDS,
    FRAME_LEFT,
    IN_BAD_REASONS,
    IN_BAD_ROWS,
    IN_DATA,
    IN_DATA_SIZE,
    IN_FRAMES,
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
    MOST_EMPTY_ITEMS,
    OP_A,
    OP_B,
    OP_BOOLEAN,
    OP_BYTES,
    OP_CODE,
    OP_DECIMAL,
    OP_DEFAULT,
    OP_DEFAULT_END,
    OP_DOUBLE,
    OP_ENUM,
    OP_FAIL,
    OP_FIELDS,
    OP_FIXED,
    OP_FLOAT,
    OP_FLOAT_DOUBLE,
    OP_INT,
    OP_INT_DOUBLE,
    OP_INT_FLOAT,
    OP_INT_LONG,
    OP_ITEM,
    OP_ITEM_END,
    OP_JUMP,
    OP_LIST,
    OP_LONG,
    OP_LONG_DOUBLE,
    OP_LONG_FLOAT,
    OP_LONG_TIMES,
    OP_NODE,
    OP_NULL,
    OP_SKIP_BYTES,
    OP_SKIP_FIXED,
    OP_SKIP_INT,
    OP_SKIP_ITEM,
    OP_SKIP_ITEM_END,
    OP_SKIP_LIST,
    OP_SKIP_LONG,
    OP_STRING,
    OP_STRUCT,
    OP_UNION,
    PROGRAM_FIELDS,
    PROGRAM_ID,
    PROGRAM_NUMBERS,
    PROGRAM_OPERATIONS,
    PROGRAM_TEXTS,
    REASON_BRANCH,
    REASON_DECIMAL,
    REASON_EMPTY_ITEMS,
    REASON_HEADER,
    REASON_LENGTH,
    REASON_SYMBOL,
    REASON_TIME,
    REASON_TRUNCATED,
    STOP_SCHEMA,
)
from headwater.readers.formats.kernel_columns import (
    NODE_BYTES,
    get,
    is_variable,
    offset,
    put,
    put_boolean,
    put_validity,
)
from headwater.readers.formats.kernel_text import write_bytes, write_text
from headwater.readers.formats.table_layout import (
    NODE_DATA_SIZE,
    NODE_ENTRIES,
    NODE_MOST_ENTRIES,
    NODE_PARENT,
    NODE_PRECISION,
    NODE_TYPE,
    NODE_VALUES,
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
    always_inlined,
    called,
    inlined,
    load_byte,
    load_field,
    load_float,
    load_int32,
    load_int64,
    multiply_high,
    store_double,
    store_float,
    store_int32,
    store_int64,
    swapped_int32,
)
from headwater.readers.kernels.varints import (
    MOST_INT_BYTES,
    MOST_LONG_BYTES,
    unzigzag,
    unzigzag_int,
    varint,
)

_OP_BYTES = 8 * OP_FIELDS
_FRAME_BYTES = 8 * FRAME_FIELDS
_PROGRAM_BYTES = 8 * PROGRAM_FIELDS

_at = load_field

# What `_read` returns where it has no reason why the value is bad.
_GOOD = -1
_MORE_ENTRIES = -2
_MORE_DATA = -3


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
    state = _at(given, IN_STATE)
    filled = get(nodes, NODE_ENTRIES) - row
    program = _at(given, IN_PROGRAMS)
    stop = STOP_DONE
    while row < rows:
        size = _at(sizes, row)
        if size < 0:
            _put_nulls(nodes, _at(given, IN_NULLS), _at(given, IN_NULL_COUNT), filled + row)
            row += 1
            continue
        begin = data + _at(starts, row)
        outcome = REASON_HEADER
        if header == 0:
            outcome = _read(begin, begin + size, filled + row, program, given, limit)
        elif size >= header and load_byte(begin) == 0:
            schema: int = swapped_int32(load_int32(begin + 1))
            if schema >= 0:
                if schema != _at(program, PROGRAM_ID):
                    program = _program_of(given, schema)
                    if program == 0:
                        stop = STOP_SCHEMA
                        break
                outcome = _read(begin + header, begin + size, filled + row, program, given, limit)
        if outcome >= 0:
            _settle(nodes, _at(given, IN_NODE_COUNT), filled + row)
            _put_nulls(nodes, _at(given, IN_NULLS), _at(given, IN_NULL_COUNT), filled + row)
            bad = _at(state, STATE_BAD)
            store_int64(_at(given, IN_BAD_ROWS) + 8 * bad, row)
            store_int64(_at(given, IN_BAD_REASONS) + 8 * bad, outcome)
            store_int64(state + 8 * STATE_BAD, bad + 1)
        elif outcome != _GOOD:
            stop = STOP_MORE_ENTRIES if outcome == _MORE_ENTRIES else STOP_MORE_DATA
            break
        row += 1
    _settle(nodes, _at(given, IN_NODE_COUNT), filled + row)
    store_int64(state + 8 * STATE_STOP, stop)
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
def _settle(nodes: int, count: int, rows: int) -> None:
    """Set how much of each column is filled once so many rows are whole: what is beyond is taken back."""
    put(nodes, NODE_ENTRIES, rows)
    node = nodes
    for _ in range(1, count):
        node += NODE_BYTES
        parent = nodes + NODE_BYTES * get(node, NODE_PARENT)
        entries = get(parent, NODE_ENTRIES)
        kind = get(parent, NODE_TYPE)
        if kind == TYPE_LIST or kind == TYPE_MAP:
            entries = offset(parent, entries)
        put(node, NODE_ENTRIES, entries)
        kind = get(node, NODE_TYPE)
        if kind == TYPE_STRING or kind == TYPE_BINARY:
            put(node, NODE_DATA_SIZE, offset(node, entries))


@called
def _put_nulls(nodes: int, places: int, count: int, entry: int) -> None:
    for i in range(count):
        node = nodes + _at(places, i)
        put_validity(node, entry, 0)
        if is_variable(get(node, NODE_TYPE)):
            _put_end(node, entry, offset(node, entry))


@always_inlined
def _put_end(node: int, entry: int, end: int) -> None:
    """Write where the data or elements of an entry end."""
    store_int32(get(node, NODE_VALUES) + 4 * entry + 4, end)


@always_inlined
def _long(at: int, end: int) -> tuple[int, int]:
    bits, at = varint(at, end, MOST_LONG_BYTES)
    return unzigzag(bits), at


@always_inlined
def _int(at: int, end: int) -> tuple[int, int]:
    bits, at = varint(at, end, MOST_INT_BYTES)
    return unzigzag_int(bits), at


@inlined
def _reason(at: int, end: int) -> int:
    """Return why a number cannot be read: ``REASON_TRUNCATED`` or ``REASON_NUMBER``."""
    return at - end - 1


# One loop over all operations: parts of it as functions would need many results.
@inlined
def _read(  # noqa: C901, PLR0911, PLR0912, PLR0915, PLR0917
    at: int, end: int, entry: int, program: int, given: int, limit: int
) -> int:
    """Read one value into the entries of a row. Return a reason, or one of the codes below 0.

    Args:
        at: where the value begins.
        end: where it ends. Bytes that are left over are ignored.
        entry: the row's number in the columns.
        program: of the value's schema.
        given: the address of the numbers ``IN_...``.
        limit: the end of all bytes that may be loaded.
    """
    operations = _at(program, PROGRAM_OPERATIONS)
    numbers = _at(program, PROGRAM_NUMBERS)
    nodes = _at(given, IN_NODES)
    frame = _at(given, IN_FRAMES) - _FRAME_BYTES
    op = operations - _OP_BYTES
    empty_items = 0
    value_at = at
    value_end = end
    while True:
        op += _OP_BYTES
        code = _at(op, OP_CODE)
        node = nodes + _at(op, OP_NODE)
        if code == OP_LONG:
            value, at = _long(at, end)
            if at > end:
                return _reason(at, end)
            store_int64(get(node, NODE_VALUES) + 8 * entry, value)
            put_validity(node, entry, 1)
        elif code == OP_STRING or code == OP_BYTES:
            size, at = _long(at, end)
            if at > end:
                return _reason(at, end)
            if size < 0 or size > end - at:
                return REASON_LENGTH
            if not _put_bytes(node, entry, at, size, limit, code == OP_STRING):
                return _wants_data(given, op)
            at += size
        elif code == OP_UNION:
            branch, at = _int(at, end)
            if at > end:
                return _reason(at, end)
            if branch < 0 or branch >= _at(op, OP_B):
                return REASON_BRANCH
            op = operations + _OP_BYTES * (_at(numbers, _at(op, OP_A) + branch) - 1)
        elif code == OP_JUMP:
            op = operations + _OP_BYTES * (_at(op, OP_A) - 1)
        elif code == OP_INT:
            value, at = _int(at, end)
            if at > end:
                return _reason(at, end)
            store_int32(get(node, NODE_VALUES) + 4 * entry, value)
            put_validity(node, entry, 1)
        elif code == OP_DOUBLE:
            if end - at < 8:
                return REASON_TRUNCATED
            store_int64(get(node, NODE_VALUES) + 8 * entry, load_int64(at))
            put_validity(node, entry, 1)
            at += 8
        elif code == OP_BOOLEAN:
            if at >= end:
                return REASON_TRUNCATED
            put_boolean(node, entry, 1 if load_byte(at) == 1 else 0)
            put_validity(node, entry, 1)
            at += 1
        elif code == OP_STRUCT:
            put_validity(node, entry, 1)
        elif code == OP_NULL:
            _put_nulls(nodes, numbers + 8 * _at(op, OP_A), _at(op, OP_B), entry)
        elif code == OP_LONG_TIMES:
            value, at = _long(at, end)
            if at > end:
                return _reason(at, end)
            factor = _at(op, OP_A)
            if factor < 0:
                value = _floor(value, -factor)
            elif _overflows(value, factor):
                return REASON_TIME
            else:
                value *= factor
            store_int64(get(node, NODE_VALUES) + 8 * entry, value)
            put_validity(node, entry, 1)
        elif code == OP_ENUM:
            symbol, at = _int(at, end)
            if at > end:
                return _reason(at, end)
            if symbol < 0 or symbol >= _at(op, OP_B):
                return REASON_SYMBOL
            text = numbers + 8 * (_at(op, OP_A) + 2 * symbol)
            size = _at(text, 1)
            if size < 0:
                return REASON_SYMBOL
            if not _put_bytes(node, entry, _at(program, PROGRAM_TEXTS) + _at(text, 0), size, limit, False):
                return _wants_data(given, op)
        elif code == OP_DECIMAL:
            size = _at(op, OP_A)
            if size < 0:
                size, at = _long(at, end)
                if at > end:
                    return _reason(at, end)
            if size < 0 or size > end - at:
                return REASON_LENGTH
            if not _put_decimal(node, entry, at, size):
                return REASON_DECIMAL
            at += size
        elif code == OP_FIXED:
            size = _at(op, OP_A)
            if size > end - at:
                return REASON_TRUNCATED
            if not _put_bytes(node, entry, at, size, limit, False):
                return _wants_data(given, op)
            at += size
        elif code == OP_LIST or code == OP_SKIP_LIST:
            frame += _FRAME_BYTES
            store_int64(frame + 8 * FRAME_ENTRY, entry)
            store_int64(frame + 8 * FRAME_LEFT, 0)
        elif code == OP_ITEM:
            items = nodes + _at(op, OP_A)
            left = _at(frame, FRAME_LEFT)
            if left == 0:
                left, at = _long(at, end)
                if left < 0 and at <= end:  # the size of the block follows
                    left = -left
                    _, at = _long(at, end)
                if at > end:
                    return _reason(at, end)
                if left < 0:
                    return REASON_LENGTH
            if left == 0:
                entry = _at(frame, FRAME_ENTRY)
                frame -= _FRAME_BYTES
                _put_end(node, entry, get(items, NODE_ENTRIES))
                put_validity(node, entry, 1)
                op = operations + _OP_BYTES * (_at(op, OP_B) - 1)
            else:
                entry = get(items, NODE_ENTRIES)
                if entry >= get(items, NODE_MOST_ENTRIES):
                    store_int64(_at(given, IN_STATE) + 8 * STATE_NODE, _at(op, OP_A) // NODE_BYTES)
                    return _MORE_ENTRIES
                store_int64(frame + 8 * FRAME_LEFT, left - 1)
                store_int64(frame + 8 * FRAME_BEGIN, at)
        elif code == OP_ITEM_END or code == OP_SKIP_ITEM_END:
            if code == OP_ITEM_END:
                put(nodes + _at(op, OP_A), NODE_ENTRIES, entry + 1)
            if at == _at(frame, FRAME_BEGIN):
                empty_items += 1
                if empty_items > MOST_EMPTY_ITEMS:
                    return REASON_EMPTY_ITEMS
            op = operations + _OP_BYTES * (_at(op, OP_B) - 1)
        elif code == OP_INT_LONG:
            value, at = _int(at, end)
            if at > end:
                return _reason(at, end)
            store_int64(get(node, NODE_VALUES) + 8 * entry, value * _at(op, OP_A))
            put_validity(node, entry, 1)
        elif code == OP_FLOAT:
            if end - at < 4:
                return REASON_TRUNCATED
            store_int32(get(node, NODE_VALUES) + 4 * entry, load_int32(at))
            put_validity(node, entry, 1)
            at += 4
        elif code == OP_FLOAT_DOUBLE:
            if end - at < 4:
                return REASON_TRUNCATED
            store_double(get(node, NODE_VALUES) + 8 * entry, numba.float64(load_float(at)))
            put_validity(node, entry, 1)
            at += 4
        elif code == OP_INT_DOUBLE or code == OP_INT_FLOAT or code == OP_LONG_DOUBLE or code == OP_LONG_FLOAT:
            if code == OP_INT_DOUBLE or code == OP_INT_FLOAT:
                value, at = _int(at, end)
            else:
                value, at = _long(at, end)
            if at > end:
                return _reason(at, end)
            if code == OP_INT_DOUBLE or code == OP_LONG_DOUBLE:
                store_double(get(node, NODE_VALUES) + 8 * entry, numba.float64(value))
            else:
                store_float(get(node, NODE_VALUES) + 4 * entry, numba.float32(value))
            put_validity(node, entry, 1)
        elif code == OP_SKIP_INT or code == OP_SKIP_LONG:
            _, at = varint(at, end, MOST_INT_BYTES if code == OP_SKIP_INT else MOST_LONG_BYTES)
            if at > end:
                return _reason(at, end)
        elif code == OP_SKIP_FIXED or code == OP_SKIP_BYTES:
            size = _at(op, OP_A)
            if code == OP_SKIP_BYTES:
                size, at = _long(at, end)
                if at > end:
                    return _reason(at, end)
            if size < 0 or size > end - at:
                return REASON_LENGTH
            at += size
        elif code == OP_SKIP_ITEM:
            left = _at(frame, FRAME_LEFT)
            while left == 0:
                left, at = _long(at, end)
                if at > end:
                    return _reason(at, end)
                if left >= 0:
                    break
                left = 0
                size, at = _long(at, end)
                if at > end:
                    return _reason(at, end)
                if size < 0 or size > end - at:
                    return REASON_LENGTH
                at += size
            if left == 0:
                frame -= _FRAME_BYTES
                op = operations + _OP_BYTES * (_at(op, OP_B) - 1)
            else:
                store_int64(frame + 8 * FRAME_LEFT, left - 1)
                store_int64(frame + 8 * FRAME_BEGIN, at)
        elif code == OP_DEFAULT:
            value_at = at
            value_end = end
            at = _at(program, PROGRAM_TEXTS) + _at(op, OP_A)
            end = at + _at(op, OP_B)
        elif code == OP_DEFAULT_END:
            at = value_at
            end = value_end
        elif code == OP_FAIL:
            return _at(op, OP_A)
        else:  # OP_END
            return _GOOD


@inlined
def _wants_data(given: int, op: int) -> int:
    store_int64(_at(given, IN_STATE) + 8 * STATE_NODE, _at(op, OP_NODE) // NODE_BYTES)
    return _MORE_DATA


@always_inlined
def _put_bytes(node: int, entry: int, at: int, size: int, limit: int, is_text: bool) -> bool:  # noqa: PLR0917
    """Write a value of bytes. Return False if its data has not enough room."""
    begin = offset(node, entry)
    if is_text:
        filled = write_text(node, begin, at, size, limit, False)
    else:
        filled = write_bytes(node, begin, at, size, limit)
    if filled < 0:
        return False
    _put_end(node, entry, filled)
    put_validity(node, entry, 1)
    return True


@inlined
def _overflows(value: int, factor: int) -> bool:
    most = 0x7FFFFFFFFFFFFFFF // factor
    return value > most or value < -most


@inlined
def _floor(value: int, divisor: int) -> int:
    return value // divisor


@called
def _put_decimal(node: int, entry: int, at: int, size: int) -> bool:
    """Write the number that big-endian bytes are. Return False if it has more digits than the type."""
    # Bytes in front that only repeat the sign say nothing.
    high = 0
    low = 0
    if size > 0 and load_byte(at) >= 0x80:
        high = -1
        low = -1
    sign = high
    for i in range(size):
        if high >> 55 != sign >> 55:
            return False  # 128 bits are not enough
        high = (high << 8) | ((low >> 56) & 0xFF)
        low = (low << 8) | load_byte(at + i)
    values = get(node, NODE_VALUES) + 16 * entry
    if not _has_digits(high, low, get(node, NODE_PRECISION)):
        return False
    store_int64(values, low)
    store_int64(values + 8, high)
    put_validity(node, entry, 1)
    return True


@inlined
def _has_digits(high: int, low: int, digits: int) -> bool:
    """Return whether a number of 128 bits has so many digits at most."""
    if high < 0:  # its absolute value
        low = -low
        high = ~high + (1 if low == 0 else 0)
    # 10 to the power of the digits, in two halves.
    most_low = numba.uint64(1)
    most_high = numba.uint64(0)
    for _ in range(digits):
        most_high = most_high * numba.uint64(10) + multiply_high(most_low, numba.uint64(10))
        most_low = most_low * numba.uint64(10)
    unsigned_high = numba.uint64(high)
    if unsigned_high != most_high:
        return unsigned_high < most_high
    return numba.uint64(low) < most_low

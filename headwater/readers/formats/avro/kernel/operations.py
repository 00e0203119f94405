"""One value, for the kernel: the operations of a program, from the first to the last.

All columns that have an entry a row share the row's number; those in lists share the number of the element.
So no entries are counted but those of elements, and a row that is given up leaves nothing to tidy but these:
where each column ends follows from the offsets of the last whole row.
"""

from __future__ import annotations

import numba

from headwater.readers.formats.avro import layout
from headwater.readers.formats.avro.kernel.values import (
    put_bytes,
    put_decimal,
    put_end,
    put_floating,
    put_nulls,
    put_scaled,
)
from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import put_boolean, put_validity
from headwater.readers.formats.columns.kernel.room import has_room, no_room
from headwater.readers.kernels.memory import (
    get,
    inlined,
    load_byte,
    load_float,
    load_int32,
    load_int64,
    put,
    store_double,
    store_int32,
)
from headwater.readers.kernels.varints import MOST_INT_BYTES, MOST_LONG_BYTES, varint, zigzag_int, zigzag_long

_OP_BYTES = 8 * layout.OP_FIELDS
_FRAME_BYTES = 8 * layout.FRAME_FIELDS


# The results of `read_value` that are no reason why the value is bad.
GOOD = -1
NO_ROOM = -2


@inlined
def _reason(at: int, end: int) -> int:
    """Return why a number cannot be read: ``REASON_TRUNCATED`` or ``REASON_NUMBER``."""
    return at - end - 1


# One loop over all operations: parts of it as functions would need many results.
@inlined
def read_value(at: int, end: int, entry: int, program: int, inputs: int, limit: int) -> int:
    """Read one value into the entries of a row. Return a reason, or one of the codes below 0.

    Args:
        at: where the value begins.
        end: where it ends. Bytes that are left over are ignored.
        entry: the row's number in the columns.
        program: of the value's schema.
        inputs: the address of the numbers ``IN_...``.
        limit: the end of all bytes that may be loaded.
    """
    operations = get(program, layout.PROGRAM_OPERATIONS)
    numbers = get(program, layout.PROGRAM_NUMBERS)
    nodes = get(inputs, layout.IN_NODES)
    frame = get(inputs, layout.IN_FRAMES) - _FRAME_BYTES
    op = operations - _OP_BYTES
    empty_items = 0
    value_at = at
    value_end = end
    while True:
        op += _OP_BYTES
        code = get(op, layout.OP_CODE)
        node = nodes + get(op, layout.OP_NODE)
        # The most frequent operations come first: the codes are compared one after the other.
        if code == layout.OP_LONG:
            value, at = zigzag_long(at, end)
            if at > end:
                return _reason(at, end)
            put(get(node, T.NODE_VALUES), entry, value)
            put_validity(node, entry, 1)
        elif code == layout.OP_STRING or code == layout.OP_BYTES:
            size, at = zigzag_long(at, end)
            if at > end:
                return _reason(at, end)
            if size < 0 or size > end - at:
                return layout.REASON_LENGTH
            if not put_bytes(node, entry, at, size, limit, code == layout.OP_STRING):
                return _full(inputs, node)
            at += size
        elif code == layout.OP_UNION:
            branch, at = zigzag_int(at, end)
            if at > end:
                return _reason(at, end)
            if branch < 0 or branch >= get(op, layout.OP_B):
                return layout.REASON_BRANCH
            # One before the target: the loop moves on by one. So it is with each jump below.
            op = operations + _OP_BYTES * (get(numbers, get(op, layout.OP_A) + branch) - 1)
        elif code == layout.OP_JUMP:
            op = operations + _OP_BYTES * (get(op, layout.OP_A) - 1)
        elif code == layout.OP_INT:
            value, at = zigzag_int(at, end)
            if at > end:
                return _reason(at, end)
            store_int32(get(node, T.NODE_VALUES) + 4 * entry, value)
            put_validity(node, entry, 1)
        elif code == layout.OP_DOUBLE:
            if end - at < 8:
                return layout.REASON_TRUNCATED
            put(get(node, T.NODE_VALUES), entry, load_int64(at))
            put_validity(node, entry, 1)
            at += 8
        elif code == layout.OP_BOOLEAN:
            if at >= end:
                return layout.REASON_TRUNCATED
            put_boolean(node, entry, 1 if load_byte(at) == 1 else 0)
            put_validity(node, entry, 1)
            at += 1
        elif code == layout.OP_STRUCT:
            put_validity(node, entry, 1)
        elif code == layout.OP_NULL:
            put_nulls(nodes, numbers + 8 * get(op, layout.OP_A), get(op, layout.OP_B), entry)
        elif code == layout.OP_LONG_TIMES:
            value, at = zigzag_long(at, end)
            if at > end:
                return _reason(at, end)
            if not put_scaled(node, entry, value, get(op, layout.OP_A)):
                return layout.REASON_TIME
        elif code == layout.OP_ENUM:
            symbol, at = zigzag_int(at, end)
            if at > end:
                return _reason(at, end)
            if symbol < 0 or symbol >= get(op, layout.OP_B):
                return layout.REASON_SYMBOL
            # The reader's symbol by the writer's number; its size is below 0 if the reader has none.
            text = numbers + 8 * (get(op, layout.OP_A) + 2 * symbol)
            size = get(text, 1)
            if size < 0:
                return layout.REASON_SYMBOL
            if not put_bytes(
                node, entry, get(program, layout.PROGRAM_TEXTS) + get(text, 0), size, limit, False
            ):
                return _full(inputs, node)
        elif code == layout.OP_DECIMAL:
            size = get(op, layout.OP_A)
            # Bytes have their size in front, a fixed type has it in the program.
            if size == layout.SIZE_IS_REST:
                size = end - at
            elif size < 0:
                size, at = zigzag_long(at, end)
                if at > end:
                    return _reason(at, end)
            if size < 0 or size > end - at:
                return layout.REASON_LENGTH
            if size == 0:
                return layout.REASON_NO_DIGITS
            if not put_decimal(node, entry, at, size):
                return layout.REASON_DECIMAL
            at += size
        elif code == layout.OP_FIXED:
            size = get(op, layout.OP_A)
            if size == layout.SIZE_IS_REST:
                size = end - at
            if size > end - at:
                return layout.REASON_TRUNCATED
            if not put_bytes(node, entry, at, size, limit, get(op, layout.OP_B) == 1):
                return _full(inputs, node)
            at += size
        elif code == layout.OP_LIST or code == layout.OP_SKIP_LIST:
            # A list has its frame; its elements are entries of the node below.
            frame += _FRAME_BYTES
            put(frame, layout.FRAME_ENTRY, entry)
            put(frame, layout.FRAME_LEFT, 0)
            put(frame, layout.FRAME_IS_LAST, 0)
        elif code == layout.OP_ITEM:
            items = nodes + get(op, layout.OP_A)
            remaining = get(frame, layout.FRAME_LEFT)
            # The next block of the list begins here. One of no elements ends it.
            if remaining == 0 and get(frame, layout.FRAME_IS_LAST) == 0:
                remaining, at = zigzag_long(at, end)
                if remaining < 0 and at <= end:  # the size of the block follows
                    remaining = -remaining
                    _, at = zigzag_long(at, end)
                if at > end:
                    return _reason(at, end)
                if remaining < 0:
                    return layout.REASON_LENGTH
                # The outermost list of a container's block has no end of its own.
                if frame == get(inputs, layout.IN_FRAMES):
                    put(frame, layout.FRAME_IS_LAST, get(inputs, layout.IN_SOLE_BLOCK))
            if remaining == 0:
                put(frame, layout.FRAME_BEGIN, at)
                entry = get(frame, layout.FRAME_ENTRY)
                frame -= _FRAME_BYTES
                put_end(node, entry, get(items, T.NODE_ENTRIES))
                put_validity(node, entry, 1)
                op = operations + _OP_BYTES * (get(op, layout.OP_B) - 1)
            else:
                if not has_room(nodes, items):
                    return _full(inputs, items)
                entry = get(items, T.NODE_ENTRIES)
                put(frame, layout.FRAME_LEFT, remaining - 1)
                put(frame, layout.FRAME_BEGIN, at)
        elif code == layout.OP_ITEM_END or code == layout.OP_SKIP_ITEM_END:
            if code == layout.OP_ITEM_END:
                put(nodes + get(op, layout.OP_A), T.NODE_ENTRIES, entry + 1)
            # An element without bytes: a few bytes could name billions of them.
            if at == get(frame, layout.FRAME_BEGIN):
                empty_items += 1
                if empty_items > layout.MOST_EMPTY_ITEMS:
                    return layout.REASON_EMPTY_ITEMS
            op = operations + _OP_BYTES * (get(op, layout.OP_B) - 1)
        elif code == layout.OP_INT_LONG:
            value, at = zigzag_int(at, end)
            if at > end:
                return _reason(at, end)
            put(get(node, T.NODE_VALUES), entry, value * get(op, layout.OP_A))
            put_validity(node, entry, 1)
        elif code == layout.OP_FLOAT:
            if end - at < 4:
                return layout.REASON_TRUNCATED
            store_int32(get(node, T.NODE_VALUES) + 4 * entry, load_int32(at))
            put_validity(node, entry, 1)
            at += 4
        elif code == layout.OP_FLOAT_DOUBLE:
            if end - at < 4:
                return layout.REASON_TRUNCATED
            store_double(get(node, T.NODE_VALUES) + 8 * entry, numba.float64(load_float(at)))
            put_validity(node, entry, 1)
            at += 4
        elif layout.OP_INT_FLOAT <= code <= layout.OP_LONG_DOUBLE:
            if code == layout.OP_INT_FLOAT or code == layout.OP_INT_DOUBLE:
                value, at = zigzag_int(at, end)
            else:
                value, at = zigzag_long(at, end)
            if at > end:
                return _reason(at, end)
            to_double = code == layout.OP_INT_DOUBLE or code == layout.OP_LONG_DOUBLE
            put_floating(node, entry, value, to_double, get(op, layout.OP_B))
        elif code == layout.OP_SKIP_INT or code == layout.OP_SKIP_LONG:
            _, at = varint(at, end, MOST_INT_BYTES if code == layout.OP_SKIP_INT else MOST_LONG_BYTES)
            if at > end:
                return _reason(at, end)
        elif code == layout.OP_SKIP_FIXED or code == layout.OP_SKIP_BYTES:
            size = get(op, layout.OP_A)
            if code == layout.OP_SKIP_BYTES:
                size, at = zigzag_long(at, end)
                if at > end:
                    return _reason(at, end)
            if size < 0 or size > end - at:
                return layout.REASON_LENGTH
            at += size
        elif code == layout.OP_SKIP_ITEM:
            remaining = get(frame, layout.FRAME_LEFT)
            while remaining == 0:
                remaining, at = zigzag_long(at, end)
                if at > end:
                    return _reason(at, end)
                if remaining >= 0:
                    break
                remaining = 0
                size, at = zigzag_long(at, end)
                if at > end:
                    return _reason(at, end)
                if size < 0 or size > end - at:
                    return layout.REASON_LENGTH
                at += size
            if remaining == 0:
                frame -= _FRAME_BYTES
                op = operations + _OP_BYTES * (get(op, layout.OP_B) - 1)
            else:
                put(frame, layout.FRAME_LEFT, remaining - 1)
                put(frame, layout.FRAME_BEGIN, at)
        elif code == layout.OP_DEFAULT:
            value_at = at
            value_end = end
            at = get(program, layout.PROGRAM_TEXTS) + get(op, layout.OP_A)
            end = at + get(op, layout.OP_B)
        elif code == layout.OP_DEFAULT_END:
            at = value_at
            end = value_end
        elif code == layout.OP_SKIP_CALL:
            frame += _FRAME_BYTES
            if frame >= get(inputs, layout.IN_LAST_FRAME):
                return layout.REASON_DEPTH
            put(frame, layout.FRAME_OP, op)
            op = operations + _OP_BYTES * (get(op, layout.OP_A) - 1)
        elif code == layout.OP_SKIP_RETURN:
            op = get(frame, layout.FRAME_OP)
            frame -= _FRAME_BYTES
        elif code == layout.OP_FAIL:
            return get(op, layout.OP_A)
        else:  # layout.OP_END
            return GOOD


@inlined
def _full(inputs: int, node: int) -> int:
    no_room(get(inputs, layout.IN_NODES), node, get(inputs, layout.IN_STATE))
    return NO_ROOM

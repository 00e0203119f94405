"""One message, for the kernel: tag by tag, with the messages and groups in it.

The format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from headwater.readers.formats.columns.kernel.nodes import truncate
from headwater.readers.formats.protobuf import layout as L
from headwater.readers.formats.protobuf.kernel.entries import (
    begin_entry,
    choose,
    end_entry,
    is_set,
    set_valid,
)
from headwater.readers.formats.protobuf.kernel.values import (
    number_at,
    put_bytes,
    put_number,
    put_packed,
    put_part,
    put_time,
    put_value,
)
from headwater.readers.kernels.memory import always_inlined, called, get, inlined, load_byte, load_int64, put
from headwater.readers.kernels.varints import MOST_INT_BYTES, MOST_LONG_BYTES, varint

_STACK_BYTES = 8 * L.STACK_FIELDS


@called
def _operation(plan: int, frame: int, tag: int) -> int:
    """Return the operation for a tag."""
    operation = _known_operation(frame, tag)
    if operation != 0:
        return operation
    # Of the message itself: other tags may name the field too.
    if frame == get(plan, L.PLAN_FRAME):
        for wire in range(L.WIRE_32_BITS + 1):
            if _known_operation(frame, (tag & ~7) | wire) != 0:
                return get(plan, L.PLAN_MISMATCH)
    return get(plan, L.PLAN_UNKNOWN)


@inlined
def _known_operation(frame: int, tag: int) -> int:
    """Return the operation for a tag, 0 if the schema has none."""
    mask = get(frame, L.FRAME_MASK)
    table = get(frame, L.FRAME_TABLE)
    place = (tag >> 3) & mask
    while True:
        operation = load_int64(table + 16 * place)
        if operation == tag:
            return load_int64(table + 16 * place + 8)
        if operation == 0:
            return 0
        place = (place + 1) & mask


@inlined
def _drop(top: int) -> None:
    """Drop the current entry of a map, as protobuf's own library does if it has an unknown field."""
    put(top - _STACK_BYTES, L.STACK_DROPPED, 1)


@always_inlined
def _begin_time(op: int, entry: int) -> None:
    words = get(op, L.OP_WORDS)
    if get(op, L.OP_REPEATED) or not is_set(get(op, L.OP_NODE), entry):
        put(words, 0, 0)
        put(words, 1, 0)


@called
def _enter(plan: int, op: int, entry: int, top: int) -> int:
    """Begin a message of any field; return the entry that its fields write to, or `STOPPED`."""
    node = get(op, L.OP_NODE)
    repeated = get(op, L.OP_REPEATED)
    put(top, L.STACK_DROPPED, 0)
    if not repeated:
        choose(plan, op, entry)
    if get(op, L.OP_WORDS) != 0:
        _begin_time(op, entry)
    elif repeated:
        return begin_entry(plan, get(op, L.OP_FRAME), node)
    elif node != 0:
        set_valid(node, entry)
    return entry


@called
def _leave(plan: int, op: int, frame: int, entry: int, top: int) -> int:
    """End a message of any field that is no time, which `_enter` began."""
    if not get(op, L.OP_REPEATED):
        return L.GOOD
    status = end_entry(plan, frame, entry)
    if status == L.GOOD and get(top, L.STACK_DROPPED):
        truncate(get(plan, L.PLAN_NODES), get(op, L.OP_NODE), entry)
    return status


@always_inlined
def read_message(plan: int, at: int, end: int, row: int) -> int:
    """Decode one message into the open entry ``row`` of the columns, all of whose bits are 0."""
    stack = get(plan, L.PLAN_STACK)
    top = stack  # above the last entry of the stack
    frame = get(plan, L.PLAN_FRAME)
    expected = get(frame, L.FRAME_FIRST)
    entry = row
    group = 0
    while True:
        # The end of the bytes is treated as the end of a group that has no number.
        tag = L.WIRE_GROUP_END
        op = expected
        if at < end:
            tag = load_byte(at)
            # Fields mostly come in the order of the schema, and their tags have one byte.
            if tag == get(expected, L.OP_FIRST_BYTE):
                at += 1
            else:
                tag, value_end = varint(at, end, MOST_INT_BYTES)
                # As protobuf's own library: of 32 bits at most, and no field is number 0.
                if value_end > end or tag < 8 or tag > 0xFFFFFFFF:
                    return L.BAD_WIRE
                at = value_end
                if tag != get(expected, L.OP_TAG):
                    op = _operation(plan, frame, tag)
        wire = tag & 7
        if wire == L.WIRE_GROUP_END:
            # The bytes end within a group, or another group ends here.
            if group != tag >> 3:
                return L.BAD_WIRE
            if top == stack:
                return L.GOOD
            top -= _STACK_BYTES
            op = get(top, L.STACK_OP)
            action = get(op, L.OP_ACTION)
            if action in (L.ACTION_TIME, L.ACTION_ANY_MESSAGE):
                if get(op, L.OP_WORDS) != 0:
                    status = put_time(plan, op, entry)
                else:
                    status = _leave(plan, op, frame, entry, top)
                if status != L.GOOD:
                    return status
            # Go on with the message around this one.
            end = get(top, L.STACK_END)
            frame = get(top, L.STACK_FRAME)
            entry = get(top, L.STACK_ENTRY)
            group = get(top, L.STACK_GROUP)
            expected = get(top, L.STACK_EXPECTED)
            continue

        value = at
        size = 0
        # The value is read by its wire type first: unknown fields are skipped the same way.
        if wire == L.WIRE_BYTES:
            size, value = varint(at, end, MOST_LONG_BYTES)
            if value > end or size < 0 or size > end - value:
                return L.BAD_WIRE
            at = value + size
        elif wire > L.WIRE_32_BITS:
            return L.BAD_WIRE
        elif wire != L.WIRE_GROUP:
            value, at = number_at(wire, at, end)
            if at > end:
                return L.BAD_WIRE

        action = get(op, L.OP_ACTION)
        if action != L.ACTION_UNKNOWN:
            expected = get(op, L.OP_NEXT)
        if action == L.ACTION_NUMBER:
            put_number(plan, op, entry, value)
            continue
        if action == L.ACTION_BYTES:
            status = put_bytes(plan, op, entry, value, size)
            if status != L.GOOD:
                return status
            continue
        if action == L.ACTION_PART:
            put_part(op, value)
            continue
        # Elements of lists, and fields that may be enums without a name.
        if action in (L.ACTION_ANY_VALUE, L.ACTION_PACKED):
            if action == L.ACTION_ANY_VALUE:
                status = put_value(plan, op, entry, value, size)
            else:
                status = put_packed(plan, op, value, value + size)
            if status != L.GOOD:
                if status != L.UNKNOWN:
                    return status
                if top == stack:
                    return L.BAD_FIELD
                if get(frame, L.FRAME_IS_MAP_ENTRY):
                    _drop(top)
            continue
        if action == L.ACTION_UNKNOWN:
            if get(frame, L.FRAME_IS_MAP_ENTRY):
                _drop(top)
            if wire != L.WIRE_GROUP:
                continue

        if action == L.ACTION_MISMATCH:
            return L.BAD_FIELD
        # A message or a group begins: the state of the one around it is kept.
        if top == stack + _STACK_BYTES * L.MOST_DEPTH:
            return L.BAD_DEPTH
        put(top, L.STACK_END, end)
        put(top, L.STACK_FRAME, frame)
        put(top, L.STACK_ENTRY, entry)
        put(top, L.STACK_GROUP, group)
        put(top, L.STACK_EXPECTED, expected)
        put(top, L.STACK_OP, op)
        if action == L.ACTION_MESSAGE:
            set_valid(get(op, L.OP_NODE), entry)
        elif action == L.ACTION_TIME:
            _begin_time(op, entry)
        elif action == L.ACTION_ANY_MESSAGE:
            entry = _enter(plan, op, entry, top)
            if entry == L.STOPPED:
                return L.STOPPED
        top += _STACK_BYTES
        group = 0
        if wire == L.WIRE_GROUP:
            group = tag >> 3
        else:
            at = value
            end = value + size
        frame = get(op, L.OP_FRAME)
        expected = get(frame, L.FRAME_FIRST)

"""The kernel that decodes Protobuf messages into columns. It is compiled once, for all messages.

The format: https://protobuf.dev/programming-guides/encoding/

A message may say the same field again, and in any order. So in each row, element of a list and entry of a map
all nodes below it that have one value each are open until its end: a value is overwritten by a later one, and
a message is merged with a later one. Bytes that were overwritten are given back, since only the last entry of
a node is open.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

from __future__ import annotations

from headwater.readers.formats.kernel_columns import (
    REPLACEMENT_GROWTH,
    get,
    is_utf8,
    node_at,
    offset,
    put,
    put_utf8,
    put_validity,
    truncate,
)
from headwater.readers.formats.protobuf.layout import (
    ACTION_PACKED,
    ACTION_TIME,
    ACTION_VALUE,
    BAD_DEPTH,
    BAD_REQUIRED,
    BAD_TEXT,
    BAD_TIME,
    BAD_WIRE,
    CONVERT_BINARY,
    CONVERT_BITS,
    CONVERT_BOOLEAN,
    CONVERT_CHECKED_TEXT,
    CONVERT_ENUM,
    CONVERT_ENUM_NAME,
    CONVERT_PART,
    CONVERT_PART_INT,
    CONVERT_UNSIGNED_INT,
    CONVERT_ZIGZAG_INT,
    CONVERT_ZIGZAG_LONG,
    END_CHILD,
    END_DEFAULT,
    END_DEFAULT_SIZE,
    END_FIELDS,
    END_KIND,
    END_MISSING,
    END_NODE,
    END_OF_BYTES,
    END_OF_LIST,
    END_OF_STRUCT,
    END_PARENT,
    END_WIDTH,
    ENUM_CLOSED,
    ENUM_COUNT,
    ENUM_PREFIX,
    ENUM_PREFIX_SIZE,
    ENUM_VALUE_FIELDS,
    ENUM_VALUES,
    FRAME_END_COUNT,
    FRAME_ENDS,
    FRAME_FIELDS_TABLE,
    FRAME_IS_MAP_ENTRY,
    FRAME_MASK,
    FRAME_NODE_COUNT,
    FRAME_NODES,
    GOOD,
    KERNEL_ARGUMENTS,
    MISSING_IS_BAD,
    MISSING_IS_NULL,
    MOST_DEPTH,
    NO_ROOM,
    OP_ACTION,
    OP_CONVERSION,
    OP_ENUM,
    OP_FRAME,
    OP_IMPLICIT,
    OP_NODE,
    OP_ONEOF,
    OP_PACKED_WIRE,
    OP_REPEATED,
    OP_TARGET,
    OP_TIME,
    OP_WIDTH,
    PLAN_CORRUPT,
    PLAN_FRAME,
    PLAN_STACK,
    PLAN_UNKNOWN_FRAME,
    STACK_DROPPED,
    STACK_END,
    STACK_ENTRY,
    STACK_FIELDS,
    STACK_FRAME,
    STACK_GROUP,
    STACK_OP,
    UNKNOWN,
    WIRE_32_BITS,
    WIRE_64_BITS,
    WIRE_BYTES,
    WIRE_GROUP,
    WIRE_GROUP_END,
    WIRE_VARINT,
)
from headwater.readers.formats.table_layout import (
    NODE_CHILDREN,
    NODE_DATA,
    NODE_DATA_SIZE,
    NODE_ENTRIES,
    NODE_FIELDS,
    NODE_FIRST_CHILD,
    NODE_MOST_DATA,
    NODE_MOST_ENTRIES,
    NODE_TYPE,
    NODE_VALIDITY,
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
    TYPE_STRUCT,
)
from headwater.readers.kernels.compiling import compile_function
from headwater.readers.kernels.memory import (
    CHUNK_BYTES,
    called,
    copy_bytes,
    copy_chunk,
    inlined,
    load_byte,
    load_int32,
    load_int64,
    store_byte,
    store_int32,
    store_int64,
)

_MOST_SECONDS = 9_223_372_036_854
"""More do not fit into 64 bits as microseconds."""


@inlined
def _word(plan: int, index: int) -> int:
    """Return the address of a word of the plan."""
    return plan + 8 * index


@inlined
def _is_set(node: int, entry: int) -> int:
    return (load_byte(get(node, NODE_VALIDITY) + (entry >> 3)) >> (entry & 7)) & 1


@inlined
def _set(node: int, entry: int) -> None:
    byte = get(node, NODE_VALIDITY) + (entry >> 3)
    store_byte(byte, load_byte(byte) | (1 << (entry & 7)))


@inlined
def _unset(node: int, entry: int) -> None:
    byte = get(node, NODE_VALIDITY) + (entry >> 3)
    store_byte(byte, load_byte(byte) & ~(1 << (entry & 7)))


@inlined
def _stop(nodes: int, state: int, reason: int, node: int) -> int:
    store_int64(state + 8 * STATE_STOP, reason)
    store_int64(state + 8 * STATE_NODE, (node - nodes) // (8 * NODE_FIELDS))
    return NO_ROOM


@inlined
def _varint(at: int, end: int) -> tuple[int, int]:
    """Return a number of up to ten bytes, and what follows; 0 for that if there is no such number."""
    if at >= end:
        return 0, 0
    value = load_byte(at)
    if value < 0x80:
        return value, at + 1
    value &= 0x7F
    shift = 7
    most = min(end, at + 10)
    at += 1
    while at < most:
        byte = load_byte(at)
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return 0, 0


@called
def _empty(nodes: int, node: int, entry: int) -> None:
    """Make the open entry null, and give back what is below it."""
    _unset(node, entry)
    kind = get(node, NODE_TYPE)
    if kind in (TYPE_STRING, TYPE_BINARY):
        put(node, NODE_DATA_SIZE, offset(node, entry))
    elif kind in (TYPE_LIST, TYPE_MAP):
        truncate(nodes, node_at(nodes, get(node, NODE_FIRST_CHILD)), offset(node, entry))
    elif kind == TYPE_STRUCT:
        for i in range(get(node, NODE_CHILDREN)):
            _empty(nodes, node_at(nodes, get(node, NODE_FIRST_CHILD) + i), entry)


@inlined
def _choose(nodes: int, plan: int, op: int, entry: int) -> None:
    """In a oneof, the field that is set last makes the others null."""
    oneof = load_int64(op + 8 * OP_ONEOF)
    if oneof != 0:
        word = _word(plan, oneof)
        before = load_int64(word)
        node = load_int64(op + 8 * OP_NODE)
        if before not in (0, node) and _is_set(before, entry):
            _empty(nodes, before, entry)
        store_int64(word, node)


@inlined
def _store(node: int, entry: int, width: int, bits: int) -> None:
    values = get(node, NODE_VALUES)
    if width == 8:
        store_int64(values + 8 * entry, bits)
    elif width == 4:
        store_int32(values + 4 * entry, bits)
    elif width == 0:
        byte = values + (entry >> 3)
        place = entry & 7
        store_byte(byte, (load_byte(byte) & ~(1 << place)) | (bits << place))
    else:
        store_int64(values + 16 * entry, bits)
        store_int64(values + 16 * entry + 8, 0)


@called
def _put_number(at: int, number: int) -> int:
    """Write a number in decimal digits; return its end."""
    if number < 0:
        store_byte(at, 0x2D)
        at += 1
        number = -number
    digits = 1
    above = 10
    while above <= number:
        digits += 1
        above *= 10
    for i in range(digits - 1, -1, -1):
        store_byte(at + i, 0x30 + number % 10)
        number //= 10
    return at + digits


@inlined
def _enum_value(enum: int, number: int) -> int:
    """Return the index of the value with this number, or -1."""
    low = 0
    high = load_int64(enum + 8 * ENUM_COUNT) - 1
    values = enum + 8 * ENUM_VALUES
    if 0 <= number <= high and load_int64(values + 8 * ENUM_VALUE_FIELDS * number) == number:
        return number
    while low <= high:
        middle = (low + high) >> 1
        found = load_int64(values + 8 * ENUM_VALUE_FIELDS * middle)
        if found == number:
            return middle
        if found < number:
            low = middle + 1
        else:
            high = middle - 1
    return -1


@inlined
def _room_for_bytes(nodes: int, state: int, node: int, begin: int, size: int) -> int:
    if size > get(node, NODE_MOST_DATA) - begin:
        return _stop(nodes, state, STOP_MORE_DATA, node)
    return GOOD


@inlined
def _put_bytes(  # noqa: PLR0917 - compiled functions take positions only
    nodes: int, state: int, conversion: int, node: int, entry: int, at: int, size: int, data_end: int
) -> int:
    """Write the bytes of the open entry, instead of those that it has."""
    begin = offset(node, entry)
    if conversion != CONVERT_BINARY and not is_utf8(at, at + size):
        if conversion == CONVERT_CHECKED_TEXT:
            return BAD_TEXT
        if _room_for_bytes(nodes, state, node, begin, REPLACEMENT_GROWTH * size) != GOOD:
            return NO_ROOM
        data = get(node, NODE_DATA)
        put(node, NODE_DATA_SIZE, put_utf8(data + begin, at, at + size) - data)
        return GOOD
    if _room_for_bytes(nodes, state, node, begin, size) != GOOD:
        return NO_ROOM
    to = get(node, NODE_DATA) + begin
    if size <= CHUNK_BYTES and at + CHUNK_BYTES <= data_end:
        copy_chunk(to, at)
    else:
        copy_bytes(to, at, size)
    put(node, NODE_DATA_SIZE, begin + size)
    return GOOD


@called
def _put_enum_name(  # noqa: PLR0917 - compiled functions take positions only
    nodes: int, plan: int, state: int, op: int, node: int, entry: int, number: int
) -> int:
    enum = _word(plan, load_int64(op + 8 * OP_ENUM))
    index = _enum_value(enum, number)
    begin = offset(node, entry)
    to = get(node, NODE_DATA) + begin
    if index >= 0:
        value = enum + 8 * (ENUM_VALUES + ENUM_VALUE_FIELDS * index)
        size = load_int64(value + 16)
        if _room_for_bytes(nodes, state, node, begin, size) != GOOD:
            return NO_ROOM
        copy_bytes(to, _word(plan, load_int64(value + 8)), size)
    else:
        prefix = load_int64(enum + 8 * ENUM_PREFIX_SIZE)
        if _room_for_bytes(nodes, state, node, begin, prefix + 11) != GOOD:
            return NO_ROOM
        copy_bytes(to, _word(plan, load_int64(enum + 8 * ENUM_PREFIX)), prefix)
        size = _put_number(to + prefix, number) - to
    put(node, NODE_DATA_SIZE, begin + size)
    return GOOD


@inlined
def _converted(conversion: int, value: int) -> int:
    """Return the value of a number on the wire."""
    if conversion in (CONVERT_BITS, CONVERT_PART):
        return value
    if conversion == CONVERT_UNSIGNED_INT:
        return value & 0xFFFFFFFF
    if conversion == CONVERT_BOOLEAN:
        return 1 if value != 0 else 0
    if conversion == CONVERT_ZIGZAG_LONG:
        return ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1)
    if conversion == CONVERT_ZIGZAG_INT:
        value = ((value >> 1) & 0x7FFFFFFF) ^ -(value & 1)
    return ((value & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


@inlined
def _write_value(  # noqa: PLR0917 - compiled functions take positions only
    nodes: int, plan: int, state: int, op: int, node: int, entry: int, value: int, size: int, data_end: int
) -> int:
    """Write the open entry, or the element behind the last one."""
    conversion = load_int64(op + 8 * OP_CONVERSION)
    if conversion >= CONVERT_BINARY:
        return _put_bytes(nodes, state, conversion, node, entry, value, size, data_end)
    if conversion == CONVERT_ENUM_NAME:
        return _put_enum_name(nodes, plan, state, op, node, entry, value)
    _store(node, entry, load_int64(op + 8 * OP_WIDTH), value)
    return GOOD


@inlined
def _put_element(  # noqa: PLR0917 - compiled functions take positions only
    nodes: int, plan: int, state: int, op: int, value: int, size: int, data_end: int
) -> int:
    node = load_int64(op + 8 * OP_NODE)
    entry = get(node, NODE_ENTRIES)
    if entry >= get(node, NODE_MOST_ENTRIES):
        return _stop(nodes, state, STOP_MORE_ENTRIES, node)
    status = _write_value(nodes, plan, state, op, node, entry, value, size, data_end)
    if status == GOOD:
        put_validity(node, entry, 1)
        put(node, NODE_ENTRIES, entry + 1)
        if load_int64(op + 8 * OP_CONVERSION) >= CONVERT_ENUM_NAME:
            store_int32(get(node, NODE_VALUES) + 4 * (entry + 1), get(node, NODE_DATA_SIZE))
    return status


@inlined
def _put_value(  # noqa: PLR0917 - compiled functions take positions only
    nodes: int, plan: int, state: int, op: int, entry: int, value: int, size: int, data_end: int
) -> int:
    """Take one value of a field: a number on the wire, or the address and size of bytes."""
    conversion = load_int64(op + 8 * OP_CONVERSION)
    is_default = size == 0
    if conversion < CONVERT_BINARY:
        value = _converted(conversion, value)
        is_default = value == 0
        if conversion in (CONVERT_PART, CONVERT_PART_INT):
            store_int64(_word(plan, load_int64(op + 8 * OP_TARGET)), value)
            return GOOD
        if conversion in (CONVERT_ENUM, CONVERT_ENUM_NAME):
            enum = _word(plan, load_int64(op + 8 * OP_ENUM))
            if load_int64(enum + 8 * ENUM_CLOSED) and _enum_value(enum, value) < 0:
                return UNKNOWN
    if load_int64(op + 8 * OP_REPEATED):
        return _put_element(nodes, plan, state, op, value, size, data_end)
    node = load_int64(op + 8 * OP_NODE)
    _choose(nodes, plan, op, entry)
    status = _write_value(nodes, plan, state, op, node, entry, value, size, data_end)
    if status != GOOD:
        return status
    if is_default and load_int64(op + 8 * OP_IMPLICIT):
        _empty(nodes, node, entry)
    else:
        _set(node, entry)
    return GOOD


@inlined
def _payload(wire: int, at: int, end: int) -> tuple[int, int, int]:
    """Return a field's value, its size, and what follows; 0 for that if there is no such value.

    The value of bytes, or of a message, is where they begin; a group has none.
    """
    if wire == WIRE_VARINT:
        value, at = _varint(at, end)
        return value, 0, at
    if wire == WIRE_BYTES:
        size, at = _varint(at, end)
        if at == 0 or size < 0 or size > end - at:
            return 0, 0, 0
        return at, size, at + size
    if wire == WIRE_64_BITS:
        return (load_int64(at), 0, at + 8) if end - at >= 8 else (0, 0, 0)
    if wire == WIRE_32_BITS:
        return (load_int32(at), 0, at + 4) if end - at >= 4 else (0, 0, 0)
    return 0, 0, at if wire == WIRE_GROUP else 0


@called
def _put_packed(  # noqa: PLR0917 - compiled functions take positions only
    nodes: int, plan: int, state: int, op: int, at: int, end: int
) -> int:
    """Take the elements of a packed field. A number of a closed enum without a name is left out."""
    wire = load_int64(op + 8 * OP_PACKED_WIRE)
    unknown = False
    while at < end:
        value, _, at = _payload(wire, at, end)
        if at == 0:
            return BAD_WIRE
        status = _put_value(nodes, plan, state, op, 0, value, 0, 0)
        if status == UNKNOWN:
            unknown = True
        elif status != GOOD:
            return status
    return UNKNOWN if unknown else GOOD


@called
def _put_time(nodes: int, plan: int, state: int, op: int, entry: int) -> int:
    time = _word(plan, load_int64(op + 8 * OP_TIME))
    seconds = load_int64(time)
    nanos = load_int64(time + 8)
    if seconds > _MOST_SECONDS or seconds < -_MOST_SECONDS:
        return BAD_TIME
    micros = nanos // 1000 if nanos >= 0 else -(-nanos // 1000)  # towards zero, as Spark has it
    node = load_int64(op + 8 * OP_NODE)
    if load_int64(op + 8 * OP_REPEATED):
        entry = get(node, NODE_ENTRIES)
        if entry >= get(node, NODE_MOST_ENTRIES):
            return _stop(nodes, state, STOP_MORE_ENTRIES, node)
        put_validity(node, entry, 1)
        put(node, NODE_ENTRIES, entry + 1)
    else:
        _set(node, entry)
    _store(node, entry, 8, seconds * 1_000_000 + micros)
    return GOOD


@called
def _begin_entry(nodes: int, plan: int, state: int, frame: int, node: int) -> int:
    """Open one more entry of an element or map entry, and return its number, or `NO_ROOM`."""
    entry = get(node, NODE_ENTRIES)
    if entry >= get(node, NODE_MOST_ENTRIES):
        return _stop(nodes, state, STOP_MORE_ENTRIES, node)
    at = _word(plan, load_int64(frame + 8 * FRAME_NODES))
    for i in range(load_int64(frame + 8 * FRAME_NODE_COUNT)):
        each = load_int64(at + 8 * i)
        put_validity(each, entry, 0)
        put(each, NODE_ENTRIES, entry + 1)
    _set(node, entry)
    return entry


@inlined
def _put_default(  # noqa: PLR0917 - compiled functions take positions only
    nodes: int, plan: int, state: int, end: int, node: int, entry: int
) -> int:
    kind = load_int64(end + 8 * END_KIND)
    default = load_int64(end + 8 * END_DEFAULT)
    if kind == END_OF_BYTES:
        size = load_int64(end + 8 * END_DEFAULT_SIZE)
        begin = offset(node, entry)
        if _room_for_bytes(nodes, state, node, begin, size) != GOOD:
            return NO_ROOM
        copy_bytes(get(node, NODE_DATA) + begin, _word(plan, default), size)
        put(node, NODE_DATA_SIZE, begin + size)
    elif kind != END_OF_STRUCT:
        _store(node, entry, load_int64(end + 8 * END_WIDTH), default)
    _set(node, entry)
    return GOOD


@called
def _end_entry(  # noqa: PLR0917 - compiled functions take positions only
    nodes: int, plan: int, state: int, frame: int, entry: int, is_null: bool
) -> int:
    """Write what stands behind the values of an entry: offsets, defaults, lists without elements."""
    at = _word(plan, load_int64(frame + 8 * FRAME_ENDS))
    for _ in range(load_int64(frame + 8 * FRAME_END_COUNT)):
        node = load_int64(at + 8 * END_NODE)
        missing = load_int64(at + 8 * END_MISSING)
        kind = load_int64(at + 8 * END_KIND)
        if missing != MISSING_IS_NULL and not is_null and not _is_set(node, entry):
            parent = load_int64(at + 8 * END_PARENT)
            if parent == 0 or _is_set(parent, entry):
                if missing == MISSING_IS_BAD:
                    return BAD_REQUIRED
                if _put_default(nodes, plan, state, at, node, entry) != GOOD:
                    return NO_ROOM
        if kind == END_OF_BYTES:
            store_int32(get(node, NODE_VALUES) + 4 * (entry + 1), get(node, NODE_DATA_SIZE))
        elif kind == END_OF_LIST:
            elements = get(load_int64(at + 8 * END_CHILD), NODE_ENTRIES)
            store_int32(get(node, NODE_VALUES) + 4 * (entry + 1), elements)
            if not is_null:
                _set(node, entry)
        at += 8 * END_FIELDS
    return GOOD


@inlined
def _operation(plan: int, frame: int, tag: int) -> int:
    """Return the address of the operation for a tag; 0: it is unknown."""
    mask = load_int64(frame + 8 * FRAME_MASK)
    table = _word(plan, load_int64(frame + 8 * FRAME_FIELDS_TABLE))
    place = (tag >> 3) & mask
    while True:
        found = load_int64(table + 16 * place)
        if found == tag:
            return _word(plan, load_int64(table + 16 * place + 8))
        if found == 0:
            return 0
        place = (place + 1) & mask


@inlined
def _drop(top: int) -> None:
    """Leave out the entry of a map in hand, as protobuf's own library does if it has an unknown field."""
    store_int64(top - 8 * STACK_FIELDS + 8 * STACK_DROPPED, 1)


@called
def _enter(nodes: int, plan: int, state: int, op: int, entry: int) -> int:
    """Begin a message of a field; return the entry that its fields write to, or `NO_ROOM`."""
    node = load_int64(op + 8 * OP_NODE)
    repeated = load_int64(op + 8 * OP_REPEATED)
    if not repeated:
        _choose(nodes, plan, op, entry)
    if load_int64(op + 8 * OP_ACTION) == ACTION_TIME:
        if repeated or not _is_set(node, entry):
            time = _word(plan, load_int64(op + 8 * OP_TIME))
            store_int64(time, 0)
            store_int64(time + 8, 0)
    elif repeated:
        return _begin_entry(nodes, plan, state, _word(plan, load_int64(op + 8 * OP_FRAME)), node)
    elif node != 0:
        _set(node, entry)
    return entry


@called
def _leave(  # noqa: PLR0917 - compiled functions take positions only
    nodes: int, plan: int, state: int, frame: int, entry: int, top: int
) -> int:
    """End a message of a field, which `_enter` began."""
    op = load_int64(top + 8 * STACK_OP)
    if load_int64(op + 8 * OP_ACTION) == ACTION_TIME:
        return _put_time(nodes, plan, state, op, load_int64(top + 8 * STACK_ENTRY))
    if not load_int64(op + 8 * OP_REPEATED):
        return GOOD
    status = _end_entry(nodes, plan, state, frame, entry, False)
    if status == GOOD and load_int64(top + 8 * STACK_DROPPED):
        truncate(nodes, load_int64(op + 8 * OP_NODE), entry)
    return status


@inlined
def _push(  # noqa: PLR0917 - compiled functions take positions only
    top: int, end: int, frame: int, entry: int, group: int, op: int
) -> None:
    store_int64(top + 8 * STACK_END, end)
    store_int64(top + 8 * STACK_FRAME, frame)
    store_int64(top + 8 * STACK_ENTRY, entry)
    store_int64(top + 8 * STACK_GROUP, group)
    store_int64(top + 8 * STACK_OP, op)
    store_int64(top + 8 * STACK_DROPPED, 0)


@inlined
def _tag(at: int, end: int) -> tuple[int, int]:
    """Return a tag, and what follows; 0 for that if there is none."""
    tag, after = _varint(at, end)
    # As protobuf's own library: of five bytes and 32 bits at most, and no field is number 0.
    if after - at > 5 or tag < 8 or tag > 0xFFFFFFFF:
        return 0, 0
    return tag, after


@inlined
def _decode_row(  # noqa: C901, PLR0911, PLR0912, PLR0915, PLR0917 - one loop: its variables stay in registers
    nodes: int, plan: int, state: int, at: int, end: int, row: int, data_end: int
) -> int:
    """Decode one message into the open entry ``row`` of the columns, all of whose bits are 0."""
    stack = _word(plan, load_int64(plan + 8 * PLAN_STACK))
    top = stack  # above what is on the stack
    frame = _word(plan, load_int64(plan + 8 * PLAN_FRAME))
    entry = row
    group = 0
    while True:
        tag = 0
        if at < end:
            tag, at = _tag(at, end)
            if at == 0:
                return BAD_WIRE
        wire = tag & 7
        if tag == 0 or wire == WIRE_GROUP_END:
            if group != tag >> 3:
                return BAD_WIRE
            if top == stack:
                return GOOD
            top -= 8 * STACK_FIELDS
            if load_int64(top + 8 * STACK_OP) != 0:
                status = _leave(nodes, plan, state, frame, entry, top)
                if status != GOOD:
                    return status
            end = load_int64(top + 8 * STACK_END)
            frame = load_int64(top + 8 * STACK_FRAME)
            entry = load_int64(top + 8 * STACK_ENTRY)
            group = load_int64(top + 8 * STACK_GROUP)
            continue

        value, size, after = _payload(wire, at, end)
        if after == 0:
            return BAD_WIRE
        at = after
        op = _operation(plan, frame, tag)
        if op == 0:
            if load_int64(frame + 8 * FRAME_IS_MAP_ENTRY):
                _drop(top)
            if wire != WIRE_GROUP:
                continue
        elif load_int64(op + 8 * OP_ACTION) == ACTION_VALUE:
            status = _put_value(nodes, plan, state, op, entry, value, size, data_end)
            if status == GOOD:
                continue
            if status != UNKNOWN:
                return status
            if load_int64(frame + 8 * FRAME_IS_MAP_ENTRY):
                _drop(top)
            continue
        elif load_int64(op + 8 * OP_ACTION) == ACTION_PACKED:
            status = _put_packed(nodes, plan, state, op, value, value + size)
            if status not in (GOOD, UNKNOWN):
                return status
            continue

        if top == stack + 8 * STACK_FIELDS * MOST_DEPTH:
            return BAD_DEPTH
        _push(top, end, frame, entry, group, op)
        top += 8 * STACK_FIELDS
        group = tag >> 3 if wire == WIRE_GROUP else 0
        if wire != WIRE_GROUP:
            at = value
            end = value + size
        if op == 0:
            frame = _word(plan, load_int64(plan + 8 * PLAN_UNKNOWN_FRAME))
        else:
            frame = _word(plan, load_int64(op + 8 * OP_FRAME))
            entry = _enter(nodes, plan, state, op, entry)
            if entry < 0:
                return NO_ROOM


@called
def _clear_bits(at: int, first: int, count: int) -> None:
    """Make bits 0, and perhaps some behind them that nobody has written."""
    end = at + ((first + count + 7) >> 3)
    at += first >> 3
    if at < end:
        store_byte(at, load_byte(at) & ((1 << (first & 7)) - 1))
        at += 1
    while at < end:
        store_int64(at, 0)
        at += 8


@inlined
def _base64_digit(value: int) -> int:
    value &= 63
    if value < 26:
        return 0x41 + value
    if value < 52:
        return 0x61 - 26 + value
    if value < 62:
        return 0x30 - 52 + value
    return 0x2B if value == 62 else 0x2F


@called
def _put_base64(  # noqa: PLR0917 - compiled functions take positions only
    nodes: int, state: int, node: int, row: int, at: int, size: int
) -> int:
    begin = offset(node, row)
    if _room_for_bytes(nodes, state, node, begin, (size + 2) // 3 * 4) != GOOD:
        return NO_ROOM
    to = get(node, NODE_DATA) + begin
    end = at + size
    while at < end:
        left = min(3, end - at)
        bits = load_byte(at) << 16
        if left > 1:
            bits |= load_byte(at + 1) << 8
        if left > 2:
            bits |= load_byte(at + 2)
        store_byte(to, _base64_digit(bits >> 18))
        store_byte(to + 1, _base64_digit(bits >> 12))
        store_byte(to + 2, _base64_digit(bits >> 6) if left > 1 else 0x3D)
        store_byte(to + 3, _base64_digit(bits) if left > 2 else 0x3D)
        at += 3
        to += 4
    put(node, NODE_DATA_SIZE, to - get(node, NODE_DATA))
    _set(node, row)
    return GOOD


def _decode(  # noqa: PLR0917 - C has no keywords
    data: int,
    data_size: int,
    starts: int,
    sizes: int,
    first: int,
    count: int,
    nodes: int,
    plan: int,
    state: int,
    bad_rows: int,
    bad_reasons: int,
) -> int:
    """Decode the values from ``first`` up to ``count``; return how many are done, those before included.

    Args:
        data: the address of the bytes.
        data_size: how many bytes there are.
        starts: where each value begins in them.
        sizes: how many bytes each value has; below 0 is null.
        first: the first value that is not yet decoded.
        count: how many values there are.
        nodes: the table of columns, whose rows have room for all values.
        plan: as `layout` describes it.
        state: gets why it returned, and how many bad values there are.
        bad_rows: gets which values are bad.
        bad_reasons: gets why, one of ``BAD_...``.
    """
    frame = _word(plan, load_int64(plan + 8 * PLAN_FRAME))
    corrupt = load_int64(plan + 8 * PLAN_CORRUPT)
    members = _word(plan, load_int64(frame + 8 * FRAME_NODES))
    member_count = load_int64(frame + 8 * FRAME_NODE_COUNT)
    row = get(nodes, NODE_ENTRIES)
    for i in range(member_count):
        _clear_bits(get(load_int64(members + 8 * i), NODE_VALIDITY), row, count - first)
    store_int64(state + 8 * STATE_STOP, STOP_DONE)
    done = first
    while done < count:
        size = load_int64(sizes + 8 * done)
        at = data + load_int64(starts + 8 * done)
        status = GOOD
        if size >= 0:
            status = _decode_row(nodes, plan, state, at, at + size, row, data + data_size)
            if status == GOOD:
                status = _end_entry(nodes, plan, state, frame, row, False)
        if status > GOOD:
            _empty(nodes, nodes, row)
            bad = load_int64(state + 8 * STATE_BAD)
            store_int64(bad_rows + 8 * bad, done)
            store_int64(bad_reasons + 8 * bad, status)
            if corrupt != 0 and _put_base64(nodes, state, corrupt, row, at, size) != GOOD:
                status = NO_ROOM
            else:
                store_int64(state + 8 * STATE_BAD, bad + 1)
        if status == NO_ROOM:
            _empty(nodes, nodes, row)
            break
        if size < 0 or status > GOOD:
            _end_entry(nodes, plan, state, frame, row, True)
        row += 1
        done += 1
    put(nodes, NODE_ENTRIES, row)
    for i in range(member_count):
        put(load_int64(members + 8 * i), NODE_ENTRIES, row)
    return done


def compile_kernel() -> tuple[str, bytes]:
    """Return the name of the C function, and an object file that holds it: see `compile_function`."""
    return compile_function(_decode, KERNEL_ARGUMENTS)

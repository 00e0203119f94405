"""Values of fields, for the kernel: numbers, bytes, text and times, also those of lists and oneofs."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import offset
from headwater.readers.formats.columns.kernel.text import NO_TEXT, write_bytes, write_text
from headwater.readers.formats.protobuf import layout as L
from headwater.readers.formats.protobuf.kernel.entries import append_element, choose, empty, full, set_valid
from headwater.readers.formats.protobuf.kernel.numbers import (
    enum_value,
    low_int,
    store_number,
    write_enum_name,
)
from headwater.readers.kernels.memory import (
    always_inlined,
    called,
    get,
    load_int32,
    load_int64,
    put,
    store_int32,
    store_int64,
)
from headwater.readers.kernels.varints import MOST_LONG_BYTES, varint

_MOST_SECONDS = 9_223_372_036_854
"""More do not fit into 64 bits as microseconds."""
_MOST_MICROS = (1 << 63) - 1
_LEAST_MICROS = -(1 << 63)


@always_inlined
def number_at(wire: int, at: int, end: int) -> tuple[int, int]:
    """Return a number of a wire type, and its end: a position past ``end`` means that there is none."""
    if wire == L.WIRE_VARINT:
        return varint(at, end, MOST_LONG_BYTES)
    size = 8 if wire == L.WIRE_64_BITS else 4
    if end - at < size:
        return 0, end + 1
    return (load_int64(at) if wire == L.WIRE_64_BITS else load_int32(at)), at + size


@always_inlined
def put_number(plan: int, op: int, entry: int, number: int) -> None:
    """Write a number of a field that is in no list and no oneof."""
    node = get(op, L.OP_NODE)
    number = store_number(get(op, L.OP_CONVERSION), get(node, T.NODE_VALUES), entry, number)
    _set_or_empty(plan, op, entry, number == 0)


@always_inlined
def put_bytes(plan: int, op: int, entry: int, at: int, size: int) -> int:
    """Write bytes of a field that is in no list and no oneof."""
    status = _write_bytes(plan, op, entry, at, size)
    if status == L.GOOD:
        _set_or_empty(plan, op, entry, size == 0)
    return status


@always_inlined
def _set_or_empty(plan: int, op: int, entry: int, is_default: bool) -> None:
    # In this order, since it is the same for each value of a field: a processor guesses it rightly.
    if get(op, L.OP_IMPLICIT) and is_default:
        empty(get(plan, L.PLAN_NODES), get(op, L.OP_NODE), entry)
    else:
        set_valid(get(op, L.OP_NODE), entry)


@always_inlined
def _write_bytes(plan: int, op: int, entry: int, at: int, size: int) -> int:
    """Write the bytes of the open entry in place of its earlier ones."""
    node = get(op, L.OP_NODE)
    conversion = get(op, L.OP_CONVERSION)
    limit = get(plan, L.PLAN_LIMIT)
    begin = offset(node, entry)
    if conversion == L.CONVERT_BINARY:
        filled = write_bytes(node, begin, at, size, limit)
    else:
        filled = write_text(node, begin, at, size, limit, conversion == L.CONVERT_CHECKED_TEXT)
    if filled < 0:
        return L.BAD_TEXT if filled == NO_TEXT else full(plan, node)
    put(node, T.NODE_DATA_SIZE, filled)
    return L.GOOD


@called
def put_value(plan: int, op: int, entry: int, value: int, size: int) -> int:
    """Take one value of any field: a number on the wire, or the address and size of bytes."""
    conversion = get(op, L.OP_CONVERSION)
    if conversion in (L.CONVERT_ENUM, L.CONVERT_ENUM_NAME):
        value = low_int(value)
        enum = get(op, L.OP_ENUM)
        if get(enum, L.ENUM_CLOSED) and enum_value(enum, value) == 0:
            return L.UNKNOWN
    repeated = get(op, L.OP_REPEATED)
    node = get(op, L.OP_NODE)
    if repeated:
        entry = append_element(plan, node)
        if entry == L.STOPPED:
            return L.STOPPED
    else:
        choose(plan, op, entry)
    status = _write(plan, op, entry, value, size)
    if status not in (L.GOOD, L.DEFAULT):
        return status
    if not repeated:
        _set_or_empty(plan, op, entry, status == L.DEFAULT)
    elif conversion >= L.CONVERT_ENUM_NAME:
        store_int32(get(node, T.NODE_VALUES) + 4 * (entry + 1), get(node, T.NODE_DATA_SIZE))
    return L.GOOD


@called
def _write(plan: int, op: int, entry: int, value: int, size: int) -> int:
    """Write one value; return `DEFAULT` if it is the default of its type."""
    conversion = get(op, L.OP_CONVERSION)
    node = get(op, L.OP_NODE)
    if conversion >= L.CONVERT_BINARY:
        status = _write_bytes(plan, op, entry, value, size)
        return L.DEFAULT if status == L.GOOD and size == 0 else status
    if conversion == L.CONVERT_ENUM_NAME:
        if not write_enum_name(get(op, L.OP_ENUM), value, node, entry):
            return full(plan, node)
    else:
        value = store_number(conversion, get(node, T.NODE_VALUES), entry, value)
    return L.DEFAULT if value == 0 else L.GOOD


@called
def put_packed(plan: int, op: int, at: int, end: int) -> int:
    """Take the elements of a packed field. A number of a closed enum without a name is left out."""
    wire = get(op, L.OP_PACKED_WIRE)
    unknown = False
    while at < end:
        value, at = number_at(wire, at, end)
        if at > end:
            return L.BAD_WIRE
        status = put_value(plan, op, 0, value, 0)
        if status == L.UNKNOWN:
            unknown = True
        elif status != L.GOOD:
            return status
    return L.UNKNOWN if unknown else L.GOOD


@always_inlined
def put_part(op: int, number: int) -> None:
    """Note the seconds or nanoseconds of the current time."""
    is_int = get(op, L.OP_CONVERSION) == L.CONVERT_INT
    store_int64(get(op, L.OP_WORDS), low_int(number) if is_int else number)


@always_inlined
def put_time(plan: int, op: int, entry: int) -> int:
    """Write the current time, which is complete."""
    words = get(op, L.OP_WORDS)
    seconds = get(words, 0)
    nanos = get(words, 1)
    if seconds > _MOST_SECONDS or seconds < -_MOST_SECONDS:
        return L.BAD_TIME
    micros = seconds * 1_000_000
    more = nanos // 1000 if nanos >= 0 else -(-nanos // 1000)  # towards zero, as Spark has it
    # Before the addition, which would wrap around.
    if (micros > 0 and more > _MOST_MICROS - micros) or (micros < 0 and more < _LEAST_MICROS - micros):
        return L.BAD_TIME
    node = get(op, L.OP_NODE)
    if get(op, L.OP_REPEATED):
        entry = append_element(plan, node)
        if entry == L.STOPPED:
            return L.STOPPED
    else:
        set_valid(node, entry)
    put(get(node, T.NODE_VALUES), entry, micros + more)
    return L.GOOD

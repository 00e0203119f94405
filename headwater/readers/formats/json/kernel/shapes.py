"""The shapes of JSON objects: their members and the kinds of these, as a tree that grows.

A value is read twice: first its syntax is checked, then its kinds are noted. So broken ones leave no trace.
"""

from __future__ import annotations

from headwater.readers.formats.json import shapes_layout as S
from headwater.readers.formats.json.kernel.scanner import skip_scalar, skip_space, skip_string, skip_value
from headwater.readers.formats.json.kernel.shape_tree import (
    NO_ROOM,
    add_kind,
    child_of,
    new_shape,
    note_scalar,
    put_into_table,
    shape_at,
    text_of,
)
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import peek
from headwater.readers.kernels.memory import called, get, int64, load_byte, load_int64, put, store_int64

_NULL = 0x6E
_NOT_A_NUMBER = 0x4E
_INFINITY = 0x49
"""Upper case: no other word of JSON begins with these."""
_FRAME_BYTES = 16
"""A shape, and the number of the object; 0 of a list."""


@called
def _note_object(state: int, at: int, end: int) -> bool:
    """Note the shape of an object, which is JSON, as the root's. Return False if there is not enough room."""
    stack = get(state, S.STATE_STACK)
    depth = int64(0)
    number = int64(0)
    while True:
        # A value begins here: an object, a list, or neither.
        byte = peek(at, end)
        if byte == C.OPEN_OBJECT or byte == C.OPEN_LIST:
            is_object = byte == C.OPEN_OBJECT
            shape = shape_at(state, number)
            add_kind(shape, S.KIND_STRUCT if is_object else S.KIND_LIST)
            serial = int64(0)
            if is_object:
                serial = get(state, S.STATE_SERIAL) + 1
                put(state, S.STATE_SERIAL, serial)
            elif get(shape, S.SHAPE_ELEMENT) == 0 and new_shape(state, number, at, int64(-1)) == NO_ROOM:
                return False
            frame = stack + _FRAME_BYTES * depth
            store_int64(frame, number)
            store_int64(frame + 8, serial)
            depth += 1
            at = skip_space(at + 1, end)
            if peek(at, end) == (C.CLOSE_OBJECT if is_object else C.CLOSE_LIST):
                at += 1
                depth -= 1
            else:
                if is_object:
                    number, at = _member(state, frame, at, end)
                    if number == NO_ROOM:
                        return False
                else:
                    number = get(shape_at(state, number), S.SHAPE_ELEMENT)
                continue
        else:
            value_end = skip_scalar(at, end)
            if not note_scalar(state, shape_at(state, number), at, value_end):
                return False
            at = value_end
        while True:
            if depth == 0:
                return True
            frame = stack + _FRAME_BYTES * (depth - 1)
            at = skip_space(at, end)
            byte = peek(at, end)
            at += 1
            if byte == C.COMMA:
                at = skip_space(at, end)
                if load_int64(frame + 8) != 0:
                    number, at = _member(state, frame, at, end)
                    if number == NO_ROOM:
                        return False
                else:
                    number = get(shape_at(state, load_int64(frame)), S.SHAPE_ELEMENT)
                break
            depth -= 1


@called
def _member(state: int, frame: int, at: int, end: int) -> tuple[int, int]:
    """Return the shape of the member whose name begins here, and where its value begins."""
    name_end = skip_string(at, end)
    text, size = text_of(state, at, name_end)
    if size == NO_ROOM:
        return int64(NO_ROOM), at
    number = child_of(state, load_int64(frame), text, size)
    if number == NO_ROOM:
        return number, at
    shape = shape_at(state, number)
    if get(shape, S.SHAPE_SEEN) == load_int64(frame + 8):
        add_kind(shape, S.KIND_TWICE)
    put(shape, S.SHAPE_SEEN, load_int64(frame + 8))
    at = skip_space(name_end, end)
    if peek(at, end) == C.COLON:
        at += 1
    return number, skip_space(at, end)


@called
def _note_list(state: int, at: int, end: int) -> bool:
    """Note the objects of a list, also in lists in it, if there is nothing but objects and nulls in them."""
    levels = get(state, S.STATE_LEVELS)
    first = skip_space(at + 1, end)
    for has_room in range(2):
        at = first
        depth = int64(1)
        while depth > 0:
            byte = peek(at, end)
            if byte == C.OPEN_LIST or byte == C.CLOSE_LIST or byte == C.COMMA:
                depth += 1 if byte == C.OPEN_LIST else -1 if byte == C.CLOSE_LIST else 0
                at = skip_space(at + 1, end)
                continue
            if has_room == 0 and byte != C.OPEN_OBJECT and byte != _NULL:
                put(state, S.STATE_OTHER, get(state, S.STATE_OTHER) + 1)
                return True
            value_end = skip_value(at, end, levels, depth)
            if has_room == 1 and byte == C.OPEN_OBJECT and not _note_object(state, at, value_end):
                return False
            at = skip_space(value_end, end)
    return True


@called
def _is_no_decimal(at: int, end: int, state: int) -> bool:
    """Whether a value, which is JSON, has ``NaN`` or an infinity, where numbers are to be decimals.

    Spark looks for a decimal in each number then, and takes the whole record for a broken one.
    """
    if get(state, S.STATE_PREFERS_DECIMAL) == 0 or get(state, S.STATE_PRIMITIVES_AS_STRING) == 1:
        return False
    while at < end:
        byte = load_byte(at)
        if byte == C.QUOTE or byte == C.APOSTROPHE:
            at = skip_string(at, end)
        elif byte == _NOT_A_NUMBER or byte == _INFINITY:
            return True
        else:
            at += 1
    return False


def note_shapes(starts: int, sizes: int, first: int, count: int, state: int) -> int:
    """Note the shapes of values from the first one on, and return how many are done.

    Args:
        starts: the address of the values' addresses, behind each of which 64 bytes may be loaded.
        sizes: the address of their sizes.
        first: how many values are done.
        count: how many there are.
        state: the address of the fields ``STATE_...``.
    """
    if get(state, S.STATE_REBUILD) == 1:
        for number in range(1, get(state, S.STATE_COUNT)):
            if get(shape_at(state, number), S.SHAPE_NAME_SIZE) >= 0:
                put_into_table(state, number)
        put(state, S.STATE_REBUILD, 0)
    put(state, S.STATE_STOP, 0)
    for i in range(first, count):
        at = get(starts, i)
        end = at + get(sizes, i)
        at = skip_space(at, end)
        if at == end:
            continue
        byte = load_byte(at)
        has_room = True
        # Nothing behind the value is looked at: it may be anything, an unfinished string too.
        value_end = skip_value(at, end, get(state, S.STATE_LEVELS), 0)
        if value_end == 0 or _is_no_decimal(at, value_end, state):
            put(state, S.STATE_BROKEN, get(state, S.STATE_BROKEN) + 1)
        elif byte == C.OPEN_OBJECT:
            has_room = _note_object(state, at, end)
        elif byte == C.OPEN_LIST:
            has_room = _note_list(state, at, end)
        elif byte != _NULL:
            put(state, S.STATE_OTHER, get(state, S.STATE_OTHER) + 1)
        if not has_room:
            put(state, S.STATE_STOP, 1)
            return i
    return count

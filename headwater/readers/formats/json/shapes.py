"""The shapes of JSON objects: which members they have, and of what kinds, as a tree that grows.

A value is looked at twice: whether it is JSON, then what it is. So broken ones leave nothing behind.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: C901, PLR0912, PLR1714, SIM109, SIM110
# Compiled functions take positions only, and have no cheap sets; a value is read in one loop with many ends.

from __future__ import annotations

from headwater.readers.formats.json.decimal_shapes import decimal_shape
from headwater.readers.formats.json.exact_numbers import to_integer
from headwater.readers.formats.json.scanner import (
    APOSTROPHE,
    BACKSLASH,
    CLOSE_LIST,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    MINUS,
    OPEN_LIST,
    OPEN_OBJECT,
    QUOTE,
    is_digit,
    peek,
    skip_scalar,
    skip_space,
    skip_string,
)
from headwater.readers.formats.json.shapes_layout import (
    KIND_BOOLEAN,
    KIND_DECIMAL,
    KIND_DOUBLE,
    KIND_LIST,
    KIND_LONG,
    KIND_STRING,
    KIND_STRUCT,
    KIND_TWICE,
    MOST_DECIMAL,
    SHAPE_ELEMENT,
    SHAPE_FIELDS,
    SHAPE_FIRST_CHILD,
    SHAPE_KINDS,
    SHAPE_NAME,
    SHAPE_NAME_SIZE,
    SHAPE_NEXT,
    SHAPE_PARENT,
    SHAPE_RANGE,
    SHAPE_SCALE,
    SHAPE_SEEN,
    STATE_BROKEN,
    STATE_COUNT,
    STATE_LEVELS,
    STATE_MOST,
    STATE_NAMES,
    STATE_NAMES_MOST,
    STATE_NAMES_SIZE,
    STATE_OTHER,
    STATE_PREFERS_DECIMAL,
    STATE_PRIMITIVES_AS_STRING,
    STATE_REBUILD,
    STATE_SCRATCH,
    STATE_SCRATCH_SIZE,
    STATE_SERIAL,
    STATE_SHAPES,
    STATE_STACK,
    STATE_STOP,
    STATE_TABLE,
    STATE_TABLE_MASK,
)
from headwater.readers.formats.json.skipping import skip_value
from headwater.readers.formats.json.text import TEXT_GROWTH, TEXT_SPARE, put_text
from headwater.readers.formats.kernel_columns import get, put
from headwater.readers.kernels.memory import (
    called,
    copy_bytes,
    inlined,
    int64,
    load_byte,
    load_int64,
    store_int64,
)

_NULL = 0x6E
_TRUE = 0x74
_FALSE = 0x66
_QUESTION_MARK = 0x3F
_NOT_A_NUMBER = 0x4E
_INFINITY = 0x49
"""Upper case: no other word of JSON begins with these."""
_NO_ROOM = -1
_SHAPE_BYTES = 8 * SHAPE_FIELDS
_FRAME_BYTES = 16
"""A shape, and the number of the object; 0 of a list."""


@inlined
def _shape(state: int, number: int) -> int:
    return get(state, STATE_SHAPES) + _SHAPE_BYTES * number


@inlined
def _add_kind(shape: int, kind: int) -> None:
    put(shape, SHAPE_KINDS, get(shape, SHAPE_KINDS) | kind)


@inlined
def _is_same(state: int, shape: int, at: int, size: int) -> bool:
    if get(shape, SHAPE_NAME_SIZE) != size:
        return False
    name = get(state, STATE_NAMES) + get(shape, SHAPE_NAME)
    for i in range(size):
        if load_byte(name + i) != load_byte(at + i):
            return False
    return True


@inlined
def _place(state: int, parent: int, at: int, size: int) -> int:
    """Return where in the hash table the search for a name begins."""
    code = int64(-3750763034362895579) ^ parent
    for i in range(size):
        code = (code ^ load_byte(at + i)) * 1099511628211
    code ^= (code >> 32) & 0xFFFFFFFF
    return code & get(state, STATE_TABLE_MASK)


@called
def _put_into_table(state: int, number: int) -> None:
    shape = _shape(state, number)
    name = get(state, STATE_NAMES) + get(shape, SHAPE_NAME)
    place = _place(state, get(shape, SHAPE_PARENT), name, get(shape, SHAPE_NAME_SIZE))
    table = get(state, STATE_TABLE)
    while load_int64(table + 8 * place) != 0:
        place = (place + 1) & get(state, STATE_TABLE_MASK)
    store_int64(table + 8 * place, number)


@called
def _new_shape(state: int, parent: int, at: int, size: int) -> int:
    """Append a shape with a name, or without one if the size is below 0; `_NO_ROOM` if there is none."""
    number = get(state, STATE_COUNT)
    used = get(state, STATE_NAMES_SIZE)
    length = max(size, 0)
    if number >= get(state, STATE_MOST) or used + length > get(state, STATE_NAMES_MOST):
        return int64(_NO_ROOM)
    shape = _shape(state, number)
    for field in range(SHAPE_FIELDS):
        put(shape, field, 0)
    copy_bytes(get(state, STATE_NAMES) + used, at, length)
    put(shape, SHAPE_NAME, used)
    put(shape, SHAPE_NAME_SIZE, size)
    put(shape, SHAPE_PARENT, parent)
    put(state, STATE_NAMES_SIZE, used + length)
    put(state, STATE_COUNT, number + 1)
    outer = _shape(state, parent)
    if size < 0:
        put(outer, SHAPE_ELEMENT, number)
    else:
        put(shape, SHAPE_NEXT, get(outer, SHAPE_FIRST_CHILD))
        put(outer, SHAPE_FIRST_CHILD, number)
        _put_into_table(state, number)
    return number


@called
def _child(state: int, parent: int, at: int, size: int) -> int:
    """Return the child of a name, which may be new; `_NO_ROOM` if there is no room for it."""
    place = _place(state, parent, at, size)
    table = get(state, STATE_TABLE)
    while True:
        number = load_int64(table + 8 * place)
        if number == 0:
            return _new_shape(state, parent, at, size)
        shape = _shape(state, number)
        if get(shape, SHAPE_PARENT) == parent and _is_same(state, shape, at, size):
            return number
        place = (place + 1) & get(state, STATE_TABLE_MASK)


@inlined
def _text(state: int, at: int, after: int) -> tuple[int, int]:
    """Return where the text of a string lies, in place if it has no escapes, and its size.

    The size is `_NO_ROOM` if the scratch is too small.
    """
    escaped = False
    for i in range(at + 1, after - 1):
        escaped = escaped or load_byte(i) == BACKSLASH
    if not escaped:
        return at + 1, after - at - 2
    scratch = get(state, STATE_SCRATCH)
    if TEXT_GROWTH * (after - at) + TEXT_SPARE > get(state, STATE_SCRATCH_SIZE):
        return scratch, int64(_NO_ROOM)
    _, last = put_text(at, after, scratch, _QUESTION_MARK)
    return scratch, last - scratch


@called
def _note_decimal(shape: int, precision: int, scale: int) -> None:
    _add_kind(shape, KIND_DECIMAL)
    put(shape, SHAPE_RANGE, max(get(shape, SHAPE_RANGE), precision - scale))
    put(shape, SHAPE_SCALE, max(get(shape, SHAPE_SCALE), scale))


@called
def _note_number(state: int, shape: int, at: int, after: int) -> None:
    if get(state, STATE_PRIMITIVES_AS_STRING) == 1:
        _add_kind(shape, KIND_STRING)
        return
    is_integer = True
    for i in range(at, after):
        byte = load_byte(i)
        is_integer = is_integer and (is_digit(byte) or byte == MINUS)
    if is_integer:
        is_long, _ = to_integer(at, after)
        if is_long:
            _add_kind(shape, KIND_LONG)
            return
    if is_integer or get(state, STATE_PREFERS_DECIMAL) == 1:
        fits, precision, scale = decimal_shape(at, after)
        if fits and scale >= 0 and max(precision, scale) <= MOST_DECIMAL:
            _note_decimal(shape, max(precision, scale), scale)
            return
    _add_kind(shape, KIND_DOUBLE)


@called
def _note_scalar(state: int, shape: int, at: int, after: int) -> bool:
    """Note the kind of a value without members. Return False if there is not enough room."""
    byte = load_byte(at)
    if byte == QUOTE or byte == APOSTROPHE:
        if after - at == 2:
            return True  # an empty string may be how a producer writes null
        if get(state, STATE_PREFERS_DECIMAL) == 1:
            text, size = _text(state, at, after)
            if size == _NO_ROOM:
                return False
            fits, precision, scale = decimal_shape(text, text + size)
            if fits and scale >= 0 and scale <= precision and precision <= MOST_DECIMAL:
                _note_decimal(shape, precision, scale)
                return True
        _add_kind(shape, KIND_STRING)
    elif byte == _TRUE or byte == _FALSE:
        _add_kind(shape, KIND_STRING if get(state, STATE_PRIMITIVES_AS_STRING) == 1 else KIND_BOOLEAN)
    elif byte != _NULL:
        _note_number(state, shape, at, after)
    return True


@called
def _note_object(state: int, at: int, end: int) -> bool:
    """Note the shape of an object, which is JSON, as the root's. Return False if there is not enough room."""
    stack = get(state, STATE_STACK)
    depth = int64(0)
    number = int64(0)
    while True:
        # A value begins here: an object, a list, or neither.
        byte = peek(at, end)
        if byte == OPEN_OBJECT or byte == OPEN_LIST:
            is_object = byte == OPEN_OBJECT
            shape = _shape(state, number)
            _add_kind(shape, KIND_STRUCT if is_object else KIND_LIST)
            serial = int64(0)
            if is_object:
                serial = get(state, STATE_SERIAL) + 1
                put(state, STATE_SERIAL, serial)
            elif get(shape, SHAPE_ELEMENT) == 0 and _new_shape(state, number, at, int64(-1)) == _NO_ROOM:
                return False
            frame = stack + _FRAME_BYTES * depth
            store_int64(frame, number)
            store_int64(frame + 8, serial)
            depth += 1
            at = skip_space(at + 1, end)
            if peek(at, end) == (CLOSE_OBJECT if is_object else CLOSE_LIST):
                at += 1
                depth -= 1
            else:
                if is_object:
                    number, at = _member(state, frame, at, end)
                    if number == _NO_ROOM:
                        return False
                else:
                    number = get(_shape(state, number), SHAPE_ELEMENT)
                continue
        else:
            after = skip_scalar(at, end)
            if not _note_scalar(state, _shape(state, number), at, after):
                return False
            at = after
        while True:
            if depth == 0:
                return True
            frame = stack + _FRAME_BYTES * (depth - 1)
            at = skip_space(at, end)
            byte = peek(at, end)
            at += 1
            if byte == COMMA:
                at = skip_space(at, end)
                if load_int64(frame + 8) != 0:
                    number, at = _member(state, frame, at, end)
                    if number == _NO_ROOM:
                        return False
                else:
                    number = get(_shape(state, load_int64(frame)), SHAPE_ELEMENT)
                break
            depth -= 1


@called
def _member(state: int, frame: int, at: int, end: int) -> tuple[int, int]:
    """Return the shape of the member whose name begins here, and where its value begins."""
    after = skip_string(at, end)
    text, size = _text(state, at, after)
    if size == _NO_ROOM:
        return int64(_NO_ROOM), at
    number = _child(state, load_int64(frame), text, size)
    if number == _NO_ROOM:
        return number, at
    shape = _shape(state, number)
    if get(shape, SHAPE_SEEN) == load_int64(frame + 8):
        _add_kind(shape, KIND_TWICE)
    put(shape, SHAPE_SEEN, load_int64(frame + 8))
    at = skip_space(after, end)
    if peek(at, end) == COLON:
        at += 1
    return number, skip_space(at, end)


@called
def _note_list(state: int, at: int, end: int) -> bool:
    """Note the objects of a list, also in lists in it, if there is nothing but objects and nulls in them."""
    levels = get(state, STATE_LEVELS)
    first = skip_space(at + 1, end)
    for noted in range(2):
        at = first
        depth = int64(1)
        while depth > 0:
            byte = peek(at, end)
            if byte == OPEN_LIST or byte == CLOSE_LIST or byte == COMMA:
                depth += 1 if byte == OPEN_LIST else -1 if byte == CLOSE_LIST else 0
                at = skip_space(at + 1, end)
                continue
            if noted == 0 and byte != OPEN_OBJECT and byte != _NULL:
                put(state, STATE_OTHER, get(state, STATE_OTHER) + 1)
                return True
            after = skip_value(at, end, levels, depth)
            if noted == 1 and byte == OPEN_OBJECT and not _note_object(state, at, after):
                return False
            at = skip_space(after, end)
    return True


@called
def _is_no_decimal(at: int, end: int, state: int) -> bool:
    """Whether a value, which is JSON, has ``NaN`` or an infinity, where numbers are to be decimals.

    Spark looks for a decimal in each number then, and takes the whole record for a broken one.
    """
    if get(state, STATE_PREFERS_DECIMAL) == 0 or get(state, STATE_PRIMITIVES_AS_STRING) == 1:
        return False
    while at < end:
        byte = load_byte(at)
        if byte == QUOTE or byte == APOSTROPHE:
            at = skip_string(at, end)
        elif byte == _NOT_A_NUMBER or byte == _INFINITY:
            return True
        else:
            at += 1
    return False


@inlined
def note_shapes(starts: int, sizes: int, first: int, count: int, state: int) -> int:
    """Note the shapes of values from the first one on, and return how many are done.

    Args:
        starts: the address of the values' addresses, behind each of which 64 bytes may be loaded.
        sizes: the address of their sizes.
        first: how many values are done.
        count: how many there are.
        state: the address of the fields ``STATE_...``.
    """
    if get(state, STATE_REBUILD) == 1:
        for number in range(1, get(state, STATE_COUNT)):
            if get(_shape(state, number), SHAPE_NAME_SIZE) >= 0:
                _put_into_table(state, number)
        put(state, STATE_REBUILD, 0)
    put(state, STATE_STOP, 0)
    for i in range(first, count):
        at = load_int64(starts + 8 * i)
        end = at + load_int64(sizes + 8 * i)
        at = skip_space(at, end)
        if at == end:
            continue
        byte = load_byte(at)
        done = True
        if skip_value(at, end, get(state, STATE_LEVELS), 0) == 0 or _is_no_decimal(at, end, state):
            put(state, STATE_BROKEN, get(state, STATE_BROKEN) + 1)
        elif byte == OPEN_OBJECT:
            done = _note_object(state, at, end)
        elif byte == OPEN_LIST:
            done = _note_list(state, at, end)
        elif byte != _NULL:
            put(state, STATE_OTHER, get(state, STATE_OTHER) + 1)
        if not done:
            put(state, STATE_STOP, 1)
            return i
    return count

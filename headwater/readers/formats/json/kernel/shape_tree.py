"""A tree of shapes, each with its name and the kinds of its values; names are found by a hash table."""

from __future__ import annotations

from headwater.readers.formats.json import shapes_layout as S
from headwater.readers.formats.json.kernel.text import TEXT_GROWTH, TEXT_SPARE, put_text
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit
from headwater.readers.formats.values.kernel.exact_numbers import decimal_shape, to_integer
from headwater.readers.kernels.memory import called, copy_bytes, get, inlined, int64, load_byte, put

NO_ROOM = -1
"""In the place of a shape's number or of a size: there is not enough room for it."""
_SHAPE_BYTES = 8 * S.SHAPE_FIELDS
_NULL = 0x6E
_TRUE = 0x74
_FALSE = 0x66
_QUESTION_MARK = 0x3F


@inlined
def shape_at(state: int, number: int) -> int:
    """Return the address of a shape."""
    return get(state, S.STATE_SHAPES) + _SHAPE_BYTES * number


@inlined
def add_kind(shape: int, kind: int) -> None:
    """Note that a shape had a value of this kind."""
    put(shape, S.SHAPE_KINDS, get(shape, S.SHAPE_KINDS) | kind)


@inlined
def _is_same(state: int, shape: int, at: int, size: int) -> bool:
    if get(shape, S.SHAPE_NAME_SIZE) != size:
        return False
    name = get(state, S.STATE_NAMES) + get(shape, S.SHAPE_NAME)
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
    return code & get(state, S.STATE_TABLE_MASK)


@called
def put_into_table(state: int, number: int) -> None:
    """Let a shape be found by its name."""
    shape = shape_at(state, number)
    name = get(state, S.STATE_NAMES) + get(shape, S.SHAPE_NAME)
    place = _place(state, get(shape, S.SHAPE_PARENT), name, get(shape, S.SHAPE_NAME_SIZE))
    table = get(state, S.STATE_TABLE)
    while get(table, place) != 0:
        place = (place + 1) & get(state, S.STATE_TABLE_MASK)
    put(table, place, number)


@called
def new_shape(state: int, parent: int, at: int, size: int) -> int:
    """Append a shape with a name, or without one if the size is below 0; `NO_ROOM` if there is none."""
    number = get(state, S.STATE_COUNT)
    names_size = get(state, S.STATE_NAMES_SIZE)
    length = max(size, 0)
    if number >= get(state, S.STATE_MOST) or names_size + length > get(state, S.STATE_NAMES_MOST):
        return int64(NO_ROOM)
    shape = shape_at(state, number)
    for field in range(S.SHAPE_FIELDS):
        put(shape, field, 0)
    copy_bytes(get(state, S.STATE_NAMES) + names_size, at, length)
    put(shape, S.SHAPE_NAME, names_size)
    put(shape, S.SHAPE_NAME_SIZE, size)
    put(shape, S.SHAPE_PARENT, parent)
    put(state, S.STATE_NAMES_SIZE, names_size + length)
    put(state, S.STATE_COUNT, number + 1)
    outer = shape_at(state, parent)
    if size < 0:
        put(outer, S.SHAPE_ELEMENT, number)
    else:
        put(shape, S.SHAPE_NEXT, get(outer, S.SHAPE_FIRST_CHILD))
        put(outer, S.SHAPE_FIRST_CHILD, number)
        put_into_table(state, number)
    return number


@called
def child_of(state: int, parent: int, at: int, size: int) -> int:
    """Return the child of a name, which may be new; `NO_ROOM` if there is no room for it."""
    place = _place(state, parent, at, size)
    table = get(state, S.STATE_TABLE)
    while True:
        number = get(table, place)
        if number == 0:
            return new_shape(state, parent, at, size)
        shape = shape_at(state, number)
        if get(shape, S.SHAPE_PARENT) == parent and _is_same(state, shape, at, size):
            return number
        place = (place + 1) & get(state, S.STATE_TABLE_MASK)


@inlined
def text_of(state: int, at: int, value_end: int) -> tuple[int, int]:
    """Return where the text of a string lies, in place if it has no escapes, and its size.

    The size is `NO_ROOM` if the scratch is too small.
    """
    escaped = False
    for i in range(at + 1, value_end - 1):
        escaped = escaped or load_byte(i) == C.BACKSLASH
    if not escaped:
        return at + 1, value_end - at - 2
    scratch = get(state, S.STATE_SCRATCH)
    if TEXT_GROWTH * (value_end - at) + TEXT_SPARE > get(state, S.STATE_SCRATCH_SIZE):
        return scratch, int64(NO_ROOM)
    _, last = put_text(at, value_end, scratch, _QUESTION_MARK)
    return scratch, last - scratch


@called
def _note_decimal(shape: int, precision: int, scale: int) -> None:
    add_kind(shape, S.KIND_DECIMAL)
    put(shape, S.SHAPE_RANGE, max(get(shape, S.SHAPE_RANGE), precision - scale))
    put(shape, S.SHAPE_SCALE, max(get(shape, S.SHAPE_SCALE), scale))


@called
def _note_number(state: int, shape: int, at: int, value_end: int) -> None:
    if get(state, S.STATE_PRIMITIVES_AS_STRING) == 1:
        add_kind(shape, S.KIND_AS_STRING)
        return
    is_integer = True
    for i in range(at, value_end):
        byte = load_byte(i)
        is_integer = is_integer and (is_digit(byte) or byte == C.MINUS)
    if is_integer:
        is_long, _ = to_integer(at, value_end)
        if is_long:
            add_kind(shape, S.KIND_LONG)
            return
    if is_integer or get(state, S.STATE_PREFERS_DECIMAL) == 1:
        fits, precision, scale = decimal_shape(at, value_end, True)
        if fits and scale >= 0 and max(precision, scale) <= S.MOST_DECIMAL:
            _note_decimal(shape, max(precision, scale), scale)
            return
    add_kind(shape, S.KIND_DOUBLE)


@called
def note_scalar(state: int, shape: int, at: int, value_end: int) -> bool:
    """Note the kind of a value without members. Return False if there is not enough room."""
    byte = load_byte(at)
    if byte == C.QUOTE or byte == C.APOSTROPHE:
        if value_end - at == 2:
            return True  # an empty string may be how a producer writes null
        if get(state, S.STATE_PREFERS_DECIMAL) == 1:
            text, size = text_of(state, at, value_end)
            if size == NO_ROOM:
                return False
            fits, precision, scale = decimal_shape(text, text + size, True)
            if fits and scale >= 0 and scale <= precision and precision <= S.MOST_DECIMAL:
                _note_decimal(shape, precision, scale)
                return True
        add_kind(shape, S.KIND_STRING)
    elif byte == _TRUE or byte == _FALSE:
        add_kind(shape, S.KIND_AS_STRING if get(state, S.STATE_PRIMITIVES_AS_STRING) == 1 else S.KIND_BOOLEAN)
    elif byte != _NULL:
        _note_number(state, shape, at, value_end)
    return True

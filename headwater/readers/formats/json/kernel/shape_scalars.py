"""Strings, numbers and words of JSON: of which kind a shape's value is."""

from __future__ import annotations

from headwater.readers.formats.json import shapes_layout as S
from headwater.readers.formats.json.kernel.shape_tree import NO_ROOM, add_kind
from headwater.readers.formats.json.kernel.text import TEXT_GROWTH, TEXT_SPARE, put_text
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit
from headwater.readers.formats.values.kernel.exact_numbers import decimal_shape, to_integer
from headwater.readers.kernels.memory import called, get, inlined, int64, load_byte, put

_NULL = 0x6E
_TRUE = 0x74
_FALSE = 0x66
_QUESTION_MARK = 0x3F


@inlined
def text_of(state: int, at: int, after: int) -> tuple[int, int]:
    """Return where the text of a string lies, in place if it has no escapes, and its size.

    The size is `NO_ROOM` if the scratch is too small.
    """
    escaped = False
    for i in range(at + 1, after - 1):
        escaped = escaped or load_byte(i) == C.BACKSLASH
    if not escaped:
        return at + 1, after - at - 2
    scratch = get(state, S.STATE_SCRATCH)
    if TEXT_GROWTH * (after - at) + TEXT_SPARE > get(state, S.STATE_SCRATCH_SIZE):
        return scratch, int64(NO_ROOM)
    _, last = put_text(at, after, scratch, _QUESTION_MARK)
    return scratch, last - scratch


@called
def _note_decimal(shape: int, precision: int, scale: int) -> None:
    add_kind(shape, S.KIND_DECIMAL)
    put(shape, S.SHAPE_RANGE, max(get(shape, S.SHAPE_RANGE), precision - scale))
    put(shape, S.SHAPE_SCALE, max(get(shape, S.SHAPE_SCALE), scale))


@called
def _note_number(state: int, shape: int, at: int, after: int) -> None:
    if get(state, S.STATE_PRIMITIVES_AS_STRING) == 1:
        add_kind(shape, S.KIND_AS_STRING)
        return
    is_integer = True
    for i in range(at, after):
        byte = load_byte(i)
        is_integer = is_integer and (is_digit(byte) or byte == C.MINUS)
    if is_integer:
        is_long, _ = to_integer(at, after)
        if is_long:
            add_kind(shape, S.KIND_LONG)
            return
    if is_integer or get(state, S.STATE_PREFERS_DECIMAL) == 1:
        fits, precision, scale = decimal_shape(at, after, True)
        if fits and scale >= 0 and max(precision, scale) <= S.MOST_DECIMAL:
            _note_decimal(shape, max(precision, scale), scale)
            return
    add_kind(shape, S.KIND_DOUBLE)


@called
def note_scalar(state: int, shape: int, at: int, after: int) -> bool:
    """Note the kind of a value without members. Return False if there is not enough room."""
    byte = load_byte(at)
    if byte == C.QUOTE or byte == C.APOSTROPHE:
        if after - at == 2:
            return True  # an empty string may be how a producer writes null
        if get(state, S.STATE_PREFERS_DECIMAL) == 1:
            text, size = text_of(state, at, after)
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
        _note_number(state, shape, at, after)
    return True

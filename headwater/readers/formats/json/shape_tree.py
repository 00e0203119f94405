"""A tree of shapes, each with its name and the kinds of its values; names are found by a hash table."""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: SIM110
# Compiled functions have no generators.

from __future__ import annotations

from headwater.readers.formats.json.shapes_layout import (
    SHAPE_ELEMENT,
    SHAPE_FIELDS,
    SHAPE_FIRST_CHILD,
    SHAPE_KINDS,
    SHAPE_NAME,
    SHAPE_NAME_SIZE,
    SHAPE_NEXT,
    SHAPE_PARENT,
    STATE_COUNT,
    STATE_MOST,
    STATE_NAMES,
    STATE_NAMES_MOST,
    STATE_NAMES_SIZE,
    STATE_SHAPES,
    STATE_TABLE,
    STATE_TABLE_MASK,
)
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

NO_ROOM = -1
"""In the place of a shape's number or of a size: there is not enough room for it."""
_SHAPE_BYTES = 8 * SHAPE_FIELDS


@inlined
def shape_at(state: int, number: int) -> int:
    """Return the address of a shape."""
    return get(state, STATE_SHAPES) + _SHAPE_BYTES * number


@inlined
def add_kind(shape: int, kind: int) -> None:
    """Note that a shape had a value of this kind."""
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
def put_into_table(state: int, number: int) -> None:
    """Let a shape be found by its name."""
    shape = shape_at(state, number)
    name = get(state, STATE_NAMES) + get(shape, SHAPE_NAME)
    place = _place(state, get(shape, SHAPE_PARENT), name, get(shape, SHAPE_NAME_SIZE))
    table = get(state, STATE_TABLE)
    while load_int64(table + 8 * place) != 0:
        place = (place + 1) & get(state, STATE_TABLE_MASK)
    store_int64(table + 8 * place, number)


@called
def new_shape(state: int, parent: int, at: int, size: int) -> int:
    """Append a shape with a name, or without one if the size is below 0; `NO_ROOM` if there is none."""
    number = get(state, STATE_COUNT)
    used = get(state, STATE_NAMES_SIZE)
    length = max(size, 0)
    if number >= get(state, STATE_MOST) or used + length > get(state, STATE_NAMES_MOST):
        return int64(NO_ROOM)
    shape = shape_at(state, number)
    for field in range(SHAPE_FIELDS):
        put(shape, field, 0)
    copy_bytes(get(state, STATE_NAMES) + used, at, length)
    put(shape, SHAPE_NAME, used)
    put(shape, SHAPE_NAME_SIZE, size)
    put(shape, SHAPE_PARENT, parent)
    put(state, STATE_NAMES_SIZE, used + length)
    put(state, STATE_COUNT, number + 1)
    outer = shape_at(state, parent)
    if size < 0:
        put(outer, SHAPE_ELEMENT, number)
    else:
        put(shape, SHAPE_NEXT, get(outer, SHAPE_FIRST_CHILD))
        put(outer, SHAPE_FIRST_CHILD, number)
        put_into_table(state, number)
    return number


@called
def child_of(state: int, parent: int, at: int, size: int) -> int:
    """Return the child of a name, which may be new; `NO_ROOM` if there is no room for it."""
    place = _place(state, parent, at, size)
    table = get(state, STATE_TABLE)
    while True:
        number = load_int64(table + 8 * place)
        if number == 0:
            return new_shape(state, parent, at, size)
        shape = shape_at(state, number)
        if get(shape, SHAPE_PARENT) == parent and _is_same(state, shape, at, size):
            return number
        place = (place + 1) & get(state, STATE_TABLE_MASK)

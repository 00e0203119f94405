"""Dates and times in text by a pattern: the kernel's half of `time_pattern`.

A text is read as Java's `DateTimeFormatter` reads it: strictly, all of it, optional sections from left to
right. `pattern_fields` makes dates and times of the fields.
"""

from __future__ import annotations

from headwater.readers.formats.values import layout as V
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit, peek
from headwater.readers.formats.values.kernel.moments import DAY_SECONDS, WRONG, moment, offset_of
from headwater.readers.formats.values.kernel.pattern_fields import (
    has_good_offset,
    moment_of,
    offset_of_text,
    set_field,
)
from headwater.readers.kernels.memory import called, get, inlined, int64, load_byte, load_int64, put

_HOPELESS = -1
"""Beside positions, and 0 where a step does not fit: no optional section makes that good."""
_TOO_MUCH = 10**17
"""More than any field takes."""
_NANO_DIGITS = 9
_LETTER = 0x20


@called
def date_by_pattern(program: int, text: int, end: int, work: int) -> tuple[bool, int]:
    """Return whether a text is a date by a pattern, and its days since 1970-01-01."""
    if not _match(program, text, end, work):
        return False, int64(0)
    fits, days, _, _ = moment_of(work, True)
    return fits and days >= -(1 << 31) and days < 1 << 31, days


@called
def timestamp_by_pattern(
    program: int, text: int, end: int, work: int, zones: int, local: bool
) -> tuple[int, int, int, int]:
    """Return a text as a time by a pattern; see `to_timestamp`."""
    wrong = int64(WRONG), int64(0), int64(0), int64(0)
    if not _match(program, text, end, work):
        return wrong
    fits, days, second, micros = moment_of(work, False)
    has_offset, offset = offset_of_text(work)
    if not fits or (local and has_offset) or not has_good_offset(work):
        return wrong
    seconds = days * DAY_SECONDS + second
    if not local and not has_offset:
        if get(zones, V.ZONE_COUNT) == 0:
            return wrong
        offset = offset_of(zones, seconds)
    return moment(seconds - offset, micros)


@called
def _match(program: int, text: int, end: int, work: int) -> bool:
    """Return whether a text is as its program says. Its fields are in ``work`` then."""
    put(work, V.FOUND, 0)
    step = program
    at = text
    depth = int64(0)
    while True:
        kind = load_int64(step)
        step_end = int64(0)
        # 0: the text does not fit the step.
        if kind == V.STEP_NUMBER:
            step_end = _number(step, at, end, work)
        elif kind == V.STEP_BYTE:
            byte = peek(at, end) | (_LETTER if get(step, 2) == 1 else 0)
            step_end = at + 1 if at < end and byte == get(step, 1) else int64(0)
        elif kind == V.STEP_FRACTION:
            step_end = _fraction(step, at, end, work)
        elif kind == V.STEP_WORDS:
            step_end = _word(step, at, end, work)
            step += V.STEP_BYTES * get(step, 2)
        elif kind == V.STEP_OFFSET:
            step_end = _offset(step, at, end, work)
        # An optional section may fail: then the fields become those of before it.
        elif kind == V.STEP_OPEN:
            depth += 1
            _save(work, depth, at, program + V.STEP_BYTES * get(step, 1))
            step_end = at
        elif kind == V.STEP_CLOSE:
            depth -= 1
            step_end = at
        elif kind == V.STEP_DONE:
            return at == end
        step += V.STEP_BYTES
        if step_end > 0:
            at = step_end
        # The innermost section fails, and is skipped.
        elif step_end == 0 and depth > 0:
            at, step = _restore(work, depth)
            depth -= 1
        else:
            return False


@inlined
def _saved(work: int, depth: int) -> int:
    return work + 8 * (V.FIELDS + 2) * depth


@called
def _save(work: int, depth: int, at: int, step: int) -> None:
    saved = _saved(work, depth)
    for field in range(V.FIELDS):
        put(saved, field, get(work, field))
    put(saved, V.FIELDS, at)
    put(saved, V.FIELDS + 1, step)


@called
def _restore(work: int, depth: int) -> tuple[int, int]:
    """Take back the fields of a section. Return the position before it, and the step behind it."""
    saved = _saved(work, depth)
    for field in range(V.FIELDS):
        put(work, field, get(saved, field))
    return get(saved, V.FIELDS), get(saved, V.FIELDS + 1)


@called
def _number(step: int, at: int, end: int, work: int) -> int:
    """Read a number, and return its end."""
    least = get(step, 2)
    most = get(step, 3)
    remaining = get(step, 4)
    sign = get(step, 5)
    first = peek(at, end)
    signed = first == C.MINUS or first == C.PLUS
    if signed:
        if sign == V.SIGN_NONE or (first == C.PLUS and sign != V.SIGN_BEYOND):
            return int64(0)
        at += 1
    digits = int64(0)
    while digits < most + remaining and is_digit(peek(at + digits, end)):
        digits += 1
    # Adjacent numbers: digits that the following ones need are theirs.
    if remaining > 0:
        digits = max(least, digits - remaining)
    value = int64(0)
    for place in range(digits):
        byte = peek(at + place, end)
        if not is_digit(byte):
            return int64(0)
        # Longer numbers fit no field: more digits do not matter.
        value = value * 10 + byte - 48 if value < _TOO_MUCH else value
    if digits < least:
        return int64(0)
    if first == C.MINUS:
        if value == 0:
            return int64(0)
        value = -value
    # A plus must stand before more than the fewest digits, and before no others.
    elif sign == V.SIGN_BEYOND and (digits > least) != signed:
        return int64(0)
    return at + digits if set_field(work, get(step, 1), value + get(step, 6)) else int64(0)


@called
def _fraction(step: int, at: int, end: int, work: int) -> int:
    """Read a fraction of a second, and return its end."""
    value = int64(0)
    digits = int64(0)
    while digits < get(step, 1) and is_digit(peek(at + digits, end)):
        value = value * 10 + load_byte(at + digits) - 48
        digits += 1
    if digits == 0:
        return int64(0)
    for _ in range(_NANO_DIGITS - digits):
        value *= 10
    return at + digits if set_field(work, V.NANOS, value) else int64(0)


@called
def _word(step: int, at: int, end: int, work: int) -> int:
    """Read the first word that fits, and return its end."""
    field = get(step, 1)
    for _ in range(get(step, 2)):
        step += V.STEP_BYTES
        size = get(step, 2)
        if size <= end - at and _is_text(at, size, get(step, 3), get(step, 4)):
            return at + size if set_field(work, field, get(step, 1)) else int64(0)
    return int64(0)


@inlined
def _is_text(at: int, size: int, low: int, high: int) -> bool:
    """Return whether a text stands here, its letters in any case."""
    i = 0
    while i < size:
        pattern_byte = (low if i < 8 else high) >> (8 * (i & 7)) & 0xFF
        if load_byte(at + i) | (_LETTER if pattern_byte >= 0x61 else 0) != pattern_byte:
            return False
        i += 1
    return True


@inlined
def _two(at: int, end: int) -> int:
    """Return the number of two digits up to 59, below 0 if there is none."""
    if at + 2 > end or not is_digit(load_byte(at)) or not is_digit(load_byte(at + 1)):
        return int64(-1)
    value = (load_byte(at) - 48) * 10 + load_byte(at + 1) - 48
    return value if value <= 59 else int64(-1)


@inlined
def _part(at: int, end: int, colon: int, mode: int) -> tuple[bool, int, int]:
    """Return whether minutes or seconds are as they may be, their number, and where they end."""
    if mode == V.PART_NEVER:
        return True, int64(0), at
    begin = at
    if colon == 1:
        begin = at + 1 if peek(at, end) == C.COLON else end
    value = _two(begin, end)
    if value < 0:
        return mode != V.PART_MUST, int64(0), at
    return True, value, begin + 2


@called
def _offset(step: int, at: int, end: int, work: int) -> int:
    """Read the offset of a zone, and return its end."""
    colon = get(step, 1)
    size = get(step, 4)
    if size <= end - at and _is_text(at, size, get(step, 5), int64(0)):
        return at + size if set_field(work, V.OFFSET, int64(0)) else int64(0)
    sign = peek(at, end)
    if sign != C.PLUS and sign != C.MINUS:
        return int64(0)
    hours = _two(at + 1, end)
    if hours < 0:
        return int64(0)
    ok, minutes, at = _part(at + 3, end, colon, get(step, 2))
    if not ok:
        return int64(0)
    ok, seconds, at = _part(at, end, colon, get(step, 3))
    if hours > 23:
        return int64(_HOPELESS)
    seconds += (hours * 60 + minutes) * 60
    return at if set_field(work, V.OFFSET, -seconds if sign == C.MINUS else seconds) else int64(0)

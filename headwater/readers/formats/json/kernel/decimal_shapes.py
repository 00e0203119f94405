"""How many digits a number has, as `java.math.BigDecimal` counts them."""

from __future__ import annotations

from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit, peek
from headwater.readers.kernels.memory import called, int64, load_byte

_FAR_EXPONENT = 1_000_000


@called
def decimal_shape(at: int, end: int) -> tuple[bool, int, int]:
    """Return whether a text is a number, how many digits it has, and how many of them are behind the dot.

    Commas mean nothing, as where Spark takes text for a number. Zeros in front are no digits.
    """
    if peek(at, end) == C.MINUS or peek(at, end) == C.PLUS:
        at += 1
    digits = int64(0)
    kept = int64(0)
    scale = int64(0)
    seen_dot = False
    while at < end:
        byte = load_byte(at)
        if is_digit(byte):
            digits += 1
            if kept > 0 or byte != 48:
                kept += 1
            if seen_dot:
                scale += 1
        elif byte == C.DOT and not seen_dot:
            seen_dot = True
        elif byte != C.COMMA:
            break
        at += 1
    if digits == 0:
        return False, int64(0), int64(0)
    if at < end:
        if load_byte(at) | 0x20 != 0x65:
            return False, int64(0), int64(0)
        at += 1
        negative = peek(at, end) == C.MINUS
        if negative or peek(at, end) == C.PLUS:
            at += 1
        exponent = int64(0)
        digits = int64(0)
        while at < end:
            byte = load_byte(at)
            at += 1
            if byte == C.COMMA:
                continue
            if not is_digit(byte):
                return False, int64(0), int64(0)
            digits += 1
            if exponent < _FAR_EXPONENT:
                exponent = exponent * 10 + byte - 48
        if digits == 0:
            return False, int64(0), int64(0)
        scale += exponent if negative else -exponent
    return True, max(kept, int64(1)), scale

"""Numbers that are written as texts, as Spark and the JVM read them."""

from __future__ import annotations

import math
import re

_JAVA_BLANKS = "".join(map(chr, range(0x21)))  # what Java's `trim` takes away
_BLANKS = _JAVA_BLANKS + "\x7f"  # what Spark's `trimAll` does
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", re.ASCII)
_DOUBLE = re.compile(_DECIMAL.pattern + "[fFdD]?", re.ASCII)
_HEX = re.compile(r"([+-]?0[xX](?:[\da-fA-F]+\.?[\da-fA-F]*|\.[\da-fA-F]+)[pP][+-]?\d+)[fFdD]?", re.ASCII)
_NO_NUMBER = re.compile("[+-]?(?:NaN|Infinity)|(?i:[+-]?inf(?:inity)?|nan)")


def trimmed(text: str) -> str:
    """Return a text without the blanks and control characters around it."""
    return text.strip(_BLANKS)


def whole_of(text: str) -> int | None:
    """Return the whole number that a text holds, or None."""
    found = _WHOLE.fullmatch(trimmed(text))
    try:
        return int(found[0]) if found else None
    except ValueError:  # thousands of digits
        return None


def decimal_of(text: str) -> str | None:
    """Return the decimal number that a text holds, as Python reads it, or None."""
    found = _DECIMAL.fullmatch(text.strip(_JAVA_BLANKS))
    return found[1] if found else None


def double_of(text: str) -> float | None:
    """Return the double that a text holds, or None."""
    text = text.strip(_JAVA_BLANKS)
    if found := _DOUBLE.fullmatch(text):
        return float(found[1])
    if found := _HEX.fullmatch(text):
        try:
            return float.fromhex(found[1])
        except OverflowError:
            return -math.inf if text.startswith("-") else math.inf
    return float(text) if _NO_NUMBER.fullmatch(text) else None

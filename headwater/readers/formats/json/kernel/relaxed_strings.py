"""Strings of JSON that takes more or less than the format `json`: see `relaxed`."""

from __future__ import annotations

from headwater.readers.formats.json import documents_layout as D
from headwater.readers.formats.json.kernel.scanner import escape_size, hexadecimal
from headwater.readers.formats.json.kernel.text import put_escape
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import peek
from headwater.readers.kernels.memory import called, inlined, int64, load_byte, store_byte
from headwater.readers.kernels.utf8 import put_code_point

_QUESTION_MARK = 0x3F


@inlined
def allows(rules: int, rule: int) -> bool:
    """Return whether a rule is among those that hold."""
    return rules & rule != 0


@called
def _put_high(at: int, end: int, to: int, halves: bool) -> tuple[int, int]:
    """Copy a character of several bytes as Jackson reads it; where it reads none, the place is 0.

    Jackson looks at the upper bits of each byte. So it takes characters that are longer than they need be,
    and too large ones, which Java writes as question marks. It takes no halves of surrogate pairs; with
    ``halves`` they are copied as they are, since they do not matter in what is skipped.
    """
    lead = load_byte(at)
    if lead & 0xE0 == 0xC0:
        size = int64(2)
        code = lead & 0x1F
    elif lead & 0xF0 == 0xE0:
        size = int64(3)
        code = lead & 0x0F
    elif lead & 0xF8 == 0xF0:
        size = int64(4)
        code = lead & 0x07
    else:
        return int64(0), to
    if at + size > end:
        return int64(0), to
    for i in range(1, size):
        byte = load_byte(at + i)
        if byte & 0xC0 != 0x80:
            return int64(0), to
        code = code << 6 | byte & 0x3F
    if code >= 0xD800 and code < 0xE000:
        if not halves:
            return int64(0), to
        return at + size, put_code_point(to, code)
    if code > 0x10FFFF:
        store_byte(to, _QUESTION_MARK)
        store_byte(to + 1, _QUESTION_MARK)
        return at + size, to + 2
    if code < 32 or code == C.QUOTE or code == C.BACKSLASH:
        return at + size, put_escape(to, code)
    return at + size, put_code_point(to, code)


@called
def _whole_escape_size(at: int, end: int) -> int:
    """Return how many bytes the escape here has, with the other half of a surrogate pair; 0 without it."""
    code = hexadecimal(at + 2)
    if code < 0xD800 or code >= 0xE000:
        return 6
    at += 6
    if code >= 0xDC00 or peek(at, end) != C.BACKSLASH or escape_size(at, end) != 6:
        return 0
    low = hexadecimal(at + 2)
    return 12 if low >= 0xDC00 and low < 0xE000 else 0


@called
def put_string(at: int, end: int, to: int, rules: int) -> tuple[int, int]:
    """Copy the string that begins here; the place is 0 behind an error."""
    quote = load_byte(at)
    store_byte(to, quote)
    at += 1
    to += 1
    while at < end:
        byte = load_byte(at)
        if byte >= 0x80:
            at, to = _put_high(at, end, to, allows(rules, D.ALLOW_HALVES))
            if at == 0:
                return at, to
            continue
        if byte < 32 and allows(rules, D.ALLOW_CONTROL_CHARACTERS):
            to = put_escape(to, byte)
            at += 1
            continue
        if byte == C.BACKSLASH:
            size = escape_size(at, end)
            if peek(at + 1, end) == C.APOSTROPHE and not allows(rules, D.ALLOW_SINGLE_QUOTES):
                size = int64(0)
            if size == 0:
                if not allows(rules, D.ALLOW_ANY_ESCAPE) or peek(at + 1, end) == 0x75 or at + 1 >= end:
                    return int64(0), to
                at += 1
                if load_byte(at) < 32:
                    to = put_escape(to, load_byte(at))
                    at += 1
                    continue
                if load_byte(at) >= 0x80:
                    continue
                size = int64(1)
            if size == 6 and allows(rules, D.WHOLE_NAMES):
                size = _whole_escape_size(at, end)
                if size == 0:
                    return int64(0), to
            for i in range(size):
                store_byte(to + i, load_byte(at + i))
            at += size
            to += size
            continue
        store_byte(to, byte)
        at += 1
        to += 1
        if byte == quote:
            return at, to
    return int64(0), to

r"""JSON that takes more than JSON, or less than the format `json`, as text that means the same to its kernel.

What a user allows (comments, names without quotation marks, ...) is rewritten to plain JSON. Anything that
a user forbids, and bytes that Jackson does not take for UTF-8, become a byte that is nowhere JSON: the kernel
finds an error where Jackson does. Only documents that need it are rewritten.
"""

from __future__ import annotations

from headwater.readers.formats.json import layout as L
from headwater.readers.formats.json.kernel.scanner import escape_size, hexadecimal, skip_special
from headwater.readers.formats.json.kernel.text import put_escape
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit, peek
from headwater.readers.kernels.memory import called, inlined, int64, load_byte, store_byte, store_int32
from headwater.readers.kernels.utf8 import put_code_point

_QUESTION_MARK = 0x3F
_ERROR = 1
"""A control character: nowhere JSON."""
_SPACE = 32
_SLASH = 0x2F
_STAR = 0x2A


@inlined
def allows(rules: int, rule: int) -> bool:
    """Return whether a rule holds."""
    return rules & rule != 0


@called
def _put_high(at: int, end: int, to: int, halves: bool) -> tuple[int, int]:
    """Copy a character of several bytes as Jackson reads it; where it reads none, the place is 0.

    Jackson looks at the upper bits of each byte. So it takes characters that are longer than they need be,
    and too large ones, which Java writes as question marks. It takes no halves of surrogate pairs; with
    ``halves`` they are copied as they are, since they do not matter in skipped values.
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
            at, to = _put_high(at, end, to, allows(rules, L.ALLOW_HALVES))
            if at == 0:
                return at, to
            continue
        if byte < 32 and allows(rules, L.ALLOW_CONTROL_CHARACTERS):
            to = put_escape(to, byte)
            at += 1
            continue
        if byte == C.BACKSLASH:
            size = escape_size(at, end)
            if peek(at + 1, end) == C.APOSTROPHE and not allows(rules, L.ALLOW_SINGLE_QUOTES):
                size = int64(0)
            if size == 0:
                if not allows(rules, L.ALLOW_ANY_ESCAPE) or peek(at + 1, end) == 0x75 or at + 1 >= end:
                    return int64(0), to
                at += 1
                if load_byte(at) < 32:
                    to = put_escape(to, load_byte(at))
                    at += 1
                    continue
                if load_byte(at) >= 0x80:
                    continue
                size = int64(1)
            if size == 6 and allows(rules, L.WHOLE_NAMES):
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


@inlined
def _is_name_byte(byte: int) -> bool:
    """Whether Jackson takes a byte in a name without quotation marks."""
    letter = byte | 0x20
    return (
        (letter >= 0x61 and letter <= 0x7A)
        or is_digit(byte)
        or byte == 0x7F
        or byte == 0x5F
        or byte == 0x24
        or byte == 0x40
        or byte == 0x23
        or byte == _STAR
        or byte == C.MINUS
        or byte == C.PLUS
    )


@called
def _skip_comment(at: int, end: int) -> int:
    """Return where the comment that begins here ends; 0 if it is none."""
    byte = peek(at + 1, end)
    at += 2
    if byte == _SLASH:
        while at < end and load_byte(at) != 10 and load_byte(at) != 13:
            at += 1
        return at
    if byte != _STAR:
        return int64(0)
    while at + 1 < end:
        if load_byte(at) == _STAR and load_byte(at + 1) == _SLASH:
            return at + 2
        at += 1
    return int64(0)


@called
def _put_name(at: int, end: int, to: int) -> tuple[int, int]:
    """Copy a name without quotation marks, and write these around it."""
    store_byte(to, C.QUOTE)
    to += 1
    while at < end and _is_name_byte(load_byte(at)):
        store_byte(to, load_byte(at))
        at += 1
        to += 1
    store_byte(to, C.QUOTE)
    return at, to + 1


@called
def _put_number(at: int, end: int, to: int, rules: int) -> tuple[int, int]:
    """Copy a token that begins like a number, without needless zeros in front if they are allowed."""
    if load_byte(at) == C.MINUS:
        store_byte(to, C.MINUS)
        at += 1
        to += 1
    if allows(rules, L.ALLOW_LEADING_ZEROS):
        while peek(at, end) == 48 and is_digit(peek(at + 1, end)):
            at += 1
    while at < end:
        byte = load_byte(at)
        if not (is_digit(byte) or byte == 0x2E or byte | 0x20 == 0x65 or byte == C.PLUS or byte == C.MINUS):
            break
        store_byte(to, byte)
        at += 1
        to += 1
    return at, to


@called
def put_relaxed(at: int, end: int, to: int, levels: int, rules: int, places: int, source: int) -> int:
    """Write a document as the kernel takes it, and return its end.

    Args:
        at: where it begins.
        end: where it ends; 64 bytes behind it may be loaded.
        to: room for `TEXT_GROWTH` times the document, and `TEXT_EXTRA` bytes.
        levels: the address of room for a bit for each open container.
        rules: those of ``ALLOW_...`` that hold.
        places: room to note, for the first byte of each token, where the token was.
        source: the address from which such places count.
    """
    first = to
    depth = int64(0)
    in_name = False
    if end - at >= 4 and load_byte(at) == 0xEF and load_byte(at + 1) == 0xBB and load_byte(at + 2) == 0xBF:
        at += 3
    while at < end:
        byte = load_byte(at)
        store_int32(places + 4 * (to - first), at - source)
        is_name = in_name
        if byte <= 32:
            store_byte(to, byte)
            at += 1
            to += 1
            continue
        if byte == _SLASH and allows(rules, L.ALLOW_COMMENTS):
            at = _skip_comment(at, end)
            if at == 0:
                break
            store_byte(to, _SPACE)
            to += 1
            continue
        in_name = False
        if byte == C.QUOTE or (byte == C.APOSTROPHE and allows(rules, L.ALLOW_SINGLE_QUOTES)):
            at, to = put_string(at, end, to, rules & ~(L.ALLOW_HALVES if is_name else L.WHOLE_NAMES))
            if at == 0:
                break
            continue
        if is_name and byte != C.CLOSE_OBJECT and allows(rules, L.ALLOW_UNQUOTED_NAMES):
            if not _is_name_byte(byte):
                at = int64(0)
                break
            at, to = _put_name(at, end, to)
            continue
        if byte == C.APOSTROPHE:
            at = int64(0)
            break
        if is_digit(byte) or (byte == C.MINUS and is_digit(peek(at + 1, end))):
            at, to = _put_number(at, end, to, rules)
            continue
        special = skip_special(at, end)
        if special != 0:
            if not allows(rules, L.ALLOW_NON_NUMERIC):
                at = int64(0)
                break
            while at < special:
                store_byte(to, load_byte(at))
                at += 1
                to += 1
            continue
        if byte == C.OPEN_OBJECT or byte == C.OPEN_LIST:
            if depth == L.MOST_DEPTH:
                at = int64(0)
                break
            level = levels + (depth >> 3)
            bit = depth & 7
            is_object = int64(1) if byte == C.OPEN_OBJECT else int64(0)
            store_byte(level, (load_byte(level) & ~(1 << bit)) | (is_object << bit))
            depth += 1
            in_name = is_object == 1
        elif (byte == C.CLOSE_OBJECT or byte == C.CLOSE_LIST) and depth > 0:
            depth -= 1
        elif byte == C.COMMA and depth > 0:
            in_name = (load_byte(levels + ((depth - 1) >> 3)) >> ((depth - 1) & 7)) & 1 == 1
        store_byte(to, byte)
        at += 1
        to += 1
    if at == 0:
        store_byte(to, _ERROR)
        to += 1
    return to

"""Base64 in JSON strings, as Jackson decodes it: padded, with white space between groups of four."""

from __future__ import annotations

from headwater.readers.kernels.memory import called, inlined, int64, load_byte, store_byte

_PADDING = 0x3D


@inlined
def _six_bits(byte: int) -> int:
    if byte >= 65 and byte <= 90:
        return byte - 65
    if byte >= 97 and byte <= 122:
        return byte - 71
    if byte >= 48 and byte <= 57:
        return byte + 4
    return int64(62 if byte == 0x2B else 63 if byte == 0x2F else -1)


@called
def put_base64(at: int, end: int, to: int) -> int:
    """Write the bytes that a text means, and return their end; 0 if it means none."""
    while True:
        while at < end and load_byte(at) <= 32:
            at += 1
        if at == end:
            return to
        if end - at < 4:
            return 0
        one = _six_bits(load_byte(at))
        two = _six_bits(load_byte(at + 1))
        third = load_byte(at + 2)
        fourth = load_byte(at + 3)
        at += 4
        three = _six_bits(third)
        four = _six_bits(fourth)
        if (one | two) < 0:
            return 0
        store_byte(to, one << 2 | two >> 4)
        to += 1
        if third == _PADDING:
            if fourth != _PADDING:
                return 0
            continue
        if three < 0:
            return 0
        store_byte(to, two << 4 | three >> 2)
        to += 1
        if fourth == _PADDING:
            continue
        if four < 0:
            return 0
        store_byte(to, three << 6 | four)
        to += 1

"""UTF-8, for kernels: checks of bytes, and text made of invalid ones."""

from __future__ import annotations

from headwater.readers.kernels.memory import (
    CHUNK_BYTES,
    always_inlined,
    called,
    inlined,
    load_byte,
    non_ascii,
    store_byte,
)

REPLACEMENT_GROWTH = 3
"""How many bytes one byte of invalid UTF-8 may become: U+FFFD has three."""


@always_inlined
def is_ascii(at: int, size: int) -> bool:
    """Return whether all bytes are below 0x80. Up to `CHUNK_BYTES` bytes behind them are loaded."""
    while size >= CHUNK_BYTES:
        if non_ascii(at) != 0:
            return False
        at += CHUNK_BYTES
        size -= CHUNK_BYTES
    return non_ascii(at) & ((1 << size) - 1) == 0


@called
def is_utf8(at: int, end: int) -> bool:
    """Return whether these bytes are well-formed UTF-8."""
    while at < end:
        if load_byte(at) < 0x80:
            if end - at >= CHUNK_BYTES and non_ascii(at) == 0:
                at += CHUNK_BYTES
            else:
                at += 1
            continue
        size = sequence(at, end)
        if size <= 0:
            return False
        at += size
    return True


@called
def put_utf8(to: int, at: int, end: int) -> int:
    """Copy bytes as well-formed UTF-8, and return the end of the copy.

    Each maximal part of a sequence that is broken off, and each byte that begins none, becomes U+FFFD, as
    Unicode recommends; so does a surrogate of three bytes, as in Java. There is room for
    `REPLACEMENT_GROWTH` times the bytes.
    """
    while at < end:
        byte = load_byte(at)
        if byte < 0x80:
            store_byte(to, byte)
            to += 1
            at += 1
            continue
        size = sequence(at, end)
        if size > 0:
            for i in range(size):
                store_byte(to + i, load_byte(at + i))
            to += size
            at += size
        else:
            store_byte(to, 0xEF)
            store_byte(to + 1, 0xBF)
            store_byte(to + 2, 0xBD)
            to += 3
            at -= size
    return to


@inlined
def sequence(at: int, end: int) -> int:
    """Return how many bytes the sequence here has; if it is broken, how many belong to it, below 0."""
    lead = load_byte(at)
    if lead < 0x80:
        return 1
    if lead < 0xC2 or lead > 0xF4:
        return -1
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    # The second byte shows overlong forms, and code points above U+10FFFF.
    least = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
    most = 0x8F if lead == 0xF4 else 0xBF
    for i in range(1, size):
        if at + i >= end:
            return -i
        byte = load_byte(at + i)
        if byte < least or byte > most:
            return -i
        least = 0x80
        most = 0xBF
    if lead == 0xED and load_byte(at + 1) > 0x9F:
        return -3  # a surrogate
    return size


@inlined
def put_code_point(to: int, code: int) -> int:
    """Write a character as UTF-8, and return the end."""
    if code < 0x80:
        store_byte(to, code)
        return to + 1
    if code < 0x800:
        store_byte(to, 0xC0 | code >> 6)
        store_byte(to + 1, 0x80 | code & 0x3F)
        return to + 2
    if code < 0x10000:
        store_byte(to, 0xE0 | code >> 12)
        store_byte(to + 1, 0x80 | code >> 6 & 0x3F)
        store_byte(to + 2, 0x80 | code & 0x3F)
        return to + 3
    store_byte(to, 0xF0 | code >> 18)
    store_byte(to + 1, 0x80 | code >> 12 & 0x3F)
    store_byte(to + 2, 0x80 | code >> 6 & 0x3F)
    store_byte(to + 3, 0x80 | code & 0x3F)
    return to + 4

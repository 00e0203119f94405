"""Varints, for kernels: numbers of seven bits a byte, the lowest ones first."""

from __future__ import annotations

from headwater.readers.kernels.memory import always_inlined, load_byte

MOST_INT_BYTES = 5
MOST_LONG_BYTES = 10


@always_inlined
def varint(at: int, end: int, most_bytes: int) -> tuple[int, int]:
    """Return the bits of a number and the position after it.

    A position past ``end`` means that there is none, and by how many bytes it is past, why not: one, since
    the bytes end before; two, since it has more than ``most_bytes``.
    """
    if at >= end:
        return 0, end + 1
    bits = load_byte(at)
    at += 1
    if bits < 0x80:
        return bits, at
    bits &= 0x7F
    shift = 7
    while at < end and shift < 7 * most_bytes:
        byte = load_byte(at)
        at += 1
        bits |= (byte & 0x7F) << shift
        if byte < 0x80:
            return bits, at
        shift += 7
    return 0, end + (1 if shift < 7 * most_bytes else 2)


@always_inlined
def unzigzag(bits: int) -> int:
    """Return the number with a sign that these 64 bits are."""
    return ((bits >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(bits & 1)  # the mask makes the shift a logical one


@always_inlined
def unzigzag_int(bits: int) -> int:
    """Return the number with a sign that the lowest 32 bits are."""
    bits &= 0xFFFFFFFF
    return (bits >> 1) ^ -(bits & 1)


@always_inlined
def zigzag_long(at: int, end: int) -> tuple[int, int]:
    """Return a number with a sign of up to ten bytes and the position after it, as `varint` does."""
    bits, at = varint(at, end, MOST_LONG_BYTES)
    return unzigzag(bits), at


@always_inlined
def zigzag_int(at: int, end: int) -> tuple[int, int]:
    """Return a number with a sign of up to five bytes and the position after it, as `varint` does."""
    bits, at = varint(at, end, MOST_INT_BYTES)
    return unzigzag_int(bits), at

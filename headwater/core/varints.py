"""Varints: numbers of seven bits a byte, the lowest ones first. Compiled code has its own, on addresses."""

from __future__ import annotations


def read_varint(data: bytes | memoryview, at: int, most_bytes: int = 10) -> tuple[int, int]:
    """Return the number that begins at a place, and the place behind it.

    Raises:
        IndexError: the bytes end before the number does.
        ValueError: it has more than ``most_bytes``.
    """
    number = 0
    for shift in range(0, 7 * most_bytes, 7):
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise ValueError(f"a number of more than {most_bytes} bytes")


def varint_bytes(number: int) -> bytes:
    """Return a number, which is not below 0, as bytes."""
    encoded = bytearray()
    while number >= 0x80:
        encoded.append((number & 0x7F) | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def zigzag(number: int) -> int:
    """Return a number of 64 bits with a sign as one without: small ones stay small."""
    return (number << 1) ^ (number >> 63)


def unzigzag(bits: int) -> int:
    """Return the number with a sign of which `zigzag` made these bits."""
    return (bits >> 1) ^ -(bits & 1)

"""Messages of Protocol Buffers as their fields by number, for the few of ORC that nobody decodes for us."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

_VARINT: Final = 0
_EIGHT_BYTES: Final = 1
_BYTES: Final = 2
_FOUR_BYTES: Final = 5
DAMAGED: Final = "its end is not what ORC writes there"

Fields: TypeAlias = dict[int, list[int | bytes]]
"""The values of a message, by the numbers of their fields."""


def decoded(raw: bytes) -> Fields:
    """Return what a message holds.

    Raises:
        ValueError: it is damaged.
    """
    found: Fields = {}
    at = 0
    while at < len(raw):
        tag, at = varint(raw, at)
        kind = tag & 7
        if kind == _VARINT:
            value: int | bytes
            value, at = varint(raw, at)
        elif kind in {_BYTES, _EIGHT_BYTES, _FOUR_BYTES}:
            size, at = varint(raw, at) if kind == _BYTES else (8 if kind == _EIGHT_BYTES else 4, at)
            value = raw[at : at + size]
            at += size
        else:
            raise ValueError(DAMAGED)
        found.setdefault(tag >> 3, []).append(value)
    return found


def encoded(fields: Mapping[int, Sequence[int | bytes]]) -> bytes:
    """Return a message that has integers, and bytes of any length, but none of a fixed one."""
    return b"".join(_field(which, value) for which, values in fields.items() for value in values)


def number(fields: Fields, which: int, default: int = 0) -> int:
    """Return an integer of a message: the last one that stands there.

    Raises:
        ValueError: it is none.
    """
    found = numbers(fields, which)
    return found[-1] if found else default


def numbers(fields: Fields, which: int) -> list[int]:
    """Return all integers of a field, one by one or packed.

    Raises:
        ValueError: there are others.
    """
    found: list[int] = []
    for value in fields.get(which, []):
        found += [value] if isinstance(value, int) else _packed(value)
    return found


def all_bytes(fields: Fields, which: int) -> list[bytes]:
    """Return all texts or messages of a field.

    Raises:
        ValueError: there are others.
    """
    values = fields.get(which, [])
    found = [value for value in values if isinstance(value, bytes)]
    if len(found) < len(values):
        raise ValueError(DAMAGED)
    return found


def varint(raw: bytes, at: int) -> tuple[int, int]:
    """Return an integer of variable length, and where it ends.

    Raises:
        ValueError: it does not end.
    """
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(raw):
            break
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError(DAMAGED)


def _packed(raw: bytes) -> Iterable[int]:
    at = 0
    while at < len(raw):
        value, at = varint(raw, at)
        yield value


def _field(which: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint_of(which << 3 | _VARINT) + _varint_of(value)
    return _varint_of(which << 3 | _BYTES) + _varint_of(len(value)) + value


def _varint_of(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)

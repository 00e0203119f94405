"""Whether a record names the schema of its key or value in a header, as newer serializers of Confluent can.

Looked up for single records that could not be decoded, so that an error says it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from headwater.readers.formats.format import Spans
from headwater.readers.kernels.arrays import ByteArray

_NAMES: Final[Mapping[str, bytes]] = {"key": b"__key_schema_id", "value": b"__value_schema_id"}
_MOST_HEADERS: Final = 1_000


def schema_header(part: str, spans: Spans, row: int) -> str:
    """Return the name of the header that names the schema; empty if there is none.

    Args:
        part: ``key`` or ``value``.
        spans: where the keys or values lie in records of format v2. Behind a value are the headers of its
            record. In older formats there are none, and what is behind a value is no such header either.
        row: which of them.
    """
    at = int(spans.starts[row]) + max(int(spans.sizes[row]), 0)
    try:
        if part == "key":
            size, at = _varint(spans.data, at)
            at += max(size, 0)
        found = _NAMES[part] in set(_header_names(spans.data, at))
    except IndexError:
        found = False
    return _NAMES[part].decode() if found else ""


def _header_names(data: ByteArray, at: int) -> Iterator[bytes]:
    count, at = _varint(data, at)
    for _ in range(min(count, _MOST_HEADERS)):
        size, at = _varint(data, at)
        yield data[at : at + max(size, 0)].tobytes()
        at += max(size, 0)
        size, at = _varint(data, at)
        at += max(size, 0)


def _varint(data: ByteArray, at: int) -> tuple[int, int]:
    """Return a zigzag varint and where it ends.

    Raises:
        IndexError: the data ends before.
    """
    raw = 0
    for shift in range(0, 35, 7):
        byte = int(data[at])
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    return (raw >> 1) ^ -(raw & 1), at

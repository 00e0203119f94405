"""Records of Kinesis as users put them: the Kinesis Producer Library packs several into one.

Such a record is four bytes, a message of Protobuf, and its MD5. Where one of these is not so, it is a record
like any other. Keys of a table inside; a record for each value, which names its key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

UserRecord: TypeAlias = tuple[str, str, int | None, Any, bytes]
"""Partition key, sequence number, number inside, time, value."""

_MAGIC: Final = b"\xf3\x89\x9a\xc2"
_MD5_BYTES: Final = 16
_KEYS, _HASHES, _RECORDS = 1, 2, 3
_KEY_INDEX, _HASH_INDEX, _DATA = 1, 2, 3
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def user_records(record: Mapping[str, Any], keys: Any) -> Iterator[UserRecord]:
    """Yield the records of the user that are in one of Kinesis.

    Args:
        record: as the service returns it.
        keys: the first and the last hash key of its shard. A packed record whose key is none of these was
            put into a shard that had just been split: its producer sees that, and puts it again.
    """
    data: bytes = record["Data"]
    number, time = record["SequenceNumber"], record["ApproximateArrivalTimestamp"]
    packed = _unpacked(data) if data.startswith(_MAGIC) else None
    if packed is None:
        yield record["PartitionKey"], number, None, time, data
        return
    first, last = map(int, keys)
    for sub, (key, hash_key, value) in enumerate(packed):
        place = int(hash_key) if hash_key else int.from_bytes(_md5(key.encode()))
        if first <= place <= last:
            yield key, number, sub, time, value


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _unpacked(data: bytes) -> list[tuple[str, str | None, bytes]] | None:
    """Return keys, hash keys and values of a packed record; None for any other one."""
    message = data[len(_MAGIC) : -_MD5_BYTES]
    if _md5(message) != data[-_MD5_BYTES:]:
        return None
    keys: list[str] = []
    hashes: list[str] = []
    records: list[dict[int, Any]] = []
    try:
        for field, value in _fields(message):
            if field == _KEYS:
                keys.append(value.decode())
            elif field == _HASHES:
                hashes.append(value.decode())
            elif field == _RECORDS:
                records.append(dict(_fields(value)))
        return [
            (
                keys[each[_KEY_INDEX]],
                hashes[each[_HASH_INDEX]] if _HASH_INDEX in each else None,
                each.get(_DATA, b""),
            )
            for each in records
        ]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message of Protobuf: numbers and bytes.

    Raises:
        IndexError, ValueError: it is no such message.
    """
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"wire type {kind}")
        if at + size > len(message):
            raise ValueError("cut off")
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7

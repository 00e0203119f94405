"""What is remembered of a file that was read, and its packed form.

A name is the hash of a path (64 bits), the hash of the version that was read (32 bits), and the modification
time. The packed form is in checkpoints and at the ``stateLocation``: it must stay as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from headwater.enumerators.files.split import FileStatus

NOTHING_SEEN_MS = -(1 << 46)
"""The frontier of a query that has read nothing: before all times. Packed times count from here."""

_PATH_BYTES = 8
_VERSION_BYTES = 4
_TIME_BYTES = 6
_ENTRY_BYTES = _PATH_BYTES + _VERSION_BYTES + _TIME_BYTES
_SEGMENT_HASH_BYTES = 12


class FileName(NamedTuple):
    """What is remembered of a file, beside the hash of its path.

    Attributes:
        version: the hash of the content that was read, as far as a listing can tell it.
        modified_ms: its modification time, milliseconds since 1970 in UTC.
    """

    version: int
    modified_ms: int


@dataclass(frozen=True)
class NameSegment:
    """Names that are kept outside of the offset. Never changed once written.

    Attributes:
        name: where it is kept: the hash of its content.
        newest_ms: when the frontier has reached this time, the segment is needed no more.
        data: the names, packed.
    """

    name: str
    newest_ms: int
    data: bytes


def path_hash(file: FileStatus) -> int:
    """Return the number under which a path is remembered."""
    return _hash(file.url, _PATH_BYTES)


def version_hash(file: FileStatus) -> int:
    """Return the number that stands for the content of a file: its etag, else its time, and its size."""
    return _hash(f"{file.size_bytes} {file.etag or file.modified_us}", _VERSION_BYTES)


def name_of(file: FileStatus) -> FileName:
    """Return what is to be remembered of a file."""
    return FileName(version_hash(file), file.modified_ms)


def pack(names: Mapping[int, FileName]) -> bytes:
    """Return names by path hash as bytes: equal names are equal bytes, sorted by time and path."""
    ordered = sorted(names.items(), key=lambda item: (item[1].modified_ms, item[0]))
    return b"".join(_packed(path, name) for path, name in ordered)


def unpack(data: bytes) -> dict[int, FileName]:
    """Return names by path hash: the inverse of `pack`.

    Raises:
        ValueError: these are no packed names.
    """
    if len(data) % _ENTRY_BYTES:
        raise ValueError(f"{len(data)} bytes are no list of names")
    names: dict[int, FileName] = {}
    for at in range(0, len(data), _ENTRY_BYTES):
        version_at = at + _PATH_BYTES
        time_at = version_at + _VERSION_BYTES
        path = int.from_bytes(data[at:version_at], "big")
        version = int.from_bytes(data[version_at:time_at], "big")
        time_ms = int.from_bytes(data[time_at : time_at + _TIME_BYTES], "big") + NOTHING_SEEN_MS
        names[path] = FileName(version, time_ms)
    return names


def segment_of(data: bytes) -> NameSegment:
    """Return the segment of packed names: the same names are the same segment."""
    newest_ms = max(name.modified_ms for name in unpack(data).values())
    name = hashlib.blake2b(data, digest_size=_SEGMENT_HASH_BYTES).hexdigest()
    return NameSegment(name, newest_ms, data)


def _packed(path: int, name: FileName) -> bytes:
    time = name.modified_ms - NOTHING_SEEN_MS
    return (
        path.to_bytes(_PATH_BYTES, "big")
        + name.version.to_bytes(_VERSION_BYTES, "big")
        + time.to_bytes(_TIME_BYTES, "big")
    )


def _hash(text: str, size: int) -> int:
    # A name on a POSIX file system need not be UTF-8: Python shows such bytes as surrogates.
    data = text.encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(data, digest_size=size).digest(), "big")

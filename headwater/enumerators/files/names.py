"""The memory of files that were read, its packed form, and where it is kept.

A name is the hash of a path (64 bits), the hash of the version that was read (32 bits), and the modification
time. The packed form is in checkpoints and at the ``stateLocation``: it must stay as it is.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from headwater.core.errors import OffsetError
from headwater.core.state_store import StateStore, get_segment, put_segment, segment_name
from headwater.enumerators.files.split import FileStatus

NOTHING_SEEN_MS = -(1 << 46)
"""The frontier of a query that has read nothing: before all times. Packed times count from here."""

_TIME_BYTES = 6
_ENTRY = struct.Struct(f">QI{_TIME_BYTES}s")
"""A name, packed: hash of the path, hash of the version, time."""

_FOLDER = "files-seen"


class FileName(NamedTuple):
    """The memory of a file, beside the hash of its path.

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
        name: where it is kept: the folder of its query, and the hash of its content. Earlier versions had no
            folders.
        newest_ms: when the frontier has reached this time, the segment is needed no more.
        data: the names, packed.
    """

    name: str
    newest_ms: int
    data: bytes

    def versions(self) -> dict[int, int]:
        """Return the version of each path, by the hash of the path."""
        return {path: version for path, version, _ in _ENTRY.iter_unpack(self.data)}

    def __len__(self) -> int:
        return len(self.data) // _ENTRY.size


def path_hash(file: FileStatus) -> int:
    """Return the number under which a path is remembered."""
    return _hash(file.url, 8)


def version_hash(file: FileStatus) -> int:
    """Return the number that stands for the content of a file: its etag, else its time, and its size."""
    return _hash(f"{file.size_bytes} {file.etag or file.modified_us}", 4)


def pack(names: Mapping[int, FileName]) -> bytes:
    """Return names by path hash as bytes: equal names are equal bytes, sorted by time and path."""
    ordered = sorted(names.items(), key=lambda item: (item[1].modified_ms, item[0]))
    return b"".join(
        _ENTRY.pack(path, name.version, (name.modified_ms - NOTHING_SEEN_MS).to_bytes(_TIME_BYTES, "big"))
        for path, name in ordered
    )


def unpack(data: bytes) -> dict[int, FileName]:
    """Return names by path hash: the inverse of `pack`.

    Raises:
        ValueError: these are no packed names.
    """
    if len(data) % _ENTRY.size:
        raise ValueError(f"{len(data)} bytes are no list of names")
    return {
        path: FileName(version, int.from_bytes(time, "big") + NOTHING_SEEN_MS)
        for path, version, time in _ENTRY.iter_unpack(data)
    }


def segment_of(query: str, data: bytes) -> NameSegment:
    """Return the segment of packed names: the same names of one query are the same segment."""
    # They are sorted by time.
    newest_ms = int.from_bytes(data[-_TIME_BYTES:], "big") + NOTHING_SEEN_MS
    return NameSegment(segment_name(f"{query}/", data), newest_ms, data)


class NameStore:
    """Segments of names at ``stateLocation``.

    Each query has a folder of its own: two queries that read the same files do not delete each other's names.

    Every method blocks, and is called on the coordinator's worker thread, one call at a time.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._known: set[str] = set()

    def write(self, query: str, data: bytes) -> NameSegment:
        """Keep packed names; return once they are durable.

        Args:
            query: the name of the query's folder.
            data: of `pack`.
        """
        segment = segment_of(query, data)
        put_segment(self._store, _FOLDER, segment.name, data)
        self._known.add(segment.name)
        return segment

    def read(self, name: str, newest_ms: int) -> NameSegment:
        """Return a segment that a checkpoint names.

        Raises:
            OffsetError: it is not there: without it files would be read twice.
        """
        data = get_segment(self._store, _FOLDER, name)
        if data is None:
            raise OffsetError(
                f"the checkpoint needs {_FOLDER}/{name} at the stateLocation, and it is not there: give the "
                "stateLocation that the query began with"
            )
        self._known.add(name)
        return NameSegment(name, newest_ms, data)

    def prune(self, needed: Collection[str]) -> None:
        """Delete segments that this process wrote or read and that no committed checkpoint needs.

        Other queries may use the same folder: segments that this process does not know stay.
        """
        for name in self._known.difference(needed):
            self._store.delete(f"{_FOLDER}/{name}")
        self._known.intersection_update(needed)


def _hash(text: str, size: int) -> int:
    # A name on a POSIX file system need not be UTF-8: Python shows such bytes as surrogates.
    data = text.encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(data, digest_size=size).digest(), "big")

"""Which files were read, in bounded space.

A frontier in time, and the exact names of the files that are newer.

``json.dumps(SeenFiles.to_json())`` never holds more than `INLINE_FILES` names. A name is the hash of a path
(64 bits), the hash of the version that was read (32 bits), and its modification time.
"""

from __future__ import annotations

import base64
import enum
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from headwater.core.errors import OffsetError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.enumerators.files.split import FileStatus

__all__ = [
    "INLINE_FILES",
    "NOTHING_SEEN_MS",
    "NameSegment",
    "SeenFiles",
    "Sighting",
    "TooManyNames",
    "segment_of",
]

INLINE_FILES = 2_300
"""So many names fit into the offset: 18 bytes each, 55 KB in base64."""

NOTHING_SEEN_MS = -(1 << 46)
"""The frontier of a query that has read nothing: before all times."""

_MOST_SEGMENTS = 32
_ENTRY = 18


class Sighting(enum.Enum):
    """What a listed file is to a query."""

    NEW = "new"
    SEEN = "seen"
    CHANGED = "changed"
    """The path was read, with another content."""
    OUTSIDE = "outside"
    """At or before the frontier: it was read, or it arrived too late; nobody knows any more."""


class _Name(NamedTuple):
    version: int
    modified_ms: int


class TooManyNames(Exception):  # noqa: N818 - no error: who catches it knows the options that help
    """More names must be remembered than the offset has room for, and there is nowhere else."""


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


class SeenFiles:
    """What a query has read.

    Mutable; belongs to the coordinator's thread; what it was at a checkpoint is in the checkpoint.

    The frontier rises by itself: to what is older than the window, and, where names may not be kept outside
    of the offset, as far as it must so that the names fit. It never rises past a file that is known and not
    read yet, and never past the newest file: names that would have to be forgotten for that are refused.

    Args:
        window_ms: names of files that are so much older than the newest one are forgotten.
        can_spill: whether names may be kept outside of the offset.
    """

    def __init__(self, window_ms: int, *, can_spill: bool) -> None:
        self._window_ms, self._can_spill = window_ms, can_spill
        self.frontier_ms = NOTHING_SEEN_MS
        self._names: dict[int, _Name] = {}
        self._segments: dict[str, tuple[int, dict[int, _Name]]] = {}

    @property
    def room(self) -> int:
        """How many more names fit if the frontier must not rise."""
        return max(0, INLINE_FILES - len(self._names))

    @property
    def segments(self) -> frozenset[str]:
        """The names of the segments that are needed."""
        return frozenset(self._segments)

    def sighting(self, file: FileStatus) -> Sighting:
        """Return what a listed file is."""
        path = _hash(file.url, 8)
        known = self._names.get(path) or next(
            (names[path] for _, names in self._segments.values() if path in names), None
        )
        if known is not None:
            return Sighting.SEEN if known.version == _version(file) else Sighting.CHANGED
        return Sighting.OUTSIDE if file.modified_ms <= self.frontier_ms else Sighting.NEW

    def add(self, files: Iterable[FileStatus], oldest_unread_ms: int | None, now_ms: int) -> bytes | None:
        """Remember files that are going to be read.

        Return the names that are to be written elsewhere and then given to `attach`, or None.

        Args:
            files: the next batch.
            oldest_unread_ms: the oldest known file that is not read with it: the frontier stays before this
                time. None if there is no other.
            now_ms: the present: a file from the future (a clock that went wrong) does not drag the window
                along.

        Raises:
            TooManyNames: there is no room for so many names.
        """
        self._names.update((_hash(file.url, 8), _Name(_version(file), file.modified_ms)) for file in files)
        newest_ms = max((name.modified_ms for name in self._names.values()), default=self.frontier_ms)
        highest_ms = newest_ms - 1 if oldest_unread_ms is None else min(newest_ms, oldest_unread_ms) - 1
        self._raise_frontier(min(min(newest_ms, now_ms) - self._window_ms, highest_ms))
        if len(self._names) <= INLINE_FILES:
            return None
        if self._can_spill:
            return self._overflow()
        needed_ms = sorted(name.modified_ms for name in self._names.values())[-INLINE_FILES - 1]
        if needed_ms > highest_ms:
            raise TooManyNames(f"{len(self._names):,} files must be remembered by name, {INLINE_FILES:,} fit")
        self._raise_frontier(needed_ms)
        return None

    def replace(self, file: FileStatus) -> None:
        """Take the present content of a known path for the one that was read."""
        path = _hash(file.url, 8)
        self._names[path] = _Name(
            _version(file), (self._names.get(path) or _Name(0, file.modified_ms)).modified_ms
        )

    def attach(self, segment: NameSegment) -> None:
        """Take names in that are kept outside: those that `add` returned, or those of a restored state."""
        self._segments[segment.name] = (segment.newest_ms, _unpack(segment.data))

    def to_json(self) -> JsonObject:
        """Return the state, small whatever was seen."""
        state: JsonObject = {
            "frontier_ms": self.frontier_ms,
            "names": base64.b64encode(_pack(self._names)).decode(),
        }
        if self._segments:
            state["spilled"] = [[name, newest_ms] for name, (newest_ms, _) in self._segments.items()]
        return state

    def restore(self, state: JsonValue) -> list[tuple[str, int]]:
        """Become what `to_json` returned.

        Return names and newest times of the segments that are to be attached.

        Raises:
            OffsetError: the state is not one of ours.
        """
        try:
            fields = cast("Mapping[str, JsonValue]", state)
            self.frontier_ms = int(cast("int", fields["frontier_ms"]))
            self._names = _unpack(base64.b64decode(cast("str", fields["names"]), validate=True))
            self._segments = {}
            return [
                (str(name), int(newest))
                for name, newest in cast("Sequence[tuple[str, int]]", fields.get("spilled", []))
            ]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise OffsetError(f"the checkpoint's state is not one of the files source: {error!r}") from error

    def _raise_frontier(self, to_ms: int) -> None:
        if to_ms <= self.frontier_ms:
            return
        self.frontier_ms = to_ms
        self._names = {path: name for path, name in self._names.items() if name.modified_ms > to_ms}
        self._segments = {name: kept for name, kept in self._segments.items() if kept[0] > to_ms}

    def _overflow(self) -> bytes:
        """Take the older half of the names out, and those of all segments if there are too many of these."""
        by_age = sorted(self._names.items(), key=lambda item: item[1].modified_ms)
        spilled = dict(by_age[: len(by_age) - INLINE_FILES // 2])
        if len(self._segments) >= _MOST_SEGMENTS:
            for _, names in self._segments.values():
                spilled = names | spilled
            self._segments = {}
        self._names = dict(by_age[len(by_age) - INLINE_FILES // 2 :])
        return _pack(spilled)


def segment_of(data: bytes) -> NameSegment:
    """Return the segment of packed names: the same names are the same segment."""
    newest_ms = max(name.modified_ms for name in _unpack(data).values())
    return NameSegment(hashlib.blake2b(data, digest_size=12).hexdigest(), newest_ms, data)


def _hash(text: str, size: int) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=size).digest(), "big"
    )


def _version(file: FileStatus) -> int:
    return _hash(f"{file.size_bytes} {file.etag or file.modified_us}", 4)


def _pack(names: Mapping[int, _Name]) -> bytes:
    """Equal names are equal bytes: sorted by time and path."""
    ordered = sorted(names.items(), key=lambda item: (item[1].modified_ms, item[0]))
    return b"".join(
        path.to_bytes(8, "big")
        + name.version.to_bytes(4, "big")
        + (name.modified_ms - NOTHING_SEEN_MS).to_bytes(6, "big")
        for path, name in ordered
    )


def _unpack(data: bytes) -> dict[int, _Name]:
    if len(data) % _ENTRY:
        raise ValueError(f"{len(data)} bytes are no list of names")
    return {
        int.from_bytes(data[at : at + 8], "big"): _Name(
            int.from_bytes(data[at + 8 : at + 12], "big"),
            int.from_bytes(data[at + 12 : at + 18], "big") + NOTHING_SEEN_MS,
        )
        for at in range(0, len(data), _ENTRY)
    }

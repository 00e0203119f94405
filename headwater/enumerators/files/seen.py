"""Which files were read, and so which of the listed ones are to be read.

In bounded space: a frontier in time, and the names of the files that are newer.

``json.dumps(SeenFiles.to_json())`` never holds more than `INLINE_FILES` names.
"""

from __future__ import annotations

import base64
import enum
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from headwater.core.errors import OffsetError, SourceError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.enumerators.files.discovery import ListedFiles
from headwater.enumerators.files.names import (
    NOTHING_SEEN_MS,
    FileName,
    NameSegment,
    pack,
    path_hash,
    unpack,
    version_hash,
)
from headwater.enumerators.files.settings import FilesSettings
from headwater.enumerators.files.split import FileStatus

log = logging.getLogger(__name__)

INLINE_FILES = 2_300
"""So many names fit into the offset: 18 bytes each, 55 KB in base64."""

_MOST_SEGMENTS = 32

_SHOWN = 5
"""So many files that came too late are named in the log."""


class Sighting(enum.Enum):
    """What a listed file is to a query."""

    NEW = "new"
    SEEN = "seen"
    CHANGED = "changed"
    """The path was read, with another content."""
    OUTSIDE = "outside"
    """At or before the frontier: it was read, or it came too late; which of them is no longer known."""


class SeenFiles:
    """What a query has read.

    Mutable; used on the coordinator's thread only. What it was at a checkpoint is in the checkpoint.

    The frontier rises by itself: to what is older than the window, and, where names may not be kept outside
    of the offset, as far as it must so that the names fit. It never rises past a file that is known and not
    read yet, and never past the newest file: names that would have to be forgotten for that are refused.

    Args:
        window_ms: names of files that are so much older than the newest one are forgotten.
        can_spill: whether names may be kept outside of the offset.
    """

    def __init__(self, window_ms: int, *, can_spill: bool) -> None:
        self._window_ms = window_ms
        self._can_spill = can_spill
        self.frontier_ms = NOTHING_SEEN_MS
        # By path hash: the names in the offset, and those of each segment with the newest time in it.
        self._names: dict[int, FileName] = {}
        self._segments: dict[str, tuple[int, dict[int, FileName]]] = {}

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
        known = self._name(path_hash(file))
        if known is not None:
            return Sighting.SEEN if known.version == version_hash(file) else Sighting.CHANGED
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
            SourceError: there is neither room for so many names nor another place.
        """
        self._names.update(
            (path_hash(file), FileName(version_hash(file), file.modified_ms)) for file in files
        )
        newest_ms = max((name.modified_ms for name in self._names.values()), default=self.frontier_ms)
        first_unread_ms = newest_ms if oldest_unread_ms is None else min(newest_ms, oldest_unread_ms)
        highest_ms = first_unread_ms - 1
        window_begins_ms = min(newest_ms, now_ms) - self._window_ms
        self._raise_frontier(min(window_begins_ms, highest_ms))
        if len(self._names) <= INLINE_FILES:
            return None
        if self._can_spill:
            return self._overflow()
        # Without another place the window is cut short: as many of the oldest as do not fit are forgotten.
        newest_that_does_not_fit = -INLINE_FILES - 1
        needed_ms = sorted(name.modified_ms for name in self._names.values())[newest_that_does_not_fit]
        if needed_ms > highest_ms:
            raise SourceError(
                f"{len(self._names):,} files must be remembered by name, {INLINE_FILES:,} fit: too many "
                "files have the same modification time, or older ones are unread (latestFirst), and none may "
                "be forgotten, or it would be read twice. Give a stateLocation for the names (an fsspec URL)",
                source="files",
            )
        self._raise_frontier(needed_ms)
        return None

    def replace(self, file: FileStatus) -> None:
        """Take the present content of a known path for the one that was read.

        Its modification time stays that of the version that was read: a file that is not read must not move
        the window.
        """
        path = path_hash(file)
        known = self._names.get(path)
        modified_ms = file.modified_ms if known is None else known.modified_ms
        self._names[path] = FileName(version_hash(file), modified_ms)

    def attach(self, segment: NameSegment) -> None:
        """Take names in that are kept outside: those that `add` returned, or those of a restored state."""
        self._segments[segment.name] = (segment.newest_ms, unpack(segment.data))

    def to_json(self) -> JsonObject:
        """Return the state, small however many files were read."""
        state: JsonObject = {
            "frontier_ms": self.frontier_ms,
            "names": base64.b64encode(pack(self._names)).decode(),
        }
        if self._segments:
            state["spilled"] = [[name, newest_ms] for name, (newest_ms, _) in self._segments.items()]
        return state

    def restore(self, state: JsonValue) -> list[tuple[str, int]]:
        """Become what `to_json` returned.

        Return names and newest times of the segments that are to be attached.

        Raises:
            OffsetError: the state is not one of the files source.
        """
        try:
            fields = cast("Mapping[str, JsonValue]", state)
            self.frontier_ms = int(cast("int", fields["frontier_ms"]))
            self._names = unpack(base64.b64decode(cast("str", fields["names"]), validate=True))
            self._segments = {}
            spilled = cast("Sequence[tuple[str, int]]", fields.get("spilled", []))
            return [(str(name), int(newest_ms)) for name, newest_ms in spilled]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise OffsetError(f"the checkpoint's state is not one of the files source: {error!r}") from error

    def _name(self, path: int) -> FileName | None:
        """Return what is remembered of a path: of one that was read again, the last version.

        What is in the offset is newer than all segments, and a later segment is newer than those before it.
        """
        if path in self._names:
            return self._names[path]
        for _, names in reversed(self._segments.values()):
            if path in names:
                return names[path]
        return None

    def _raise_frontier(self, to_ms: int) -> None:
        if to_ms <= self.frontier_ms:
            return
        self.frontier_ms = to_ms
        self._names = {path: name for path, name in self._names.items() if name.modified_ms > to_ms}
        self._segments = {name: kept for name, kept in self._segments.items() if kept[0] > to_ms}

    def _overflow(self) -> bytes:
        """Take the older half of the names out, and those of all segments if there are too many of these."""
        spilled: dict[int, FileName] = {}
        if len(self._segments) >= _MOST_SEGMENTS:
            # From the oldest to the newest: of a path that was read again the last version counts.
            for _, names in self._segments.values():
                spilled.update(names)
            self._segments = {}
        by_age = sorted(self._names.items(), key=lambda item: item[1].modified_ms)
        kept = INLINE_FILES // 2
        spilled.update(by_age[:-kept])
        self._names = dict(by_age[-kept:])
        return pack(spilled)


def files_to_read(listed: ListedFiles, seen: SeenFiles, settings: FilesSettings) -> list[FileStatus]:
    """Return the files that were not read yet. Files that came too late are reported in the log.

    Args:
        listed: what the listing found.
        seen: what was read. A changed file that is ignored is remembered with its new content.
        settings: of the source.

    Raises:
        SourceError: the content of a file changed after it was read, and ``onChange`` is ``error``.
    """
    if not settings.remember:
        return list(listed.recent)
    to_read: list[FileStatus] = []
    too_late = list(listed.outside)
    for file in listed.recent:
        sighting = seen.sighting(file)
        if sighting is Sighting.NEW:
            to_read.append(file)
        elif sighting is Sighting.OUTSIDE:
            too_late.append(file)
        elif sighting is Sighting.CHANGED and _is_read_again(file, seen, settings):
            to_read.append(file)
    if too_late:
        _report(too_late, settings)
    return to_read


def _is_read_again(file: FileStatus, seen: SeenFiles, settings: FilesSettings) -> bool:
    """Whether a file whose content changed is read again."""
    if settings.on_change == "read":
        return True
    if settings.on_change == "ignore":
        log.warning("%s changed after it was read; what came later is not read", file.url)
        # From now on this is the content that was read, so that it is reported once.
        seen.replace(file)
        return False
    raise SourceError(
        "the file changed after it was read. Write new content under a new name, or set onChange to ignore "
        "(what came later is not read) or read (the whole file is read again)",
        source="files",
        split=file.url,
    )


def _report(too_late: Sequence[FileStatus], settings: FilesSettings) -> None:
    remembered = "the last files" if settings.store is None else "maxFileAge"
    log.warning(
        "%d files arrived too late and are not read: they are older than what is remembered of %s: %s%s",
        len(too_late),
        remembered,
        ", ".join(file.url for file in too_late[:_SHOWN]),
        ", ..." if len(too_late) > _SHOWN else "",
    )

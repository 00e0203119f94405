"""Which files were read, and so which of the listed ones are to be read.

A frontier in time, and the names of all files that are newer: in the offset as far as they fit, the others in
segments outside of it.

``json.dumps(SeenFiles.to_json())`` never holds more than `INLINE_FILES` names.
"""

from __future__ import annotations

import base64
import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from headwater.core.errors import OffsetError, OptionError, SourceError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.redaction import logger_of
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
from headwater.enumerators.files.split import AFTER_A_CHANGE, FileStatus

log = logger_of(__name__)

INLINE_FILES = 2_000
"""So many names fit into the offset: 18 bytes each, 48 KB in base64."""

SPILL_FILES = 1_000
"""With so many in the offset, half of them are taken out, if there is another place for them."""

_SMALL_NAMES = 16_000
_MOST_SMALL = 64
_MOST_SMALL_NAMES = 64_000
"""A segment of fewer than `_SMALL_NAMES` is small. So many small ones, or small ones with so many names
together, become a large one, which stays as it is: a name is written twice at the most."""

_SHOWN = 5
"""So many files that came too late are named in the log."""


class FileState(enum.Enum):
    """The state of a listed file for a query."""

    NEW = "new"
    SEEN = "seen"
    CHANGED = "changed"
    """The path was read, with another content."""
    OUTSIDE = "outside"
    """At or before the frontier: it was read, or it came too late; which of them is no longer known."""


class SeenFiles:
    """The files that a query has read.

    Mutable; used on the coordinator's thread only. The checkpoint has its state of then.

    The frontier rises by itself to the files that are older than the window. It never rises past a file that
    is known and not read yet, and never past the newest file. Nothing inside the window is forgotten: names
    that do not fit into the offset are kept outside of it, or refused.

    Memory: about 110 bytes a name.

    Args:
        window_ms: names of files that are more than so much older than the newest one are forgotten.
        can_spill: whether names may be kept outside of the offset.
    """

    def __init__(self, window_ms: int, *, can_spill: bool) -> None:
        self._window_ms = window_ms
        self._can_spill = can_spill
        self.frontier_ms = NOTHING_SEEN_MS
        # By path hash: the names in the offset, and those of each segment with the newest time in it.
        self._names: dict[int, FileName] = {}
        self._segments: dict[str, _KeptNames] = {}

    @property
    def room(self) -> int:
        """How many more names fit into the offset if the frontier does not rise."""
        return max(0, INLINE_FILES - len(self._names))

    @property
    def segments(self) -> frozenset[str]:
        """The names of the segments that are needed."""
        return frozenset(self._segments)

    def state_of(self, file: FileStatus) -> FileState:
        """Return the state of a listed file."""
        version = self._version(path_hash(file))
        if version is not None:
            return FileState.SEEN if version == version_hash(file) else FileState.CHANGED
        return FileState.OUTSIDE if file.modified_ms <= self.frontier_ms else FileState.NEW

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
            OptionError: there is neither room for so many names nor another place.
        """
        self._names.update(
            (path_hash(file), FileName(version_hash(file), file.modified_ms)) for file in files
        )
        newest_ms = max((name.modified_ms for name in self._names.values()), default=self.frontier_ms)
        first_unread_ms = newest_ms if oldest_unread_ms is None else min(newest_ms, oldest_unread_ms)
        highest_ms = first_unread_ms - 1
        # A file that is exactly as much older than the newest one as the window is long is inside of it.
        before_window_ms = min(newest_ms, now_ms) - self._window_ms - 1
        self._raise_frontier(min(before_window_ms, highest_ms))
        if self._can_spill:
            return self._overflow() if len(self._names) > SPILL_FILES else None
        if len(self._names) <= INLINE_FILES:
            return None
        raise OptionError(
            f"is needed to go on: {len(self._names):,} files must be remembered by name, those inside of "
            f"maxFileAge ({self._window_ms // 1000:,} s) and those with older ones still unread; the offset "
            f"holds {INLINE_FILES:,}, and to forget one is to read it twice or never. Give a folder that "
            "every driver of this query reaches (an fsspec URL), or a shorter maxFileAge. The query goes on "
            "where it is",
            option="stateLocation",
        )

    def replace(self, file: FileStatus) -> None:
        """Take the present content of a known path for the one that was read.

        Its modification time stays that of the version that was read: a file that is not read must not move
        the window.
        """
        path = path_hash(file)
        previous = self._names.get(path)
        modified_ms = file.modified_ms if previous is None else previous.modified_ms
        self._names[path] = FileName(version_hash(file), modified_ms)

    def attach(self, segment: NameSegment) -> None:
        """Take names in that are kept outside: those that `add` returned, or those of a restored state."""
        is_small = len(segment) < _SMALL_NAMES
        self._segments[segment.name] = _KeptNames(
            segment.newest_ms, segment.versions(), segment.data if is_small else None
        )

    def to_json(self) -> JsonObject:
        """Return the state, small however many files were read."""
        state: JsonObject = {
            "frontier_ms": self.frontier_ms,
            "names": base64.b64encode(pack(self._names)).decode(),
        }
        if self._segments:
            state["spilled"] = [[name, segment.newest_ms] for name, segment in self._segments.items()]
        return state

    def restore(self, state: JsonValue) -> list[tuple[str, int]]:
        """Take the state that `to_json` returned.

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

    def _version(self, path: int) -> int | None:
        """Return the version of a path that was read last, None if it is not known.

        The entries of the offset are newer than all segments, and a later segment newer than those before it.
        """
        if path in self._names:
            return self._names[path].version
        for segment in reversed(self._segments.values()):
            if path in segment.versions:
                return segment.versions[path]
        return None

    def _raise_frontier(self, to_ms: int) -> None:
        if to_ms <= self.frontier_ms:
            return
        self.frontier_ms = to_ms
        self._names = {path: name for path, name in self._names.items() if name.modified_ms > to_ms}
        self._segments = {
            name: segment for name, segment in self._segments.items() if segment.newest_ms > to_ms
        }

    def _overflow(self) -> bytes:
        """Take the older half of the names out, and those of the small segments if these are too many."""
        spilled: dict[int, FileName] = {}
        small = {name: each.data for name, each in self._segments.items() if each.data is not None}
        names_in_small = sum(len(self._segments[name].versions) for name in small)
        if len(small) >= _MOST_SMALL or names_in_small >= _MOST_SMALL_NAMES:
            # From the oldest to the newest: of a path that was read again the last version counts. All large
            # segments are older.
            for name, data in small.items():
                spilled.update(unpack(data))
                del self._segments[name]
        by_age = sorted(self._names.items(), key=lambda item: item[1].modified_ms)
        count = SPILL_FILES // 2
        spilled.update(by_age[:-count])
        self._names = dict(by_age[-count:])
        return pack(spilled)


@dataclass(frozen=True)
class _KeptNames:
    """The names of a segment.

    Attributes:
        newest_ms: when the frontier has reached this time, they are needed no more.
        versions: by the hash of the path.
        data: as they are kept; None of a large segment, which is never packed again.
    """

    newest_ms: int
    versions: Mapping[int, int]
    data: bytes | None


class SortedFiles(NamedTuple):
    """The listed files by their state for a query.

    Attributes:
        to_read: those that were not read yet.
        too_late: those that are not read, since they are older than the memory.
    """

    to_read: list[FileStatus]
    too_late: list[FileStatus]


def sort_files(listed: ListedFiles, history: SeenFiles, settings: FilesSettings) -> SortedFiles:
    """Return which of the listed files are to be read, and which came too late.

    Args:
        listed: the files of the listing.
        history: the files that were read. A changed file that is ignored is remembered with its new content.
        settings: of the source.

    Raises:
        SourceError: the content of a file changed after it was read, and ``onChange`` is ``error``; or files
            came too late, and ``onLateFile`` is ``fail``.
    """
    if not settings.remember:
        return SortedFiles(list(listed.recent), [])
    to_read: list[FileStatus] = []
    too_late = list(listed.outside)
    for file in listed.recent:
        state = history.state_of(file)
        if state is FileState.NEW:
            to_read.append(file)
        elif state is FileState.OUTSIDE:
            too_late.append(file)
        elif state is FileState.CHANGED and _is_read_again(file, history, settings):
            to_read.append(file)
    if too_late:
        _report(too_late, settings)
    return SortedFiles(to_read, too_late)


def _is_read_again(file: FileStatus, history: SeenFiles, settings: FilesSettings) -> bool:
    """Whether a file whose content changed is read again."""
    if settings.on_change == "read":
        return True
    if settings.on_change == "ignore":
        log.warning("%s changed after it was read; what came later is not read", file.url)
        # From now on this is the content that was read, so that it is reported once.
        history.replace(file)
        return False
    raise SourceError(
        f"the file changed after it was read. {AFTER_A_CHANGE}",
        source="files",
        split=file.url,
    )


def _report(too_late: Sequence[FileStatus], settings: FilesSettings) -> None:
    message = (
        f"{len(too_late):,} files came too late and are not read: their modification time is more than "
        f"maxFileAge ({settings.window_ms // 1000:,} s) before that of the newest file: "
        + ", ".join(file.url for file in too_late[:_SHOWN])
        + (", ..." if len(too_late) > _SHOWN else "")
        + ". Give them the present time (touch), and they are read"
    )
    if settings.on_late_file == "fail":
        raise SourceError(
            f"{message}. Started again, the query goes on without those that stay as they are; with "
            "onLateFile=warn it counts them and does not stop",
            source="files",
        )
    log.warning("%s", message)

"""One version of one file, and the split that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from headwater.core.split import Split, SplitPath

AFTER_A_CHANGE = (
    "To go on, set two options: ignoreMissingFiles=true (a version that was planned and is gone is skipped) "
    "and onChange=read (the whole file is read again, as it is then) or onChange=ignore (what came later is "
    "not read). So that it does not happen: write under another name and move whole files into place, write "
    "new content under new names, or set minFileAge"
)
"""The way out for a user whose file got another content while or after it was read."""


class FileStatus(NamedTuple):
    """The status of a file in a listing.

    SplitPath, size, and etag or modification time together are its identity, never the path alone.

    Attributes:
        url: the whole path, with its protocol.
        size_bytes: how long it is.
        modified_us: modification time, microseconds since 1970 in UTC.
        etag: the name that an object store has for this content, or None where there is none.
    """

    url: str
    size_bytes: int
    modified_us: int
    etag: str | None = None

    @property
    def modified_ms(self) -> int:
        """The modification time, milliseconds since 1970 in UTC."""
        return self.modified_us // 1000

    def same_content(self, other: FileStatus) -> bool:
        """Whether two statuses of one path mean the same content, as far as a listing can tell."""
        if self.size_bytes != other.size_bytes:
            return False
        if self.etag is not None and other.etag is not None:
            return self.etag == other.etag
        return self.modified_us == other.modified_us


@dataclass(frozen=True, slots=True)
class FileSplit(Split):
    """A file as a split. Its positions are byte offsets (ints): a batch reads it from 0 to its size.

    Attributes:
        number: which file of the query this is, counted from 0, as text of equal width. Short in the offset,
            and never used again, so that a path whose content changed is another split.
        file: as the listing has it.
    """

    number: str
    file: FileStatus

    @property
    def path(self) -> SplitPath:
        return (self.number,)

    @property
    def split_id(self) -> str:
        return self.file.url

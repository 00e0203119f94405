"""One version of one file, the split that reads it, and files as they stand in an offset."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os.path import commonprefix
from typing import Any, Final, NamedTuple, cast

from headwater.core.errors import OffsetError
from headwater.core.jsons import JsonObject, JsonValue
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


_FEW_FILES: Final = 100
"""Up to so many stand in the offset as they are, for people; more are compressed: names are much alike."""


def serialized_files(splits: Iterable[FileSplit]) -> JsonValue:
    """Return the folder that all share, once, and a list for each file, in the order of their numbers.

    It holds the rest of the path, size, time, and the etag where there is one. Of many files these lists are
    JSON, compressed by zlib, in base64.
    """
    ordered = sorted(splits, key=lambda split: split.number)
    # The common prefix of the characters may end inside of a name: it is cut at the last slash.
    folder = commonprefix([split.file.url for split in ordered]).rpartition("/")[0]  # noqa: RUF071
    files: list[JsonValue] = [
        [split.file.url[len(folder) :], *split.file[1 : 4 if split.file.etag is not None else 3]]
        for split in ordered
    ]
    if len(files) <= _FEW_FILES:
        return {"folder": folder, "files": files}
    # By columns: similar values lie side by side.
    text = json.dumps(_columns(files), separators=(",", ":"), ensure_ascii=False)
    return {"folder": folder, "packed": base64.b64encode(zlib.compress(text.encode(), 9)).decode()}


def deserialized_files(paths: Iterable[SplitPath], definitions: JsonValue) -> Mapping[SplitPath, FileSplit]:
    """Return the inverse of `serialized_files`.

    Raises:
        OffsetError: this is not a definition of a split.
    """
    try:
        fields = cast("JsonObject", definitions)
        folder = cast("str", fields["folder"])
        files = (
            _unpacked(fields["packed"]) if "packed" in fields else cast("list[list[Any]]", fields["files"])
        )
        return {
            path: FileSplit(path[0], FileStatus(folder + name, int(size), *rest))
            for path, (name, size, *rest) in zip(sorted(paths), files, strict=True)
        }
    except (KeyError, ValueError, TypeError, zlib.error) as error:
        raise OffsetError(f"the checkpoint's offset is not one of the files source: {error!r}") from error


def _columns(files: list[Any]) -> list[list[Any]]:
    """Return names, sizes, times as the difference from the one before, and etags with null where none is."""
    times = [file[2] for file in files]
    steps = [time - previous for time, previous in zip(times, [0, *times], strict=False)]
    etags = [file[3] if len(file) > 3 else None for file in files]
    return [[file[0] for file in files], [file[1] for file in files], steps, etags]


def _unpacked(packed: Any) -> list[list[Any]]:
    names, sizes, steps, etags = json.loads(zlib.decompress(base64.b64decode(packed, validate=True)))
    time = 0
    files: list[list[Any]] = []
    for name, size, step, etag in zip(names, sizes, steps, etags, strict=True):
        time += step
        files.append([name, size, time, *([] if etag is None else [etag])])
    return files

"""Files of records that could not be decoded: lines of JSON, which appear under their name as a whole.

The readers of each source choose the content and the name of a file. For sources that read record by record
`BadRowFiles` does so.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import shutil
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Final
from urllib.parse import quote

from headwater.core.emitter import SplitState
from headwater.core.errors import SourceError
from headwater.core.jsons import dumps

_MOST_IN_MEMORY: Final = 16 << 20
BLOCK: Final = 1000
"""How many offsets a block has. Never changed: the files of batches that are read again depend on it."""


def folder_name(name: str) -> str:
    """Return the name of a folder, or of a file, for something that has its name from outside.

    Spark and other readers skip names that begin with an underscore or a dot, and take a folder with an
    equals sign for a column of partitions. These characters are escaped like those that names may not have.
    """
    first = f"%{ord(name[0]):02X}" if name[:1] in ("_", ".") else ""
    return first + quote(name[1:] if first else name, safe="")


def block_start(offset: int) -> int:
    """Return the first offset of the block that holds an offset."""
    return offset // BLOCK * BLOCK


@dataclass(frozen=True, kw_only=True)
class BadRecordsLocation:
    """The folder of all files.

    Attributes:
        path: a folder, as a URL or a local path.
        storage_options: for the fsspec file system.
    """

    path: str
    storage_options: Mapping[str, Any] = field(default_factory=dict)


class BadRecordLines:
    """Collects the lines of one file, on disk if they are many. One owner, one thread."""

    def __init__(self) -> None:
        self._lines: IO[bytes] = io.BytesIO()

    def add(self, fields: Mapping[str, Any]) -> None:
        """Take the next line."""
        self._lines.write(json.dumps(fields, ensure_ascii=False).encode() + b"\n")
        if isinstance(self._lines, io.BytesIO) and self._lines.tell() > _MOST_IN_MEMORY:
            self._lines = _on_disk(self._lines)

    def write(self, location: BadRecordsLocation, folder: str, name: str) -> None:
        """Write the file, in the place of an earlier one of its name, and forget the lines.

        A killed task leaves a file behind whose name begins with an underscore: Spark and other readers leave
        out such names.

        Args:
            location: of all files.
            folder: below it.
            name: of the file.

        Raises:
            OSError: the file cannot be written.
            ValueError: there is no such file system.
            ImportError: a library for it is not installed.
        """
        import fsspec

        fs, root = fsspec.core.url_to_fs(location.path, **location.storage_options)
        below = f"{root.rstrip('/')}/{folder}"
        fs.makedirs(below, exist_ok=True)
        beside = f"{below}/_{name}.{uuid.uuid4().hex}"
        self._lines.seek(0)
        try:
            with fs.open(beside, "wb") as file:
                shutil.copyfileobj(self._lines, file)
            fs.mv(beside, f"{below}/{name}")
        except BaseException:
            # On a full disk it would take the room that is left.
            with contextlib.suppress(Exception):
                fs.rm_file(beside)
            raise
        self._lines.close()


def shown(name: str, value: bytes | None) -> dict[str, str | None]:
    """Return bytes as text if they are UTF-8, else as Base64 under a name that says so."""
    try:
        return {name: None if value is None else value.decode()}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(value or b"").decode()}


def _on_disk(lines: io.BytesIO) -> IO[bytes]:
    """Return a file without a name: the system deletes it, however the task ends."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is written to its place
    file.write(lines.getbuffer())
    return file


class BadRowFiles:
    """Writes the bad rows of each record (a page, a segment, a poll) that has some: a file for each.

    The name of a file is made of the split and of the position at which its record begins. So a record that
    is read again, after a failure, by another task or in another epoch, writes the same file again. One
    owner, one thread.

    Args:
        location: of all files.
        column: that is decoded.
        source: its name is that of the folder.
    """

    def __init__(self, location: BadRecordsLocation, column: str, source: str) -> None:
        self._location = location
        self._column = column
        self._source = source
        self._lines = BadRecordLines()

    def add(self, state: SplitState[Any, Any], row: int, reason: str, value: bytes | None) -> None:
        """Take the next bad row of a record. ``state`` is before the record."""
        fields = {
            "split": state.split.split_id,
            "position": state.position,
            "row": row,
            "reason": f"{self._column!r} {reason}",
        }
        self._lines.add({**fields, **shown(self._column, value)})

    def write(self, state: SplitState[Any, Any]) -> None:
        """Write the file of a record. ``state`` is before it.

        Raises:
            SourceError: it cannot be written.
        """
        place = dumps([list(state.split.path), state.position])
        name = hashlib.sha256(place.encode()).hexdigest()[:32]
        try:
            self._lines.write(self._location, folder_name(self._source), f"{name}.jsonl")
        except (OSError, ValueError, ImportError) as error:
            raise SourceError(
                f"rows that could not be decoded cannot be written to {self._location.path!r} "
                f"(option 'badRecordsPath'): {error}",
                source=self._source,
                split=state.split.split_id,
                position=state.position,
            ) from error
        self._lines = BadRecordLines()

"""One file of records that could not be decoded: lines of JSON, which appear under their name as a whole.

The readers of each source say what a file holds and what it is called.
"""

from __future__ import annotations

import base64
import io
import json
import shutil
import tempfile
import uuid
from collections.abc import Mapping
from typing import IO, Any, Final

from headwater.readers.formats.bad_records_location import BadRecordsLocation

_MOST_IN_MEMORY: Final = 16 << 20


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
        with fs.open(beside, "wb") as file:
            shutil.copyfileobj(self._lines, file)
        fs.mv(beside, f"{below}/{name}")
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

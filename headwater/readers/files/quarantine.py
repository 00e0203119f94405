"""Files of records that could not be read: the same files, however often and by whichever tasks.

The content of a file, as it is after decompression, is divided into parts of a fixed size; a record belongs
to the part in which it begins. A part with bad records makes one file. Tasks are cut between parts only
(`part_start`): so one task reads a part as a whole, and a batch that is read again, by other tasks, after a
failure or for a second action, writes the same files again.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final
from urllib.parse import quote

from headwater.core.errors import SourceError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.formats.bad_record_lines import BadRecordLines, shown
from headwater.readers.formats.bad_records_location import BadRecordsLocation

_PART_BYTES: Final = 8 << 20
"""Never changed: the files of batches that are read again depend on it."""


def part_start(position: int) -> int:
    """Return where the part begins that holds a position."""
    return position // _PART_BYTES * _PART_BYTES


class Quarantine:
    """Writes the bad records of one task. One owner, one thread.

    A part's file is written when a record behind it is bad, or when the task has read everything. A task that
    ends early, because it fails or because no more rows are wanted, leaves out the file of the part that it
    was in.

    Args:
        location: where the files lie.
    """

    def __init__(self, location: BadRecordsLocation) -> None:
        self._location = location
        self._lines = BadRecordLines()
        # The file and the part that the lines belong to; None if there are none.
        self._part: tuple[FileStatus, int] | None = None

    def add(self, file: FileStatus, position: int, reason: str, record: bytes) -> None:
        """Take the next bad record of a file.

        Args:
            file: which.
            position: of the record's first byte, after decompression.
            reason: why it is bad, as the end of a sentence.
            record: its bytes.

        Raises:
            SourceError: the file of an earlier part cannot be written.
        """
        part = (file, part_start(position))
        if self._part != part:
            self.finish()
            self._part = part
        fields: dict[str, Any] = {"path": file.url, "position": position, "reason": f"the record {reason}"}
        self._lines.add(fields | shown("record", record))

    def finish(self) -> None:
        """Write the file that is open: the task has read everything.

        Raises:
            SourceError: it cannot be written.
        """
        if self._part is None:
            return
        file, start = self._part
        try:
            self._lines.write(self._location, _folder(file), f"{start:020d}.jsonl")
        except (OSError, ValueError, ImportError) as error:
            raise SourceError(
                f"the records from here on that could not be read cannot be written to "
                f"{self._location.path!r} (option 'badRecordsPath'): {error}",
                source="files",
                split=file.url,
                position=start,
            ) from error
        self._lines = BadRecordLines()
        self._part = None


def _folder(file: FileStatus) -> str:
    """Return a folder for the bad records of one version of a file."""
    version = hashlib.sha256(repr(file).encode()).hexdigest()[:16]
    return f"{quote(file.url.rpartition('/')[2], safe='')}-{version}"

"""Records of text that cannot be read: kept, dropped, written to files, or an error.

The same records give the same files, however often and by whichever tasks they are read. The content of a
file, as it is after decompression, is divided into parts of a fixed size; a record belongs to the part in
which it begins. A part with bad records makes one file. Tasks are cut between parts only (`part_start`): so
one task reads a part as a whole, and a batch that is read again, by other tasks, after a failure or for a
second action, writes the same files again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from headwater.core.errors import CorruptRecordError, SourceError, meant
from headwater.core.metrics import RECORDS_IN_ERRORS, count
from headwater.core.redaction import logger_of
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.text_settings import RecordSettings
from headwater.readers.formats.bad_records import BadRecordLines, BadRecordsLocation, folder_name, shown

if TYPE_CHECKING:
    from headwater.readers.formats.format import BadValues, Spans

log = logger_of(__name__)

_PART_BYTES: Final = 8 << 20
"""Never changed: the files of batches that are read again depend on it."""
_MOST_NAME: Final = 200
_SHOWN_BYTES = 200


class BadRecords:
    """Handles the bad records of one block after the other, as the options say.

    One owner, one thread.

    Args:
        settings: the mode.
        quarantine: writes them to files, if they are to go there whatever the mode.
    """

    def __init__(self, settings: RecordSettings, quarantine: Quarantine | None) -> None:
        self._mode = settings.mode
        self._quarantine = quarantine
        # The file whose records are left out, the position of the first of them, and how many there are.
        self._dropped: tuple[FileStatus, int, int] | None = None

    @property
    def are_dropped(self) -> bool:
        """Whether a bad record makes no row."""
        return self._quarantine is not None or self._mode == "dropmalformed"

    def take(
        self, bad: BadValues, spans: Spans, file: FileStatus, start: int, reason: Callable[[int], str]
    ) -> None:
        """Take the bad records of a block: write them, count them, or fail.

        Args:
            bad: which, and why.
            spans: the block's records.
            file: where they come from.
            start: the position in the file, after decompression, of the first byte of the block.
            reason: explains a reason's code, as the end of a sentence.

        Raises:
            CorruptRecordError: the mode is to fail.
            SourceError: bad records cannot be written.
        """
        count(RECORDS_IN_ERRORS, len(bad.rows))
        if self._quarantine is not None:
            for row, code in zip(bad.rows.tolist(), bad.reasons.tolist(), strict=True):
                record = spans.value(row) or b""
                self._quarantine.add(file, start + int(spans.starts[row]), reason(code), record)
        elif self._mode == "failfast":
            row = int(bad.rows[0])
            begin = (spans.value(row) or b"")[:_SHOWN_BYTES].decode("utf-8", "replace")
            raise meant(
                CorruptRecordError(
                    f"the record at this position {reason(int(bad.reasons[0]))}: {begin!r}. Option 'mode' is "
                    "FAILFAST: PERMISSIVE makes nulls of what cannot be read, DROPMALFORMED leaves the "
                    "record out, and option 'badRecordsPath' puts it into a file",
                    source="files",
                    split=file.url,
                    position=start + int(spans.starts[row]),
                )
            )
        elif self._mode == "dropmalformed":
            self._drop(file, start + int(spans.starts[bad.rows[0]]), len(bad.rows))

    def finish(self) -> None:
        """Log how many records of the last file were dropped: the task has read everything."""
        if self._dropped is None:
            return
        file, first, count = self._dropped
        log.warning(
            "%s: %d records that cannot be read are left out from position %d on (mode)",
            file.url,
            count,
            first,
        )
        self._dropped = None

    def _drop(self, file: FileStatus, first: int, count: int) -> None:
        """Count records that are left out: one message a file, not one a block."""
        if self._dropped is not None and self._dropped[0] != file:
            self.finish()
        if self._dropped is not None:
            first = self._dropped[1]
            count += self._dropped[2]
        self._dropped = (file, first, count)


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
    # Cut: escaped, a name may be three times as long as names of folders may be.
    return f"{folder_name(file.url.rpartition('/')[2])[:_MOST_NAME]}-{version}"

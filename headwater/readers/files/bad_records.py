"""What becomes of records of text that cannot be read: kept, left out, put into files, or an error."""

from __future__ import annotations

import logging
from collections.abc import Callable

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.quarantine import Quarantine
from headwater.readers.files.record_settings import RecordSettings
from headwater.readers.formats.format import BadValues, Spans

log = logging.getLogger(__name__)

_SHOWN_BYTES = 200


class BadRecords:
    """Does with the bad records of one block after the other what the user has said.

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
        if self._quarantine is not None:
            for row, code in zip(bad.rows.tolist(), bad.reasons.tolist(), strict=True):
                record = spans.value(row) or b""
                self._quarantine.add(file, start + int(spans.starts[row]), reason(code), record)
        elif self._mode == "failfast":
            row = int(bad.rows[0])
            begin = (spans.value(row) or b"")[:_SHOWN_BYTES].decode("utf-8", "replace")
            raise CorruptRecordError(
                f"the record at this position {reason(int(bad.reasons[0]))}: {begin!r}. Option 'mode' is "
                "FAILFAST: PERMISSIVE makes nulls of what cannot be read, DROPMALFORMED leaves the record "
                "out, and option 'badRecordsPath' puts it into a file",
                source="files",
                split=file.url,
                position=start + int(spans.starts[row]),
            )
        elif self._mode == "dropmalformed":
            self._drop(file, start + int(spans.starts[bad.rows[0]]), len(bad.rows))

    def finish(self) -> None:
        """Say what was left out of the last file: the task has read everything."""
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

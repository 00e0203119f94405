"""Files of rows whose column could not be decoded, for sources that read record by record."""

from __future__ import annotations

import hashlib
from typing import Any

from headwater.core.emitter import SplitState
from headwater.core.errors import SourceError
from headwater.core.jsons import dumps
from headwater.readers.formats.bad_record_lines import BadRecordLines, shown
from headwater.readers.formats.bad_records_location import BadRecordsLocation


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
            self._lines.write(self._location, self._source, f"{name}.jsonl")
        except (OSError, ValueError, ImportError) as error:
            raise SourceError(
                f"rows that could not be decoded cannot be written to {self._location.path!r} "
                f"(option 'badRecordsPath'): {error}",
                source=self._source,
                split=state.split.split_id,
                position=state.position,
            ) from error
        self._lines = BadRecordLines()

"""Files of records that could not be decoded: the same files, however often and by whichever tasks.

Offsets are divided into blocks of a fixed size. The records that a batch reads of one block are a part. A
part with bad records is a file: its name is its first offset, its content the bad records in their order.
Tasks are cut between blocks only (`block_start`), so that a part is always read by one task: a batch that is
read again, by other tasks, after a failure or for a second action, writes the same files again.

A file appears as a whole: it is written beside its place, and renamed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from headwater.core.errors import SourceError
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.formats.bad_records import (
    BadRecordLines,
    BadRecordsLocation,
    block_start,
    folder_name,
    shown,
)


class BadRecord(NamedTuple):
    """A record that could not be decoded. ``values`` are the bytes of key and value, as far as they count."""

    offset: int
    timestamp_ms: int
    reason: str
    values: Mapping[str, bytes | None]


class _OpenPart(NamedTuple):
    split: KafkaPartitionSplit
    first: int
    lines: BadRecordLines


class BadRecordFiles:
    """Writes the bad records of one task. One owner, one thread.

    The file of a part is written when the part has been read to its end. A task that ends early, because it
    fails or because no more rows are wanted, leaves out the file of the part that it was in.
    """

    def __init__(self, location: BadRecordsLocation) -> None:
        self._location = location
        self._starts: dict[SplitPath, int] = {}
        self._parts: dict[SplitPath, _OpenPart] = {}

    def begin(self, split: KafkaPartitionSplit, position: int) -> None:
        """Take note of where the task begins to read a partition. Later calls for the same one do nothing."""
        self._starts.setdefault(split.path, position)

    def add(self, split: KafkaPartitionSplit, record: BadRecord) -> None:
        """Take the next bad record of a partition."""
        first = max(block_start(record.offset), self._starts[split.path])
        part = self._parts.get(split.path)
        if part is None or part.first != first:
            if part is not None:
                self._write(part)
            part = _OpenPart(split, first, BadRecordLines())
            self._parts[split.path] = part
        part.lines.add(_fields(split, record))

    def finish(self) -> None:
        """Write the files that are open: the task has read everything.

        Raises:
            SourceError: a file cannot be written.
        """
        for part in self._parts.values():
            self._write(part)
        self._parts.clear()

    def _write(self, part: _OpenPart) -> None:
        location = self._location
        folder = f"{folder_name(part.split.topic)}/{part.split.partition}"
        try:
            part.lines.write(location, folder, f"{part.first:020d}.jsonl")
        except (OSError, ValueError, ImportError) as error:
            raise SourceError(
                f"the records from offset {part.first} on that could not be decoded cannot be written to "
                f"{location.path!r} (option 'badRecordsPath'): {error}",
                source="kafka",
                split=part.split.split_id,
                position=part.first,
            ) from error


def _fields(split: KafkaPartitionSplit, record: BadRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "topic": split.topic,
        "partition": split.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "reason": record.reason,
    }
    for part, value in sorted(record.values.items()):
        fields |= shown(part, value)
    return fields

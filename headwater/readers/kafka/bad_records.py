"""Files of records that could not be decoded: the same files, however often and by whichever tasks.

Offsets are divided into blocks of a fixed size. What a batch reads of one block is a part, and a part with
bad records is a file: its name is its first offset, its content the bad records in their order. Tasks are cut
between blocks only (`block_start`), so that a part is always read by one task: a batch that is read again, by
other tasks, after a failure or for a second action, writes the same files again.

A file appears as a whole: it is written beside its place, and renamed.
"""

from __future__ import annotations

import base64
import io
import json
import shutil
import tempfile
import uuid
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from headwater.core.errors import SourceError
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.formats.bad_records_location import BadRecordsLocation, block_start

if TYPE_CHECKING:
    import fsspec

_MOST_IN_MEMORY: Final = 16 << 20


class BadRecord(NamedTuple):
    """A record that could not be decoded. ``values`` are the bytes of key and value, as far as they count."""

    offset: int
    timestamp_ms: int
    reason: str
    values: Mapping[str, bytes | None]


class _OpenPart(NamedTuple):
    split: KafkaPartitionSplit
    first: int
    lines: IO[bytes]


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
            part = _OpenPart(split, first, io.BytesIO())
        part.lines.write(_line(split, record))
        if isinstance(part.lines, io.BytesIO) and part.lines.tell() > _MOST_IN_MEMORY:
            part = part._replace(lines=_on_disk(part.lines))
        self._parts[split.path] = part

    def finish(self) -> None:
        """Write the files that are open: the task has read everything.

        Raises:
            SourceError: a file cannot be written.
        """
        for part in self._parts.values():
            self._write(part)
        self._parts.clear()

    def _write(self, part: _OpenPart) -> None:
        import fsspec

        location = self._location
        try:
            fs, root = fsspec.core.url_to_fs(location.path, **location.storage_options)
            folder = f"{root.rstrip('/')}/{quote(part.split.topic, safe='')}/{part.split.partition}"
            _put(fs, folder, f"{part.first:020d}.jsonl", part.lines)
        except (OSError, ValueError, ImportError) as error:
            raise SourceError(
                f"the records from offset {part.first} on that could not be decoded cannot be written to "
                f"{location.path!r} (option 'badRecordsPath'): {error}",
                source="kafka",
                split=part.split.split_id,
                position=part.first,
            ) from error
        part.lines.close()


def _on_disk(lines: io.BytesIO) -> IO[bytes]:
    """Return a file without a name: the system deletes it, however the task ends."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when its part is written
    file.write(lines.getbuffer())
    return file


def _put(fs: fsspec.AbstractFileSystem, folder: str, name: str, lines: IO[bytes]) -> None:
    fs.makedirs(folder, exist_ok=True)
    # Spark and other readers leave out names that begin so: a killed task leaves such a file behind.
    beside = f"{folder}/_{name}.{uuid.uuid4().hex}"
    lines.seek(0)
    with fs.open(beside, "wb") as file:
        shutil.copyfileobj(lines, file)
    fs.mv(beside, f"{folder}/{name}")


def _line(split: KafkaPartitionSplit, record: BadRecord) -> bytes:
    fields: dict[str, Any] = {
        "topic": split.topic,
        "partition": split.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "reason": record.reason,
    }
    for part, value in sorted(record.values.items()):
        fields |= _shown(part, value)
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


def _shown(part: str, value: bytes | None) -> dict[str, str | None]:
    """Return bytes as text if they are UTF-8, else as Base64 under a name that says so."""
    try:
        return {part: None if value is None else value.decode()}
    except UnicodeDecodeError:
        return {f"{part}Base64": base64.b64encode(value or b"").decode()}

"""A checkpoint of Spark: which batches it holds, and how entries of its offset log are replaced."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from headwater.tools.commands.checkpoint_folder import CheckpointFolder
from headwater.tools.commands.offset_log import LayoutError, OffsetLogEntry

_BACKUPS = "headwater-backup"


class CheckpointError(Exception):
    """A checkpoint that cannot be rewritten as it is. The message has the remedy."""


class PendingBatchError(CheckpointError):
    """The last batch is logged and not committed: it will be read again, exactly as it is logged.

    Args:
        batch_id: the batch.
    """

    def __init__(self, batch_id: int) -> None:
        super().__init__(f"batch {batch_id} is pending: its offset is logged, and it is not committed")
        self.batch_id = batch_id


class GoneEntryError(CheckpointError):
    """An entry of the offset log was there a moment ago: a query that runs removes old ones."""


class SparkCheckpoint:
    """The two logs of one query, seen while it does not run.

    Spark logs the offset of a batch in ``offsets/<id>`` before it runs, and writes ``commits/<id>`` when it
    is done.

    Args:
        folder: the query's ``checkpointLocation``.
    """

    def __init__(self, folder: CheckpointFolder) -> None:
        self._folder = folder

    def last_committed(self) -> int:
        """Return the id of the last batch, which is committed, and whose entry and the one before are there.

        Spark reads these two when a query starts.

        Raises:
            PendingBatchError: the last batch is not committed.
            CheckpointError: there is no batch, or the logs are not as Spark needs them.
            FolderError: the checkpoint cannot be read.
        """
        logged = self._batches("offsets")
        if not logged:
            raise CheckpointError(self._no_batches())
        last = logged[-1]
        committed = max(self._batches("commits"), default=-1)
        if committed < last:
            if self.is_repartition(last):
                raise CheckpointError(
                    f"batch {last} is a repartition of the state by Spark that has not ended: repeat it, "
                    "with as many partitions, and try again"
                )
            raise PendingBatchError(last)
        if committed > last:
            raise CheckpointError(
                f"batch {committed} is committed, and the offset log ends at batch {last}: somebody removed "
                "entries of it. Restore them; Spark cannot go on without them either"
            )
        if last > 0 and last - 1 not in logged:
            raise CheckpointError(
                f"the offset log has batch {last} and not {last - 1}: it was written with asynchronous "
                "progress tracking, which leaves batches out, and without that Spark does not start from "
                "such a log. Start the query with its present source and "
                "asyncProgressTrackingCheckpointIntervalMs=0, let it run two batches, stop it, and try again"
            )
        return last

    def batches(self) -> tuple[list[int], int]:
        """Return the ids of the batches that are logged, sorted, and the id of the last one that is done.

        That is -1 where none is committed.

        Raises:
            CheckpointError: no batch is logged.
            FolderError: the checkpoint cannot be read.
        """
        logged = self._batches("offsets")
        if not logged:
            raise CheckpointError(self._no_batches())
        return logged, max(self._batches("commits"), default=-1)

    def entry(self, batch_id: int) -> OffsetLogEntry:
        """Return the logged entry of a batch.

        Raises:
            CheckpointError: the entry cannot be read.
            FolderError: the same, because of the file system.
        """
        content = self._folder.read(f"offsets/{batch_id}")
        if content is None:
            raise GoneEntryError(f"offsets/{batch_id} has just gone: stop the query first")
        try:
            return OffsetLogEntry.parse(content.decode())
        except (LayoutError, UnicodeDecodeError) as error:
            raise CheckpointError(f"offsets/{batch_id} {error}") from error

    def is_repartition(self, batch_id: int) -> bool:
        """Whether a batch reads nothing, and is there because Spark has repartitioned the state of the query.

        Its entry is that of the batch before, time included, with other settings.

        Raises:
            CheckpointError: an entry cannot be read.
            FolderError: the same, because of the file system.
        """
        if batch_id - 1 not in self._batches("offsets"):
            return False
        previous, entry = self.entry(batch_id - 1), self.entry(batch_id)
        is_same = entry.offsets == previous.offsets and entry.planned_at_ms == previous.planned_at_ms
        return is_same and entry.planned_at_ms is not None and entry.metadata != previous.metadata

    def copy_source_log(self, source: str, name: str) -> None:
        """Copy what Spark keeps for a source, such as its log of files, to where it keeps it for a name.

        Raises:
            FolderError: a file cannot be read or written.
        """
        for file in self._folder.names(f"sources/{source}"):
            for each in (file, checksum_name(file)):
                content = self._folder.read(f"sources/{source}/{each}")
                if content is not None:
                    self._folder.write(f"sources/{name}/{each}", content)

    def back_up(self, batch_ids: list[int]) -> str:
        """Copy entries, with their checksum files, and return the name of the folder with the copies.

        Raises:
            FolderError: a file cannot be read or written.
        """
        backup = f"{_BACKUPS}/{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}/offsets"
        for batch_id in batch_ids:
            for name in (f"offsets/{batch_id}", checksum_name(f"offsets/{batch_id}")):
                content = self._folder.read(name)
                if content is not None:
                    self._folder.write(f"{backup}/{name.rpartition('/')[2]}", content)
        return backup

    def restoring(self, backup: str) -> str:
        """Return the command that undoes all changes after `back_up`."""
        return self._folder.copying(backup, "offsets")

    def replace(self, entries: Mapping[int, OffsetLogEntry], numbers: tuple[list[int], int]) -> None:
        """Replace entries of the offset log, the oldest first.

        After a kill between any two steps each entry is the old one or the new one, and Spark can read it:
        see the comment below.

        Args:
            entries: by their batches.
            numbers: the result of `batches` when they were made.

        Raises:
            CheckpointError: the query has gone on meanwhile; nothing was changed.
            FolderError: a file cannot be read or written.
        """
        if self.batches() != numbers:
            raise CheckpointError("the query has gone on meanwhile: stop it first")
        for batch_id in sorted(entries):
            name = f"offsets/{batch_id}"
            checksum = checksum_name(name)
            content = entries[batch_id].text().encode()
            checked = self._folder.read(checksum) is not None
            # An entry without a checksum file is read unchecked; one beside a checksum file that does not fit
            # cannot be read at all. So the old checksum file goes before the entry changes, and the new one
            # comes after.
            if checked:
                self._folder.delete(checksum)
            self._folder.write(name, content)
            if checked:
                self._folder.write(checksum, checksum_file(content))

    def _batches(self, log: str) -> list[int]:
        return sorted(int(name) for name in self._folder.names(log) if name.isdecimal())

    def _no_batches(self) -> str:
        here = self._folder.names("")
        if "offsets" in here:
            return (
                "the offset log is empty: no batch was planned yet, so the query can start with either source"
            )
        if any(name.isdecimal() for name in here):
            return "this is one of the logs inside of a checkpoint: give the folder above it"
        below = [name for name in here if "offsets" in self._folder.names(name)]
        if below:
            return (
                f"this folder holds checkpoints, and is not one itself: give one of {', '.join(below)} in it"
            )
        return (
            "no checkpoint is here (a checkpoint has a folder offsets): give the folder that the query has "
            "as checkpointLocation"
        )


_MAGIC: Final = b"crc\0"
_CHUNK_BYTES: Final = 512
"""How many bytes have one checksum (``file.bytes-per-checksum``). A reader takes it from the file."""


def checksum_name(name: str) -> str:
    """``offsets/7`` -> ``offsets/.7.crc``."""
    folder, separator, file = name.rpartition("/")
    return f"{folder}{separator}.{file}.crc"


def checksum_file(content: bytes) -> bytes:
    """Return the checksum file of this content, as Hadoop keeps it: ``.7.crc`` beside ``7`` on a local disk.

    CRC32 of each chunk, big-endian. Spark writes its checkpoints there through Hadoop's
    ``ChecksumFileSystem``, and cannot read a file that does not fit its checksum file; one without a checksum
    file is read unchecked.
    """
    chunks = (content[start : start + _CHUNK_BYTES] for start in range(0, len(content), _CHUNK_BYTES))
    return (
        _MAGIC + struct.pack(">i", _CHUNK_BYTES) + b"".join(struct.pack(">I", zlib.crc32(c)) for c in chunks)
    )


def refuse_ends(name: str, logged: str) -> None:
    """Refuse to change single positions of a source whose splits end at records.

    Raises:
        CheckpointError: the offset does not say yet whether records ended splits in its batch.
    """
    try:
        value: object = json.loads(logged)
    except ValueError:
        return
    if isinstance(value, dict) and "ends" in value:
        raise CheckpointError(
            f"source {name} ends splits at records (stopAtRecord, is_end), and whether one did in the last "
            "batch is found out when the next one is planned: start the query without that, let it commit a "
            "batch, and try again"
        )

"""Two scans of one epoch on one host.

The first one's rows lie in a blocking partition, and the second reads them from there.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater.core.epoch import EpochState
from headwater.core.jsons import dumps
from headwater.core.source import Source
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.partitions.blocking import read_file
from headwater.readers.runtime.partitions.blocking_partition import BlockingResultPartition
from headwater.readers.runtime.partitions.buffer_pool import BufferPool
from headwater.readers.runtime.partitions.manager import PROCESS_PARTITIONS
from headwater.readers.runtime.partitions.partition_id import ResultPartitionId

__all__ = ["SharedScans", "SharingReader"]

log = logging.getLogger(__name__)
_IN_MEMORY_BYTES = 8 << 20
_FORGOTTEN_S = 24 * 3600


class SharedScans:
    """Where the tasks of one epoch on one host keep and find each other's rows.

    Files below the host's folder for temporary ones.

    A file is named by what its rows are: the epoch, the place, and a digest of the state that they led to. So
    whoever finds a file by the state of a manifest finds exactly the rows of that manifest. Files of earlier
    epochs of the query are deleted by the first task of a later one, those of queries that have kept nothing
    for a day by whoever comes next.

    Args:
        epoch: the epoch's folder in the state location, ``query/epoch``.
        place: the task's number in it.
        root: of all such files; None: a folder that only this user can enter.
    """

    def __init__(self, epoch: str, place: int, root: Path | None = None) -> None:
        self._epoch, self._place = epoch, place
        self._root = root or Path(tempfile.gettempdir()) / f"headwater-{os.getuid()}"
        query, _, name = epoch.rpartition("/")
        self._query = self._root / hashlib.sha256(query.encode()).hexdigest()[:32]
        self.folder = self._query / name

    def prepare(self) -> None:
        """Make the epoch's folder, and delete those of earlier epochs.

        Raises:
            OSError: it cannot be made, or belongs to somebody else.
        """
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._root.stat().st_uid != os.getuid() or self._root.stat().st_mode & 0o077:
            raise PermissionError(f"{self._root} can be entered by others: rows are not kept there")
        self.folder.mkdir(parents=True, exist_ok=True)
        for other in self._query.iterdir():
            if other.name < self.folder.name:
                shutil.rmtree(other, ignore_errors=True)
        for query in self._root.iterdir():
            with suppress(FileNotFoundError):  # somebody else has just deleted it
                if query.stat().st_mtime < time.time() - _FORGOTTEN_S:
                    shutil.rmtree(query, ignore_errors=True)

    def file(self, source: Source[Any, Any, Any], state: EpochState) -> Path:
        """Return the name of the file with the rows that led to a state."""
        digest = hashlib.sha256(dumps(state.to_json(source)).encode()).hexdigest()
        return self.folder / f"{self._place}-{digest}.arrow"

    def find(
        self, source: Source[Any, Any, Any], state: EpochState
    ) -> Generator[pa.RecordBatch, None, None] | None:
        """Return the rows that led to a state, None if nobody on this host has kept them."""
        file = self.file(source, state)
        return read_file(file) if file.is_file() else None


class SharingReader:
    """An `EpochReader` whose rows are kept for other scans of the same epoch.

    The same methods, the same promises.

    Rows that cannot be kept (a full disk) are not shared, and the reader goes on.

    Args:
        reader: reads.
        source: whose state it is.
        scans: where to keep the rows.
    """

    def __init__(self, reader: EpochReader, source: Source[Any, Any, Any], scans: SharedScans) -> None:
        self._reader, self._source, self._scans = reader, source, scans
        self._attempt = uuid.uuid4().hex
        self._partition: BlockingResultPartition | None = None
        self._is_whole = True

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._reader:
                self._keep(batch)
                yield batch
        finally:
            self._reader.close()
            self._share()

    def close(self) -> None:
        """See `EpochReader.close`."""
        self._reader.close()
        self._share()

    def state(self) -> EpochState:
        """See `EpochReader.state`."""
        return self._reader.state()

    def _keep(self, batch: pa.RecordBatch) -> None:
        try:
            if self._partition is None and self._is_whole:
                self._scans.prepare()
                name = ResultPartitionId(f"rows-{self._attempt}", self._attempt)
                self._partition = BlockingResultPartition(
                    name, 1, BufferPool(_IN_MEMORY_BYTES), folder=self._scans.folder
                )
                PROCESS_PARTITIONS.register(self._partition)
            if self._partition is not None:
                self._partition.add(0, batch, batch.nbytes)
        except OSError:
            log.warning(
                "rows of epoch %s are not kept for other scans", self._scans.folder.name, exc_info=True
            )
            self._give_up()

    def _share(self) -> None:
        partition, whole = self._partition, self._is_whole
        if partition is not None and whole:
            with suppress(Exception):  # a reader that failed has no state, and nothing to share
                target = self._scans.file(self._source, self._reader.state())
                partition.release_memory()
                partition.finish()
                partition.file(0).rename(target)
        self._give_up()

    def _give_up(self) -> None:
        self._partition, self._is_whole = None, False
        PROCESS_PARTITIONS.release_produced_by(self._attempt)

"""Chooses how an attempt reads its task.

Of two scans of one epoch on one host the second reads the rows that the first one kept.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from headwater.core.barrier_source import BarrierSource
from headwater.core.epoch import EpochState
from headwater.core.epoch_json import state_to_json
from headwater.core.jsons import dumps
from headwater.core.local_files import make_private_folder
from headwater.core.redaction import logger_of
from headwater.core.source import Source
from headwater.readers.runtime.epoch.calls import AsyncCalls, CreateCalls
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.epoch.first_reading import FirstReading
from headwater.readers.runtime.epoch.second_reading import SecondReading
from headwater.readers.runtime.epoch.state_parts import StateParts
from headwater.readers.runtime.epoch.task import EpochReading, EpochTask, ReadingContext

log = logger_of(__name__)

_FORGOTTEN_S = 24 * 3600
"""Rows that a query kept longer ago are deleted by the next query on the host."""


def open_epoch_reader(
    source: BarrierSource[Any, Any],
    task: EpochTask,
    context: ReadingContext,
    create_calls: CreateCalls | None = None,
) -> EpochReading:
    """Return a reading of one task. Opens nothing: that comes with the first batch.

    Args:
        source: the source.
        task: of an epoch.
        context: the attempt.
        create_calls: makes the asynchronous calls through which all rows go; None if there are none.
    """
    of_query = source.for_query(task.query).for_task(task.number, task.tasks)
    scans = SharedScans(task.folder, task.number) if task.share_scans else None
    if context.stop_at is None:
        reading = FirstReading(of_query, task, context, _calls(of_query, create_calls))
        return reading if scans is None else SharingReader(reading, source, scans)
    rows = None if scans is None else scans.find(source, context.stop_at)
    if rows is not None:
        return _SharedReading(rows, context.stop_at)
    return SecondReading(of_query, task, context, _calls(of_query, create_calls))


def _calls(source: BarrierSource[Any, Any], create_calls: CreateCalls | None) -> AsyncCalls | None:
    return None if create_calls is None else create_calls(source.schema())


class SharedScans:
    """Where the scans of one task on one host keep and find each other's rows.

    That is a folder, which only this user can enter, below the host's folder for temporary files.

    A file is named after its rows: the epoch, the task, and a digest of the state to which they lead.
    So the state in a manifest leads to exactly the rows of that manifest. Files of earlier epochs of a query
    are deleted by the first task of a later epoch; those of a query that has kept nothing for a day, by the
    next query.

    Args:
        epoch: the epoch's folder in the state location, ``query/epoch``.
        number: of the task in it.
    """

    def __init__(self, epoch: str, number: int) -> None:
        self._epoch = epoch
        self._number = number
        self._root = Path(tempfile.gettempdir()) / f"headwater-{os.getuid()}"
        query, _, name = epoch.rpartition("/")
        self._query = self._root / hashlib.sha256(query.encode()).hexdigest()[:32]
        self.folder = self._query / name

    def prepare(self) -> None:
        """Make the epoch's folder, and delete those of earlier epochs.

        Raises:
            OSError: it cannot be made, or belongs to another user.
        """
        make_private_folder(self._root)
        self.folder.mkdir(parents=True, exist_ok=True)
        for other in self._query.iterdir():
            if other.name < self.folder.name:
                shutil.rmtree(other, ignore_errors=True)
        for query in self._root.iterdir():
            with suppress(FileNotFoundError):  # another task has just deleted it
                if query.stat().st_mtime < time.time() - _FORGOTTEN_S:
                    shutil.rmtree(query, ignore_errors=True)

    def file(self, source: Source[Any, Any, Any], state: EpochState) -> Path:
        """Return the name of the file with the rows that led to a state."""
        stored = StateParts(source, self._epoch, self._number).named(state)
        digest = hashlib.sha256(dumps(state_to_json(stored, source)).encode()).hexdigest()
        return self.folder / f"{self._number}-{digest}.arrow"

    def find(self, source: Source[Any, Any, Any], state: EpochState) -> pa.RecordBatchFileReader | None:
        """Return the rows that led to a state, None if no scan on this host has kept them whole.

        The batches are views of the file, which may be deleted while it is read.
        """
        file = self.file(source, state)
        try:
            make_private_folder(self._root)
            rows = pa.ipc.open_file(pa.memory_map(str(file)))
            # Each batch is looked at now, which copies none of it: later there would be no way back.
            for number in range(rows.num_record_batches):
                rows.get_batch(number).validate()
        except FileNotFoundError:
            return None
        except (pa.ArrowException, OSError) as error:
            log.warning("the rows that another scan has kept in %s are read again: %s", file, error)
            return None
        return rows


class BlockingPartition:
    """Rows in a file, read when it is finished, by any number of readers (Flink's ``BLOCKING``).

    Belongs to the task's thread. Costs no memory: batches are written as they come.

    Args:
        file: where they are written; made with the first batch. It has the rows' schema.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._writer: pa.RecordBatchFileWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Write a batch.

        Raises:
            OSError: the disk is full, or does not permit it.
        """
        if self._writer is None:
            self._writer = pa.ipc.new_file(str(self._file), batch.schema)
        self._writer.write_batch(batch)

    def finish(self, name: Path) -> None:
        """All is written: give the file the name under which others find it. Then it is whole.

        Raises:
            OSError: as `add`.
        """
        self._close()
        # Before it has its name: after a crash of the host a file may be there without its content.
        with self._file.open("rb") as written:
            os.fsync(written.fileno())
        self._file.rename(name)

    def release(self) -> None:
        """Give up a file that has no name yet. Idempotent."""
        with suppress(OSError):
            self._close()
        self._file.unlink(missing_ok=True)

    def _close(self) -> None:
        writer = self._writer
        self._writer = None
        if writer is not None:
            writer.close()


class SharingReader:
    """A reading whose rows are kept for other scans of the same epoch. Keeps the promises of `EpochReading`.

    They are a blocking partition: another scan waits until it is finished, which is before the manifest is
    published that it waits for (`headwater/readers/runtime/epoch/claims.py`).

    If rows cannot be kept (a full disk), they are not shared, and the reading goes on.

    Args:
        reader: reads the epoch for the first time.
        source: whose state it is.
        scans: where to keep the rows.
    """

    def __init__(self, reader: EpochReader, source: Source[Any, Any, Any], scans: SharedScans) -> None:
        self._reader = reader
        self._source = source
        self._scans = scans
        self._partition: BlockingPartition | None = None
        self._is_whole = True

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._reader:
                self._keep(batch)
                yield batch
        finally:
            self.close()

    def close(self) -> None:
        """See `EpochReading.close`."""
        self._reader.close()
        self._share()

    def state(self) -> EpochState:
        """See `EpochReading.state`."""
        return self._reader.state()

    def _keep(self, batch: pa.RecordBatch) -> None:
        try:
            if self._partition is None and self._is_whole:
                self._scans.prepare()
                # Unlike the file of every other attempt, of which several may write at once.
                self._partition = BlockingPartition(self._scans.folder / f"{uuid.uuid4().hex}.arrow")
            if self._partition is not None:
                self._partition.add(batch)
        except OSError:
            log.warning(
                "rows of epoch %s are not kept for other scans", self._scans.folder.name, exc_info=True
            )
            self._give_up()

    def _share(self) -> None:
        partition = self._partition
        if partition is not None and self._is_whole:
            with suppress(Exception):  # a reader that failed has no state, and nothing to share
                partition.finish(self._scans.file(self._source, self._reader.state()))
        self._give_up()

    def _give_up(self) -> None:
        partition = self._partition
        self._partition = None
        self._is_whole = False
        if partition is not None:
            partition.release()


class _SharedReading:
    """Rows that another scan on this host has kept."""

    def __init__(self, rows: pa.RecordBatchFileReader, state: EpochState) -> None:
        self._rows: pa.RecordBatchFileReader | None = rows
        self._state = state

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        number = 0
        while self._rows is not None and number < self._rows.num_record_batches:
            yield self._rows.get_batch(number)
            number += 1

    def close(self) -> None:
        # With it the file that it maps.
        self._rows = None

    def state(self) -> EpochState:
        return self._state

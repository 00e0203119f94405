"""Chooses how an attempt reads its task.

Of two scans of one epoch on one host the second reads the rows that the first one kept.
"""

from __future__ import annotations

import hashlib
import logging
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

from headwater.core.barrier_source import BarrierSource
from headwater.core.epoch import EpochState
from headwater.core.epoch_json import state_to_json
from headwater.core.jsons import dumps
from headwater.core.private_folder import make_private_folder
from headwater.core.source import Source
from headwater.readers.runtime.epoch.calls import AsyncCalls, CreateCalls
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.epoch.first_reading import FirstReading
from headwater.readers.runtime.epoch.second_reading import SecondReading
from headwater.readers.runtime.epoch.state_parts import StateParts
from headwater.readers.runtime.epoch.task import EpochReading, EpochTask, ReadingContext
from headwater.readers.runtime.partitions.blocking import BlockingResultPartition, view_of_file
from headwater.readers.runtime.partitions.result_partition import PROCESS_PARTITIONS, ResultPartitionId
from headwater.readers.runtime.partitions.subpartition import (
    BufferPool,
    PartitionBuffer,
    ResultSubpartitionView,
)

log = logging.getLogger(__name__)

_IN_MEMORY_BYTES = 8 << 20
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
    view = None if scans is None else scans.find(source, context.stop_at)
    if view is not None:
        return _SharedReading(view, context.stop_at)
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

    def find(
        self, source: Source[Any, Any, Any], state: EpochState
    ) -> ResultSubpartitionView[pa.RecordBatch] | None:
        """Return a view of the rows that led to a state, None if no scan on this host has kept them whole."""
        file = self.file(source, state)
        try:
            make_private_folder(self._root)
            return view_of_file(file)
        except FileNotFoundError:
            return None
        except (pa.ArrowException, OSError) as error:
            log.warning("the rows that another scan has kept in %s are read again: %s", file, error)
            return None


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
        self._attempt = uuid.uuid4().hex
        self._partition: BlockingResultPartition | None = None
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
                name = ResultPartitionId(f"rows-{self._attempt}", self._attempt)
                self._partition = BlockingResultPartition(
                    name,
                    1,
                    BufferPool(_IN_MEMORY_BYTES),
                    folder=self._scans.folder,
                    on_consumable=lambda _: self._show(),
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
        partition = self._partition
        if partition is not None and self._is_whole:
            with suppress(Exception):  # a reader that failed has no state, and nothing to share
                partition.release_memory()
                partition.finish()
        self._give_up()

    def _show(self) -> None:
        """Give the finished partition the name under which other scans find it: then it is whole."""
        assert self._partition is not None
        target = self._scans.file(self._source, self._reader.state())
        rows = self._partition.file(0)
        # Before it has its name: after a crash of the host a file may be there without its content.
        with rows.open("rb") as written:
            os.fsync(written.fileno())
        rows.rename(target)

    def _give_up(self) -> None:
        self._partition = None
        self._is_whole = False
        PROCESS_PARTITIONS.release_produced_by(self._attempt)


class _SharedReading:
    """Rows that another scan on this host has kept."""

    def __init__(self, view: ResultSubpartitionView[pa.RecordBatch], state: EpochState) -> None:
        self._view = view
        self._state = state

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while isinstance(buffer := self._view.next(), PartitionBuffer):
            yield buffer.payload

    def close(self) -> None:
        self._view.release()

    def state(self) -> EpochState:
        return self._state

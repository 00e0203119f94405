"""One split of a staged source, as a task reads it: from its log, and beside its receiver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from multiprocessing.connection import Connection
from typing import Any

import pyarrow as pa

from headwater.core.barrier_reader import EpochRecords
from headwater.core.split import SplitRange
from headwater.readers.runtime.staging.receiver_link import ReceiverLink
from headwater.readers.runtime.staging.staging import Staging, record

_Segments = Generator[tuple[int, list[pa.RecordBatch]], None, None]


class StagedSplit(ABC):
    """Belongs to one thread.

    Attributes:
        has_begun: whether the receiver has answered, or none is asked.
    """

    has_begun = True

    @abstractmethod
    def next(self) -> EpochRecords | None:
        """Return what comes next, one segment or the end; None: the receiver is to be asked first."""

    @abstractmethod
    def ask(self) -> Connection | None:
        """Ask the receiver what there is; return what becomes readable with its answer, None if none runs."""

    @abstractmethod
    def hear(self, ready: Sequence[object]) -> None:
        """Take the receiver's answer, if it is among what is ready."""

    @abstractmethod
    def close(self) -> None:
        """Leave the split."""


class LoggedSplit(StagedSplit):
    """Read from the log alone, up to where the first reading came: never waits.

    Args:
        staging: where the log is.
        piece: what to read.
    """

    def __init__(self, staging: Staging, piece: SplitRange[Any, int]) -> None:
        self._path = piece.split.path
        self._segments = staging.log(self._path, "reader").view_after(piece.start, piece.stop).segments()

    def next(self) -> EpochRecords:
        for number, batches in self._segments:
            return EpochRecords({self._path: [record(number, batches)]})
        return EpochRecords(finished=frozenset([self._path]))

    def ask(self) -> Connection | None:
        return None

    def hear(self, ready: Sequence[object]) -> None:
        """There is no receiver."""

    def close(self) -> None:
        self._segments.close()


class LiveSplit(StagedSplit):
    """Read from the log, as far as its receiver says it goes.

    Args:
        staging: where the log is.
        piece: where to begin.
        link: to the receiver.
    """

    def __init__(self, staging: Staging, piece: SplitRange[Any, int], link: ReceiverLink) -> None:
        self._staging = staging
        self._path = piece.split.path
        self._position = piece.start
        self._link = link
        self._connection: Connection | None = None
        self._segments: _Segments | None = None
        self._is_caught_up = False
        self._is_finished = False
        self.has_begun = False

    def next(self) -> EpochRecords | None:
        if self._segments is not None:
            for number, batches in self._segments:
                self._position = number + 1
                return EpochRecords({self._path: [record(number, batches)]})
            self._segments = None
        if self._is_finished:
            return EpochRecords(finished=frozenset([self._path]))
        return EpochRecords(caught_up={self._path: None}) if self._is_caught_up else None

    def ask(self) -> Connection | None:
        self._connection = self._link.ask(self._position, self._staging.idle_ms)
        return self._connection

    def hear(self, ready: Sequence[object]) -> None:
        if self._connection is None or self._connection not in ready:
            return
        heard = self._link.answer()
        if heard is None or heard.end is None:
            return
        if heard.end > self._position:
            log = self._staging.log(self._path, "reader")
            # Without a look at the log: all before the end is there.
            self._segments = log.view_after(self._position, heard.end).segments()
            # What is no segment, such as a take-over, is passed over too.
            self._position = heard.end
        self._is_caught_up = heard.caught_up
        self._is_finished = heard.finished
        self.has_begun = True

    def close(self) -> None:
        if self._segments is not None:
            self._segments.close()
        self._link.close()

"""Reads a queue through its segment log: rows that a task emits are durable, and can be read again."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Final

import pyarrow as pa

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecords, pause_or_resume
from headwater.core.jsons import JsonValue
from headwater.core.losses import QueueLoss
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.staging.receiver_link import ReceiverLink
from headwater.readers.runtime.staging.staging import Staging, lost_ms, record

_Segments = Generator[tuple[int, list[pa.RecordBatch]], None, None]


class StagedSplit(ABC):
    """Belongs to one thread.

    Attributes:
        has_begun: whether the receiver has answered, or none is asked.
    """

    has_begun = True

    @abstractmethod
    def next(self) -> EpochRecords | None:
        """Return the next segment or the end; None: the receiver is to be asked first."""

    @abstractmethod
    def ask(self) -> Connection | None:
        """Ask the receiver; return the connection by which it answers, None if none runs."""

    @abstractmethod
    def hear(self, ready: Sequence[object]) -> None:
        """Take the receiver's answer, if its connection is ready."""

    @abstractmethod
    def close(self) -> None:
        """Leave the split."""


class LoggedSplit(StagedSplit):
    """Read from the log alone, up to where the first reading came: never waits.

    Args:
        staging: where the log is.
        split_range: the range to read.
    """

    def __init__(self, staging: Staging, split_range: SplitRange[Any, int]) -> None:
        self._path = split_range.split.path
        self._segments = (
            staging.log(self._path, "reader").view_after(split_range.start, split_range.stop).segments()
        )

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
        split_range: where to begin.
        link: to the receiver.
    """

    def __init__(self, staging: Staging, split_range: SplitRange[Any, int], link: ReceiverLink) -> None:
        self._staging = staging
        self._path = split_range.split.path
        self._split_id = split_range.split.split_id
        self._position = split_range.start
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
                return EpochRecords({self._path: [record(number, batches, self._losses(batches))]})
            self._segments = None
        if self._is_finished:
            return EpochRecords(finished=frozenset([self._path]))
        return EpochRecords(caught_up={self._path: None}) if self._is_caught_up else None

    def _losses(self, batches: list[pa.RecordBatch]) -> tuple[JsonValue, ...]:
        at_ms = lost_ms(batches)
        return () if at_ms is None else (QueueLoss(self._split_id, at_ms).to_json(),)

    def ask(self) -> Connection | None:
        self._connection = self._link.ask(self._position, self._staging.idle_ms)
        return self._connection

    def hear(self, ready: Sequence[object]) -> None:
        if self._connection is None or self._connection not in ready:
            return
        answer = self._link.answer()
        if answer is None or answer.end is None:
            return
        if answer.end > self._position:
            log = self._staging.log(self._path, "reader")
            # Without a look at the log: all before the end is there.
            self._segments = log.view_after(self._position, answer.end).segments()
            # What is no segment, such as a take-over, is passed over too.
            self._position = answer.end
        self._is_caught_up = answer.caught_up
        self._is_finished = answer.finished
        self.has_begun = True

    def close(self) -> None:
        if self._segments is not None:
            self._segments.close()
        self._link.close()


_LOOK_S: Final = 0.02
"""How soon it is looked again for a receiver that is starting."""


class StagedSplitReader(BarrierSplitReader[Any, int]):
    """A position is the number of the next segment.

    A split without a stop is received by a process beside this one, its receiver, which appends to the log
    whether a task is there or not (`headwater/readers/runtime/staging/receiver.py`). The task reads the log,
    and asks the receiver how far that goes and whether the queue is caught up.

    A split with a stop is read from the log alone.

    Of several splits that have something, the one that was served longest ago comes next.

    Args:
        staging: where, and how much at a time.
        link: makes the connection to the receiver of one split.
    """

    def __init__(self, staging: Staging, link: Callable[[Any], ReceiverLink]) -> None:
        self._staging = staging
        self._make_link = link
        self._open: dict[SplitPath, StagedSplit] = {}
        self._paused: dict[SplitPath, StagedSplit] = {}
        # A byte in it makes `wait` return: `wake_up` comes from another thread.
        self._alarm, self._alarm_bell = socket.socketpair()
        self._alarm.setblocking(False)
        self._alarm_bell.setblocking(False)

    def handle_splits_changes(self, added: Sequence[SplitRange[Any, int]]) -> None:
        for split_range in added:
            if split_range.stop is not None:
                self._open[split_range.split.path] = LoggedSplit(self._staging, split_range)
            else:
                self._open[split_range.split.path] = LiveSplit(
                    self._staging, split_range, self._make_link(split_range.split)
                )

    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        for path in removed:
            self._leave(path)

    def pause_or_resume_splits(self, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]) -> None:
        """Messages of a paused queue still go into its log."""
        pause_or_resume(self._open, self._paused, paused, resumed)

    def fetch(self) -> EpochRecords:
        while (fetched := self._next()) is None:
            # A fetch that brings nothing is a turn. So the first one waits until the receiver has come up.
            if self._is_woken_while_waiting() or all(split.has_begun for split in self._open.values()):
                return EpochRecords()
        return fetched

    def wake_up(self) -> None:
        # It cannot be sent where it is full, so it rings already, or closed, so nobody waits.
        with suppress(OSError):
            self._alarm_bell.send(b"!")

    def close(self) -> None:
        for path in [*self._open, *self._paused]:
            self._leave(path)
        self._alarm.close()
        self._alarm_bell.close()

    def _next(self) -> EpochRecords | None:
        for path, split in self._open.items():
            fetched = split.next()
            if fetched is None:
                continue
            if path in fetched.caught_up or path in fetched.finished:
                self._leave(path)
            else:
                # To the end of the row.
                self._open[path] = self._open.pop(path)
            return fetched
        return None

    def _is_woken_while_waiting(self) -> bool:
        """Wait until any receiver has something to tell, or for a moment while one is starting."""
        connections: list[Connection | socket.socket] = [self._alarm]
        timeout_s = self._staging.idle_ms / 1000
        for split in self._open.values():
            connection = split.ask()
            if connection is None:
                timeout_s = _LOOK_S
            else:
                connections.append(connection)
        ready = wait(connections, timeout_s)
        for split in self._open.values():
            split.hear(ready)
        if self._alarm not in ready:
            return False
        self._alarm.recv(1 << 12)
        return True

    def _leave(self, path: SplitPath) -> None:
        split = self._open.pop(path, None) or self._paused.pop(path, None)
        if split is not None:
            split.close()

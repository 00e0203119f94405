"""A barrier source without an outside, and a dataflow without threads: for tests of the protocol."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import pyarrow as pa

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord
from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import ManualClock
from headwater.core.emitter import RecordEmitter
from headwater.core.enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.epoch import EpochState, Failing, FoundSplit, SplitProgress, SplitStatus
from headwater.core.jsons import JsonValue
from headwater.core.source import Boundedness
from headwater.core.split import SplitPath
from headwater.readers.runtime.epoch.task import EpochTask, ReadingContext
from tests.doubles import NUMBER_SCHEMA, NumberSplit

__all__ = [
    "LogEnumerator",
    "LogSource",
    "Logs",
    "MainThreadClock",
    "PlainReading",
    "open_plain_reader",
    "rows_batch",
    "rows_of",
]


class MainThreadClock(ManualClock):
    """Moves when the test's own thread waits.

    Other threads (heartbeats) wait for their event as long as it takes.
    """

    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        return (
            super().wait(event, timeout_ms)
            if threading.current_thread() is threading.main_thread()
            else event.wait()
        )


@dataclass
class Logs:
    """The outside: for each root a log that grows.

    A number that divides by five has a child log of three numbers, found with it.

    Attributes:
        away: logs that bring nothing, each with how many ms of an epoch its task asks in vain.
    """

    lengths: dict[str, int] = field(default_factory=dict)
    not_before_ms: dict[str, int] = field(default_factory=dict)
    away: dict[str, int] = field(default_factory=dict)
    completed: list[Mapping[SplitPath, int]] = field(default_factory=list)
    returned: list[NumberSplit] = field(default_factory=list)
    released: list[Mapping[SplitPath, int]] = field(default_factory=list)
    forgotten: list[SplitPath] = field(default_factory=list)
    events: list[JsonValue] = field(default_factory=list)
    to_send: list[tuple[SplitPath, JsonValue]] = field(default_factory=list)
    backwards: bool = False
    cuts: Iterator[int] | None = None
    looks: int = 0

    def length(self, label: str) -> int:
        return 3 if "/" in label else self.lengths.get(label, 0)

    def found_at(self, label: str, number: int) -> tuple[FoundSplit, ...]:
        if "/" in label or number % 5:
            return ()
        return (FoundSplit(NumberSplit(f"{label}/{number}"), 0),)

    def everything(self) -> list[tuple[str, int]]:
        """Return every row that there is."""
        roots = [(label, number) for label, length in self.lengths.items() for number in range(length)]
        children = [
            (found.split.path[0], number)
            for label, at in roots
            for found in self.found_at(label, at)
            for number in range(3)
        ]
        return sorted(roots + children)


class LogEnumerator(BarrierSplitEnumerator[NumberSplit, int]):
    """Assigns the roots that the checkpoint does not hold yet.

    Keeps the number of events it has seen as its state.
    """

    def __init__(
        self, context: BarrierSplitEnumeratorContext[NumberSplit, int], outside: Logs, state: JsonValue
    ) -> None:
        self._context = context
        self._outside = outside
        self._seen = cast("int", state or 0)
        self._known: set[str] = set()

    def start(self) -> None:
        pass

    def refresh(self, checkpoint: Checkpoint[NumberSplit, int] | None) -> None:
        self._context.call_async(
            lambda: list(self._outside.lengths), lambda roots: self._handle(roots, checkpoint), what="roots"
        )

    def _handle(self, roots: list[str], checkpoint: Checkpoint[NumberSplit, int] | None) -> None:
        self._outside.looks += 1
        known = checkpoint.splits if checkpoint else {}
        self._context.assign_splits(
            {(label,): (NumberSplit(label), 0) for label in roots if (label,) not in known}
        )
        for path, event in self._outside.to_send:
            self._context.send_event_to_source_reader(path, event)

    def snapshot_state(self) -> JsonValue:
        return self._seen

    def handle_source_event(self, event: JsonValue) -> None:
        self._seen += 1
        self._outside.events.append(event)

    def add_splits_back(self, splits: Sequence[NumberSplit]) -> None:
        self._outside.returned += splits

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[NumberSplit, int]) -> None:
        self._outside.completed.append(dict(checkpoint.positions))


@dataclass
class LogSource(BarrierSource[NumberSplit, int]):
    """Logs as a source."""

    name: ClassVar[str] = "logs"
    outside: Logs = field(default_factory=Logs)

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def is_staged(self) -> bool:
        return True

    def schema(self) -> pa.Schema:
        return NUMBER_SCHEMA

    def create_enumerator(
        self, context: BarrierSplitEnumeratorContext[NumberSplit, int]
    ) -> BarrierSplitEnumerator[NumberSplit, int]:
        return LogEnumerator(context, self.outside, None)

    def restore_enumerator(
        self,
        context: BarrierSplitEnumeratorContext[NumberSplit, int],
        checkpoint: Checkpoint[NumberSplit, int],
    ) -> BarrierSplitEnumerator[NumberSplit, int]:
        return LogEnumerator(context, self.outside, checkpoint.state)

    def create_reader(self) -> BarrierSplitReader[NumberSplit, int]:
        raise NotImplementedError("PlainReading reads the outside itself")

    def create_emitter(self) -> RecordEmitter[EpochRecord, NumberSplit, int]:
        raise NotImplementedError("PlainReading makes rows itself")

    def serialize_splits(self, splits: Iterable[NumberSplit]) -> JsonValue:
        return None

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, NumberSplit]:
        return {path: NumberSplit(path[0]) for path in paths}

    def is_before(self, position: int, other: int) -> bool:
        return position < other

    def release_before(self, folder: str, positions: Mapping[SplitPath, int]) -> None:
        self.outside.released.append(dict(positions))

    def forget_splits(self, folder: str, paths: Collection[SplitPath]) -> None:
        self.outside.forgotten += paths


class PlainReading:
    """What `EpochReader` does, one row at a time and on one thread.

    To the barrier, or to where another reading of the epoch was cut.
    """

    def __init__(self, source: LogSource, task: EpochTask, context: ReadingContext) -> None:
        self._outside = source.outside
        self._task = task
        self._waiting = context.waiting
        stop_at = context.stop_at
        self._work: deque[tuple[NumberSplit, int]] = deque(
            (piece.split, piece.start) for piece in task.ranges
        )
        self._progress: dict[SplitPath, SplitProgress] = {}
        self._stops = (
            None
            if stop_at is None
            else {entry.split.path: cast("int", entry.position) for entry in stop_at.progress}
        )
        self._not_begun = {found.split.path for found in stop_at.found} if stop_at else set()
        self._rows = 0
        self._limit = (
            next(self._outside.cuts)
            if self._outside.cuts is not None and stop_at is None
            else task.barrier.rows
        )
        self._given = {piece.split.path for piece in task.ranges}
        # The first of those that wait come first; a second reading takes all that the first one took.
        taken = self._waiting.take(2 if stop_at is None else 99)
        self._work.extendleft(
            (cast("NumberSplit", entry.split), 0)
            for entry in reversed(taken)
            if entry.split.path not in self._not_begun
        )

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while self._work and not self._cut():
            split, position = self._work[0]
            if position >= self._end(split):
                self._leave(split, position)
                continue
            if split.label in self._outside.away:
                self._fail(split, position)
                continue
            found = self._outside.found_at(split.label, position)
            self._work[0] = (split, position + 1)
            self._work += [
                (cast("NumberSplit", entry.split), 0)
                for entry in found
                if entry.split.path not in self._not_begun
            ]
            self._rows += 1
            yield rows_batch(split.label, position)

    def close(self) -> None:
        pass

    def state(self) -> EpochState:
        progress = dict(self._progress)
        found = []
        for split, position in self._work:
            if split.path in self._given or position:
                progress[split.path] = SplitProgress(
                    split, position - 5 if self._outside.backwards else position
                )
            else:
                found.append(FoundSplit(split, position))
        events: tuple[JsonValue, ...] = (f"read {self._rows}",) if self._rows else ()
        return EpochState(
            tuple(progress[path] for path in sorted(progress)),
            tuple(found),
            (),
            (*events, *self._task.events),
            self._waiting.taken,
        )

    def _cut(self) -> bool:
        return self._stops is None and self._limit is not None and self._rows >= self._limit

    def _end(self, split: NumberSplit) -> int:
        ends = self._stops or {}
        return ends.get(split.path, self._outside.length(split.label))

    def _fail(self, split: NumberSplit, position: int) -> None:
        self._work.popleft()
        before = self._task.failing.get(split.path, Failing(0, 0))
        lasting_ms = before.lasting_ms + self._outside.away[split.label]
        failing = Failing(before.failures + 1, lasting_ms, "away")
        self._progress[split.path] = SplitProgress(split, position, failing=failing)

    def _leave(self, split: NumberSplit, position: int) -> None:
        self._work.popleft()
        delay_ms = self._outside.not_before_ms.get(split.label)
        if "/" not in split.label:
            self._progress[split.path] = SplitProgress(split, position, SplitStatus.CAUGHT_UP, delay_ms)
        elif split.path in self._given:
            self._progress[split.path] = SplitProgress(split, position, SplitStatus.FINISHED)


def open_plain_reader(source: Any, task: EpochTask, context: ReadingContext) -> PlainReading:
    """Make a `PlainReading`, as `read_epoch` asks for it."""
    return PlainReading(source, task, context)


def rows_batch(label: str, number: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"label": label, "number": number}], schema=NUMBER_SCHEMA)


def rows_of(batches: Iterable[pa.RecordBatch]) -> list[tuple[str, int]]:
    """Return label and number of every row."""
    return [(row["label"], row["number"]) for batch in batches for row in batch.to_pylist()]

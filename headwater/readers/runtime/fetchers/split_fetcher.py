"""One fetcher: runs a split reader and puts what it fetched into one channel (Flink's ``SplitFetcher``)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headwater.core.barrier_reader import BarrierSplitReader
from headwater.core.epoch_records import EpochRecord, EpochRecords
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.reader import RecordsWithSplitIds
from headwater.core.split import Path, SplitRange
from headwater.readers.runtime.fetchers.events import Fetched, SourceEvents, SplitsDone
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger
from headwater.readers.runtime.partitions.events import CheckpointBarrier, Event
from headwater.readers.runtime.partitions.result_partition import PipelinedResultPartition

__all__ = ["FetcherWork", "SplitFetcher"]

Reader: TypeAlias = BarrierSplitReader[Any, Any]
Task: TypeAlias = Callable[[Reader], None]


@dataclass(frozen=True, slots=True)
class FetcherWork:
    """What all fetchers of a task share.

    Attributes:
        create_reader: makes a fetcher's reader; called on the fetcher's thread.
        partition: where the fetched records go; a fetcher has the channel of its own index.
        trigger: says when the barrier is due, and is told what was fetched.
        take: gives the next split to begin with, None if there is none now.
        splits_at_once: how many splits a reader has at a time; None: all there are.
        waits: whether a fetcher waits for room in its channel. Not on the thread that makes room.
    """

    create_reader: Callable[[], Reader]
    partition: PipelinedResultPartition[Fetched]
    trigger: BarrierTrigger
    take: Callable[[], SplitRange[Any, Any] | None]
    splits_at_once: int | None
    waits: bool = True


@dataclass(slots=True)
class _Pending:
    """What was fetched and is not in the channel yet, and what is to be said about it once it is there."""

    elements: deque[Fetched | Event] = field(default_factory=deque)
    leaving: set[Path] = field(default_factory=set)
    served: set[Path] = field(default_factory=set)
    rows: int = 0
    row_bytes: int = 0


class SplitFetcher:
    """Does one thing at a time.

    `step` runs a task, puts an element into the channel, takes a split, or fetches.

    Tasks come first, in their order; then what was fetched goes into the channel; then the barrier, if it is
    due; only then is more fetched. What was fetched survives every interruption. Once its barrier is in the
    channel, a fetcher fetches no more.

    Every method but `step`, `run` and `finish` may be called by any thread.

    Args:
        index: of its channel.
        work: shared with the other fetchers.
        events: of the enumerator, for the reader.
    """

    def __init__(self, index: int, work: FetcherWork, events: Sequence[JsonValue] = ()) -> None:
        self.index = index
        self._work, self._events = work, tuple(events)
        self._reader: Reader | None = None
        self._assigned: dict[Path, None] = {}
        self._paused: set[Path] = set()
        self._tasks: deque[Task] = deque()
        self._pending = _Pending()
        self._changed = threading.Condition()
        self._is_stopped = self._is_fetching = self._was_woken = self._has_changed = self._is_cut = False
        self.fetches = 0

    @property
    def assigned(self) -> tuple[Path, ...]:
        """The splits that it reads now."""
        return tuple(self._assigned)

    @property
    def is_idle(self) -> bool:
        """Whether it has no split, no task, and nothing to put into the channel."""
        return not (self._assigned or self._tasks or self._pending.elements)

    @property
    def has_room(self) -> bool:
        """Whether it would take one more split."""
        most = self._work.splits_at_once
        return most is None or len(self._assigned) < most

    def add_splits(self, splits: Sequence[SplitRange[Any, Any]]) -> None:
        """Let it read more splits."""
        self._enqueue(lambda reader: self._add(reader, splits))

    def remove_splits(self, paths: Iterable[Path]) -> None:
        """Let it forget splits; those it does not have mean nothing. They are reported as done."""
        removed = tuple(paths)
        self._enqueue(lambda reader: self._remove(reader, removed, report=True))

    def pause_or_resume_splits(self, paused: Iterable[Path], resumed: Iterable[Path]) -> None:
        """Let it give nothing of some splits, and go on with others. Those it does not have mean nothing."""
        to_pause, to_resume = tuple(paused), tuple(resumed)
        self._enqueue(lambda reader: self._pause_or_resume(reader, to_pause, to_resume))

    def wake_up(self) -> None:
        """Let it look at tasks, splits and the trigger again, also out of a blocked fetch or a full channel."""
        with self._changed:
            self._has_changed = self._was_woken = True
            reader = self._reader if self._is_fetching else None
            self._changed.notify_all()
        self._work.partition.pool.wake_up()
        if reader is not None:
            reader.wake_up()

    def stop(self) -> None:
        """Let `run` return soon."""
        self._is_stopped = True
        self.wake_up()

    def run(self) -> None:
        """Step until stopped: the body of a fetcher's thread."""
        while not self._is_stopped:
            if not self.step():
                with self._changed:
                    self._changed.wait_for(lambda: self._has_changed or self._is_stopped)
                    self._has_changed = False

    def finish(self) -> None:
        """Close the reader, if there is one. Once, on the thread of `step`, whatever happened before."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def step(self) -> bool:
        """Do one thing; return whether there may be more to do.

        Waits only for room in the channel, and in the reader's fetch.
        """
        if self._tasks:
            self._tasks.popleft()(self._open())
            return True
        if self._pending.elements:
            return self._hand_over()
        self._settle()
        trigger = self._work.trigger
        if trigger.is_due or self._is_cut:
            return self._put_barrier()
        if trigger.is_reached:
            self._remove_served()
        if self._take() or self._tasks:
            return True
        return self._fetch()

    def _enqueue(self, task: Task) -> None:
        self._tasks.append(task)
        self.wake_up()

    def _open(self) -> Reader:
        if self._reader is None:
            self._reader = self._work.create_reader()
        return self._reader

    def _add(self, reader: Reader, splits: Sequence[SplitRange[Any, Any]]) -> None:
        self._assigned.update((piece.split.path, None) for piece in splits)
        reader.handle_splits_changes(splits)
        events, self._events = self._events, ()
        for event in events:
            reader.handle_source_event(event)

    def _remove(self, reader: Reader, paths: Iterable[Path], *, report: bool) -> None:
        removed = [path for path in paths if self._is_read(path)]
        if removed:
            reader.handle_splits_removal(removed)
            self._forget(removed)
            if report:
                self._pending.elements.append(SplitsDone(removed=frozenset(removed)))

    def _pause_or_resume(self, reader: Reader, paused: Sequence[Path], resumed: Sequence[Path]) -> None:
        to_pause = [path for path in paused if self._is_read(path) and path not in self._paused]
        to_resume = [path for path in resumed if self._is_read(path) and path in self._paused]
        if to_pause or to_resume:
            reader.pause_or_resume_splits(to_pause, to_resume)
            self._paused = (self._paused | set(to_pause)) - set(to_resume)

    def _is_read(self, path: Path) -> bool:
        """Whether the reader still has a split.

        One that it called done has left it, though not yet this fetcher.
        """
        return path in self._assigned and path not in self._pending.leaving

    def _remove_served(self) -> None:
        unserved = self._work.trigger.unserved(self._assigned)
        if served := [path for path in self._assigned if path not in unserved]:
            self._remove(self._open(), served, report=False)

    def _take(self) -> bool:
        taken = self._work.take() if self.has_room else None
        if taken is None:
            return False
        self._add(self._open(), [taken])
        return True

    def _fetch(self) -> bool:
        if not self._assigned.keys() - self._paused:
            return False
        reader, trigger = self._open(), self._work.trigger
        trigger.begin_fetch()
        with self._changed:
            if (
                self._tasks
                or self._is_stopped
                or (trigger.is_reached and not trigger.unserved(self._assigned))
            ):
                return True  # whoever wanted that came too early to wake up the fetch
            self._is_fetching, self._was_woken = True, False
        try:
            fetched = reader.fetch()
        finally:
            with self._changed:
                self._is_fetching = False
        self.fetches += 1
        self._accept(fetched)
        return True

    def _accept(self, fetched: RecordsWithSplitIds[EpochRecord]) -> None:
        caught_up, events = (
            (fetched.caught_up, fetched.events) if isinstance(fetched, EpochRecords) else ({}, ())
        )
        named = {*fetched.records, *fetched.finished, *caught_up}
        self._check(named, fetched.finished, caught_up)
        pending = self._pending
        for path, records in fetched.records.items():
            for record in records:
                size_bytes = record.rows.nbytes
                pending.rows += record.rows.num_rows
                pending.row_bytes += size_bytes
                pending.elements.append(Fetched(path, record, size_bytes))
        if fetched.finished or caught_up:
            pending.elements.append(SplitsDone(fetched.finished, caught_up))
            pending.leaving.update(fetched.finished, caught_up)
        if events:
            pending.elements.append(SourceEvents(events))
        nothing_there = not named and not self._was_woken
        pending.served.update(self._assigned.keys() - self._paused if nothing_there else named)

    def _check(
        self, named: set[Path], finished: frozenset[Path], caught_up: Mapping[Path, int | None]
    ) -> None:
        if unknown := named - self._assigned.keys():
            raise ContractError(
                f"SplitReader.fetch spoke of split {'-'.join(min(unknown))}, which it was not given or has finished"
            )
        if both := finished & caught_up.keys():
            raise ContractError(
                f"SplitReader.fetch called split {'-'.join(min(both))} both finished and caught up"
            )

    def _hand_over(self) -> bool:
        """Put the next element into the channel, waiting for room unless there is something else to do."""
        element, partition = self._pending.elements[0], self._work.partition
        if isinstance(element, Event):
            partition.add_event(self.index, element)
        elif not partition.add(self.index, element, element.size_bytes, self._is_wanted):
            return bool(self._tasks)
        self._pending.elements.popleft()
        return True

    def _is_wanted(self) -> bool:
        return bool(self._tasks) or self._is_stopped or not self._work.waits

    def _settle(self) -> None:
        """Say what follows from the last fetch, now that all of it is in the channel.

        Splits that are done leave: idle is never seen before what it follows. And what was fetched counts: a
        barrier that overtakes finds it.
        """
        pending = self._pending
        if pending.leaving or pending.served:
            self._pending = _Pending()
            self._forget(pending.leaving)
            self._work.trigger.fetched(pending.served, pending.rows, pending.row_bytes)

    def _forget(self, paths: Iterable[Path]) -> None:
        for path in paths:
            self._assigned.pop(path, None)
            self._paused.discard(path)

    def _put_barrier(self) -> bool:
        if not self._is_cut:
            self._is_cut = True
            self._work.partition.add_event(self.index, CheckpointBarrier(self._work.trigger.triggered_ms))
        return False

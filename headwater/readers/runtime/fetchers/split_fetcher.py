"""One fetcher: runs a split reader and puts what it fetched into one channel (FLIP-27 ``SplitFetcher``)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecords
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.fetchers.events import Fetched, PendingFetch, SplitsDone
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger
from headwater.readers.runtime.partitions.pipelined import PipelinedResultPartition
from headwater.readers.runtime.partitions.subpartition import CheckpointBarrier, PartitionEvent

Reader: TypeAlias = BarrierSplitReader[Any, Any]
FetcherTask: TypeAlias = Callable[[Reader], None]
TakeSplit: TypeAlias = Callable[[], "SplitRange[Any, Any] | None"]
"""Gives the next split to begin with, None if there is none now. Any thread may call it."""


@dataclass(frozen=True, slots=True)
class FetcherWork:
    """What all fetchers of a task share.

    Attributes:
        create_reader: makes a fetcher's reader; called on the fetcher's thread.
        partition: where the fetched records go; a fetcher has the channel of its own index.
        trigger: says when the barrier is due, and is told what was fetched.
        events: of the enumerator, for each reader.
    """

    create_reader: Callable[[], Reader]
    partition: PipelinedResultPartition[Fetched]
    trigger: BarrierTrigger
    events: Sequence[JsonValue] = ()


class SplitFetcher:
    """Reads one split after the other on a thread of its own, and does one thing at a time.

    First come tasks (removing, pausing), in their order. Then what was fetched goes into the channel. Then
    the barrier, if it is due. Only then the next split is taken, or more is fetched. What was fetched
    survives every interruption. Once its barrier is in the channel, a fetcher fetches no more.

    A paused split makes room for the next one, which would otherwise wait for it without need.

    `run`, `step` and `finish` belong to the fetcher's thread. Any thread may call the other methods.

    Args:
        index: of its channel.
        work: shared with the other fetchers.
        take: gives it splits.
    """

    def __init__(self, index: int, work: FetcherWork, take: TakeSplit) -> None:
        self.index = index
        self.fetches = 0
        self._work = work
        self._take_split = take
        self._reader: Reader | None = None
        self._unsent_events = work.events
        self._assigned: dict[SplitPath, None] = {}
        self._paused: set[SplitPath] = set()
        self._tasks: deque[FetcherTask] = deque()
        self._pending = PendingFetch()
        self._is_cut = False
        self._is_stopped = False
        # Guards the three flags below, and is where an idle fetcher waits.
        self._changed = threading.Condition()
        self._is_fetching = False
        self._was_woken = False
        self._has_changed = False

    @property
    def assigned(self) -> tuple[SplitPath, ...]:
        """The splits that its reader has."""
        return tuple(self._assigned)

    @property
    def has_room(self) -> bool:
        """Whether it would take one more split: it has none but paused ones."""
        return len(self._assigned) == len(self._paused)

    def remove_splits(self, paths: Sequence[SplitPath]) -> None:
        """Let it forget splits, which are reported as done. Those that it does not have are ignored."""
        self._enqueue(lambda reader: self._remove(reader, paths, report=True))

    def pause_or_resume_splits(self, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]) -> None:
        """Let it fetch nothing of some splits, and go on with others. Those that it lacks are ignored."""
        self._enqueue(lambda reader: self._pause_or_resume(reader, paused, resumed))

    def wake_up(self) -> None:
        """Let it look at tasks, splits and the trigger again, wherever it waits."""
        # A fetcher waits in one of three places: idle in `run`, for room in the pool, or in its reader's
        # fetch. All three are woken, since it may be on its way from one to the other.
        with self._changed:
            self._has_changed = True
            self._was_woken = True
            reader = self._reader if self._is_fetching else None
            self._changed.notify_all()
        self._work.partition.pool.wake_up()
        # Not under the lock: a reader's wake_up may take locks of its own. If the fetch has returned by now,
        # the wake-up costs the next fetch an empty answer.
        if reader is not None:
            reader.wake_up()

    def stop(self) -> None:
        """Let `run` return soon."""
        self._is_stopped = True
        self.wake_up()

    def run(self) -> None:
        """Step until stopped: the body of the fetcher's thread."""
        while not self._is_stopped:
            if not self.step():
                # A wake-up between the step and this wait has set the flag, so it is not slept through.
                with self._changed:
                    self._changed.wait_for(lambda: self._has_changed or self._is_stopped)
                    self._has_changed = False

    def finish(self) -> None:
        """Close the reader, if there is one. Called once, after `run` has returned or raised."""
        reader = self._reader
        self._reader = None
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
        self._count()
        trigger = self._work.trigger
        if trigger.is_due or self._is_cut:
            return self._put_barrier()
        if trigger.is_reached:
            self._remove_served()
        return self._take() or self._fetch()

    def _enqueue(self, task: FetcherTask) -> None:
        # First the task, then the wake-up: `_fetch` looks for tasks after the moment from which on it can be
        # woken.
        self._tasks.append(task)
        self.wake_up()

    def _open(self) -> Reader:
        if self._reader is None:
            self._reader = self._work.create_reader()
        return self._reader

    def _take(self) -> bool:
        taken = self._take_split() if self.has_room else None
        if taken is None:
            return False
        reader = self._open()
        self._assigned[taken.split.path] = None
        reader.handle_splits_changes([taken])
        events = self._unsent_events
        self._unsent_events = ()
        for event in events:
            reader.handle_source_event(event)
        return True

    def _remove(self, reader: Reader, paths: Iterable[SplitPath], *, report: bool) -> None:
        removed = [path for path in paths if path in self._assigned]
        if removed:
            reader.handle_splits_removal(removed)
            self._forget(removed)
            if report:
                self._pending.elements.append(SplitsDone(removed=frozenset(removed)))

    def _pause_or_resume(
        self, reader: Reader, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]
    ) -> None:
        to_pause = [path for path in paused if path in self._assigned and path not in self._paused]
        to_resume = [path for path in resumed if path in self._paused]
        if to_pause or to_resume:
            reader.pause_or_resume_splits(to_pause, to_resume)
            self._paused = (self._paused | set(to_pause)) - set(to_resume)

    def _remove_served(self) -> None:
        """Take from the reader what had its turn, so that the splits that had none come next."""
        unserved = self._work.trigger.unserved(self._assigned)
        if served := [path for path in self._assigned if path not in unserved]:
            self._remove(self._open(), served, report=False)

    def _fetch(self) -> bool:
        if self.has_room:
            return False
        reader = self._open()
        trigger = self._work.trigger
        trigger.begin_fetch()
        with self._changed:
            # A wake-up before this moment found no fetch to wake up. So what it was about is looked for here.
            # A wake-up after this moment finds ``_is_fetching`` set, and wakes up the reader.
            is_limited = trigger.is_reached and not trigger.unserved(self._assigned)
            if self._tasks or self._is_stopped or is_limited:
                return True
            self._is_fetching = True
            self._was_woken = False
        try:
            fetched = reader.fetch()
        finally:
            with self._changed:
                self._is_fetching = False
        self.fetches += 1
        self._accept(fetched)
        return True

    def _accept(self, fetched: EpochRecords) -> None:
        named = {*fetched.records, *fetched.finished, *fetched.caught_up, *fetched.failed}
        self._check(named, fetched)
        self._forget([*fetched.finished, *fetched.caught_up])
        # An empty answer is a turn of all splits: there was nothing. After a wake-up it says nothing.
        nothing_there = not named and not self._was_woken
        served = set(self._assigned.keys() - self._paused) if nothing_there else named
        self._pending = PendingFetch.of(fetched, served)

    def _check(self, named: set[SplitPath], fetched: EpochRecords) -> None:
        if unknown := named - self._assigned.keys():
            raise ContractError(
                f"SplitReader.fetch spoke of split {'-'.join(min(unknown))}, which it was not given or has "
                "finished"
            )
        if both := fetched.finished & fetched.caught_up.keys():
            raise ContractError(
                f"SplitReader.fetch called split {'-'.join(min(both))} both finished and caught up"
            )

    def _hand_over(self) -> bool:
        """Put the next element into the channel, waiting for room unless there is something else to do."""
        element = self._pending.elements[0]
        partition = self._work.partition
        if isinstance(element, PartitionEvent):
            partition.add_event(self.index, element)
        elif not partition.add(self.index, element, element.size_bytes, self._is_wanted):
            # No room, and the waiting was ended by a task, by `stop`, or by the partition's release. In the
            # last two cases there is nothing left to do.
            return bool(self._tasks)
        self._pending.elements.popleft()
        return True

    def _is_wanted(self) -> bool:
        return bool(self._tasks) or self._is_stopped

    def _count(self) -> None:
        """Tell the trigger of the last fetch, once all that it brought is in the channel.

        Not earlier: this may make the barrier due, and a barrier that overtakes ends the epoch with what lies
        in the channels at that moment. If a fetch counted before its rows are there, an epoch could end in
        which every split had its turn and none got on, and so could every epoch after it.
        """
        pending = self._pending
        if pending.served:
            self._pending = PendingFetch()
            self._work.trigger.fetched(pending.served, pending.rows, pending.row_bytes)

    def _forget(self, paths: Iterable[SplitPath]) -> None:
        for path in paths:
            self._assigned.pop(path, None)
            self._paused.discard(path)

    def _put_barrier(self) -> bool:
        if not self._is_cut:
            self._is_cut = True
            self._work.partition.add_event(self.index, CheckpointBarrier(self._work.trigger.triggered_ms))
        return False

"""One fetcher: runs a split reader and puts its records into one channel (FLIP-27 ``SplitFetcher``)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecords
from headwater.core.clock import Clock
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.fetchers.events import Fetched, PendingFetch, SplitsDone
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger
from headwater.readers.runtime.fetchers.turns import SplitTurns, WakeUps, check_answer, named_splits
from headwater.readers.runtime.partitions.pipelined import PipelinedResultPartition
from headwater.readers.runtime.partitions.subpartition import CheckpointBarrier, PartitionEvent


@dataclass(frozen=True, slots=True)
class FetcherWork:
    """The settings and objects that all fetchers of a task share.

    Attributes:
        create_reader: makes a fetcher's reader; called on the fetcher's thread.
        partition: where the fetched records go; a fetcher has the channel of its own index.
        trigger: says when the barrier is due, and counts records.
        clock: time.
        events: of the enumerator, for each reader.
    """

    create_reader: Callable[[], BarrierSplitReader[Any, Any]]
    partition: PipelinedResultPartition[Fetched]
    trigger: BarrierTrigger
    clock: Clock
    events: Sequence[JsonValue] = ()


Reader: TypeAlias = BarrierSplitReader[Any, Any]
FetcherTask: TypeAlias = Callable[[Reader], None]
TakeSplit: TypeAlias = Callable[[bool], "SplitRange[Any, Any] | None"]
"""Gives the next split to begin with, None if there is none now. Any thread may call it.

Its argument: whether the fetcher has something else to read. Then it may keep back found splits.
"""


class SplitFetcher:
    """Reads splits in turns on a thread of its own, and does one thing at a time.

    First come tasks (removing, pausing), in their order. Then fetched records go into the channel. Then
    the barrier, if it is due, or the end of the channel, if all splits of the task are done. Only then a
    split is fetched from. Fetched records survive every interruption. Behind the barrier, or the end, a
    fetcher fetches no more.

    A turn is one fetch. In an epoch with a limit every split has its first turn before any has its second;
    then comes the one that waited longest. So between two turns of a split every other one that was ready all
    the while had one. A fetch that was woken, and brought nothing because of that, was no turn. In an epoch
    without a limit splits are read one after the other, each to its end: turns would only keep more open.

    The reader has all splits that had a turn here, and may fetch from one: the others are paused. A split
    that is held, because the outside asked for it or the manager's caller did, makes room for the next one,
    which would otherwise wait for it without need.

    `run`, `step` and `finish` belong to the fetcher's thread. Any thread may call the other methods.

    Args:
        index: of its channel.
        work: shared with the other fetchers.
        take: gives it splits.
    """

    def __init__(self, index: int, work: FetcherWork, take: TakeSplit) -> None:
        self.index = index
        self.fetches = 0
        self.took_ms: dict[SplitPath, int] = {}
        self._work = work
        self._take_split = take
        self._reader: Reader | None = None
        self._unsent_events = work.events
        self._turns = SplitTurns(work.trigger, work.clock)
        # The one split that is not paused in the reader.
        self._unpaused: SplitPath | None = None
        self._tasks: deque[FetcherTask] = deque()
        self._pending = PendingFetch()
        self._is_cut = False
        self._is_stopped = False
        self._wake_ups = WakeUps()

    @property
    def assigned(self) -> tuple[SplitPath, ...]:
        """The splits that its reader has."""
        return self._turns.assigned

    @property
    def open(self) -> int:
        """How many they are."""
        return self._turns.open

    @property
    def has_room(self) -> bool:
        """Whether it has nothing to read: no split but held ones."""
        return self._turns.has_room

    @property
    def is_at_first_turn(self) -> bool:
        """Whether its fetch is a split's first in this epoch, and is to be let finish."""
        turn = self._turns.turn
        return turn is not None and self._work.trigger.is_first_turn(turn)

    def remove_splits(self, paths: Sequence[SplitPath]) -> None:
        """Let it forget splits, which are reported as done. Those that it does not have are ignored."""
        self._enqueue(lambda reader: self._remove(reader, paths))

    def pause_or_resume_splits(self, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]) -> None:
        """Let it fetch nothing of some splits, and go on with others. Those that it lacks are ignored."""
        self._enqueue(lambda reader: self._pause_or_resume(reader, paused, resumed))

    def wake_up(self) -> None:
        """Let it look at tasks, splits and the trigger again, wherever it waits."""
        # A fetcher waits in one of three places: for room in the pool, idle in `run`, or in its reader's
        # fetch. All three are woken, since it may be on its way from one to the other.
        self._work.partition.pool.wake_up()
        self._wake_ups.wake_up()

    def stop(self) -> None:
        """Let `run` return soon."""
        self._is_stopped = True
        self.wake_up()

    def run(self) -> None:
        """Step until stopped: the body of the fetcher's thread."""
        while not self._is_stopped:
            if not self.step():
                self._wake_ups.wait(lambda: self._is_stopped, self._held_s())

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
        if self._work.trigger.is_due or self._is_cut:
            return self._put_barrier()
        self._turns.resume_due()
        turn = self._turns.turn
        if turn is None:
            return self._begin_turn()
        return self._work.trigger.begin_turn(turn) and self._fetch(turn)

    def _enqueue(self, task: FetcherTask) -> None:
        # First the task, then the wake-up: `_fetch` looks for tasks after the moment from which on it can be
        # woken.
        self._tasks.append(task)
        self.wake_up()

    def _open(self) -> Reader:
        if self._reader is None:
            self._reader = self._work.create_reader()
        return self._reader

    def _begin_turn(self) -> bool:
        """Let a split have its turn; return whether there is one. The reader may fetch from it alone."""
        if not self._work.trigger.may_begin_turn:
            return False
        goes_on = self._turns.has_waiting and not self._work.trigger.has_limit
        split_range = None if goes_on else self._take_split(self._turns.has_waiting)
        if split_range is not None:
            path = split_range.split.path
            # First: other threads see it among the splits of a reader before the reader does.
            self._turns.begin(path)
            self._let_fetch(path, split_range)
            return True
        following = self._turns.next()
        if following is None:
            return False
        self._let_fetch(following)
        return True

    def _let_fetch(self, path: SplitPath, split_range: SplitRange[Any, Any] | None = None) -> None:
        """Let the reader fetch from one split alone, which is added to it or was paused."""
        if path == self._unpaused:
            return
        reader = self._open()
        current = self._unpaused
        self._unpaused = path
        paused = [current] if current is not None else []
        resumed = [path] if split_range is None else []
        if paused or resumed:
            reader.pause_or_resume_splits(paused, resumed)
        if split_range is not None:
            reader.handle_splits_changes([split_range])
            self._send_events(reader)

    def _send_events(self, reader: Reader) -> None:
        events = self._unsent_events
        self._unsent_events = ()
        for event in events:
            reader.handle_source_event(event)

    def _remove(self, reader: Reader, paths: Iterable[SplitPath]) -> None:
        removed = [path for path in paths if path in self._turns]
        if removed:
            reader.handle_splits_removal(removed)
            self._turns.remove(removed)
            self._forget(removed)
            self._pending.elements.append(SplitsDone(removed=frozenset(removed)))
            self._work.trigger.give_up(removed)

    def _pause_or_resume(
        self, reader: Reader, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]
    ) -> None:
        to_pause = self._turns.not_held(paused)
        if to_pause:
            self._hold(reader, dict.fromkeys(to_pause))
            self._work.trigger.give_up(to_pause)
        self._turns.resume(resumed)

    def _held_s(self) -> float | None:
        """Return the time until a held split is resumed by itself; None if none is."""
        # Behind the barrier nothing is fetched any more, however long it was to be held.
        left_ms = None if self._is_cut else self._turns.left_ms()
        return None if left_ms is None else left_ms / 1000

    def _hold(self, reader: Reader, until_ms: Mapping[SplitPath, int | None]) -> None:
        """Take splits out of the queue, and pause the current one in the reader."""
        self._turns.hold(until_ms)
        if self._unpaused is not None and self._unpaused in until_ms:
            reader.pause_or_resume_splits([self._unpaused], [])
            self._unpaused = None

    def _fetch(self, path: SplitPath) -> bool:
        reader = self._open()
        if not self._wake_ups.begin_fetch(reader, lambda: self._may_fetch(path)):
            return True
        began_ms = self._work.clock.monotonic_ms()
        try:
            fetched = reader.fetch()
        finally:
            may_be_woken = self._wake_ups.end_fetch()
        self.fetches += 1
        # The first one sets up connections, which says nothing of its split.
        if self.fetches > 1:
            took_ms = self._work.clock.monotonic_ms() - began_ms
            self.took_ms[path] = self.took_ms.get(path, 0) + took_ms
        self._accept(fetched, may_be_woken=may_be_woken)
        return True

    def _may_fetch(self, path: SplitPath) -> bool:
        trigger = self._work.trigger
        is_limited = trigger.is_reached and not trigger.is_first_turn(path)
        return not (self._tasks or self._is_stopped or is_limited)

    def _accept(self, fetched: EpochRecords, *, may_be_woken: bool) -> None:
        paths = named_splits(fetched)
        check_answer(fetched, paths, self._turns)
        # After a wake-up an empty answer says nothing: the turn goes on.
        served = self._turns.turn if paths or not may_be_woken else None
        self._forget([*fetched.finished, *fetched.caught_up])
        if served is not None:
            self._turns.end()
        if fetched.paused:
            now_ms = self._work.clock.monotonic_ms()
            self._hold(self._open(), {path: now_ms + pause_ms for path, pause_ms in fetched.paused.items()})
        self._pending = PendingFetch.of(fetched, served)

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

        Not earlier: this may make the barrier due, and a barrier that overtakes ends the epoch with the
        records in the channels at that moment. If a fetch counted before its rows are there, an epoch could
        end in which every split had its turn and none got on, and so could every epoch after it.
        """
        pending = self._pending
        if pending.served is not None:
            self._pending = PendingFetch()
            self._work.trigger.fetched(pending.served, pending.rows, pending.row_bytes)

    def _forget(self, paths: Sequence[SplitPath]) -> None:
        self._turns.forget(paths)
        if self._unpaused in paths:
            self._unpaused = None

    def _put_barrier(self) -> bool:
        if not self._is_cut:
            self._is_cut = True
            trigger = self._work.trigger
            if trigger.is_end:
                self._work.partition.finish_subpartition(self.index)
            else:
                self._work.partition.add_event(self.index, CheckpointBarrier(trigger.triggered_ms))
        return False

"""Turns: any mix of slow, fast, empty, failing and woken splits gets its share, from epoch to epoch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa

from headwater.connector.barrier.checkpoints import CompletedCheckpoint
from headwater.connector.barrier.due import DueSplits
from headwater.connector.barrier.offsets import EpochId, EpochOffset
from headwater.connector.barrier.settlement import Settlement, settle
from headwater.connector.barrier.tasks import deal_splits
from headwater.connector.coordination.dealing import SplitTimes
from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord, EpochRecords
from headwater.core.clock import ManualClock
from headwater.core.epoch import Barrier, EpochState
from headwater.core.epoch_json import state_from_json, state_to_json
from headwater.core.errors import TransientSourceError
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.epoch.task_slot import Manifest
from tests.doubles import NUMBER_SCHEMA, NumberSplit
from tests.pages import PageReader, PageSource
from tests.readings import epoch_task, read_task

_INTERVAL_MS = 100
_ONE_ROW = pa.RecordBatch.from_pylist([{"label": "x", "number": 0}], schema=NUMBER_SCHEMA)
_ANSWERS = ["rows", "empty", "failed", "caught up", "woken", "rows, and woken late"]


class FetchClock(ManualClock):
    """Moves while readers fetch, and not while the task waits for them."""

    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        return event.wait(0.01)


@dataclass
class Habits:
    """What a split does when it is asked: how long that takes, and its answers, over and over."""

    takes_ms: int
    answers: Sequence[str]
    asked: int = 0


@dataclass
class World:
    """The outside, and a record of what happened.

    Attributes:
        splits: and their habits.
        clock: moves with each fetch.
        history: every turn of a split, and None where an epoch begins.
        wake: wakes up the fetchers of the task that is read.
    """

    splits: dict[SplitPath, Habits]
    clock: FetchClock = field(default_factory=FetchClock)
    history: list[tuple[SplitPath, str] | None] = field(default_factory=list)
    wake: Callable[[], None] = lambda: None


class HabitualReader(PageReader):
    """Asks the one split that is not paused."""

    def __init__(self, world: World) -> None:
        super().__init__(PageSource().library)
        self._world = world

    def fetch(self) -> EpochRecords:
        if self.woken.is_set():
            self.woken.clear()
            return EpochRecords()
        [path] = [path for path in self.open if path not in self.paused]
        habits = self._world.splits[path]
        self._world.clock.advance(habits.takes_ms)
        answer = habits.answers[habits.asked % len(habits.answers)]
        habits.asked += 1
        if "woken" in answer:
            # The reader sees it only in its next fetch.
            self._world.wake()
        if answer == "woken":
            return EpochRecords()
        self._world.history.append((path, answer))
        if answer == "empty":
            return EpochRecords()
        if answer == "failed":
            return EpochRecords(failed={path: TransientSourceError("away")})
        if answer == "caught up":
            del self.open[path]
            return EpochRecords(caught_up={path: None})
        piece = self.open[path]
        position = int(str(piece.start)) + 1
        self.open[path] = replace(piece, start=position)
        return EpochRecords({path: [EpochRecord(_ONE_ROW, position)]})


@dataclass
class WorldSource(PageSource):
    """Readers of the world."""

    world: World = field(default_factory=lambda: World({}))

    def create_reader(self) -> BarrierSplitReader[NumberSplit, JsonValue]:
        return HabitualReader(self.world)


class Query:
    """Stands in for the coordinator: opens one epoch after the other, each with new readers."""

    def __init__(self, world: World, *, tasks: int, threads: int, barrier: Barrier) -> None:
        self._world = world
        self._source = WorldSource(threads=threads, world=world)
        self._tasks = tasks
        self._barrier = barrier
        self._splits = {path: NumberSplit(path[0]) for path in world.splits}
        self._due = DueSplits(0, world.clock, lambda: 0)
        self._settled: Settlement | None = None
        self._number = 0

    def epoch(self) -> list[tuple[SplitPath, ...]]:
        """Read one epoch; return which task had which splits."""
        due = self._due.due(self._splits, self._settled)
        tasks = deal_splits(due, min(self._tasks, len(due)), SplitTimes())
        positions = self._settled.positions if self._settled else dict.fromkeys(self._splits, 0)
        self._number += 1
        self._world.history.append(None)
        states = [
            self._read([SplitRange(self._splits[path], positions[path], None) for path in paths])
            for paths in tasks
        ]
        none: list[tuple[()]] = [() for _ in tasks]
        offset = EpochOffset(
            epoch=EpochId("query", self._number, "nonce"),
            barrier=self._barrier,
            splits=self._splits,
            starts=positions,
            tasks=tasks,
            restored=none,
            waiting=none,
            events=none,
        )
        manifests = tuple(Manifest(state, {"written_ms": 0}) for state in states)
        self._settled = settle(self._source, offset, CompletedCheckpoint(offset.epoch, manifests, 0), 0)
        self._due.take_up(self._settled, opened_ms=self._world.clock.monotonic_ms())
        return tasks

    def _read(self, starts: Sequence[SplitRange[NumberSplit, JsonValue]]) -> EpochState:
        reader = read_task(self._source, epoch_task(starts, self._barrier), clock=self._world.clock)
        fetchers = reader._flow.manager._fetchers

        def wake() -> None:
            for fetcher in fetchers:
                fetcher.wake_up()

        self._world.wake = wake
        list(reader)
        state = reader.state()
        return state_from_json(self._source, state_to_json(state, self._source))


def worlds(draw: st.DrawFn) -> World:
    answers = st.lists(st.sampled_from(_ANSWERS), max_size=4).map(lambda drawn: ["rows", *drawn])
    habits = st.builds(Habits, st.sampled_from([3, 30, 99, 350]), answers)
    count = draw(st.integers(1, 7))
    return World({(label,): draw(habits) for label in "abcdefg"[:count]})


@hypothesis.settings(max_examples=50, deadline=None)
@hypothesis.given(
    world=st.composite(worlds)(),
    barrier=st.sampled_from([Barrier(duration_ms=_INTERVAL_MS), Barrier(rows=1), Barrier(rows=4)]),
)
def test_between_two_turns_of_a_split_every_other_one_that_was_ready_had_one(
    world: World, barrier: Barrier
) -> None:
    query = Query(world, tasks=1, threads=1, barrier=barrier)
    for _ in range(12):
        query.epoch()
    # Of each split: who had a turn since its last one, of those that were ready all the while.
    waited_for: dict[SplitPath, set[SplitPath]] = {}
    ready = set(world.splits)
    for event in world.history:
        if event is None:
            ready = set(world.splits)
            continue
        path, answer = event
        left_out = waited_for.get(path, set())
        assert not left_out, f"{path} has a turn, and {left_out} had none since its last one"
        if answer == "caught up":
            ready.discard(path)
        for others in waited_for.values():
            others.discard(path)
        waited_for[path] = ready - {path}
        if answer == "caught up":
            for others in waited_for.values():
                others.discard(path)


@hypothesis.settings(max_examples=50, deadline=None)
@hypothesis.given(world=st.composite(worlds)(), tasks=st.integers(1, 3), threads=st.integers(1, 3))
def test_no_split_waits_for_more_epochs_than_there_are_splits(world: World, tasks: int, threads: int) -> None:
    query = Query(world, tasks=tasks, threads=threads, barrier=Barrier(duration_ms=_INTERVAL_MS))
    since_turn = dict.fromkeys(world.splits, 0)
    for _ in range(15):
        seen = len(world.history)
        read = [path for paths in query.epoch() for path in paths]
        turns = {event[0] for event in world.history[seen:] if event is not None}
        assert turns
        for path in read:
            since_turn[path] = 0 if path in turns else since_turn[path] + 1
            assert since_turn[path] < len(world.splits)

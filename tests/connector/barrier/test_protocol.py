"""The protocol of barrier mode as a model: driver, attempts and store, with crashes between any two steps.

No row lost, none twice, always progress.

The classes are the real ones; only the store is in memory, the dataflow is one row at a time, and time moves
when told to. Spark is played by the
rules: it logs an offset, runs tasks (several attempts of one task, dead ones and zombies among them),
commits a batch with the rows of attempts that succeeded, forgets a batch that was not logged, and is rolled
back.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headwater.connector.barrier.coordinator import BarrierCoordinator
from headwater.connector.barrier.options import EpochSettings
from headwater.core.clock import ManualClock
from headwater.core.epoch import Barrier
from headwater.core.errors import FencedError
from headwater.core.jsons import JsonObject
from headwater.core.retry import Backoff
from headwater.core.state_store import MemoryStateStore, StateStore
from headwater.readers.runtime.epoch.claims import Claim
from headwater.readers.runtime.epoch.read_epoch import read_epoch
from headwater.readers.runtime.epoch.task import EpochTask
from tests.epoch_doubles import Logs, LogSource, open_plain_reader, rows_of

T = TypeVar("T")
Row = tuple[str, int]
CRASHES = st.one_of(st.none(), st.none(), st.none(), st.integers(0, 12))
SELDOM = st.integers(0, 5).map(lambda drawn: drawn == 5)
MOST_BATCHES = 200


class CrashError(Exception):
    """The process that used the store is dead."""


class WouldWaitError(Exception):
    """An attempt would wait for another one."""


class ModelClock(ManualClock):
    """Waiting moves the clock, or gives up: then the attempt comes again later."""

    patient = True

    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        if threading.current_thread() is not threading.main_thread():
            return event.wait()
        if not self.patient:
            raise WouldWaitError
        return super().wait(event, timeout_ms)


class Fragile(StateStore):
    """One process's view of the store.

    It dies before or after the n-th operation, and never does anything again.
    """

    def __init__(self, store: MemoryStateStore, crash_in: int | None = None) -> None:
        self._store, self.crash_in, self.dead = store, crash_in, False

    def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
        return self._do(lambda: self._store.put_if_absent(name, data))

    def put(self, name: str, data: bytes) -> None:
        self._do(lambda: self._store.put(name, data))

    def get(self, name: str) -> bytes | None:
        return self._do(lambda: self._store.get(name))

    def list(self, folder: str) -> list[str]:
        return self._do(lambda: self._store.list(folder))

    def delete_folder(self, folder: str) -> None:
        self._do(lambda: self._store.delete_folder(folder))

    def delete(self, name: str) -> None:
        self._do(lambda: self._store.delete(name))

    def _do(self, operation: Callable[[], T]) -> T:
        if self.dead or self._crashes():
            raise CrashError
        result = operation()
        if self._crashes():
            raise CrashError
        return result

    def _crashes(self) -> bool:
        if self.crash_in is not None:
            self.crash_in -= 1
            self.dead = self.crash_in < 0
        return self.dead


@dataclass
class Attempt:
    """One attempt of a task; a zombie if its batch is over."""

    task: EpochTask
    store: Fragile
    claims: list[Claim]
    rows: list[Row] = field(default_factory=list)
    batches: Any = None


class Protocol(RuleBasedStateMachine):
    """What may happen to a query. See the module's description."""

    def __init__(self) -> None:
        super().__init__()
        self.outside = Logs({"a": 7, "b": 3}, cuts=itertools.cycle([3, 1, 4, 2, 5]))
        self.store, self.clock = MemoryStateStore(), ModelClock()
        self.log: list[JsonObject] = []
        self.committed: list[list[Row]] = []
        self.attempts: list[Attempt] = []
        self.done: dict[int, list[list[Row]]] = {}
        self.touched: set[int] = set()
        self.coordinator: BarrierCoordinator | None = None

    @property
    def is_running(self) -> bool:
        return len(self.log) > len(self.committed)

    @rule(crash_in=CRASHES, is_lost=SELDOM)
    @precondition(lambda self: not self.is_running)
    def trigger(self, crash_in: int | None, is_lost: bool) -> None:
        self.driver().crash_in = crash_in
        assert self.coordinator is not None
        start = self.log[-1] if self.log else self.coordinator.initial_offset()
        try:
            end = self.coordinator.plan_next(start, limited=True)
        except CrashError:
            self.kill_driver()
            return
        if is_lost:
            self.kill_driver()
        elif end != start:
            self.log.append(end)
            self.done, self.touched = {}, set()

    @rule()
    @precondition(lambda self: self.coordinator is not None)
    def kill_driver(self) -> None:
        if self.coordinator is not None:
            self.fragile.dead = True
            self.coordinator.close()
            self.coordinator = None
            self.done = {}

    @rule(number=st.integers(0, 1), crash_in=CRASHES, patient=st.booleans())
    @precondition(lambda self: self.is_running)
    def start_attempt(self, number: int, crash_in: int | None, patient: bool) -> None:
        tasks = self.tasks()
        if number < len(tasks):
            attempt = Attempt(tasks[number], Fragile(self.store, crash_in), [])
            attempt.batches = read_epoch(
                LogSource(self.outside), attempt.task, attempt.store, open_plain_reader, self.clock
            )
            self.attempts.append(attempt)
            self.touched.add(number)
            self.clock.patient = patient
            self.step(attempt)
            self.clock.patient = True

    @rule(which=st.integers(0, 5), steps=st.one_of(st.integers(1, 3), st.just(99)))
    @precondition(lambda self: self.attempts)
    def go_on(self, which: int, steps: int) -> None:
        attempt = self.attempts[which % len(self.attempts)]
        for _ in range(steps):
            if attempt in self.attempts:
                self.step(attempt)

    @rule()
    @precondition(lambda self: self.is_running)
    def run_what_is_left(self) -> None:
        """Run every task that has not succeeded, to its end."""
        for task in self.tasks():
            if task.number not in self.done:
                self.start_attempt(task.number, None, True)
        for attempt in list(self.attempts):
            while self.is_current(attempt) and attempt in self.attempts:
                self.step(attempt)

    @rule(which=st.integers(0, 5))
    @precondition(lambda self: self.attempts)
    def beat(self, which: int) -> None:
        attempt = self.attempts[which % len(self.attempts)]
        with contextlib.suppress(CrashError):
            for claim in attempt.claims:
                claim.beat()

    @rule(which=st.integers(0, 5))
    @precondition(lambda self: self.attempts)
    def leave_early(self, which: int) -> None:
        attempt = self.attempts.pop(which % len(self.attempts))
        try:
            attempt.batches.close()
        except (CrashError, FencedError):
            return
        if self.is_current(attempt) and attempt.claims:
            published = rows_of(self.read_again(attempt.task))
            assert published[: len(attempt.rows)] == attempt.rows
            self.done.setdefault(attempt.task.number, []).append(published)

    @rule(which=st.integers(0, 5))
    @precondition(lambda self: self.attempts)
    def kill_attempt(self, which: int) -> None:
        attempt = self.attempts.pop(which % len(self.attempts))
        attempt.store.dead = True
        with contextlib.suppress(CrashError):
            attempt.batches.close()

    @rule(whose=st.integers(0, 3))
    @precondition(lambda self: self.is_running and self.touched <= self.done.keys())
    def commit(self, whose: int) -> None:
        """Spark commits with the rows of any attempt that succeeded.

        A task of which no attempt was begun was not run; one that was begun must succeed.
        """
        rows = []
        for succeeded in self.done.values():
            assert all(sorted(read) == sorted(succeeded[0]) for read in succeeded)
            rows += succeeded[whose % len(succeeded)]
        self.committed.append(rows)

    @rule(back=st.integers(1, 3))
    @precondition(lambda self: len(self.committed) > 2)
    def roll_back(self, back: int) -> None:
        """Checkpoint and sink are set back to an older batch; what was read of it since is still there."""
        self.kill_driver()
        kept = max(1, len(self.committed) - back)
        self.log, self.committed, self.done = self.log[:kept], self.committed[: kept - 1], {}
        self.touched = set(range(len(self.tasks())))

    @rule(root=st.sampled_from("abc"), count=st.integers(1, 4))
    @precondition(lambda self: len(self.outside.everything()) < 60)
    def grow(self, root: str, count: int) -> None:
        self.outside.lengths[root] = self.outside.lengths.get(root, 0) + count

    @invariant()
    def no_row_twice(self) -> None:
        rows = [row for batch in self.committed for row in batch]
        assert len(rows) == len(set(rows))

    def teardown(self) -> None:
        """Whatever happened: without further crashes the query comes to its end, with every row once."""
        for _ in range(len(self.attempts)):
            self.kill_attempt(0)
        self.kill_driver()
        self.driver()
        assert self.coordinator is not None
        self.coordinator.prepare_for_available_now()
        for _ in range(MOST_BATCHES):
            if self.is_running:
                self.committed.append(
                    [row for task in self.tasks() for row in rows_of(self.read_again(task))]
                )
            start = self.log[-1] if self.log else self.coordinator.initial_offset()
            end = self.coordinator.plan_next(start, limited=True)
            if end == start:
                break
            self.log.append(end)
        rows = [row for batch in self.committed for row in batch]
        self.kill_driver()
        assert sorted(rows) == self.outside.everything()

    def driver(self) -> Fragile:
        """Start a driver if there is none; return its view of the store."""
        if self.coordinator is None:
            self.fragile = Fragile(self.store)
            settings = EpochSettings(
                store=self.fragile,
                barrier=Barrier(rows=3),
                parallelism=2,
                poll_interval_ms=0,
                checkpoint_timeout_ms=100,
                retained_epochs=5,
            )
            self.coordinator = BarrierCoordinator(
                LogSource(self.outside), settings, Backoff(deadline_ms=100), clock=self.clock
            )
        return self.fragile

    def tasks(self) -> list[EpochTask]:
        self.driver()
        assert self.coordinator is not None
        return self.coordinator.tasks(
            self.log[-2] if len(self.log) > 1 else self.coordinator.initial_offset(), self.log[-1]
        )

    def step(self, attempt: Attempt) -> None:
        BEING_STEPPED.append(attempt)
        try:
            batch: pa.RecordBatch = next(attempt.batches)
        except (StopIteration, CrashError, FencedError, WouldWaitError) as end:
            self.attempts.remove(attempt)
            if isinstance(end, StopIteration) and self.is_current(attempt):
                self.done.setdefault(attempt.task.number, []).append(attempt.rows)
        else:
            attempt.rows += rows_of([batch])
        finally:
            BEING_STEPPED.pop()

    def is_current(self, attempt: Attempt) -> bool:
        """Whether an attempt's batch is still running: what a zombie comes to means nothing to Spark."""
        return self.is_running and attempt.task in self.tasks()

    def read_again(self, task: EpochTask) -> list[pa.RecordBatch]:
        return list(read_epoch(LogSource(self.outside), task, self.store, open_plain_reader, self.clock))


BEING_STEPPED: list[Attempt] = []


@pytest.fixture(autouse=True)
def _beats_are_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim gives signs of life when the model says so."""

    def keep_alive(claim: Claim) -> None:
        if BEING_STEPPED:
            BEING_STEPPED[-1].claims.append(claim)

    monkeypatch.setattr(Claim, "keep_alive", keep_alive)


@pytest.mark.usefixtures("_beats_are_rules")
class TestProtocol(Protocol.TestCase):  # type: ignore[misc,valid-type]
    settings = settings(max_examples=60, stateful_step_count=60, deadline=None)

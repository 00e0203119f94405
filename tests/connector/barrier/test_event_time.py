"""Splits that are aligned by event time (`maxEventTimeSkew`): none comes far ahead of the slowest one."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa
import pytest

from headwater.connector.barrier.coordinator import BarrierCoordinator
from headwater.connector.barrier.event_time import EpochAlignment
from headwater.connector.barrier.event_time_options import EventTimeSettings, event_time_settings
from headwater.connector.barrier.options import BARRIER_OPTIONS, EpochSettings
from headwater.connector.options import OptionTable
from headwater.connector.spark.lag import QueryLag, lag_of
from headwater.connector.spark.reported_offsets import positions_by_split
from headwater.core.clock import ManualClock
from headwater.core.enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.epoch import AlignmentMode, Barrier
from headwater.core.errors import OptionError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.split import SplitPath
from headwater.core.state_store import MemoryStateStore
from headwater.readers.async_io.settings import OutputMode
from headwater.readers.runtime.epoch.calls import CreateCalls
from headwater.readers.runtime.epoch.event_time import EventTimeSpan, SplitAlignment, TaskAlignment, time_span
from headwater.readers.runtime.epoch.open_reader import open_epoch_reader
from headwater.readers.runtime.epoch.read_epoch import read_epoch
from headwater.readers.runtime.epoch.task import EpochTask
from tests.asynchronous import calls_of
from tests.connector.barrier.epoch_queries import OPEN
from tests.doubles import NumberSplit
from tests.pages import Library, Page, PageSource, rows_of

SKEW_MS = 10
POLL_MS = 1_000
Rows = list[tuple[str, int]]


class TimedEnumerator(BarrierSplitEnumerator[NumberSplit, JsonValue]):
    """Assigns the labels of a library that are not known yet."""

    def __init__(
        self, context: BarrierSplitEnumeratorContext[NumberSplit, JsonValue], library: Library
    ) -> None:
        self._context = context
        self._library = library

    def start(self) -> None:
        pass

    def refresh(self, checkpoint: Checkpoint[NumberSplit, JsonValue] | None) -> None:
        known = checkpoint.splits if checkpoint else {}
        self._context.assign_splits(
            {
                (label,): (NumberSplit(label), 0)
                for label in self._library.pages
                if (label,) not in known and "/" not in label
            }
        )

    def snapshot_state(self) -> JsonValue:
        return None

    def handle_source_event(self, event: JsonValue) -> None:
        raise AssertionError(f"fronts are not for the source: {event}")


@dataclass
class TimedSource(PageSource):
    """Pages whose numbers are times."""

    name = "timed"

    def create_enumerator(
        self, context: BarrierSplitEnumeratorContext[NumberSplit, JsonValue]
    ) -> BarrierSplitEnumerator[NumberSplit, JsonValue]:
        return TimedEnumerator(context, self.library)

    def restore_enumerator(
        self,
        context: BarrierSplitEnumeratorContext[NumberSplit, JsonValue],
        checkpoint: Checkpoint[NumberSplit, JsonValue],
    ) -> BarrierSplitEnumerator[NumberSplit, JsonValue]:
        return TimedEnumerator(context, self.library)


class NumbersAreTimes(EventTimeSettings):
    """The rows of these tests have no timestamp."""

    def check(self, source: Any) -> None:
        pass


@dataclass
class Query:
    """A query with real tasks, each epoch of which may be read twice, in parts, or by a new driver."""

    library: Library
    parallelism: int = 2
    threads: int = 1
    mode: AlignmentMode = AlignmentMode.ALIGNED
    barrier: Barrier = field(default_factory=lambda: Barrier(rows=20))
    idle_timeout_ms: int | None = None
    budget_bytes: int = 1 << 26
    calls: CreateCalls | None = None

    def __post_init__(self) -> None:
        self.store = MemoryStateStore()
        self.clock = ManualClock()
        self.log: list[JsonObject] = []
        self.rows: Rows = []
        self.restart()

    def restart(self) -> None:
        self.source = TimedSource(self.library, self.threads)
        settings = EpochSettings(
            store=self.store,
            barrier=self.barrier,
            mode=self.mode,
            parallelism=self.parallelism,
            poll_interval_ms=POLL_MS,
            budget_bytes=self.budget_bytes,
            event_time=NumbersAreTimes("number", SKEW_MS, self.idle_timeout_ms),
        )
        self.coordinator = BarrierCoordinator(
            self.source, settings, Backoff(deadline_ms=100), clock=self.clock, wall_ms=self.clock.monotonic_ms
        )
        OPEN.append(self.coordinator)

    def batch(self, *, limited: bool = True, leave_after: int | None = None) -> Rows | None:
        """Run one micro-batch; None if none was planned. The last task may be left after so many batches."""
        start = self.log[-1] if self.log else self.coordinator.initial_offset()
        end = self.coordinator.plan_next(json.loads(json.dumps(start)), limited=limited)
        if end == start:
            return None
        self.log.append(end)
        self.tasks = self.coordinator.tasks(start, end)
        rows: Rows = []
        for task in self.tasks:
            rows += self.read(task, leave_after if task is self.tasks[-1] else None)
        self.rows += rows
        return rows

    def read(self, task: EpochTask, leave_after: int | None = None) -> Rows:
        found: Rows = []
        batches = iter(read_epoch(self.source, task, self.store, self.opening()))
        for number, batch in enumerate(batches):
            found += rows_of([batch])
            if number == leave_after:
                break
        del batches
        return found

    def opening(self) -> Any:
        return partial(open_epoch_reader, create_calls=self.calls)

    def run(self) -> list[Rows]:
        """AvailableNow: return the rows of each epoch."""
        self.coordinator.prepare_for_available_now()
        epochs = []
        while (rows := self.batch()) is not None:
            epochs.append(rows)
        return epochs


def library_of(**times: Iterable[int]) -> Library:
    """A row a page; every split may get more later."""
    return Library(
        {label: [Page((time_ms,)) for time_ms in found] for label, found in times.items()},
        goes_on=dict.fromkeys(times),
    )


def everything(library: Library) -> Rows:
    return sorted(
        (label, number) for label, found in library.pages.items() for page in found for number in page.numbers
    )


def check_alignment(library: Library, epochs: Sequence[Rows], skew_ms: int = SKEW_MS) -> None:
    """At the end of each epoch no row that came is later than a row that is to come by more than the skew."""
    left = {
        label: [number for page in found for number in page.numbers] for label, found in library.pages.items()
    }
    latest = 0
    for rows in epochs:
        for label, number in rows:
            left[label].remove(number)
            latest = max(latest, number)
        to_come = min((min(numbers) for numbers in left.values() if numbers), default=latest)
        assert latest <= to_come + skew_ms


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_young_split_waits_for_an_old_one_in_the_same_task_and_in_another(
    parallelism: int, threads: int
) -> None:
    library = library_of(old=range(0, 300, 3), young=range(200, 400, 2))
    query = Query(library, parallelism, threads)
    epochs = query.run()
    check_alignment(library, epochs)
    assert sorted(query.rows) == everything(library)


def test_inside_a_task_splits_go_on_together_within_an_epoch() -> None:
    library = library_of(a=range(100), b=range(100))
    # One record at a time is in the channel: what is fetched ahead counts for the epoch's limit.
    epochs = Query(library, parallelism=1, barrier=Barrier(rows=80), budget_bytes=1).run()
    check_alignment(library, epochs)
    # Paused and resumed many times in one epoch: it is far longer than the skew.
    assert max(number for _, number in epochs[0]) > 2 * SKEW_MS


def test_one_that_is_ahead_is_not_asked_again_until_the_others_have_come_near() -> None:
    library = library_of(old=range(200), young=[1_000, 1_001])
    query = Query(library, parallelism=1)
    query.run()
    assert sorted(query.rows) == everything(library)
    # In the first epoch, which did not know its time yet, and when its turn had come.
    assert library.fetched.count(("young",)) <= 2 + 2


def test_progress_reports_show_who_waits_and_for_whom() -> None:
    query = Query(library_of(old=range(100), young=[1_000], ended=[3]), barrier=Barrier(rows=5))
    reports: list[QueryLag] = []
    for _ in range(4):
        query.batch()
        progress = [(query.log[-1], query.coordinator.latest())]
        reports += [lag for lag in [lag_of("q", 0, 0.0, progress)] if lag is not None]
    last = reports[-1]
    assert last.fronts_ms["young"] == 1_000
    assert 0 <= last.fronts_ms["old"] < 100
    assert last.skew_ms == 1_000 - last.fronts_ms["old"]
    assert last.held_back_by == "old"
    assert {"old", "young"} <= positions_by_split(query.log[-1]).keys(), "one that waits is shown, too"
    query.library.pages["new"] = [Page((0,))]
    query.library.goes_on["new"] = None
    query.clock.advance(POLL_MS)
    query.batch()
    (lag,) = [lag_of("q", 0, 0.0, [(query.log[-1], query.coordinator.latest())])]
    assert lag is not None
    assert (lag.unread, lag.held_back_by) == (("new",), "new")
    query.run()
    latest = query.coordinator.latest() or {}
    assert {"source", "version", "checkpoint"} <= latest.keys()
    assert "fronts_ms" not in latest, "nobody waits"


def test_of_many_splits_that_are_ahead_few_wait_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.readers.runtime.epoch.aligned_node.MOST_HELD", 3)
    young = {f"young{number}": [Page((1_000 + number,))] for number in range(20)}
    library = Library({**young, "old": [Page((time_ms,)) for time_ms in range(0, 50, 5)]})
    library.goes_on = dict.fromkeys(library.pages)
    query = Query(library, parallelism=1)
    epochs = query.run()
    check_alignment(library, epochs, skew_ms=20)
    assert sorted(query.rows) == everything(library)


def test_a_split_that_has_nothing_more_holds_nobody_back() -> None:
    library = library_of(ended=[5], empty=[], other=range(0, 400, 4))
    query = Query(library)
    query.run()
    assert sorted(query.rows) == everything(library)


def test_with_an_idle_timeout_a_silent_split_is_waited_for_that_long_and_no_longer() -> None:
    library = library_of(silent=[0], other=range(0, 100, 5))
    query = Query(library, idle_timeout_ms=60_000)
    rows: Rows = []
    for _ in range(5):
        rows += query.batch() or []
        query.clock.advance(2 * POLL_MS)
    assert max(number for _, number in rows) <= SKEW_MS
    query.clock.advance(60_000)
    for _ in range(8):
        rows += query.batch() or []
        query.clock.advance(2 * POLL_MS)
    assert sorted(rows) == everything(library)


def test_available_now_ends_when_all_is_read_though_a_silent_split_is_waited_for_otherwise() -> None:
    library = library_of(silent=[0], other=range(0, 100, 5))
    query = Query(library, idle_timeout_ms=60_000)
    query.run()
    assert sorted(query.rows) == everything(library)


def test_once_reads_everything_in_one_epoch_which_is_not_aligned() -> None:
    library = library_of(old=range(0, 100, 3), young=range(500, 600, 3))
    query = Query(library)
    assert sorted(query.batch(limited=False) or []) == everything(library)


def test_a_new_split_that_is_old_is_waited_for() -> None:
    library = library_of(young=range(1_000, 1_100, 5))
    query = Query(library, barrier=Barrier(rows=2))
    query.batch()
    library.pages["old"] = [Page((number,)) for number in range(0, 50, 5)]
    library.goes_on["old"] = None
    before = len(query.rows)
    query.run()
    assert [label for label, _ in query.rows[before:]][:10] == ["old"] * 10
    assert sorted(query.rows) == everything(library)


def test_a_page_that_spans_more_than_the_skew_comes_when_its_split_is_behind_the_others() -> None:
    library = Library(
        {"a": [Page((0, 90)), Page((95, 200))], "b": [Page((50, 160)), Page((170, 180))]},
        goes_on={"a": None, "b": None},
    )
    query = Query(library)
    query.run()
    assert sorted(query.rows) == everything(library)


@hypothesis.settings(max_examples=40, deadline=None)
@hypothesis.given(seed=st.integers(0, 1 << 32))
def test_however_epochs_are_cut_left_read_twice_and_restarted_no_row_is_lost_and_none_is_far_ahead(
    seed: int,
) -> None:
    rng = random.Random(seed)
    library = Library()
    for label in "abcd"[: rng.randint(1, 4)]:
        first = rng.choice([0, 0, 30, 200])
        times = sorted(rng.randrange(first, first + 120) for _ in range(rng.randint(0, 25)))
        library.pages[label] = [Page((time_ms,)) for time_ms in times]
        library.goes_on[label] = None
    query = Query(
        library,
        parallelism=rng.randint(1, 3),
        threads=rng.randint(1, 2),
        mode=rng.choice([AlignmentMode.ALIGNED, AlignmentMode.UNALIGNED]),
        barrier=Barrier(rows=rng.choice([1, 5, 30])),
    )
    # Rows in flight come first in the next epoch, unless its readers are left too.
    leave = [None, None, 0, 2] if query.mode is AlignmentMode.ALIGNED else [None]
    epochs: list[Rows] = []
    query.coordinator.prepare_for_available_now()
    while (rows := query.batch(leave_after=rng.choice(leave))) is not None:
        epochs.append(rows)
        assert len(epochs) < 1_000
        if rng.random() < 0.3:
            again = [row for task in query.tasks for row in query.read(task)]
            assert sorted(again) == sorted(rows)
        if rng.random() < 0.2:
            query.restart()
            query.coordinator.prepare_for_available_now()
    assert sorted(query.rows) == everything(library)
    check_alignment(library, epochs)


class Forgetful:
    """A service that answers about some rows only when it was asked several times: until then it hangs."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._hangs: dict[tuple[str, int], int] = {}

    async def __call__(self, row: Any) -> tuple[str, int]:
        key = (row.label, row.number)
        left = self._hangs.setdefault(key, self._rng.choice([0] * 6 + [1, 3]))
        self._hangs[key] -= 1
        if left > 0:
            await asyncio.Event().wait()
        return key


@hypothesis.settings(max_examples=15, deadline=None)
@hypothesis.given(seed=st.integers(0, 1 << 32))
def test_rows_whose_calls_are_stored_hold_all_others_back(seed: int) -> None:
    rng = random.Random(seed)
    library = library_of(
        **{label: sorted(rng.randrange(90) for _ in range(rng.randint(1, 20))) for label in "abc"}
    )
    query = Query(
        library,
        parallelism=rng.randint(1, 3),
        mode=AlignmentMode.UNALIGNED,
        barrier=Barrier(rows=rng.choice([2, 6]), duration_ms=20),
        calls=calls_of(
            Forgetful(rng), mode=rng.choice([OutputMode.ORDERED, OutputMode.UNORDERED]), capacity=100
        ),
    )
    epochs: list[Rows] = []
    query.coordinator.prepare_for_available_now()
    while (rows := query.batch()) is not None:
        epochs.append(rows)
        assert len(epochs) < 1_000
        if rng.random() < 0.2:
            query.restart()
            query.coordinator.prepare_for_available_now()
    assert sorted(query.rows) == everything(library)
    check_alignment(library, epochs)


def test_a_plan_over_many_splits_takes_one_look_at_each() -> None:
    """As the number of comparisons, not as a time."""
    looks = 0

    class Counted(dict[SplitPath, int | None]):
        def get(self, path: SplitPath, default: Any = None) -> Any:
            nonlocal looks
            looks += 1
            return super().get(path, default)

        def items(self) -> Any:
            nonlocal looks
            looks += len(self)
            return super().items()

    many = 10_000
    fronts = Counted({(f"{number}",): 1_000 * number for number in range(many)})
    alignment = EpochAlignment(EventTimeSettings("t", 5_000), ManualClock())
    assert len(alignment.admitted([*fronts], fronts)) == 6
    assert looks <= 4 * many


def test_records_are_admitted_by_the_split_that_is_behind_all_others() -> None:
    alignment = SplitAlignment(TaskAlignment("t", 10, False, {("a",): 100, ("b",): None, (): 95}))
    assert not alignment.admits(("a",), EventTimeSpan(100, 101))
    assert alignment.admits(("b",), EventTimeSpan(90, 500))
    assert alignment.admits(("a",), None)
    alignment.emitted(("b",), EventTimeSpan(90, 120))
    assert alignment.admits(("a",), EventTimeSpan(100, 105))
    assert not alignment.admits(("a",), EventTimeSpan(100, 106))
    assert not alignment.admits(("found",), EventTimeSpan(200, 200))
    alignment.held(("b",), EventTimeSpan(121, 130))
    assert {front.path: (front.time_ms, front.is_held) for front in alignment.fronts()} == {
        ("a",): (100, False),
        ("b",): (121, True),
    }


def test_times_are_those_of_any_timestamp_or_date() -> None:
    at_ms = 1_577_836_800_000
    for kind in (
        pa.timestamp("s", "UTC"),
        pa.timestamp("us"),
        pa.timestamp("ns", "Europe/Berlin"),
        pa.date32(),
    ):
        times = pa.array([at_ms, None], pa.timestamp("ms", getattr(kind, "tz", None))).cast(kind)
        batch = pa.RecordBatch.from_arrays([times], ["t"])
        assert time_span([batch], "t") == (at_ms, at_ms)
    assert time_span([batch.slice(1)], "t") is None
    assert time_span([], "t") is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"maxEventTimeSkew": "30s"}, "needs option 'eventTimeColumn'"),
        ({"eventTimeColumn": "t"}, "requires option 'maxEventTimeSkew'"),
        ({"eventTimeIdleTimeout": "1m"}, "requires option 'maxEventTimeSkew'"),
        ({"maxEventTimeSkew": "0", "eventTimeColumn": "t"}, "more than 0"),
        (
            {"maxEventTimeSkew": "30s", "eventTimeColumn": "t", "barrierInterval": "0"},
            "needs a limit for an epoch",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, str], message: str) -> None:
    table = OptionTable(BARRIER_OPTIONS)
    interval = next(option for option in BARRIER_OPTIONS if option.name == "barrierInterval")

    def settings() -> EventTimeSettings | None:
        options = table.parse(given, Boundedness.CONTINUOUS_UNBOUNDED)
        return event_time_settings(options, Barrier(duration_ms=options[interval] or None))

    with pytest.raises(OptionError, match=message):
        settings()


@pytest.mark.parametrize("column", ["nothing", "number"])
def test_a_column_that_is_not_there_or_no_time_is_refused_when_the_query_starts(column: str) -> None:
    settings = EventTimeSettings(column, SKEW_MS)
    with pytest.raises(OptionError, match="eventTimeColumn"):
        settings.check(TimedSource(Library()))

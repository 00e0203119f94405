"""Planning, the offset log's rules, AvailableNow, hand-back: design section 3, contract by contract."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.coordinator import PlannedCoordinator
from headwater.connector.planned.planning import PlanningHints
from headwater.core.clock import ManualClock
from headwater.core.errors import ContractError, DeadlineError, OffsetError, SourceError, TransientSourceError
from headwater.core.jsons import JsonObject
from headwater.core.losses import NO_LOSSES, LostRange
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.readers.runtime.loss_reports import LossReports
from headwater.readers.runtime.source_reader import read_ranges
from tests.doubles import NumberSource, NumberSplit


class Harness:
    """A coordinator over `NumberSource`, and restarts of it."""

    def __init__(self) -> None:
        self.source = NumberSource()
        self.outside = self.source.outside
        self.clock = ManualClock()
        self._open: list[PlannedCoordinator[Any, Any]] = []

    def coordinator(self, **limits: Any) -> PlannedCoordinator[Any, Any]:
        made: PlannedCoordinator[Any, Any] = PlannedCoordinator(
            self.source,
            ReadLimits(**limits),
            PlanningHints(parallelism=2),
            Backoff(deadline_ms=1_000),
            self.clock,
            wall_ms=lambda: 1_000,
        )
        self._open.append(made)
        return made

    def close(self) -> None:
        for coordinator in self._open:
            coordinator.close()


@pytest.fixture
def harness() -> Iterator[Harness]:
    made = Harness()
    yield made
    made.close()


def logged(offset: JsonObject) -> JsonObject:
    """What Spark's log makes of an offset."""
    copy: JsonObject = json.loads(json.dumps(offset))
    return copy


def read(
    coordinator: PlannedCoordinator[Any, Any], start: JsonObject, end: JsonObject
) -> dict[str, tuple[int, int]]:
    ranges = [piece for task in coordinator.tasks(logged(start), logged(end)) for piece in task.ranges]
    return {piece.split.label: (piece.start, piece.stop) for piece in ranges}


def test_the_genesis_is_a_constant_that_asks_nobody(harness: Harness) -> None:
    assert (
        harness.coordinator().initial_offset()
        == harness.coordinator().initial_offset()
        == {"source": "numbers", "version": 2}
    )
    assert harness.outside.looks == 0


def test_the_first_offset_logs_resolved_starts_even_if_there_is_nothing_to_read(harness: Harness) -> None:
    harness.outside.heads["a"], harness.outside.first["a"] = 7, 7
    first = harness.coordinator()
    genesis = first.initial_offset()
    end = first.plan_next(genesis, limited=True)
    assert end != genesis
    assert read(first, genesis, end) == {}
    harness.outside.heads["a"], harness.outside.first["a"] = 9, 9
    restarted = harness.coordinator()
    assert read(restarted, logged(end), restarted.plan_next(logged(end), limited=True)) == {"a": (7, 9)}


def test_batch_zero_replayed_in_a_new_process_reads_the_logged_range(harness: Harness) -> None:
    harness.outside.heads["a"], harness.outside.first["a"] = 10, 4
    crashed = harness.coordinator()
    end = crashed.plan_next(crashed.initial_offset(), limited=True)
    harness.outside.heads["a"], harness.outside.first["a"] = 50, 50
    restarted = harness.coordinator()
    assert read(restarted, restarted.initial_offset(), end) == {"a": (4, 10)}
    assert harness.outside.looks == 1


def test_no_work_returns_the_start_byte_for_byte(harness: Harness) -> None:
    harness.outside.heads["a"] = 3
    coordinator = harness.coordinator()
    end = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    assert coordinator.plan_next(end, limited=True) is end


def test_a_new_split_without_records_is_logged_once(harness: Harness) -> None:
    harness.outside.heads["a"] = 3
    coordinator = harness.coordinator()
    end = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    harness.outside.heads["new-but-empty"] = 0
    found = logged(coordinator.plan_next(end, limited=True))
    assert found["positions"] == {"a": 3, "new-but-empty": 0}
    assert coordinator.tasks(end, found) == []
    assert coordinator.plan_next(found, limited=True) is found


def test_a_split_found_later_logs_its_start_inside_the_end(harness: Harness) -> None:
    harness.outside.heads["a"] = 3
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    harness.outside.heads["b"], harness.outside.first["b"] = 8, 2
    second = logged(coordinator.plan_next(first, limited=True))
    assert read(harness.coordinator(), first, second) == {"b": (2, 8)}
    assert second["starts"] == {"b": 2}
    harness.outside.heads["a"] = 4
    assert "starts" not in coordinator.plan_next(second, limited=True)


def test_a_replaced_split_of_the_same_path_begins_anew(harness: Harness) -> None:
    harness.outside.heads["a"] = 30
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    harness.outside.generations["a"], harness.outside.heads["a"] = 1, 5
    second = logged(coordinator.plan_next(first, limited=True))
    assert read(coordinator, first, second) == {"a": (0, 5)}


def test_a_retired_split_leaves_the_offset_but_a_planned_batch_still_reads_it(harness: Harness) -> None:
    harness.outside.heads.update(a=3, b=3)
    coordinator = harness.coordinator()
    genesis = coordinator.initial_offset()
    first = logged(coordinator.plan_next(genesis, limited=True))
    del harness.outside.heads["b"]
    harness.outside.heads["a"] = 4
    second = coordinator.plan_next(first, limited=True)
    assert read(coordinator, genesis, first) == {"a": (0, 3), "b": (0, 3)}
    assert second["positions"] == {"a": 4}


def test_a_split_that_leaves_is_logged_even_if_there_is_nothing_to_read(harness: Harness) -> None:
    harness.outside.heads.update(a=3, b=3)
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    del harness.outside.heads["b"]
    second = logged(coordinator.plan_next(first, limited=True))
    assert second["positions"] == {"a": 3}
    assert read(coordinator, first, second) == {}
    assert coordinator.plan_next(second, limited=True) is second


def test_so_is_a_split_that_is_replaced_by_one_without_records(harness: Harness) -> None:
    harness.outside.heads["a"] = 30
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    harness.outside.generations["a"], harness.outside.heads["a"] = 1, 0
    second = logged(coordinator.plan_next(first, limited=True))
    assert (second["positions"], second["splits"]) == ({"a": 0}, {"a": 1})
    assert coordinator.plan_next(second, limited=True) is second


def test_equal_offsets_are_equal_texts_whatever_the_order_of_discovery(harness: Harness) -> None:
    harness.outside.heads.update(b=1, a=2)
    one = harness.coordinator().plan_next({"source": "numbers", "version": 1}, limited=True)
    harness.outside.heads = {"a": 2, "b": 1}
    two = harness.coordinator().plan_next({"source": "numbers", "version": 1}, limited=True)
    assert json.dumps(one) == json.dumps(two)


def test_limits_share_the_budget_and_do_not_count_under_once(harness: Harness) -> None:
    harness.outside.heads.update(a=1_000, b=10)
    coordinator = harness.coordinator(max_rows=101)
    genesis = coordinator.initial_offset()
    assert coordinator.plan_next(genesis, limited=True)["positions"] == {"a": 100, "b": 1}
    assert coordinator.plan_next(genesis, limited=False)["positions"] == {"a": 1_000, "b": 10}


def test_a_minimum_waits_for_records_or_for_the_delay(harness: Harness) -> None:
    harness.outside.heads["a"] = 0
    coordinator = harness.coordinator(min_rows=10, max_delay_ms=500)
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    harness.outside.heads["a"] = 1
    assert coordinator.plan_next(first, limited=True) is first
    harness.clock.advance(500)
    assert coordinator.plan_next(first, limited=True)["positions"] == {"a": 1}


def test_the_first_batch_after_a_restart_does_not_wait_for_the_minimum(harness: Harness) -> None:
    harness.outside.heads["a"] = 20
    stopped = harness.coordinator(min_rows=10, max_delay_ms=500)
    first = logged(stopped.plan_next(stopped.initial_offset(), limited=True))
    harness.outside.heads["a"] = 26
    assert stopped.plan_next(first, limited=True) is first
    restarted = harness.coordinator(min_rows=10, max_delay_ms=500)
    second = logged(restarted.plan_next(first, limited=True))
    assert second["positions"] == {"a": 26}
    harness.outside.heads["a"] = 30
    assert restarted.plan_next(second, limited=True) is second


def test_available_now_ignores_the_minimum_and_what_comes_later(harness: Harness) -> None:
    harness.outside.heads["a"] = 5
    coordinator = harness.coordinator(min_rows=100, max_rows=3)
    coordinator.prepare_for_available_now()
    assert harness.outside.looks == 0
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    harness.outside.heads.update(a=50, b=50)
    second = logged(coordinator.plan_next(first, limited=True))
    assert (first["positions"], second["positions"]) == ({"a": 3}, {"a": 5, "b": 0})
    assert coordinator.plan_next(second, limited=True) is second


class Mixed(NumberSource):
    """Splits that are read whole, such as files, and others, as a chain of sources has them."""

    def is_bounded(self, split: NumberSplit) -> bool:
        return split.label.startswith("whole")


@pytest.fixture
def mixed(harness: Harness) -> Harness:
    harness.source = Mixed(harness.outside)
    return harness


def test_beside_splits_that_are_read_whole_the_others_end_an_available_now_run(mixed: Harness) -> None:
    """What is read whole belongs to the run also if it was found later: the enumerator keeps its end."""
    mixed.outside.heads.update(whole=5, log=5)
    coordinator = mixed.coordinator()
    coordinator.prepare_for_available_now()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    mixed.outside.heads.update(log=50, whole2=7)
    second = logged(coordinator.plan_next(first, limited=True))
    assert second["positions"] == {"whole": 5, "log": 5, "whole2": 7}
    assert coordinator.plan_next(second, limited=True) is second


def test_limits_cut_a_batch_only_where_not_all_of_its_splits_are_read_whole(mixed: Harness) -> None:
    mixed.outside.heads.update(whole=9, whole2=9)
    coordinator = mixed.coordinator(max_rows=6)
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    assert first["positions"] == {"whole": 9, "whole2": 9}
    mixed.outside.heads["log"] = 50
    second = logged(coordinator.plan_next(first, limited=True))
    assert second["positions"] == {"whole": 9, "whole2": 9, "log": 6}


def test_the_end_of_an_available_now_run_is_told_once_all_of_it_is_committed(harness: Harness) -> None:
    harness.outside.heads["a"] = 5
    coordinator = harness.coordinator()
    coordinator.prepare_for_available_now()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    harness.outside.heads["a"] = 9
    assert harness.outside.ends_of_input == 0
    assert coordinator.plan_next(first, limited=True) is first
    assert (harness.outside.ends_of_input, harness.outside.completed) == (1, [{("a",): 5}])
    # An idle trigger of a query that goes on is no end.
    other = harness.coordinator()
    following = logged(other.plan_next(first, limited=True))
    assert other.plan_next(following, limited=True) is following
    assert harness.outside.ends_of_input == 1


def test_available_now_after_a_crash_takes_its_target_from_the_new_run(harness: Harness) -> None:
    harness.outside.heads["a"] = 5
    first = harness.coordinator()
    end = logged(first.plan_next(first.initial_offset(), limited=True))
    harness.outside.heads["a"] = 8
    restarted = harness.coordinator()
    restarted.prepare_for_available_now()
    assert restarted.plan_next(end, limited=True)["positions"] == {"a": 8}


def test_asking_for_the_next_batch_proves_that_the_last_one_is_committed(harness: Harness) -> None:
    harness.outside.heads["a"] = 5
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    assert harness.outside.completed == []
    coordinator.plan_next(first, limited=True)
    coordinator.commit(first)
    assert harness.outside.completed == [{("a",): 5}]


def test_splits_of_a_plan_that_was_never_logged_are_given_back(harness: Harness) -> None:
    harness.outside.heads["a"] = 5
    coordinator = harness.coordinator()
    coordinator.plan_next(coordinator.initial_offset(), limited=True)
    again = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    assert harness.outside.returned == [NumberSplit("a")]
    coordinator.plan_next(again, limited=True)
    assert harness.outside.returned == [NumberSplit("a")]


def test_passing_failures_are_retried_and_final_ones_are_not(harness: Harness) -> None:
    harness.outside.heads["a"] = 5
    coordinator = harness.coordinator()
    harness.outside.failures = [TransientSourceError("away"), TransientSourceError("still away")]
    assert coordinator.plan_next(coordinator.initial_offset(), limited=True)["positions"] == {"a": 5}
    harness.outside.failures = [SourceError("no")]
    with pytest.raises(SourceError, match="no"):
        coordinator.plan_next(coordinator.initial_offset(), limited=True)


def test_the_deadline_ends_the_retries_and_names_the_last_answer(harness: Harness) -> None:
    harness.outside.failures = [TransientSourceError("away") for _ in range(100)]
    coordinator = harness.coordinator()
    with pytest.raises(DeadlineError, match=r"numbers: no answer after \d+ attempts in \d+ ms: away"):
        coordinator.plan_next(coordinator.initial_offset(), limited=True)


def test_every_enumerator_call_is_on_the_coordinator_thread_and_slow_calls_are_not(harness: Harness) -> None:
    seen: list[str] = []
    harness.outside.before_look = lambda: seen.append(threading.current_thread().name)
    coordinator = harness.coordinator()
    coordinator.plan_next(coordinator.initial_offset(), limited=True)
    assert seen == ["headwater-worker"]


def test_no_thread_outlives_close(harness: Harness) -> None:
    before = set(threading.enumerate())
    coordinator = harness.coordinator()
    coordinator.plan_next(coordinator.initial_offset(), limited=True)
    coordinator.close()
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name.startswith("headwater-")]


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        ({"source": "kafka", "version": 1}, "belongs to the source 'kafka', not to 'numbers'"),
        ({"source": "numbers", "version": 3}, "has version 3; this headwater reads versions 1 to 2"),
        ({"logOffset": 3}, "belongs to another source"),
        ({"source": "numbers", "version": 1, "positions": 3}, "cannot be read"),
    ],
)
def test_an_offset_of_another_source_or_version_is_refused(
    harness: Harness, offset: JsonObject, message: str
) -> None:
    with pytest.raises(OffsetError, match=message):
        harness.coordinator().plan_next(offset, limited=True)


def test_ten_thousand_splits_are_all_planned_and_all_cut_into_tasks(harness: Harness) -> None:
    harness.outside.heads.update((f"split-{i}", i) for i in range(10_000))
    coordinator = harness.coordinator()
    genesis = coordinator.initial_offset()
    end = coordinator.plan_next(genesis, limited=True)
    found = read(coordinator, genesis, end)
    assert len(found) == 9_999
    assert all(found[f"split-{i}"] == (0, i) for i in range(1, 10_000))


def test_a_batch_read_leaves_open_what_the_source_does_also_of_splits_without_records(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave_open(
        _: NumberSource, piece: SplitRange[NumberSplit, int], whole: SplitRange[NumberSplit, int]
    ) -> SplitRange[NumberSplit, int]:
        assert whole.start <= piece.start <= piece.stop <= whole.stop
        return SplitRange(piece.split, piece.start, -1) if piece.stop == whole.stop else piece

    monkeypatch.setattr(NumberSource, "leave_open", leave_open)
    harness.outside.heads.update(a=3, b=4)
    harness.outside.first["b"] = 4
    tasks = harness.coordinator().plan_all()
    assert {(p.split.label, p.start, p.stop) for task in tasks for p in task.ranges} == {
        ("a", 0, -1),
        ("b", 4, -1),
    }


def test_a_batch_read_goes_from_the_first_position_to_the_head(harness: Harness) -> None:
    harness.outside.heads.update(a=3, b=5)
    harness.outside.first["b"] = 4
    tasks = harness.coordinator(max_rows=1).plan_all()
    assert {(p.split.label, p.start, p.stop) for task in tasks for p in task.ranges} == {
        ("a", 0, 3),
        ("b", 4, 5),
    }


def test_a_split_out_of_sight_goes_on_at_its_position_when_it_is_back(harness: Harness) -> None:
    harness.outside.heads.update(a=3, b=3)
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    harness.outside.hidden.add("b")
    harness.outside.heads.update(a=4, b=8)
    second = logged(coordinator.plan_next(first, limited=True))
    assert second["positions"] == {"a": 4}
    assert second["kept"] == {"b": {"position": 3, "since_ms": 1_000, "split": {"b": 0}}}
    restarted = harness.coordinator()
    assert restarted.plan_next(second, limited=True) is second
    harness.outside.hidden.clear()
    third = logged(restarted.plan_next(second, limited=True))
    assert read(restarted, second, third) == {"b": (3, 8)}
    assert (third["positions"], "kept" in third) == ({"a": 4, "b": 8}, False)


def test_a_split_that_only_goes_out_of_sight_or_comes_back_makes_no_batch(harness: Harness) -> None:
    harness.outside.heads.update(a=3, b=3)
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    harness.outside.hidden.add("b")
    assert coordinator.plan_next(first, limited=True) is first
    harness.outside.heads["a"] = 4
    second = logged(coordinator.plan_next(first, limited=True))
    harness.outside.hidden.clear()
    assert coordinator.plan_next(second, limited=True) is second
    harness.outside.heads["b"] = 5
    third = logged(coordinator.plan_next(second, limited=True))
    assert read(harness.coordinator(), second, third) == {"b": (3, 5)}


def test_available_now_ends_at_once_where_everything_is_out_of_sight_and_the_next_run_goes_on(
    harness: Harness,
) -> None:
    harness.outside.heads.update(a=3, b=3)
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    harness.outside.hidden.update("ab")
    harness.outside.heads.update(a=4, b=4)
    blind = harness.coordinator()
    blind.prepare_for_available_now()
    assert blind.plan_next(first, limited=True) is first
    harness.outside.hidden.clear()
    following = harness.coordinator()
    following.prepare_for_available_now()
    second = logged(following.plan_next(first, limited=True))
    assert read(following, first, second) == {"a": (3, 4), "b": (3, 4)}


def test_a_kept_split_that_is_retired_is_forgotten_in_a_batch_without_rows(harness: Harness) -> None:
    harness.outside.heads.update(a=3, b=3)
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    harness.outside.hidden.add("b")
    harness.outside.heads["a"] = 4
    second = logged(coordinator.plan_next(first, limited=True))
    del harness.outside.heads["b"]
    third = logged(coordinator.plan_next(second, limited=True))
    assert read(coordinator, second, third) == {}
    assert "kept" not in third


def test_a_loss_is_logged_with_the_position_behind_it_even_if_there_is_nothing_to_read(
    harness: Harness,
) -> None:
    harness.outside.heads["a"] = 3
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    harness.outside.heads["a"], harness.outside.gone["a"] = 7, 7
    second = logged(coordinator.plan_next(first, limited=True))
    assert read(coordinator, first, second) == {}
    assert second["losses"] == {
        "rows": 4,
        "at_least_rows": 0,
        "ranges": [{"split": "a", "first": 3, "until": 7, "found": "planning", "time_ms": 1_000}],
    }
    assert harness.coordinator().plan_next(second, limited=True) is second
    harness.outside.heads["a"] = 8
    third = coordinator.plan_next(second, limited=True)
    assert (third["losses"], third["positions"]) == (second["losses"], {"a": 8})


def test_what_a_task_found_is_counted_once_also_if_there_is_nothing_to_read(harness: Harness) -> None:
    harness.outside.heads["a"] = 9
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    found = LostRange("a", 2, 6, "task", 5)
    coordinator._reports.losses.add([found])
    given_up = coordinator.plan_next(first, limited=True)
    second = logged(coordinator.plan_next(first, limited=True))
    assert given_up["losses"] == second["losses"] == NO_LOSSES.plus([found], distance).to_json()
    assert read(coordinator, first, second) == {}
    coordinator._reports.losses.add([found])
    assert coordinator.plan_next(second, limited=True) is second
    harness.outside.heads["a"] = 11
    assert coordinator.plan_next(second, limited=True)["losses"] == second["losses"]


def test_tasks_of_a_stream_report_losses_to_the_driver(harness: Harness) -> None:
    harness.outside.heads["a"] = 9
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    (task,) = coordinator.tasks(coordinator.initial_offset(), first)
    piece = task.ranges[0]
    for _attempt in range(3):
        LossReports(task.reports_to)(piece.split, 2, 6, "were lost")
    second = logged(coordinator.plan_next(first, limited=True))
    assert second["losses"] == NO_LOSSES.plus([LostRange("a", 2, 6, "task", 1_000)], distance).to_json()


def test_progress_says_what_tasks_have_read_and_how_often_the_outside_was_asked_again(
    harness: Harness,
) -> None:
    harness.outside.heads["a"] = 9
    harness.outside.failures = [TransientSourceError("away"), TransientSourceError("still away")]
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    (task,) = coordinator.tasks(coordinator.initial_offset(), first)
    read_bytes = sum(batch.nbytes for batch in read_ranges(harness.source, task.ranges, task.reports_to))
    # A report that is answered comes behind that of the bytes.
    LossReports(task.reports_to)(task.ranges[0].split, 2, 6, "were lost")
    latest = coordinator.latest()
    assert latest is not None
    metrics: Any = latest["metrics"]
    assert (metrics["numBytesIn"], metrics["planningRetries"]) == (read_bytes, 2)
    assert read_bytes > 0


def test_gauges_of_any_source_are_reported_and_its_lag_is_over_where_a_batch_leaves_nothing(
    harness: Harness,
) -> None:
    snapshot = {"numSnapshotSplitsFinished": 2, "numSnapshotSplitsRemaining": 3, "retainedBytes": 70}
    harness.outside.heads["a"] = 9
    harness.outside.gauges = {**snapshot, "lagTime": 400}
    coordinator = harness.coordinator(max_rows=5)
    offset = coordinator.initial_offset()
    ages = []
    for _ in range(2):
        offset = logged(coordinator.plan_next(offset, limited=True))
        report = coordinator.latest() or {}
        metrics: Any = report["metrics"]
        assert metrics.items() >= snapshot.items()
        ages.append(metrics["lagTime"])
        assert "unit" not in report, "positions of this source count numbers"
    assert ages == [400, 0]


def test_an_enumerator_has_no_gauges_but_those_that_are_declared(harness: Harness) -> None:
    harness.outside.heads["a"] = 9
    harness.outside.gauges = {"chunks": 3}
    coordinator = harness.coordinator()
    with pytest.raises(ContractError, match="gauges: 'chunks' is no gauge that is declared"):
        coordinator.plan_next(coordinator.initial_offset(), limited=True)


def test_a_source_is_idle_from_the_last_batch_that_had_rows(harness: Harness) -> None:
    harness.outside.heads["a"] = 9
    coordinator = harness.coordinator(max_rows=5)
    offset = coordinator.initial_offset()
    idle = []
    for _ in range(4):
        harness.clock.advance(100)
        offset = logged(coordinator.plan_next(offset, limited=True))
        metrics: Any = (coordinator.latest() or {})["metrics"]
        idle.append((metrics["sourceIdleTime"], metrics["pendingRecords"], metrics["isProcessingBacklog"]))
    assert idle == [(0, 4, 1), (0, 0, 0), (100, 0, 0), (200, 0, 0)]


def test_a_task_that_is_left_early_tells_what_it_read_until_then(harness: Harness) -> None:
    harness.outside.heads["a"] = 9
    coordinator = harness.coordinator()
    first = logged(coordinator.plan_next(coordinator.initial_offset(), limited=True))
    (task,) = coordinator.tasks(coordinator.initial_offset(), first)
    rows = read_ranges(harness.source, task.ranges, task.reports_to)
    read_bytes = next(rows).nbytes
    rows.close()
    LossReports(task.reports_to)(task.ranges[0].split, 2, 6, "were lost")
    latest = coordinator.latest()
    assert latest is not None
    metrics: Any = latest["metrics"]
    assert metrics["numBytesIn"] == read_bytes


def test_nothing_listens_where_no_offset_follows(harness: Harness) -> None:
    harness.outside.heads["a"] = 9
    harness.source.mode = Boundedness.BOUNDED
    (task,) = harness.coordinator().plan_all()
    assert task.reports_to is None


def distance(first: int, until: int) -> int:
    return until - first


def test_an_offset_of_version_1_goes_on_and_stays_as_it_is_while_there_is_nothing_to_do(
    harness: Harness,
) -> None:
    harness.outside.heads.update(a=3)
    old: JsonObject = {"positions": {"a": 3}, "source": "numbers", "splits": {"a": 0}, "version": 1}
    coordinator = harness.coordinator()
    assert coordinator.plan_next(old, limited=True) is old
    harness.outside.heads.update(a=5)
    new = logged(coordinator.plan_next(old, limited=True))
    assert new["version"] == 2
    assert read(harness.coordinator(), old, new) == {"a": (3, 5)}

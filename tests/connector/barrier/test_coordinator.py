"""The life of epochs: opened when a split is due, taken up in one step, sealed, left early, shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headwater.connector.barrier.coordinator import BarrierCoordinator
from headwater.connector.barrier.options import BARRIER_OPTIONS, EpochSettings
from headwater.core.epoch import Barrier, Failing
from headwater.core.retry import Backoff
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.epoch.read_epoch import read_epoch
from headwater.readers.runtime.epoch.task import EpochTask
from tests.connector.barrier.epoch_queries import POLL_MS, Query
from tests.doubles import NumberSplit
from tests.epoch_doubles import Logs, LogSource, MainThreadClock, open_plain_reader, rows_of


def test_every_row_comes_once_whatever_the_number_of_epochs() -> None:
    query = Query(Logs({"a": 17, "b": 6}))
    query.drain()
    assert sorted(query.rows) == query.outside.everything()
    assert len(query.log) > 3


def test_the_first_answer_is_never_the_genesis_though_there_is_nothing_to_read() -> None:
    query = Query(Logs({}))
    assert query.batch() == []
    assert query.batch() is None


def test_no_epoch_is_opened_while_nothing_is_due() -> None:
    query = Query(Logs({"a": 2}))
    assert query.batch() == [("a", 0), ("a", 1), *[("a/0", number) for number in range(2)]]
    assert query.batch() == [("a/0", 2)]
    held = dict(query.store._objects)
    assert query.batch() is None
    assert query.batch() is None
    assert query.store._objects == held


def test_a_split_that_was_caught_up_is_looked_at_again_after_the_poll_interval() -> None:
    query = Query(Logs({"a": 0}))
    assert query.batch() == []
    query.outside.lengths["a"] = 1
    assert query.batch() is None
    query.clock.advance(POLL_MS - 1)
    assert query.batch() is None
    query.clock.advance(1)
    assert query.batch() == [("a", 0), ("a/0", 0), ("a/0", 1), ("a/0", 2)]


COMMIT_MS = 300
"""What Spark and a sink take between two epochs."""


def test_by_default_a_row_of_a_quiet_split_is_read_within_two_seconds_beside_a_backlog_too() -> None:
    defaults = {each.name: each.default for each in BARRIER_OPTIONS}
    interval_ms, poll_ms = defaults["barrierInterval"], defaults["pollInterval"]
    alone = Query(Logs({"a": 0}), poll_interval_ms=poll_ms)
    alone.batch()
    # It appears at once behind the look at the split, whose epoch ends with that.
    alone.outside.lengths["a"] = 1
    alone.clock.advance(COMMIT_MS)
    waited_ms = COMMIT_MS
    while not alone.batch():
        alone.clock.advance(10)
        waited_ms += 10
    assert waited_ms + COMMIT_MS < 2_000
    busy = Query(Logs({"a": 0, "b": 100}), poll_interval_ms=poll_ms)
    busy.batch()
    busy.outside.lengths["a"] = 1
    # The epoch goes on to its barrier; the one behind it has the row.
    busy.clock.advance(interval_ms + COMMIT_MS)
    assert ("a", 0) in (busy.batch() or [])
    assert interval_ms + COMMIT_MS < 2_000


def test_a_split_is_not_read_before_its_time_also_after_a_restart() -> None:
    query = Query(Logs({"a": 1, "b": 40}, not_before_ms={"a": 60_000}), barrier=Barrier(rows=10))
    query.batch()
    query.batch()
    query.restart()
    assert query.plan() is not None
    assert ("a",) not in [piece.split.path for task in query.tasks() for piece in task.ranges]
    query.clock.advance(60_000)
    query.restart()
    query.batch()
    assert [("a",) in [piece.split.path for task in query.tasks() for piece in task.ranges]] == [True]


def test_available_now_ends_when_everything_was_caught_up_once() -> None:
    query = Query(Logs({"a": 9, "b": 3}))
    query.drain()
    query.outside.lengths["a"] = 11
    assert query.batch() is None
    query.restart()
    query.drain()
    assert sorted(query.rows) == query.outside.everything()


def test_available_now_waits_for_a_due_time_instead_of_ending_early() -> None:
    query = Query(Logs({"a": 2}, not_before_ms={"a": 90_000}))
    query.coordinator.prepare_for_available_now()
    began_ms = query.clock.monotonic_ms()
    query.batch()
    query.batch()
    query.outside.lengths["a"], query.outside.not_before_ms = 3, {}
    while query.batch() is not None:
        pass
    assert query.clock.monotonic_ms() - began_ms >= 89_000
    assert sorted(query.rows) == query.outside.everything()


def test_available_now_ends_when_nobody_looks_at_an_epoch() -> None:
    query = Query(Logs({"a": 9}))
    query.coordinator.prepare_for_available_now()
    assert query.plan() is not None
    assert query.plan() is None
    query.restart()
    query.drain()
    assert sorted(query.rows) == query.outside.everything()


def test_once_reads_one_epoch_to_the_end() -> None:
    query = Query(Logs({"a": 50, "b": 7}))
    read = query.batch(limited=False)
    assert read is not None
    assert sorted(read) == query.outside.everything()


def test_once_waits_for_a_due_time_and_ends_if_there_is_none() -> None:
    query = Query(Logs({"a": 1}, not_before_ms={"a": 90_000}))
    query.batch(limited=False)
    query.restart()
    query.outside.lengths["a"] = 2
    began_ms = query.clock.monotonic_ms()
    assert query.batch(limited=False) == [("a", 1)]
    assert query.clock.monotonic_ms() - began_ms >= 89_000


def test_a_batch_read_is_one_epoch_to_the_end_with_all_children() -> None:
    source = LogSource(Logs({"a": 23, "b": 2}))
    coordinator = BarrierCoordinator(
        source,
        EpochSettings(store=None, barrier=Barrier(rows=1), parallelism=2),
        Backoff(deadline_ms=100),
        clock=MainThreadClock(),
    )
    tasks = coordinator.plan_all()
    assert len(tasks) == 2
    assert (
        sorted(row for task in tasks for row in rows_of(read_epoch(source, task, None, open_plain_reader)))
        == source.outside.everything()
    )
    coordinator.close()


def test_tasks_that_were_not_run_are_sealed_and_their_splits_given_back() -> None:
    query = Query(Logs({"a": 8, "b": 8}))
    query.plan()
    first = query.tasks()[0]
    query.rows += query.read(first)
    left = query.tasks()[1]
    query.batch()
    assert query.outside.returned == [NumberSplit("b")]
    assert query.read(left) == []
    query.drain()
    assert sorted(query.rows) == query.outside.everything()


def test_a_late_publisher_of_a_sealed_task_is_fenced_and_its_rows_come_in_the_next_epoch() -> None:
    query = Query(Logs({"a": 8}), checkpoint_timeout_ms=1_000)
    query.plan()
    rows = read_epoch(query.source, query.tasks()[0], query.store, open_plain_reader, query.clock)
    next(rows)
    query.batch()
    with pytest.raises(Exception, match="published task 0"):
        list(rows)
    query.drain()
    assert sorted(query.rows) == query.outside.everything()


def test_an_epoch_left_early_goes_as_far_as_was_emitted_and_a_second_look_sees_the_same() -> None:
    query = Query(Logs({"a": 8}))
    query.plan()
    rows = read_epoch(query.source, query.tasks()[0], query.store, open_plain_reader, query.clock)
    seen = [next(rows), next(rows)]
    rows.close()
    again = query.read(query.tasks()[0])
    assert rows_of(seen) == again
    query.rows += again
    query.drain()
    assert sorted(query.rows) == query.outside.everything()


def test_both_scans_of_a_self_join_read_the_same_rows() -> None:
    query = Query(Logs({"a": 8}))
    query.plan()
    first = query.read(query.tasks()[0])
    query.outside.lengths["a"] = 100
    assert query.read(query.tasks()[0]) == first


def test_events_travel_both_ways_once_each_also_over_a_restart() -> None:
    query = Query(Logs({"a": 8}, to_send=[(("a",), "hello")]), parallelism=1)
    query.batch()
    query.batch()
    assert query.outside.events == ["read 4", "hello"]
    assert query.log[-1]["state"] == 2
    query.restart()
    query.outside.to_send = []
    query.batch()
    assert query.log[-1]["state"] == 4


def test_the_enumerator_is_notified_once_an_epoch_in_order() -> None:
    query = Query(Logs({"a": 12}))
    for _ in range(3):
        query.batch()
        query.coordinator.commit(query.start)
    query.plan()
    assert [positions[("a",)] for positions in query.outside.completed] == sorted(
        positions[("a",)] for positions in query.outside.completed
    )
    assert len(query.outside.completed) == 3


def test_two_queries_on_one_state_location_do_not_meet() -> None:
    store = MemoryStateStore()
    outside = Logs({"a": 14})
    first = Query(outside, store, retained_epochs=1)
    second = Query(outside, store, retained_epochs=1)
    for query in (first, second, first, second, first):
        query.batch()
    first.drain()
    second.drain()
    assert sorted(first.rows) == sorted(second.rows) == outside.everything()


def test_the_statistics_of_the_last_checkpoint_are_in_the_progress() -> None:
    query = Query(Logs({"a": 8, "b": 8}))
    assert query.coordinator.latest() is None
    query.plan()
    rows = read_epoch(query.source, query.tasks()[0], query.store, open_plain_reader, query.clock)
    read_bytes = sum(batch.nbytes for batch in rows)
    query.plan()
    latest = query.coordinator.latest()
    assert latest is not None
    metrics: Any = latest["metrics"]
    assert metrics["numBytesIn"] == read_bytes > 0
    assert metrics["planningRetries"] == 0
    assert metrics["sourceIdleTime"] == 0
    query.clock.advance(700)
    later: Any = query.coordinator.latest()
    assert later["metrics"]["sourceIdleTime"] == 700
    checkpoint: Any = latest["checkpoint"]
    assert (checkpoint["epoch"], checkpoint["places"], checkpoint["not_run"]) == (1, 2, 1)
    assert {
        "start_delay_ms",
        "alignment_ms",
        "in_flight_bytes",
        "snapshot_ms",
        "state_bytes",
        "waited_ms",
    } <= set(checkpoint)


def splits_of(tasks: Sequence[EpochTask]) -> list[list[str]]:
    return [[piece.split.label for piece in task.ranges] for task in tasks]


def test_splits_are_dealt_evenly_and_the_same_way_in_a_replay() -> None:
    query = Query(Logs(dict.fromkeys("abcde", 1)))
    query.plan()
    assert splits_of(query.tasks()) == [["a", "d"], ["b", "c", "e"]]
    query.restart()
    assert splits_of(query.tasks()) == [["a", "d"], ["b", "c", "e"]]


def test_failures_live_across_epochs_with_the_time_in_between_and_without_the_time_in_which_it_was_down(
    caplog: pytest.LogCaptureFixture,
) -> None:
    query = Query(Logs({"a": 3, "b": 3}, away={"a": 400}))
    query.batch()
    query.clock.advance(250)
    query.batch()
    # The first epoch is this process's own, but the split began to fail in it.
    assert query.log[-1]["failing"] == {"a": [1, 400]}
    query.clock.advance(5_000)
    query.plan()
    # Since the second epoch was opened: more than what its task has measured.
    assert query.log[-1]["failing"] == {"a": [2, 5_400]}
    query.log.pop()
    query.restart()
    query.clock.advance(3_600_000)
    query.plan()
    # Of an epoch that an earlier process opened only what its task has measured counts.
    assert query.log[-1]["failing"] == {"a": [2, 800]}
    [failing] = [task.failing for task in query.tasks() if task.failing]
    assert failing == {("a",): Failing(2, 800)}
    assert [message.split(";")[0] for message in caplog.messages if "made no progress" in message] == [
        "epoch 1: 1 splits failed and made no progress",
        "epoch 2: 1 splits failed and made no progress",
        "epoch 2: 1 splits failed and made no progress",
    ]
    query.outside.away.clear()
    query.rows += [row for task in query.tasks() for row in query.read(task)]
    query.drain()
    assert sorted(query.rows) == query.outside.everything()
    query.restart()
    query.batch()
    assert "failing" not in query.log[-1]

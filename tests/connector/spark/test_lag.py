"""Lag out of a query's progress."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.connector.spark.lag import SnapshotProgress, lag_of
from headwater.connector.spark.lag_listener import LagListener
from headwater.core.losses import NO_LOSSES


def progress(*sources: SimpleNamespace, name: str = "orders") -> Any:
    report = SimpleNamespace(
        name=name, id="an-id", runId="a-run", batchId=7, processedRowsPerSecond=1234.5, sources=list(sources)
    )
    return SimpleNamespace(progress=report)


def source(positions: dict[str, Any] | None, heads: dict[str, Any] | None, **more: Any) -> SimpleNamespace:
    def offset(of: dict[str, Any] | None, **fields: Any) -> str | None:
        named = {"source": name, "version": 2, "positions": of, **fields}
        return None if of is None else json.dumps(named)

    name = more.pop("source", "kafka")
    reported = {each: more.pop(each) for each in ("fronts_ms", "metrics") if each in more}
    return SimpleNamespace(endOffset=offset(positions, **more), latestOffset=offset(heads, **reported))


def test_lag_is_the_heads_less_what_was_read_by_partition_and_in_total() -> None:
    listener = LagListener()
    listener.onQueryProgress(progress(source({"orders": {"0": 10, "1": 5}}, {"orders": {"0": 30, "1": 5}})))
    assert listener.as_dict() == {
        "orders": {
            "query": "orders",
            "batch_id": 7,
            "rows_per_second": 1234.5,
            "lag": 20,
            "splits": {"orders-0": 20, "orders-1": 0},
            "lost_rows": 0,
            "lost_at_least_rows": 0,
            "lost_ranges": [],
            "lost_splits": 0,
            "fronts_ms": {},
            "unread": [],
            "skew_ms": 0,
            "held_back_by": None,
            "late_rows": 0,
            "late_in_column": 0,
            "metrics": {},
            "has_ended": False,
            "unit": "",
        }
    }
    assert str(listener) == "orders: batch 7, 1,234 rows/s, lag 20 (orders-0 20)"


def test_losses_are_those_of_the_offset_and_those_that_only_tasks_found_are_at_least_so_many() -> None:
    listener = LagListener()
    ranges = [
        {"split": "orders-0", "first": 0, "until": 1_200, "found": "planning", "time_ms": 1_795_000_000_000},
        {"split": "orders-1", "first": 5, "until": 12, "found": "task", "time_ms": 1_795_000_000_001},
    ]
    lost = {"rows": 1_200, "at_least_rows": 7, "ranges": ranges}
    listener.onQueryProgress(progress(source({"orders": {"0": 1_200}}, None, losses=lost)))
    (lag,) = listener.queries()
    assert (lag.lost_rows, lag.lost_at_least_rows, list(lag.lost_ranges)) == (1_200, 7, ranges)
    shown = listener.as_dict()["orders"]
    assert (shown["lost_rows"], shown["lost_at_least_rows"], shown["lost_ranges"]) == (1_200, 7, ranges)
    assert str(lag) == "orders: batch 7, 1,234 rows/s, lag 0, lost 1,200 and at least 7"


def test_whole_splits_that_are_not_read_are_counted_beside_rows() -> None:
    listener = LagListener()
    lost = NO_LOSSES.plus_splits(["file:///in/a", "file:///in/b"], 1_795_000_000_000).to_json()
    listener.onQueryProgress(progress(source({"0": 1}, None, losses=lost)))
    (lag,) = listener.queries()
    assert (lag.lost_splits, lag.lost_rows) == (2, 0)
    assert [each["split"] for each in lag.as_dict()["lost_ranges"]] == ["file:///in/a", "file:///in/b"]
    assert str(lag) == "orders: batch 7, 1,234 rows/s, lag 0, lost 2 whole splits"


def test_losses_of_several_sources_in_one_query_are_added_up() -> None:
    listener = LagListener()
    one = source({"a": {"0": 1}}, None, losses={"rows": 0, "at_least_rows": 2, "ranges": [{"split": "a-0"}]})
    other = source(
        {"b": {"0": 1}}, None, losses={"rows": 0, "at_least_rows": 3, "ranges": [{"split": "b-0"}]}
    )
    listener.onQueryProgress(progress(one, other))
    (lag,) = listener.queries()
    assert [lost["split"] for lost in lag.lost_ranges] == ["a-0", "b-0"]
    assert str(lag) == "orders: batch 7, 1,234 rows/s, lag 0, lost at least 5"


def test_other_sources_are_left_out_and_a_terminated_query_is_forgotten() -> None:
    listener = LagListener()
    listener.onQueryProgress(progress(SimpleNamespace(endOffset='{"logOffset":3}', latestOffset=None)))
    assert listener.queries() == []
    assert str(listener) == "no query has reported yet"
    listener.onQueryProgress(progress(source({"t": {"0": 1}}, None)))
    assert [lag.total for lag in listener.queries()] == [0]
    listener.onQueryTerminated(SimpleNamespace(runId="a-run"))  # type: ignore[arg-type]
    assert listener.queries() == []


def test_positions_of_a_chain_count_as_those_of_its_part() -> None:
    listener = LagListener()
    listener.onQueryProgress(
        progress(source({"live": {"orders/0": [1, 10]}}, {"live": {"orders/0": [1, 35]}}, source="hybrid"))
    )
    (lag,) = listener.queries()
    assert lag.splits == {"live-orders/0": 25}


def test_fronts_in_event_time_say_who_holds_back_the_others() -> None:
    listener = LagListener()
    listener.onQueryProgress(
        progress(
            source(
                {"orders": {"0": 10, "1": 5, "2": 7}},
                {"orders": {"0": 30, "1": 45, "2": 90}},
                fronts_ms={
                    "orders": {"0": 1_795_000_000_000, "1": 1_795_000_000_000, "2": 1_795_000_002_500}
                },
                state={"event_time": {"front_ms": 1_795_000_000_000, "late_rows": 30}},
            )
        )
    )
    (lag,) = listener.queries()
    assert (lag.skew_ms, lag.held_back_by, lag.late_rows) == (2_500, "orders-1", 30)
    assert str(lag).endswith(
        "read up to 2026-11-18T11:06:40Z (skew 2,500 ms, held back by orders-1), 30 rows of splits found late"
    )


def test_a_notebook_shows_the_splits_that_are_furthest_behind() -> None:
    listener = LagListener()
    assert "no query has reported yet" in listener._repr_html_()
    heads = {str(number): number for number in range(30)}
    behind = source({"<b>": dict.fromkeys(heads, 0)}, {"<b>": heads})
    listener.onQueryProgress(progress(behind))
    shown = listener._repr_html_()
    assert shown.index("&lt;b&gt;-29") < shown.index("&lt;b&gt;-28")
    assert "<b>" not in shown
    assert "and 10 splits that are less behind" in shown


def test_rows_that_are_late_by_a_column_are_shown() -> None:
    end = {"source": "kafka", "positions": {"orders": {"0": 10}}}
    lag = lag_of("orders", 7, 5.0, [(end, end | {"metrics": {"lateInColumn": 7}})])
    assert lag is not None
    assert lag.late_in_column == 7
    assert str(lag).endswith(", 7 rows late by eventTimeColumn")


def test_metrics_of_several_sources_are_joined_as_each_says_and_errors_are_shown() -> None:
    listener = LagListener()
    one = {"numRecordsInErrors": 2, "pendingRecords": 10, "currentEmitEventTimeLag": 30, "skipped": 1}
    other = {"numRecordsInErrors": 1, "pendingRecords": 5, "currentEmitEventTimeLag": 70, "skipped": 4}
    listener.onQueryProgress(
        progress(*(source({"a": {"0": 1}}, {"a": {"0": 1}}, metrics=each) for each in (one, other)))
    )
    (lag,) = listener.queries()
    assert lag.as_dict()["metrics"] == {
        "numRecordsInErrors": 3,
        "pendingRecords": 15,
        "currentEmitEventTimeLag": 70,
        "skipped": 5,
    }
    assert str(lag) == "orders: batch 7, 1,234 rows/s, lag 0, 3 records in error"


def test_bytes_age_snapshot_and_what_the_server_keeps_are_in_the_line_of_a_query() -> None:
    metrics = {
        "numSnapshotSplitsFinished": 8,
        "numSnapshotSplitsRemaining": 16,
        "numSnapshotRows": 2_000_000,
        "retainedBytes": 70_000,
    }
    end = {"source": "postgres", "positions": {"wal": 10}}
    latest = {**end, "unit": "bytes"}
    in_snapshot = lag_of("orders", 7, 250_000.0, [(end, {**latest, "metrics": metrics})])
    assert in_snapshot is not None
    assert in_snapshot.snapshot == SnapshotProgress(8, 16, 2_000_000)
    behind = lag_of(
        "orders",
        31,
        5_000.0,
        [
            (
                end,
                {
                    **latest,
                    "positions": {"wal": 1_500_010},
                    "metrics": {"lagTime": 4_200, "retainedBytes": 90_000},
                },
            )
        ],
    )
    documented = Path("docs/postgres.md").read_text()
    for lag in (in_snapshot, behind):
        assert f"\n{lag}\n" in documented
    beside_records = lag_of("orders", 7, 5.0, [(end, {**end, "unit": "bytes"}), (end, end)])
    assert beside_records is not None
    assert (beside_records.unit, beside_records.snapshot) == ("", None)


def test_a_query_with_nothing_to_do_grows_idle_though_spark_reports_no_progress(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock_s = iter([100.0, 107.0, 109.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock_s))
    listener = LagListener()
    listener.onQueryProgress(
        progress(source({"a": {"0": 1}}, {"a": {"0": 1}}, metrics={"sourceIdleTime": 5, "lagTime": 70}))
    )
    assert listener.queries()[0].metrics == {"sourceIdleTime": 5, "lagTime": 70}
    listener.onQueryIdle(SimpleNamespace(runId="a-run"))
    assert listener.queries()[0].metrics == {"sourceIdleTime": 9_005, "lagTime": 0}


def test_lag_in_barrier_mode_is_as_the_outside_tells_it() -> None:
    end = {"source": "queue", "version": 1, "places": [[["a"], ["b"]]], "starts": {"a": 3, "b": 4}}
    lag = lag_of("orders", 7, 5.0, [(end, {"source": "queue", "version": 1, "lags": {"a": 7, "b": 0}})])
    assert lag is not None
    assert (lag.total, lag.splits) == (7, {"a": 7, "b": 0})


@pytest.mark.parametrize(
    ("ended", "has_ended"),
    [({}, False), ({"orders": {"0": 10}}, False), ({"orders": {"0": 10, "1": 3}}, True)],
)
def test_a_query_has_ended_when_records_have_ended_all_of_its_splits(
    ended: dict[str, Any], has_ended: bool
) -> None:
    ends = {"condition": {"key": "end"}, "splits": ended}
    end = {"source": "kafka", "positions": {"orders": {"0": 10, "1": 3}}, "ends": ends}
    for offsets in ([(end, None)], [(end, end), (end, None)]):
        lag = lag_of("orders", 7, 5.0, offsets)
        assert lag is not None
        assert lag.has_ended == has_ended
    lag = lag_of("orders", 7, 5.0, [(end, None), ({"source": "http"}, None)])
    assert lag is not None
    assert not lag.has_ended

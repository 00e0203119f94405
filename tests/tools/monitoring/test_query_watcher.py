"""What becomes of a query's reports, and what the page shows of them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from headwater.tools.monitoring.batch_report import batch_report
from headwater.tools.monitoring.board_view import ViewRequest, board_view
from headwater.tools.monitoring.query_history import QueryHistories
from headwater.tools.monitoring.query_watcher import QueryWatcher
from tests.tools.monitoring.progress_reports import (
    START_MS,
    ScriptedQuery,
    offset,
    progress,
    reported,
    source,
    watched,
)


def view(histories: QueryHistories, **asked: str) -> Any:
    shown = board_view(histories, ViewRequest.parse(asked), {}, START_MS)
    return json.loads(json.dumps(shown, allow_nan=False))


def test_lag_and_rate_are_known_of_the_query_and_of_each_split() -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "orders", splits=3)
    query.start()
    query.report(rows_a_split=100, behind=10)
    query.report(rows_a_split=200, behind=5)
    shown = view(histories)
    (orders,) = shown["queries"]
    assert (orders["state"], orders["batch_id"], orders["splits"]) == ("running", 1, 3)
    assert (orders["lag"], orders["lags"], orders["rate"], orders["rows"]) == (15, [30, 15], 600.0, 900)
    # 600 rows were read in a second in which the lag fell by 15, of the 15 that are left.
    assert (orders["arrival_rate"], orders["caught_up_ms"]) == (585.0, 1_000)
    rows = shown["shown"]["splits"]["rows"]
    assert [(row["split"], row["lag"], row["rate"], row["position"]) for row in rows] == [
        ("orders-2", 10, 200.0, 300),
        ("orders-1", 5, 200.0, 300),
        ("orders-0", 0, 200.0, 300),
    ]
    assert rows[0]["lags"] == [20, 10]


def test_a_query_that_failed_stands_first_and_one_that_falls_behind_is_never_caught_up() -> None:
    histories, watcher = watched()
    behind = ScriptedQuery(watcher, "behind", splits=3)
    behind.start()
    behind.report(rows_a_split=100, behind=10)
    behind.report(rows_a_split=100, behind=20)
    failed = ScriptedQuery(watcher, "failed", splits=1)
    failed.start()
    failed.end("headwater: it broke")
    first, second = view(histories)["queries"]
    assert (first["name"], first["state"]) == ("failed", "failed")
    assert (second["caught_up_ms"], second["arrival_rate"]) == (None, 330.0)


def test_fronts_in_event_time_say_which_split_holds_back_the_others() -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "orders", splits=3)
    query.start()
    query.report(fronts_ms={"0": START_MS, "1": START_MS - 4_000})
    shown = view(histories, order="front")
    (orders,) = shown["queries"]
    assert (orders["front_ms"], orders["skew_ms"], orders["held_back_by"]) == (
        START_MS - 4_000,
        4_000,
        "orders-1",
    )
    fronts = [(row["split"], row["front_ms"]) for row in shown["shown"]["splits"]["rows"]]
    assert fronts == [("orders-1", START_MS - 4_000), ("orders-0", START_MS), ("orders-2", None)]


def test_a_query_that_fails_shows_what_headwater_said_and_is_among_the_last_errors() -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "payments", splits=1)
    query.start()
    query.report()
    query.end(
        "[STREAM_FAILED] Traceback\n  ...\n  headwater: source kafka: the topic is gone\n\tat java.Lang"
    )
    shown = view(histories)
    assert (shown["queries"][0]["state"], shown["queries"][0]["failures"]) == ("failed", 1)
    (failure,) = shown["failures"]
    assert (failure["query"], failure["message"]) == ("payments", "source kafka: the topic is gone")


def test_a_query_with_nothing_to_do_grows_idle_though_it_reports_nothing() -> None:
    now_ms = iter([START_MS] * 5 + [START_MS + 9_000] * 5)
    histories = QueryHistories(lambda: next(now_ms))
    watcher = QueryWatcher(histories)
    latest = {"source": "kafka", "version": 2, "positions": {}, "metrics": {"sourceIdleTime": 3}}
    at = SimpleNamespace(
        description="x.y.RateStream@1a",
        startOffset=None,
        endOffset=offset({"0": 1}),
        latestOffset=json.dumps(latest),
    )
    query = ScriptedQuery(watcher, "orders", splits=1)
    query.start()
    watcher.onQueryProgress(reported(id="id-of-orders", runId="run-1", batchId=0, sources=[at]))
    query.idle()
    with histories.reading() as (orders,):
        assert orders.metrics(START_MS + 9_000) == {"sourceIdleTime": 9_003}


def test_an_error_that_is_not_headwaters_is_its_first_line() -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "payments", splits=1)
    query.start()
    query.end("java.lang.OutOfMemoryError: Java heap space\n\tat somewhere")
    assert histories.failures()[0].message == "java.lang.OutOfMemoryError: Java heap space"


def test_a_query_that_is_started_again_goes_on_with_its_history() -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "orders", splits=1)
    metrics = {"planningRetries": 3, "numBytesIn": 700, "pendingRecords": 9}
    latest = {"source": "kafka", "version": 2, "positions": {}, "metrics": metrics}
    at = SimpleNamespace(
        description="x.y.RateStream@1a",
        startOffset=None,
        endOffset=offset({"0": 1}),
        latestOffset=json.dumps(latest),
    )
    query.start()
    watcher.onQueryProgress(reported(id="id-of-orders", runId="run-1", batchId=0, sources=[at]))
    query.end("it broke")
    query.start()
    query.report()
    (orders,) = view(histories)["queries"]
    assert (orders["state"], orders["runs"], orders["failures"], orders["message"]) == ("running", 2, 1, "")
    shown = {each["name"]: each["value"] for each in view(histories)["shown"]["metrics"]}
    assert shown == {"planningRetries": 3, "numBytesIn": 700}, "counters of the first run, and no gauge"


def test_a_query_with_nothing_to_do_is_idle_and_one_that_was_stopped_is_shown_as_that() -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "orders", splits=1)
    query.start()
    query.report()
    query.idle()
    assert (view(histories)["queries"][0]["state"], view(histories)["queries"][0]["rate"]) == ("idle", 0.0)
    query.end()
    assert view(histories)["queries"][0]["state"] == "stopped"
    assert view(histories)["failures"] == []


def test_the_batch_of_a_report_is_counted_once_however_often_it_is_reported() -> None:
    histories, watcher = watched()
    for rows in (0, 70):
        watcher.onQueryProgress(reported(batchId=3, numInputRows=rows))
    (query,) = view(histories)["queries"]
    assert (query["rows"], len(query["rates"])) == (70, 1)


def test_splits_are_found_by_part_of_their_name_and_shown_fifty_at_a_time() -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "orders", splits=2_000)
    query.start()
    query.report(behind=1)
    splits = view(histories, first="1990")["shown"]["splits"]
    assert (splits["total"], splits["found"], splits["first"]) == (2_000, 2_000, 1_990)
    assert [row["split"] for row in splits["rows"]][-1] == "orders-0", "the least lag comes last"
    splits = view(histories, find="ORDERS-199", order="split", first="9999")["shown"]["splits"]
    assert (splits["found"], splits["first"]) == (11, 0)
    assert len(view(histories)["shown"]["splits"]["rows"]) == 50


def test_many_splits_make_the_history_shorter_and_not_the_memory_larger() -> None:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, "orders", splits=20_000)
    query.start()
    for _ in range(8):
        query.report()
    with histories.reading() as (history,):
        assert [batch.batch_id for batch in history.batches] == [2, 3, 4, 5, 6, 7]


def test_epochs_losses_carried_calls_and_the_watermark_are_shown() -> None:
    histories, watcher = watched()
    lost = {"rows": 5, "at_least_rows": 0, "ranges": [{"split": "orders-0", "first": 1, "until": 6}]}
    epoch = {"epoch": 7, "places": [[["items"]]], "starts": {"items": {"page": 3}}}
    complete = {"checkpoint": {"epoch": 6, "waited_ms": 12}}
    http = {"source": "http", "version": 2}
    barrier = SimpleNamespace(
        startOffset=None,
        endOffset=json.dumps({**http, **epoch}),
        latestOffset=json.dumps({**http, **complete}),
    )
    report = reported(
        numInputRows=1,
        eventTime={"watermark": "2026-11-18T11:00:00.000Z"},
        stateOperators=[SimpleNamespace(operatorName="transformWithStateInPandas", numRowsTotal=4)],
        sources=[source({"0": 0}, {"0": 9}, {"0": 9}, losses=lost), barrier],
    )
    watcher.onQueryProgress(report)
    shown = view(histories)
    query = shown["queries"][0]
    assert (query["lost_rows"], query["calls_carried"]) == (5, 4)
    assert query["watermark_ms"] == 1_794_999_600_000
    assert shown["shown"]["epochs"] == [{"epoch": 6, "waited_ms": 12}]
    assert shown["shown"]["lost"] == [{"split": "orders-0", "first": 1, "until": 6}]
    positions = {row["split"]: row["position"] for row in shown["shown"]["splits"]["rows"]}
    assert positions == {"orders-0": 9, "items": '{"page": 3}'}


def test_a_query_of_another_source_is_shown_without_lag() -> None:
    report = batch_report(
        progress(
            sources=[
                SimpleNamespace(
                    description="x.y.RateStream@1a",
                    startOffset=None,
                    endOffset='{"logOffset":3}',
                    latestOffset=None,
                )
            ]
        )
    )
    assert (report.lag, report.total_lag, report.splits) == (None, None, {})
    assert (report.sources, report.sink) == (["RateStream"], "FooTable")

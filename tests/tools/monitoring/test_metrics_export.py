"""Metrics as Prometheus scrapes them and OpenTelemetry collects them, each with its own library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

import headwater as hw
from headwater.readers.async_io.metrics import MetricsSnapshot
from headwater.tools.monitoring.metrics import metrics_of
from headwater.tools.monitoring.metrics_export import OtelExport, PrometheusExport
from headwater.tools.monitoring.query_history import QueryHistories
from tests.patience import PATIENCE_S
from tests.tools.monitoring.progress_reports import START_MS, ScriptedQuery, watched


def scraped(url: str) -> dict[tuple[str, ...], float]:
    """Return all samples by their name and the values of their labels."""
    with urlopen(url, timeout=PATIENCE_S) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    samples = [sample for family in families for sample in family.samples]
    found = {(sample.name, *sample.labels.values()): sample.value for sample in samples}
    assert len(found) == len(samples), "no time series is there twice"
    return found


def scrape(histories: QueryHistories, *, per_split: bool = True, **calls: MetricsSnapshot) -> Any:
    export = PrometheusExport(lambda: metrics_of(histories, calls, per_split=per_split), "127.0.0.1", 0)
    try:
        return scraped(export.url)
    finally:
        export.close()


def running(
    name: str = "orders", splits: int = 2, query_id: str = ""
) -> tuple[QueryHistories, ScriptedQuery]:
    histories, watcher = watched()
    query = ScriptedQuery(watcher, name, splits, query_id)
    query.start()
    return histories, query


def test_counters_add_up_batches_and_gauges_are_of_the_last_one() -> None:
    histories, query = running()
    query.report(rows_a_split=100, behind=10, durationMs={"triggerExecution": 500, "addBatch": 400})
    query.report(
        rows_a_split=50,
        behind=20,
        durationMs={"triggerExecution": 700, "addBatch": 600},
        fronts_ms={"0": START_MS, "1": START_MS - 1_500},
        eventTime={"watermark": "2026-11-18T11:00:00.000Z"},
    )
    found = scrape(histories)
    assert found["headwater_rows_total", "orders"] == 300
    assert found["headwater_batches_total", "orders"] == 2
    assert found["headwater_trigger_seconds_total", "orders", "addBatch"] == pytest.approx(1.0)
    assert found["headwater_last_trigger_seconds", "orders"] == pytest.approx(0.7)
    assert (found["headwater_lag", "orders"], found["headwater_split_lag", "orders", "orders-1"]) == (20, 20)
    assert found["headwater_event_time_skew_seconds", "orders"] == pytest.approx(1.5)
    front = found["headwater_split_event_time_timestamp_seconds", "orders", "orders-1"]
    assert front == pytest.approx((START_MS - 1_500) / 1_000)
    assert found["headwater_query_running", "orders"] == 1


def test_a_query_that_failed_keeps_its_counters_and_says_nothing_about_now() -> None:
    histories, query = running()
    query.report()
    query.end("it broke")
    found = scrape(histories)
    assert found["headwater_query_running", "orders"] == 0
    assert found["headwater_query_failures_total", "orders"] == 1
    assert found["headwater_rows_total", "orders"] == 200
    assert ("headwater_lag", "orders") not in found
    query.start()
    query.report()
    found = scrape(histories)
    assert found["headwater_query_running", "orders"] == 1
    assert found["headwater_rows_total", "orders"] == 400, "a counter goes on over a restart"


def test_a_name_is_one_time_series_though_it_came_back_with_another_checkpoint() -> None:
    histories, watcher = watched()
    for number in range(2):
        query = ScriptedQuery(watcher, "orders", 1, f"checkpoint-{number}")
        query.start()
        query.report(rows_a_split=10 + number)
        if number == 0:
            query.end()
    assert scrape(histories)["headwater_rows_total", "orders"] == 11


def test_losses_and_calls_are_counted() -> None:
    histories, query = running()
    calls = MetricsSnapshot(requests=7, retries=2, failures=1)
    query.report()
    found = scrape(histories, look_up=calls)
    assert found["headwater_lost_rows_total", "orders", "planning"] == 0
    assert found["headwater_lost_rows_total", "orders", "task"] == 0
    assert found["headwater_async_requests_total", "look_up"] == 7
    assert found["headwater_async_retries_total", "look_up"] == 2
    assert found["headwater_async_latency_seconds", "look_up", "0.99"] == 0


def test_metrics_of_sources_are_exported_in_base_units_and_those_of_plugins_by_their_names() -> None:
    histories, query = running()
    query.report(metrics={"numRecordsInErrors": 3, "sourceIdleTime": 1_500, "skipped": 7})
    query.report(metrics={"numRecordsInErrors": 4, "sourceIdleTime": 2_500, "skipped": 8})
    found = scrape(histories)
    assert found["headwater_records_in_errors_total", "orders"] == 4
    assert found["headwater_source_idle_seconds", "orders"] == 2.5
    assert found["headwater_source_counter_total", "skipped", "orders"] == 8
    query.end()
    found = scrape(histories)
    assert found["headwater_records_in_errors_total", "orders"] == 4
    assert ("headwater_source_idle_seconds", "orders") not in found


def test_many_splits_can_be_left_out() -> None:
    histories, query = running(splits=2_000)
    query.report()
    names = [name for name, *_ in scrape(histories, per_split=False)]
    assert "headwater_split_lag" not in names
    assert "headwater_lag" in names


def test_names_follow_the_conventions_of_prometheus() -> None:
    for metric in metrics_of(QueryHistories(lambda: 0), {}, per_split=True):
        assert re.fullmatch(r"headwater(_[a-z]+)+", metric.full_name)
        assert metric.full_name.endswith(metric.unit)
        assert metric.description.endswith(".")


def test_opentelemetry_collects_the_same_numbers_in_its_own_units() -> None:
    histories, query = running()
    query.report(rows_a_split=100, behind=10)
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    export = OtelExport(lambda: metrics_of(histories, {}, per_split=True), provider)
    found = collected(reader)
    assert found["headwater.rows"] == ("1", [({"query": "orders"}, 200)])
    assert found["headwater.last_trigger"] == ("s", [({"query": "orders"}, 0.4)])
    assert ({"query": "orders", "split": "orders-1"}, 10) in found["headwater.split_lag"][1]
    export.close()
    assert collected(reader) == {}
    provider.shutdown()


def collected(reader: InMemoryMetricReader) -> dict[str, Any]:
    data: Any = reader.get_metrics_data()
    resources = data.resource_metrics if data else ()
    scopes = [scope for resource in resources for scope in resource.scope_metrics]
    points = {each.name: (each.unit, each.data.data_points) for scope in scopes for each in scope.metrics}
    return {
        name: (unit, [(dict(point.attributes), point.value) for point in found])
        for name, (unit, found) in points.items()
        if found
    }


def test_without_a_target_or_with_a_port_that_is_taken_it_says_so() -> None:
    histories, _ = running()
    with pytest.raises(hw.errors.OptionError, match="otel=True"):
        hw.export_metrics(Mock(spec=SparkSession))
    export = PrometheusExport(lambda: metrics_of(histories, {}, per_split=True), "127.0.0.1", 0)
    port = int(export.url.split(":")[2].split("/")[0])
    with pytest.raises(hw.errors.OptionError, match=f"port {port}"):
        PrometheusExport(list, "127.0.0.1", port)
    with pytest.raises(hw.errors.OptionError, match=r"'host': '192\.0\.2\.1' is no address of this host"):
        PrometheusExport(list, "192.0.2.1", 0)
    export.close()
    with pytest.raises(URLError):
        scraped(export.url)


def test_a_query_in_spark_is_scraped(spark: SparkSession, tmp_path: Path) -> None:
    options = {"source": "demo", "rows": "100", "maxRowsPerTrigger": "20"}
    orders = spark.readStream.format("headwater").options(**options).load()
    with hw.export_metrics(spark, prometheus_port=0) as export:
        orders.writeStream.format("noop").queryName("scraped_orders").option(
            "checkpointLocation", str(tmp_path / "checkpoint")
        ).trigger(availableNow=True).start().awaitTermination()
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        assert export.url
        found = scraped(export.url)
    assert found["headwater_rows_total", "scraped_orders"] == 100
    # Those of a batch are told with a later one.
    assert found["headwater_read_bytes_total", "scraped_orders"] >= 20 * 8
    assert found["headwater_query_running", "scraped_orders"] == 0
    assert found["headwater_trigger_seconds_total", "scraped_orders", "addBatch"] > 0

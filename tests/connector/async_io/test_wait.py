"""On a real Spark, with a real HTTP service.

What comes out, what is called, and what is said when something is wrong.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headwater as hw
from tests.connector.async_io.functions import (
    AddsOne,
    BulkLookup,
    CountsOpenings,
    Lookup,
    NoServer,
    Sleeps,
    blocks_the_loop,
    doubles,
    wrong_type,
)
from tests.connector.async_io.service import SlowService
from tests.exactly_once.waiting import until
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def service() -> Iterator[SlowService]:
    with SlowService() as running:
        yield running


def orders(spark: SparkSession, count: int = 60) -> DataFrame:
    return spark.range(0, count, 1, 2).selectExpr(
        "id",
        "timestamp_seconds(id) at",
        "array(id, id + 1) numbers",
        "named_struct('d', cast(id as decimal(9, 2))) nested",
        "'slow' behaviour",
    )


def test_unordered_and_ordered_keep_the_input_and_say_what_was_asked(
    spark: SparkSession, service: SlowService
) -> None:
    metrics = hw.async_io.AsyncMetrics(spark)
    df = orders(spark)
    out = hw.unordered_wait(
        df,
        Lookup(service.url),
        schema="name string",
        columns=["id", "behaviour"],
        capacity=8,
        metrics=metrics,
    )
    out = hw.ordered_wait(out, Sleeps(), schema="double long not null", columns=["id"], capacity=4)
    assert out.columns == [*df.columns, "name", "double"]
    rows = {row.id: row for row in out.collect()}
    assert rows.keys() == set(range(60))
    assert all(tuple(rows[row.id]) == (*row, f"name {row.id}", row.id * 2) for row in df.collect())
    assert service.peak["slow"] <= 16, "8 in each of two tasks"
    assert metrics.as_dict()["requests"] == metrics.value.requests == 60
    assert 0 < metrics.as_dict()["p50_ms"] <= metrics.as_dict()["p99_ms"]
    assert "requests 60" in str(metrics)


@pytest.mark.parametrize("name", ["address.city", "a`b", "`x`.`y`", "a b", 'q"q'])
def test_columns_with_dots_or_quotes_in_their_names_are_columns_in_every_call(
    spark: SparkSession, name: str
) -> None:
    df = spark.createDataFrame(
        [(1, 10, {"city": 5}), (2, 20, {"city": 6})], "k int, v int, address struct<city:int>"
    )
    df = df.toDF("k", name, "address")
    calls = [
        hw.unordered_wait(df, doubles, schema="double int", columns=["k"]),
        hw.ordered_wait(df, doubles, schema="double int", columns=["k"]),
        hw.unordered_wait(df, doubles, schema="double int", columns=[name]),
        hw.keyed_wait(df, doubles, keys=[name], schema="double int", columns=[name]),
    ]
    for at, out in enumerate(calls):
        assert out.columns == ["k", name, "address", "double"]
        rows = sorted(out.collect())
        assert [(row[0], row[1], row[2].city) for row in rows] == [(1, 10, 5), (2, 20, 6)]
        assert [row[3] for row in rows] == ([2, 4] if at < 2 else [20, 40])
    failed = hw.unordered_wait(
        df, doubles, schema="double int", columns=["k"], on_failure="error_column", error_column=name + "!"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        good, bad = hw.split_failures(failed, name + "!")
    assert good.columns == ["k", name, "address", "double"]
    assert (good.count(), bad.count()) == (2, 0)


def test_ordered_keyed_and_bulk(spark: SparkSession, service: SlowService) -> None:
    df = spark.range(0, 100, 1, 2).selectExpr("id", "id % 3 customer")
    ordered = hw.ordered_wait(df, Lookup(service.url), schema="name string", capacity=16, keep_input=False)
    assert [row.name for row in ordered.collect()] == [f"name {n}" for n in range(100)]
    bulk = hw.unordered_wait(
        df, BulkLookup(service.url, "bulk"), schema="name string", batching=hw.async_io.Batching(size=20)
    )
    assert sorted(row.id for row in bulk.collect()) == list(range(1, 100, 2))
    assert service.count("bulk") <= 6
    keyed = hw.keyed_wait(
        df,
        Lookup(service.url, "keyed"),
        keys=["customer"],
        schema="name string",
        cache=hw.async_io.CacheSettings(),
    )
    assert keyed.count() == 100
    assert service.peak["keyed"] <= 3, "one for each key"


def test_failures_retries_limits_and_the_split(spark: SparkSession, service: SlowService) -> None:
    behaviours = "element_at(array('slow', 'flaky', 'fail', 'hang'), cast(id % 4 as int) + 1) behaviour"
    df = spark.range(0, 24, 1, 3).selectExpr("id", behaviours)
    metrics = hw.async_io.AsyncMetrics(spark)
    out = hw.unordered_wait(
        df,
        Lookup(service.url),
        schema="name string",
        timeout="3s",  # a busy machine answers the others within it
        retry=hw.async_io.RetryPolicy.exponential(3, 10),
        on_failure="error_column",
        metrics=metrics,
    ).persist()
    with warnings.catch_warnings(action="error"):
        good, failed = hw.split_failures(out)
    assert sorted(row.id for row in good.collect()) == [n for n in range(24) if n % 4 < 2]
    errors = {(row.behaviour, row.error["class"], row.error.attempts) for row in failed.collect()}
    assert errors == {("fail", "ClientResponseError", 3), ("hang", "CallTimeoutError", 1)}
    assert (metrics.value.timeouts, metrics.value.retries, metrics.value.failures) == (6, 18, 12)
    assert service.count("flaky") == 12
    until(lambda: not service.running["hang"], "the calls that timed out to be cancelled")
    out.unpersist()
    with pytest.warns(RuntimeWarning, match="not cached"):
        hw.split_failures(out)
    limited = hw.unordered_wait(
        spark.range(0, 40, 1, 8),
        Lookup(service.url, "throttle"),
        schema="name string",
        max_concurrent_requests=1,
    )
    assert limited.rdd.getNumPartitions() == 1
    assert limited.count() == 40
    assert service.peak["throttle"] == 1, "never throttled"
    began = time.monotonic()
    paced = hw.unordered_wait(
        spark.range(0, 8, 1, 8),
        Lookup(service.url),
        schema="name string",
        rate_limit=hw.async_io.RateLimit(requests_per_s=8),
    )
    assert paced.count() == 8
    assert time.monotonic() - began > 0.7, "4 calls in each of 2 tasks, 4 a second"


def test_what_goes_wrong_in_a_task_is_said_on_the_driver(spark: SparkSession) -> None:
    df = spark.range(0, 8, 1, 1)
    for function, schema, message in (
        (NoServer(), "n long", "NoServer.open raised ConnectionError: refused"),
        (
            wrong_type,
            "number long",
            "wrong_type returned for id=7 'none' (str) as 'number', which is int64: return an int",
        ),
    ):
        with pytest.raises(Exception, match="headwater: ") as raised:
            hw.unordered_wait(df, function, schema=schema, key_columns=["id"]).collect()
        assert hw.explain(raised.value).startswith(message)
    metrics = hw.async_io.AsyncMetrics(spark)
    hw.unordered_wait(df, blocks_the_loop, schema="n long", block_warning="100ms", metrics=metrics).collect()
    assert metrics.value.blocked >= 1


def test_rows_that_are_done_do_not_wait_for_those_that_hang(
    spark: SparkSession, service: SlowService
) -> None:
    df = spark.range(0, 40, 1, 1).selectExpr("id", "if(id % 4 = 0, 'hang', 'slow') behaviour")
    rows = hw.unordered_wait(df, Lookup(service.url), schema="name string").limit(3).collect()
    assert len(rows) == 3
    until(lambda: not service.running["hang"], "the calls to end with their task")


def test_a_killed_task_leaves_no_call_behind(spark: SparkSession, service: SlowService) -> None:
    """As Ctrl-C does: the job is cancelled while its calls hang."""
    from pyspark import InheritableThread

    def job() -> None:
        spark.sparkContext.setJobGroup("hanging", "hanging calls", interruptOnCancel=True)
        with pytest.raises(Exception, match="cancel"):
            hw.unordered_wait(spark.range(4), Lookup(service.url, "hang"), schema="name string").collect()

    before = service.count("hang")
    thread = InheritableThread(target=job)
    thread.start()
    until(lambda: service.count("hang") == before + 4, "the calls")
    spark.sparkContext.cancelJobGroup("hanging")
    thread.join(PATIENCE_S)
    until(lambda: not service.running["hang"], "the calls to end with their tasks")


def test_a_stream_drains_each_batch_and_its_metrics_are_there_when_progress_is_reported(
    spark: SparkSession, service: SlowService, tmp_path: Path
) -> None:
    from pyspark.sql.streaming.listener import QueryProgressEvent, QueryTerminatedEvent

    metrics = hw.async_io.AsyncMetrics(spark)
    seen: list[int] = []
    ended = threading.Event()

    class Listener(hw.LagListener):
        def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
            seen.append(metrics.value.requests)

        def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
            ended.set()

    spark.range(0, 20, 1, 2).selectExpr("id % 5 id").write.parquet(str(tmp_path / "in"))
    df = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    out = hw.unordered_wait(
        df,
        Lookup(service.url, "cached"),
        schema="name string",
        cache=hw.async_io.CacheSettings(ttl_ms=60_000),
        metrics=metrics,
    )
    listener = Listener()
    spark.streams.addListener(listener)
    try:
        writer = (
            out.writeStream.format("memory")
            .queryName("cached")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
        )
        assert writer.trigger(availableNow=True).start().awaitTermination(PATIENCE_S)
        assert ended.wait(PATIENCE_S)
    finally:
        spark.streams.removeListener(listener)
    assert spark.table("cached").count() == 20
    assert seen[-1] == metrics.value.requests == service.count("cached")
    assert service.count("cached") <= 10, "each of two processes asks for five customers once"
    assert metrics.value.requests + metrics.value.cache_hits + metrics.value.joined == 20


def test_a_process_opens_one_client_for_all_plans_of_a_function(spark: SparkSession) -> None:
    """As a query's micro-batches are, or the plans of ``foreachBatch``."""
    openings: set[int] = set()
    for _ in range(4):
        asked = hw.unordered_wait(spark.range(0, 20, 1, 4), CountsOpenings("crm"), schema="openings int")
        openings |= {row.openings for row in asked.select("openings").distinct().collect()}
    assert openings == {1}


def test_an_arrow_function_answers_whole_batches(spark: SparkSession) -> None:
    asked = hw.unordered_wait(
        spark.range(0, 5000, 1, 2),
        AddsOne(),
        schema="more long",
        batching=hw.async_io.Batching(size=300),
    )
    assert {(row.id, row.more) for row in asked.collect()} == {(n, n + 1) for n in range(5000)}

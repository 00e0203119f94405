"""The HTTP source in Spark: streams, batches, and everything that looks at an epoch twice, or not at all."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, window

import headwater as hw
from examples.http_server import Api, serving
from tests.connector.async_io.service import SlowService
from tests.exactly_once.pipeline import logged_ids
from tests.exactly_once.waiting import until
from tests.patience import PATIENCE_S
from tests.readers.http.scripted import Answer, scripted_server

Sink = Callable[[DataFrame, int], None]


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api(0, items=1_000, page=50)
    serving(made)
    yield made
    made.shutdown()
    made.server_close()


class Job:
    """A query over the API on one checkpoint, into Parquet or into a function."""

    def __init__(self, spark: SparkSession, api: Api, folder: Path) -> None:
        self.spark = spark
        self.api = api
        self.folder = folder
        self.options = {
            "url": api.url,
            "childrenField": "comments",
            "stateLocation": f"{folder}/state",
            "pollInterval": "100ms",
        }

    def frame(self, **options: str) -> DataFrame:
        given = {**self.options, **options}
        return self.spark.readStream.format("headwater").option("source", "http").options(**given).load()

    def run(
        self, frame: DataFrame, sink: Sink | None = None, name: str = "rows", **trigger: Any
    ) -> list[dict[str, Any]]:
        """Run to the end; return the progress of its batches."""
        writer = frame.writeStream.option("checkpointLocation", f"{self.folder}/checkpoint-{name}").trigger(
            **(trigger or {"availableNow": True})
        )
        writer = (
            writer.foreachBatch(sink)
            if sink is not None
            else writer.format("parquet").option("path", f"{self.folder}/{name}")
        )
        query = writer.start()
        try:
            assert query.awaitTermination(PATIENCE_S), "the query does not end"
        finally:
            query.stop()
        return [json.loads(progress.json) for progress in query.recentProgress]

    def items(self, name: str = "rows") -> list[str]:
        return sorted(
            row.item for row in self.spark.read.parquet(f"{self.folder}/{name}").select("item").collect()
        )

    def everything(self) -> list[str]:
        first = 0
        found = []
        while (page := self.api.answer("/items", first)) is not None:
            items = page["items"]
            assert isinstance(items, list)
            found += items
            first += len(items)
            if page["next"] is None:
                break
        comments = [self.api.answer(item["comments"], 0) for item in found if "comments" in item]
        children = [child for page in comments if page is not None for child in _list(page["items"])]
        return sorted(json.dumps(item) for item in found + children)


def _list(value: object) -> list[Any]:
    assert isinstance(value, list)
    return value


@pytest.fixture
def job(spark: SparkSession, api: Api, tmp_path: Path) -> Job:
    return Job(spark, api, tmp_path)


def test_available_now_reads_everything_once_and_goes_on_where_it_was(job: Job) -> None:
    frame = job.frame(barrierRows="200")
    progress = job.run(frame)
    assert len(progress) > 3
    assert job.items() == job.everything()
    last = progress[-1]["sources"][0]["latestOffset"]["checkpoint"]
    assert {"epoch", "alignment_ms", "start_delay_ms", "in_flight_bytes", "snapshot_ms"} <= set(last)
    job.api.items = 1_130
    job.run(job.frame(barrierRows="60", barrierMode="unaligned", connections="2"))
    assert job.items() == job.everything()


def test_a_checkpoint_rolled_back_with_its_sink_goes_on_from_there(job: Job) -> None:
    job.run(job.frame(barrierRows="200"))
    logs = [
        job.folder / name
        for name in ("checkpoint-rows/offsets", "checkpoint-rows/commits", "rows/_spark_metadata")
    ]
    last = logged_ids(logs[0])[-1]
    for log, kept in zip(logs, (last - 2, last - 3, last - 3), strict=True):
        for batch_id in range(kept + 1, last + 1):
            (log / str(batch_id)).unlink()
            (log / f".{batch_id}.crc").unlink(missing_ok=True)
    job.api.items = 1_010
    job.run(job.frame(barrierRows="300"))
    assert job.items() == job.everything()


def test_once_reads_everything_in_one_epoch(job: Job) -> None:
    progress = job.run(job.frame(barrierRows="10"), once=True)
    assert len(progress) == 1
    assert job.items() == job.everything()


def test_a_batch_reads_one_epoch_to_the_end_with_all_children(job: Job) -> None:
    options = {name: value for name, value in job.options.items() if name in {"url", "childrenField"}}
    rows = job.spark.read.format("headwater").option("source", "http").options(**options).load()
    assert sorted(row.item for row in rows.select("item").collect()) == job.everything()
    assert len(rows.limit(3).collect()) == 3


def test_a_processing_time_trigger_follows_what_grows_and_is_idle_otherwise(job: Job) -> None:
    seen: list[str] = []
    writer = job.frame(barrierRows="300").writeStream.foreachBatch(
        lambda frame, _: seen.extend(row.item for row in frame.select("item").collect())
    )
    query = writer.option("checkpointLocation", f"{job.folder}/checkpoint").start()
    try:
        for items in (1_000, 1_077):
            job.api.items = items
            until(lambda: len(seen) == len(job.everything()), "all items")
        assert sorted(seen) == job.everything()
    finally:
        query.stop()


def test_foreach_batch_may_look_at_nothing_twice_or_at_a_part(job: Job) -> None:
    seen: list[str] = []

    def twice(frame: DataFrame, batch_id: int) -> None:
        first = sorted(row.item for row in frame.select("item").collect())
        assert first == sorted(row.item for row in frame.select("item").collect())
        seen.extend(first)

    def nothing(frame: DataFrame, batch_id: int) -> None:
        pass

    def peek_then_take(frame: DataFrame, batch_id: int) -> None:
        if not frame.isEmpty():
            seen.extend(row.item for row in frame.select("item").collect())

    job.run(job.frame(barrierRows="400"), nothing, "look")
    job.run(job.frame(barrierRows="400"), peek_then_take, "look")
    assert sorted(seen) == job.everything()
    job.api.items = 1_060
    job.run(job.frame(barrierRows="400"), twice, "look")
    assert sorted(seen) == job.everything()


def test_a_stream_joined_with_itself_matches_each_row_once_and_two_queries_share_a_location(job: Job) -> None:
    frame = job.frame(barrierRows="500")
    other = frame.select(col("resource").alias("r"), col("page").alias("p"), col("row").alias("n"))
    joined = frame.join(
        other, (col("resource") == col("r")) & (col("page") == col("p")) & (col("row") == col("n"))
    ).select("item")
    job.run(joined, name="joined")
    assert job.items("joined") == job.everything()
    job.run(frame.select("item"), name="plain")
    assert job.items("plain") == job.everything()


def test_scans_of_one_epoch_that_are_shared_on_a_host_ask_the_outside_once(job: Job) -> None:
    seen: list[list[str]] = []
    asked: list[int] = []

    def twice(frame: DataFrame, batch_id: int) -> None:
        for _ in range(2):
            before = next(job.api.requests)
            seen.append(sorted(row.item for row in frame.select("item").collect()))
            asked.append(next(job.api.requests) - before - 1)

    job.api.busy_every = 1 << 30  # so it counts its requests
    job.run(job.frame(barrierRows="600", shareScans="true"), twice, "shared")
    assert seen[::2] == seen[1::2]
    assert sorted(itertools.chain(*seen[::2])) == job.everything()
    assert sum(asked[::2]) > 0
    assert set(asked[1::2]) == {0}


def test_a_state_location_that_cannot_be_used_is_named(job: Job, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    kept = {name: value for name, value in job.options.items() if name != "stateLocation"}
    reader = job.spark.readStream.format("headwater").option("source", "http").options(**kept)
    with pytest.raises(StreamingQueryException, match="option 'stateLocation': is required"):
        job.run(reader.load(), name="refused")
    for location, message in (
        (f"{tmp_path}/file", f"must be a folder, and {tmp_path}/file is none"),
        (f"{tmp_path}/file/x", f"must be a folder, and {tmp_path}/file is none"),
        ("/proc/headwater", "must be a folder that can be written"),
        ("memory://x", "atomic put-if-absent"),
    ):
        with pytest.raises(AnalysisException) as raised:
            reader.option("stateLocation", location).load()
        told = str(raised.value).rpartition("SQLSTATE")[0]
        lines = [line for line in told.splitlines() if line.strip()]
        assert lines[-1].startswith("headwater: option 'stateLocation': "), lines[-1]
        assert message in lines[-1]


def test_no_secret_is_in_plans_offsets_or_progress(
    job: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"bearerToken": "s3cret", "apiKey": "s3cret", "apiKeyIn": "query:key", "header.X-Key": "s3cret"}
    redaction = "spark.sql.redaction.options.regex"
    job.spark.conf.set(redaction, hw.recommended_conf()[redaction])
    try:
        batch = job.spark.read.format("headwater").options(**job.options, **given, source="http").load()
        batch.explain(extended=True)
        frame = job.frame(**given)
        frame.explain(extended=True)
    finally:
        job.spark.conf.unset(redaction)
    plans = capsys.readouterr().out
    assert "pollInterval=100ms" in plans
    progress = json.dumps(job.run(frame))
    assert job.items() == job.everything()
    written = [file.read_bytes().decode(errors="replace") for file in tmp_path.rglob("*") if file.is_file()]
    lines = [line for text in (plans, progress, *written) for line in text.splitlines()]
    assert [line for line in lines if "s3cret" in line] == []


def test_items_become_typed_columns_in_a_batch_and_in_a_stream(job: Job) -> None:
    typed = {"valueFormat": "json", "valueSchema": "id long, name string, comment int"}
    frame = job.spark.read.format("headwater").options(source="http", url=job.api.url, **typed).load()
    assert frame.schema.simpleString() == (
        "struct<resource:string,page:bigint,row:bigint,id:bigint,name:string,comment:int>"
    )
    rows = frame.orderBy("page", "row").collect()
    assert [(row.id, row.name, row.comment) for row in rows] == [
        (number, f"item {number}", None) for number in range(1_000)
    ]
    stream = job.frame(**typed, columns="item.*", barrierRows="300", barrierMode="unaligned")
    job.run(stream)
    found = job.spark.read.parquet(f"{job.folder}/rows")
    assert found.columns == ["id", "name", "comment"]
    assert found.where("comment is null").count() == 1_000
    assert found.where("comment = 2").count() == 10
    other = job.frame(**{**typed, "valueSchema": "id string"}, columns="item.*")
    with pytest.raises(StreamingQueryException, match="was written with the schema"):
        job.run(other)


def test_a_server_that_asks_one_task_to_leave_it_alone_is_left_alone_by_the_others(
    spark: SparkSession, tmp_path: Path
) -> None:
    def answer(path: str) -> Answer:
        if path == "/a":
            return 429, [("Retry-After", "3600")], b""
        number = int(path.rpartition("=")[2]) if "=" in path else 0
        return 200, [], json.dumps({"items": [number], "next": f"/b?page={number + 1}"}).encode()

    epochs: list[tuple[int, int]] = []

    def sink(frame: DataFrame, batch_id: int) -> None:
        rows = frame.count()
        asked = sum(path.startswith("/b") for path, _ in server.asked)
        epochs.append((rows, asked))

    with scripted_server() as server:
        server.answer = answer
        options = {
            "source": "http",
            "url": f"{server.origin}/a, {server.origin}/b",
            "stateLocation": f"{tmp_path}/state",
            "barrierRows": "3",
            "parallelism": "2",
        }
        stream = spark.readStream.format("headwater").options(**options).load()
        writer = stream.writeStream.option("checkpointLocation", f"{tmp_path}/checkpoint")
        query = writer.foreachBatch(sink).start()
        try:
            until(lambda: len(epochs) == 2 or not query.isActive, "two epochs")
            assert query.exception() is None
        finally:
            query.stop()
        (rows, asked), second = epochs
        assert rows >= 3
        assert second == (0, asked)
        assert [path for path, _ in server.asked].count("/a") == 1


@pytest.mark.parametrize("asks", [False, pytest.param(True, marks=pytest.mark.long)])
def test_two_lists_of_different_age_lose_no_row_of_a_window_when_they_are_aligned_by_event_time(
    asks: bool, spark: SparkSession, tmp_path: Path
) -> None:
    """One list has 40 rows of three hours, the other one 40 rows of the last of these hours."""
    hour_s = 3_600
    times = {"old": range(0, 3 * hour_s, 270), "young": range(2 * hour_s, 3 * hour_s, 90)}

    def answer(path: str) -> Answer:
        name, _, number = path.strip("/").partition("?page=")
        page = int(number or 0)
        found = times[name][4 * page : 4 * page + 4]
        items = [
            {"list": name, "at": f"2026-11-23T{at // hour_s:02}:{at % hour_s // 60:02}:{at % 60:02}Z"}
            for at in found
        ]
        following = f"/{name}?page={page + 1}" if len(times[name]) > 4 * page + 4 else None
        return 200, [], json.dumps({"items": items, "next": following}).encode()

    def read(name: str, **options: str) -> int:
        """Return how many rows came into windows."""
        given = {
            "source": "http",
            "url": f"{server.origin}/old, {server.origin}/young",
            "valueFormat": "json",
            "valueSchema": "list string, at timestamp",
            "columns": "item.*",
            "stateLocation": f"{tmp_path}/state-{name}",
            "barrierRows": "12",
            "pollInterval": "1h",
            **options,
        }
        counts: dict[tuple[str, Any], int] = {}

        def sink(frame: DataFrame, batch_id: int) -> None:
            counts.update(((row["list"], row["window"]), row["count"]) for row in frame.collect())

        stream = spark.readStream.format("headwater").options(**given).load()
        windows = stream.withWatermark("at", "20 minutes").groupBy("list", window("at", "5 minutes")).count()
        query = (
            windows.writeStream.outputMode("update")
            .option("checkpointLocation", f"{tmp_path}/checkpoint-{name}")
            .foreachBatch(sink)
            .trigger(availableNow=True)
            .start()
        )
        try:
            assert query.awaitTermination(PATIENCE_S), "the query does not end"
        finally:
            query.stop()
        return sum(counts.values())

    with scripted_server() as server:
        server.answer = answer
        aligned = {"parallelism": "2", "maxEventTimeSkew": "18m", "eventTimeColumn": "at"}
        if not asks:
            assert read("plain", parallelism="2") < 80
            assert read("aligned", **aligned) == 80
            return
        with SlowService() as service:
            asking = {
                "asyncFunction": "tests.exactly_once.asking:AskAboutTime",
                "asyncArguments": json.dumps({"url": service.url, "slow": "again"}),
                "barrierMode": "unaligned",
            }
            assert read("asking", **aligned, **asking) == 80
            assert service.count("again") >= 2 * len([key for key in service.calls if key[0] == "again"]) > 0

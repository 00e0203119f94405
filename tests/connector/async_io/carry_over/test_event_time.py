"""No row is late because it was carried over, and windows close: in real Spark, with a slow service."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

import headwater as hw
from headwater.core.errors import OptionError
from tests.connector.async_io.carry_over.conftest import PROVIDER, ROCKSDB
from tests.connector.async_io.carry_over.test_carried_queries import written
from tests.connector.async_io.functions import slow_for_some
from tests.exactly_once.processes import Program
from tests.exactly_once.waiting import until
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECONDS = 10
BATCHES = 5
pytestmark = pytest.mark.usefixtures("rocksdb")


def write_rows(folder: Path, batches: Iterable[int]) -> None:
    """Write four rows a second, a file a batch."""
    folder.mkdir(exist_ok=True)
    for batch in batches:
        first = batch * SECONDS * 4
        ids = list(range(first, first + SECONDS * 4))
        times = pa.array([number * 250_000 for number in ids], pa.timestamp("us", "UTC"))
        file = folder / f"{batch}.parquet"
        hidden = folder / f".{batch}.parquet"
        pq.write_table(pa.table({"id": ids, "at": times}), hidden)
        os.utime(
            hidden, (1_700_000_000 + batch, 1_700_000_000 + batch)
        )  # the order in which Spark reads them
        hidden.rename(file)


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> DataFrame:
    write_rows(tmp_path / "in", range(BATCHES))
    files = spark.readStream.schema("id long, at timestamp").option("maxFilesPerTrigger", 1)
    return files.parquet(str(tmp_path / "in"))


def windows(df: DataFrame) -> DataFrame:
    return df.groupBy(F.window("at", "5 seconds")).agg(F.count("*").alias("rows"))


def started(df: DataFrame, folder: Path, name: str, **trigger: Any) -> Any:
    writer = df.writeStream.format("parquet").option("path", str(folder / name))
    return writer.option("checkpointLocation", str(folder / f"{name}-log")).trigger(**trigger).start()


@pytest.mark.slow
@pytest.mark.parametrize("before", [False, True], ids=["behind", "before and behind"])
def test_windows_behind_the_operator_get_every_row(rows: DataFrame, tmp_path: Path, before: bool) -> None:
    """Whether the input had a watermark already, or none."""
    given = rows.withWatermark("at", "2 seconds") if before else rows
    asked = hw.unordered_wait(
        given, slow_for_some, schema="answer long", carry_over="100ms", event_time="at", delay="2 seconds"
    )
    query = started(windows(asked), tmp_path, "out", processingTime="100 milliseconds")
    # The rows of the last seconds are the watermark's delay, and the window that it stands in.
    closed = BATCHES * SECONDS // 5 - 1
    until(
        lambda: query.exception() is not None or written(tmp_path / "out", "rows").total() >= closed,
        "the windows",
    )
    query.stop()
    assert query.exception() is None
    assert written(tmp_path / "out", "rows") == {20: closed}


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.long
def test_windows_get_every_row_once_though_the_query_is_killed_again_and_again(
    spark_conf: dict[str, Any], tmp_path: Path
) -> None:
    """Each time with rows carried over; a run that ends by itself (AvailableNow) comes last."""
    conf = {**spark_conf, PROVIDER: ROCKSDB}
    trigger = {"processingTime": "200 milliseconds"}
    job = {"conf": conf, "folder": str(tmp_path), "trigger": trigger}
    script = str(Path(__file__).with_name("windows_driver.py"))
    offsets = tmp_path / "out-log" / "offsets"
    for kill in range(3):
        write_rows(tmp_path / "in", range(2 * kill, 2 * kill + 2))
        before = len(list(offsets.glob("[0-9]*")))
        with Program(script, job, tmp_path / "driver.log") as driver:
            driver.until(lambda: len(list(offsets.glob("[0-9]*"))) >= before + 3, "batches")  # noqa: B023
            driver.kill()
    write_rows(tmp_path / "in", range(6, 8))
    with Program(script, {**job, "trigger": {"availableNow": True}}, tmp_path / "driver.log") as driver:
        driver.finish(PATIENCE_S)
    # Spark begins no batch after a restart without new rows, though windows could close.
    write_rows(tmp_path / "in", range(8, 9))
    with Program(script, job, tmp_path / "driver.log") as driver:
        closed = 9 * SECONDS // 5 - 1
        driver.until(lambda: written(tmp_path / "out", "rows").total() >= closed, "the windows")
        driver.kill()
    assert written(tmp_path / "out", "rows") == {20: closed}


@pytest.mark.slow
def test_rows_of_a_window_before_the_operator_reach_the_window_behind_it(
    rows: DataFrame, tmp_path: Path
) -> None:
    """They stand at the watermark: a batch waits for them, and the watermark goes through."""
    counted = windows(rows.withWatermark("at", "2 seconds"))

    asked = hw.unordered_wait(
        counted.withColumn("id", F.unix_timestamp("window.start")),
        slow_for_some,
        schema="answer long",
        carry_over="100ms",
        event_time="window",
        delay="2 seconds",
    )
    wider = asked.groupBy(F.window("window", "10 seconds")).agg(F.sum("rows").alias("rows"))
    query = started(wider, tmp_path, "out", availableNow=True)
    assert query.awaitTermination(PATIENCE_S)
    assert written(tmp_path / "out", "rows") == {40: BATCHES - 1}


def test_what_would_lose_rows_is_refused_at_once(rows: DataFrame) -> None:
    def refused(df: DataFrame, match: str, **options: Any) -> None:
        with pytest.raises(OptionError, match=match):
            hw.unordered_wait(df, slow_for_some, schema="answer long", **options)

    marked = rows.withWatermark("at", "2 seconds")
    refused(marked, "'carry_over': on input with a watermark .of 'at'. needs event_time=", carry_over="1s")
    refused(rows, "'delay': must be given too", carry_over="1s", event_time="at")
    refused(rows, "'event_time': must be given too", carry_over="1s", delay="1s")
    refused(rows, "'event_time': must be a timestamp, and 'id'", carry_over="1s", event_time="id", delay="1s")
    refused(rows, "'event_time': 'ta' is no column", carry_over="1s", event_time="ta", delay="1s")
    refused(rows, "'delay': must be a duration", carry_over="1s", event_time="at", delay="long")
    refused(rows, "'event_time': means nothing without carry_over", event_time="at", delay="1s")
    refused(
        rows,
        "'event_time': must be in the output",
        carry_over="1s",
        event_time="at",
        delay="1s",
        keep_input=False,
    )
    refused(
        marked.withColumn("seen", F.current_timestamp()),
        "'event_time': is 'seen', and the input has a watermark of 'at'",
        carry_over="1s",
        event_time="seen",
        delay="1s",
    )
    in_windows = marked.select("id", F.window("at", "5 seconds").alias("at"))
    refused(
        in_windows,
        "'event_time': must be a timestamp, and 'at' is not",
        carry_over="1s",
        event_time="at",
        delay="1s",
    )
    policy = "spark.sql.streaming.multipleWatermarkPolicy"
    rows.sparkSession.conf.set(policy, "max")
    try:
        refused(rows, f"'event_time': needs {policy} to be min", carry_over="1s", event_time="at", delay="1s")
    finally:
        rows.sparkSession.conf.unset(policy)
    ends = windows(marked).select(F.col("window.end").alias("at"), F.col("rows").alias("id"))
    refused(
        ends,
        "'event_time': must be the column with the input's watermark",
        carry_over="1s",
        event_time="at",
        delay="1s",
    )


@pytest.mark.slow
@pytest.mark.parametrize("event_time", [None, "at"])
def test_another_watermark_behind_the_operator_is_refused_before_a_row_is_asked(
    rows: DataFrame, tmp_path: Path, event_time: str | None
) -> None:
    """Of any column, also if the operator sets one itself: rows are carried over for its own alone."""
    asked = hw.unordered_wait(
        rows.withColumn("seen", F.col("at")),
        slow_for_some,
        schema="answer long",
        carry_over="100ms",
        event_time=event_time,
        delay=event_time and "2 seconds",
    )
    query = started(
        asked.withWatermark("seen", "1 second"), tmp_path, "out", processingTime="100 milliseconds"
    )
    with pytest.raises(
        StreamingQueryException, match=r"a watermark \(of seen\) is set behind an operator that carries rows"
    ):
        query.awaitTermination(PATIENCE_S)


def test_far_more_state_partitions_than_tasks_are_refused(spark: SparkSession, rows: DataFrame) -> None:
    """An empty batch would take as long as two hundred tasks."""
    spark.conf.set("spark.sql.shuffle.partitions", "200")
    try:
        with pytest.raises(OptionError, match=r"shuffle\.partitions is 200, and 2 tasks .* set it to 2 "):
            hw.unordered_wait(rows, slow_for_some, schema="answer long", carry_over="1s")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")

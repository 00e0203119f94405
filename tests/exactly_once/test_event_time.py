"""Windows over a backlog in real Spark, beside the truth: no row is late because its partition lags."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.enumerators.event_time.simulation import BEGIN_MS, HOUR_MS, MINUTE_MS, Times, backlogs
from tests.exactly_once.event_time_driver import windows
from tests.exactly_once.pipeline import logged, logged_ids
from tests.exactly_once.processes import Program
from tests.exactly_once.watching import FolderWatch
from tests.patience import PATIENCE_S
from timed_records import append_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from local_kafka import LocalKafka

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "6"))
SHIFT_MS = (time.time_ns() // 1_000_000 - BEGIN_MS - 30 * HOUR_MS) // MINUTE_MS * MINUTE_MS
"""The broker removes what is older than a week."""

Windows = Counter[tuple[int, int]]
"""How many records each partition has in each minute."""


def fill(kafka: LocalKafka, topic: str, splits: Sequence[Times]) -> Windows:
    """Write a backlog; return its windows."""
    # By default a broker refuses records of the future.
    configs = {"message.timestamp.after.max.ms": str(2 * 365 * 24 * HOUR_MS)}
    kafka.create_topic(topic, len(splits), configs)
    truth: Windows = Counter()
    for partition, times in enumerate(splits):
        append_at(kafka, topic, partition, (times + SHIFT_MS).tolist())
        minutes, counts = np.unique((times + SHIFT_MS) // MINUTE_MS, return_counts=True)
        truth.update({(partition, int(at)): int(count) for at, count in zip(minutes, counts, strict=True)})
    return truth


def read_windows(
    spark: SparkSession, kafka: LocalKafka, folder: Path, source: str, options: Mapping[str, Any]
) -> tuple[Windows, list[int]]:
    """Read a backlog to its end; return the windows in the sink, and the rows of each batch."""
    seen: Windows = Counter()

    def update(rows: DataFrame, batch: int) -> None:
        for partition, minute, count in rows.collect():
            seen[partition, minute] = count

    reader = spark.readStream.format(source).option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    if source == "headwater":
        reader = reader.option("source", "kafka").option("columns", "partition,timestamp")
    frame = reader.option("startingOffsets", "earliest").options(**options).load()
    query = (
        windows(frame)
        .writeStream.outputMode("update")
        .foreachBatch(update)
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(PATIENCE_S), "the query does not end"
    finally:
        query.stop()
    return seen, [progress["numInputRows"] for progress in query.recentProgress]


def smaller(splits: Sequence[Times], factor: int) -> list[Times]:
    """Return the same backlog with fewer records."""
    return [times[::factor] for times in splits]


def test_windows_over_a_partition_that_lags_are_those_of_the_truth(
    spark: SparkSession, kafka: LocalKafka, topic: str, tmp_path: Path
) -> None:
    truth = fill(kafka, topic, smaller(backlogs()["one partition two hours behind"], 20))
    options = {"subscribe": topic, "maxOffsetsPerTrigger": 3_000, "maxEventTimeSkew": "1m"}
    seen, batches = read_windows(spark, kafka, tmp_path / "checkpoint", "headwater", options)
    assert seen == truth
    assert len([rows for rows in batches if rows]) >= 4


def test_windows_over_topics_of_very_different_age_with_transactions_are_those_of_the_truth(
    spark: SparkSession, kafka: LocalKafka, topic: str, tmp_path: Path
) -> None:
    """A day of one topic and an hour of the other in one load, of which committed records count."""
    end_ms = BEGIN_MS + 24 * HOUR_MS
    slow: Times = np.arange(BEGIN_MS, end_ms, 20 * MINUTE_MS // 60)
    fast: Times = np.arange(end_ms - HOUR_MS, end_ms, 1_200)
    nothing: Times = np.array([], dtype=np.int64)
    truth = fill(kafka, f"{topic}-slow", [slow])
    truth += fill(kafka, f"{topic}-fast", [nothing, fast])
    for name, partition in ((f"{topic}-slow", 0), (f"{topic}-fast", 1)):
        kafka.produce_transaction(name, [b"aborted"] * 500, commit=False, partition=partition)
    unfinished = kafka.begin(f"{topic}-fast", 1)
    unfinished.produce([b"open"] * 500)
    options = {"subscribe": f"{topic}-slow,{topic}-fast", "kafka.isolation.level": "read_committed"}
    options |= {"maxOffsetsPerTrigger": "1500", "maxEventTimeSkew": "1m"}
    try:
        seen, batches = read_windows(spark, kafka, tmp_path / "checkpoint", "headwater", options)
    finally:
        unfinished.abort()
    assert seen == truth
    assert len([rows for rows in batches if rows]) >= 4


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", list(backlogs()))
def test_the_table_of_backlogs(
    spark: SparkSession, kafka: LocalKafka, topic: str, tmp_path: Path, name: str
) -> None:
    """Prints late rows of Spark's own source, of ours without alignment, and with it."""
    splits = backlogs()[name]
    truth = fill(kafka, topic, splits)
    options = {"subscribe": topic, "maxOffsetsPerTrigger": 24_000}
    late = {}
    batches = {}
    for arm, source, more in (
        ("Spark's own", "kafka", {}),
        ("headwater", "headwater", {}),
        ("aligned", "headwater", {"maxEventTimeSkew": "1m"}),
    ):
        seen, rows = read_windows(spark, kafka, tmp_path / arm, source, options | more)
        assert not seen - truth, "nothing is read twice"
        late[arm] = truth.total() - seen.total()
        batches[arm] = len([each for each in rows if each])
    print(f"{name}: late {late} of {truth.total()}, batches {batches}", flush=True)
    assert late["headwater"] == late["Spark's own"]
    if "20 min" in name or "year" in name:
        assert late["aligned"] < late["headwater"]
    else:
        assert late["aligned"] == 0


@pytest.mark.long
@pytest.mark.crash
@pytest.mark.timeout(600 + 60 * ROUNDS)
def test_windows_of_a_catch_up_that_is_killed_are_those_of_the_truth(
    kafka: LocalKafka,
    topic: str,
    spark_conf: dict[str, Any],
    tmp_path: Path,
    rng: random.Random,
) -> None:
    """The driver is killed in the middle of a catch-up, at seeded points; then it runs to its end."""
    truth = fill(kafka, topic, smaller(backlogs()["one partition two hours behind"], 10))
    job = {
        "conf": spark_conf,
        "master": "local[2]",
        "bootstrap_servers": kafka.bootstrap_servers,
        "folder": str(tmp_path),
        "options": {"subscribe": topic, "maxOffsetsPerTrigger": "600", "maxEventTimeSkew": "1m"},
    }
    checkpoint = tmp_path / "checkpoint"
    folders = [checkpoint / "offsets", checkpoint / "commits"]
    for folder in folders:
        folder.mkdir(parents=True)
    for number in range(ROUNDS):
        fatal = rng.randint(4, 24)
        with FolderWatch(folders) as watch, Program("event_time_driver.py", job, tmp_path / "log") as driver:
            watch.wait_for(fatal, driver.check)
            driver.kill()
        print(f"kill {number} after {fatal} files, batch {logged_ids(folders[0])[-1]}", flush=True)
    with Program("event_time_driver.py", job | {"ends": True}, tmp_path / "log") as driver:
        driver.finish(PATIENCE_S)
    ids = logged_ids(folders[0])
    states = [logged(checkpoint, batch).get("state", {}).get("event_time", {}) for batch in ids]
    fronts = [state["front_ms"] for state in states if "front_ms" in state]
    assert fronts == sorted(fronts), "the front never goes back"
    seen: Windows = Counter()
    for name in sorted(tmp_path.glob("windows/*.json"), key=lambda path: int(path.stem)):
        for partition, minute, count in json.loads(name.read_text()):
            seen[partition, minute] = count
    assert seen == truth

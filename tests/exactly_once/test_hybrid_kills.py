"""A chain of files and a topic: the driver is killed again and again, most of all at the seam."""

from __future__ import annotations

import json
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from local_kafka import LocalKafka
from tests.exactly_once.pipeline import logged_ids
from tests.exactly_once.processes import Program
from tests.exactly_once.watching import FolderWatch
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "6"))
ROWS = 20_000
FILES = 2
FIRST_LIVE = 6_000
LAST_IN_FILES = 14_000
BEGIN = datetime(2026, 11, 20, tzinfo=UTC)
SEAM = 10_000


def time_of(number: int) -> datetime:
    """A second apart, and each up to 500 s early or late."""
    return BEGIN + timedelta(seconds=number + (number * 7919) % 1_000 - 500)


def write_history(folder: Path) -> None:
    folder.mkdir()
    size = LAST_IN_FILES // FILES
    for number in range(FILES):
        rows = range(number * size, (number + 1) * size)
        times = pa.array(map(time_of, rows), pa.timestamp("us", "UTC"))
        pq.write_table(
            pa.table([pa.array(rows, pa.int64()), times], ["id", "at"]), folder / f"{number}.parquet"
        )


def produce(kafka: LocalKafka, topic: str, pad: int) -> None:
    """Produce the rows of the log, each with so many bytes more than it needs."""
    # The times are fixed ones: seven days later the broker would delete such records at once.
    kafka.create_topic(topic, 3, {"retention.ms": "-1"})
    for partition in range(3):
        own = range(FIRST_LIVE + partition, ROWS, 3)
        fields = [{"id": number, "at": time_of(number).isoformat(), "pad": "x" * pad} for number in own]
        values = [json.dumps(row).encode() for row in fields]
        times_ms = [int((BEGIN + timedelta(seconds=number)).timestamp() * 1000) for number in own]
        kafka.produce(topic, values, timestamps_ms=times_ms, partition=partition)


@pytest.mark.crash
@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(600 + 90 * ROUNDS)
@pytest.mark.parametrize("limit", ["maxRowsPerTrigger", "targetBatchDuration"])
def test_no_row_is_lost_or_comes_twice_at_the_seam_however_often_the_driver_is_killed(  # noqa: PLR0917
    kafka: LocalKafka,
    topic: str,
    spark: SparkSession,
    spark_conf: dict[str, Any],
    tmp_path: Path,
    rng: random.Random,
    limit: str,
) -> None:
    write_history(tmp_path / "history")
    # With 1.5 kB a row, a batch that begins a part has about 700 rows, too.
    produce(kafka, topic, pad=0 if limit == "maxRowsPerTrigger" else 1_500)
    options = {
        "sources": "history,live",
        "seamColumn": "at",
        "seamTime": (BEGIN + timedelta(seconds=SEAM)).isoformat(),
        "history.source": "files",
        "history.format": "parquet",
        "history.path": str(tmp_path / "history"),
        "history.maxFilesPerTrigger": "1",
        "live.source": "kafka",
        "live.kafka.bootstrap.servers": kafka.bootstrap_servers,
        "live.subscribe": topic,
        "live.valueFormat": "json",
        "live.valueSchema": "id long, at timestamp",
        "live.timeZone": "UTC",
        "live.columns": "value.*",
    }
    duration = {"targetBatchDuration": "1s", "checkpointLocation": str(tmp_path / "checkpoint")}
    limits = {"maxRowsPerTrigger": "700"} if limit == "maxRowsPerTrigger" else duration
    job = {
        "conf": spark_conf,
        "master": "local[2]",
        "folder": str(tmp_path),
        "options": options | limits,
    }
    folders = [tmp_path / "checkpoint" / "offsets", tmp_path / "checkpoint" / "commits"]
    for folder in folders:
        folder.mkdir(parents=True)
    for number in range(ROUNDS):
        # A batch makes two files here: the rounds end within the history, at the seam and behind it.
        fatal = rng.randint(2, 8)
        with FolderWatch(folders) as watch, Program("hybrid_driver.py", job, tmp_path / "log") as driver:
            watch.wait_for(fatal, driver.check)
            driver.kill()
        print(f"kill {number} after {fatal} files, batch {logged_ids(folders[0])[-1]}", flush=True)
    with Program("hybrid_driver.py", job | {"ends": True}, tmp_path / "log") as driver:
        driver.finish(PATIENCE_S)
    ids = sorted(row.id for row in spark.read.parquet(str(tmp_path / "rows")).collect())
    assert ids == list(range(ROWS))
    batch = {name: value for name, value in options.items() if name != "history.maxFilesPerTrigger"}
    frame = spark.read.format("headwater").options(source="hybrid", **batch).load()
    assert sorted(row.id for row in frame.collect()) == list(range(ROWS))

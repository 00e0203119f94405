"""``headwater try`` as a program of its own, without Spark's jars, and beside a query that is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local_kafka import LocalKafka
from tests.exactly_once.processes import Program
from tests.exactly_once.windows import SPARK, NumberedRecords, WindowPipeline
from tests.patience import PATIENCE_S
from tests.tools.commands.trial.sparks_queries import SparksQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_try(checkpoint: Path, *more: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Start the program where it may write what it likes, and return what it said."""
    code = "import sys; from headwater.tools.commands.main import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", code, "try", str(checkpoint), "--cores", "2", "--rounds", "1", *more],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S * 3,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )


@pytest.mark.long
@pytest.mark.slow
def test_without_sparks_jars_the_line_is_said_that_brings_them(
    spark: SparkSession, kafka: LocalKafka, topic: str, tmp_path: Path
) -> None:
    kafka.create_topic(topic)
    kafka.produce(topic, [b"x"] * 5)
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
    }
    query = SparksQuery(spark, "kafka", options, tmp_path / "checkpoint")
    query.run()
    folder = tmp_path / "here"
    folder.mkdir()
    file = tmp_path / "options"
    file.write_text("".join(f"{name}={value}\n" for name, value in options.items()))
    tried = run_try(query.checkpoint, "--options-file", str(file), folder=folder)
    assert tried.returncode == 1, tried.stderr
    assert "compared with nothing: Spark's own kafka is not here" in tried.stdout
    assert "--conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:" in tried.stdout
    assert "through headwater alone:" in tried.stdout
    assert list(folder.iterdir()) == []


def has_more(checkpoint: Path, committed: int) -> bool:
    return len(list(checkpoint.glob("commits/[0-9]*"))) > committed


@pytest.mark.long
@pytest.mark.crash
@pytest.mark.slow
def test_a_query_that_is_killed_and_started_meanwhile_is_tried(
    spark: SparkSession, kafka: LocalKafka, topic: str, spark_conf: dict[str, Any], tmp_path: Path
) -> None:
    kafka.create_topic(topic, 2, {"retention.ms": "-1"})
    records = NumberedRecords(kafka, topic)
    options = {
        "format": SPARK,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": 40,
    }
    pipeline = WindowPipeline(spark, kafka.bootstrap_servers, tmp_path, options)
    given = {"kafka.bootstrap.servers": kafka.bootstrap_servers, "subscribe": topic}
    query = SparksQuery(spark, "kafka", given, pipeline.checkpoint)
    records.produce(200)
    job = {**pipeline.job(spark_conf), "master": "local[2]"}
    for killed in (True, False, True):
        with Program("windows_driver.py", job, tmp_path / "driver.log") as driver:
            committed = len(list(pipeline.checkpoint.glob("commits/[0-9]*")))
            driver.until(partial(has_more, pipeline.checkpoint, committed), "another batch to be committed")
            records.produce(200)
            assert query.try_it("--batches", "3") == 0
            if killed:
                driver.kill()
                assert query.try_it("--batches", "1000") == 0
        records.produce(80)

"""The driver is killed (SIGKILL) repeatedly while files come, are read, and are deleted.

With it die its JVM, Spark's source runner and the Python workers.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.connector.sources.files.notified_folders import BUCKET, S3Queues
from tests.enumerators.files.test_object_events import s3_event
from tests.exactly_once.checkpoint_steps import Disk
from tests.exactly_once.files_pipeline import FilesPipeline, ObjectWriter, Writer
from tests.exactly_once.processes import Program
from tests.exactly_once.watching import FolderWatch
from tests.s3_server import S3Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "6")) // 2
"""Kills at seeded points in long rounds. Each costs the start of a JVM."""

MOST_EVENTS = 60
"""About what four batches write into the folders that are watched."""


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(600 + 60 * ROUNDS)
@pytest.mark.parametrize("rounds", [2, pytest.param(ROUNDS, marks=pytest.mark.long)])
def test_files_are_read_once_and_deleted_only_when_committed_though_the_driver_is_killed(
    spark: SparkSession, spark_conf: dict[str, Any], tmp_path: Path, rng: random.Random, rounds: int
) -> None:
    # More files come than the offset can name.
    options = {"cleanSource": "delete", "maxFilesPerTrigger": "25", "stateLocation": str(tmp_path / "state")}
    job = FilesPipeline(spark, "", tmp_path, options)
    job.inbox.mkdir()
    disk = Disk(job)
    writer = Writer(job.inbox, rng)
    disk.make()
    for _ in range(30):
        writer.drop()
    with writer.running():
        for number in range(rounds):
            fatal = rng.randrange(MOST_EVENTS)
            with (
                FolderWatch(disk.folders) as watch,
                Program("files_driver.py", job.job(spark_conf), tmp_path / "driver.log") as driver,
            ):
                watch.wait_for(fatal, driver.check)
                kill = rng.choice([driver.kill, driver.kill_jvm])
                kill()
            dropped = set(writer.dropped)
            removed = dropped - {entry.name for entry in job.inbox.iterdir()}
            print(
                f"round {number + 1} of {rounds}: {kill.__name__} at file event {fatal}: {disk}, "
                f"{len(removed)} files deleted",
                flush=True,
            )
            assert removed <= job.committed_files()
    job.but(maxFilesPerTrigger="1000").drain()
    assert job.rows("number") == [(number,) for number in writer.numbers]
    print(
        f"{len(writer.numbers)} rows of {len(writer.dropped)} files, each written once, "
        f"in {job.batch_ids()[-1] + 1} batches"
    )


@pytest.mark.crash
@pytest.mark.long
@pytest.mark.timeout(900 + 300 * ROUNDS)
def test_objects_with_new_columns_that_a_bad_queue_tells_of_are_read_once_though_the_driver_is_killed(
    spark: SparkSession, spark_conf: dict[str, Any], tmp_path: Path, rng: random.Random
) -> None:
    """More names than fit into the offset, new columns on the way, events that are lost and repeated."""
    with S3Server() as server:
        queues = S3Queues(server)
        folder = f"{BUCKET}/{queues.folder}/in"
        writer = ObjectWriter(
            queues.fs, folder, lambda key: queues.tell(s3_event(key.removeprefix(f"{BUCKET}/"))), rng
        )
        options = {
            "format": "parquet",
            "path": f"s3://{folder}",
            "storageOptions": json.dumps(queues.storage),
            "notifications": f"sqs://{queues.name}",
            "notificationsOptions": json.dumps({"endpoint_url": queues.storage["endpoint_url"]}),
            "listingInterval": "10s",
            "schemaName": "numbers",
            "stateLocation": str(tmp_path / "state"),
            "maxFilesPerTrigger": "150",
        }
        job = FilesPipeline(spark, "", tmp_path, options)
        disk = Disk(job)
        disk.make()
        for _ in range(1_000):
            writer.put()
        with writer.running():
            for number in range(ROUNDS):
                fatal = rng.randrange(MOST_EVENTS)
                with (
                    FolderWatch(disk.folders) as watch,
                    Program("files_driver.py", job.job(spark_conf), tmp_path / "driver.log") as driver,
                ):
                    watch.wait_for(fatal, driver.check)
                    rng.choice([driver.kill, driver.kill_jvm])()
                print(f"round {number + 1} of {ROUNDS}: {writer.written} objects, {disk}", flush=True)
        while writer.written < 2_500:
            writer.put()
        job.but(maxFilesPerTrigger="1000").run(availableNow=True)
        names = ",".join(f"if({name} is null, null, '{name}')" for name in writer.columns)
        written = spark.read.option("mergeSchema", "true").parquet(str(job.sink))
        found = sorted(
            tuple(row) for row in written.selectExpr("number", f"concat_ws(',', {names})").collect()
        )
        assert found == writer.rows
        state = job.planned(job.batch_ids()[-1])["state"]
        assert state["spilled"], "more names than fit into the offset"
        print(f"{writer.written} objects with {len(writer.columns)} new columns, each read once")

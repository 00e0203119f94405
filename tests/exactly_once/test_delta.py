"""Into a Delta table, the driver killed (SIGKILL) again and again: each record is in the table once.

With the last release of Delta, which is for Spark 4.2: ``scripts/test --pyspark 4.2.0 --long`` runs it.
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from local_kafka import LocalKafka
from tests.delta_tables import delta_settings, needs_delta
from tests.exactly_once.processes import HERE, Program
from tests.exactly_once.producing import Producer
from tests.exactly_once.watching import FolderWatch
from tests.patience import PATIENCE_S

ROUNDS = 8
PARTITIONS = 3
LIFE_S = 300
MOST_EVENTS = 40
"""About what five batches write into the folders that are watched."""


@pytest.mark.long
@pytest.mark.crash
@pytest.mark.slow
@needs_delta
@pytest.mark.timeout(600 + 90 * ROUNDS)
def test_each_record_is_in_a_delta_table_once(
    spark_conf: dict[str, Any], kafka: LocalKafka, topic: str, rng: random.Random, tmp_path: Path
) -> None:
    kafka.create_topic(topic, PARTITIONS)
    folders = [tmp_path / "checkpoint" / log for log in ("offsets", "commits")] + [tmp_path / "table"]
    for folder in folders:
        folder.mkdir(parents=True)
    job = {
        "conf": {**spark_conf, **delta_settings(spark_conf), "spark.driver.memory": "1g"},
        "servers": kafka.bootstrap_servers,
        "topic": topic,
        "folder": str(tmp_path),
    }
    producer = Producer(kafka, topic, PARTITIONS)
    with producer.running():
        for number in range(ROUNDS):
            fatal = rng.randrange(MOST_EVENTS)
            with (
                FolderWatch(folders) as watch,
                Program("delta_driver.py", {**job, "ends": False}, tmp_path / "driver.log") as driver,
            ):
                next(itertools.islice(watch.files(LIFE_S, driver.check), fatal, None))
                driver.kill()
            print(f"round {number + 1} of {ROUNDS}: killed at file event {fatal}", flush=True)
    last = subprocess.run(
        [sys.executable, str(HERE / "delta_driver.py"), json.dumps({**job, "ends": True})],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert last.returncode == 0, last.stderr[-6_000:]
    assert sorted(map(tuple, json.loads(last.stdout))) == sorted(producer.written)
    print(f"{len(producer.written)} records, each in the table once", flush=True)

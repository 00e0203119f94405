"""A stream of a REST API is killed (SIGKILL) while the API grows, and each item is written once."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from examples.http_server import COMMENTS, Api, serving
from tests.exactly_once.barrier_job import BarrierJob

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "2"))
"""Rounds of kills at seeded points in long rounds. Each costs the start of a driver and two executors."""


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api(0, items=1_000, page=40, grow_per_s=50, busy_every=50)
    serving(made)
    yield made
    made.shutdown()
    made.server_close()


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(600 + 60 * ROUNDS)
@pytest.mark.parametrize("rounds", [1, pytest.param(ROUNDS, marks=pytest.mark.long)])
def test_a_driver_killed_at_seeded_points_writes_every_item_once(
    api: Api,
    spark: SparkSession,
    spark_conf: dict[str, Any],
    rng: random.Random,
    *,
    tmp_path: Path,
    rounds: int,
) -> None:
    options = {
        "source": "http",
        "url": api.url,
        "childrenField": "comments",
        "barrierRows": "150",
        "pollInterval": "100ms",
    }
    job = BarrierJob(spark, spark_conf, tmp_path, options, ["item"], "local-cluster[1,2,512]")
    assert job.kill_rounds(rounds, rng) == {"Python worker": rounds, "executor": rounds, "driver": rounds}
    # In this order, so that the items that have grown so far stay.
    api.items = api.count()
    api.grow_per_s = 0
    job.finish()
    written = [json.loads(row[0]) for row in job.rows("item")]
    assert sorted(item["id"] for item in written if "id" in item) == list(range(api.items))
    comments = sorted((item["item"], item["comment"]) for item in written if "comment" in item)
    assert comments == [(at, number) for at in range(0, api.items, 100) for number in range(COMMENTS)]

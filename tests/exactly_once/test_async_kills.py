"""A stream that asks a service about each row is killed (SIGKILL): no row is lost or asked too often."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from examples.http_server import Api, serving
from tests.connector.async_io.service import SlowService
from tests.exactly_once.barrier_job import BarrierJob

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "6"))
"""Rounds of kills at seeded points. Each costs the start of a driver and two executors."""


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api(0, items=1_000, page=40, grow_per_s=50)
    serving(made)
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def service() -> Iterator[SlowService]:
    with SlowService() as running:
        yield running


@pytest.fixture
def job_of(
    spark: SparkSession, spark_conf: dict[str, Any], tmp_path: Path, api: Api, service: SlowService
) -> Callable[..., BarrierJob]:
    """Make the job, with barriers of this mode, the master of its drivers, and more options."""
    options = {
        "source": "http",
        "url": api.url,
        "barrierRows": "150",
        "pollInterval": "100ms",
        "asyncFunction": "tests.exactly_once.asking:Ask",
        "asyncArguments": json.dumps({"url": service.url}),
        "asyncCapacity": "20",
        "asyncQueueSize": "40",
    }

    def make(mode: str, master: str, **more: str) -> BarrierJob:
        columns = ["item", "answer"]
        whole = {**options, "barrierMode": mode, **more}
        return BarrierJob(spark, spark_conf, tmp_path, whole, columns, master)

    return make


def committed_s(job: BarrierJob) -> dict[int, float]:
    """Return for each item when the epoch was committed whose batch wrote it."""
    found: dict[int, float] = {}
    for log in (job.folder / "rows" / "_spark_metadata").glob("[0-9]*"):
        commit = job.folder / "checkpoint" / "commits" / log.name.removesuffix(".compact")
        if not commit.exists() or log.name.endswith(".compact"):
            continue
        files = [json.loads(line)["path"] for line in log.read_text().splitlines()[1:]]
        if files:
            rows = job.spark.read.parquet(*files).select("item").collect()
            found |= {json.loads(item)["id"]: commit.stat().st_mtime for (item,) in rows}
    return found


def check(job: BarrierJob, api: Api, service: SlowService) -> None:
    """Finish the job: each item was written once, and never asked about after its epoch was committed."""
    # In this order, so that the items that have grown so far stay.
    api.items = api.count()
    api.grow_per_s = 0
    job.finish()
    written = [(json.loads(item)["id"], answer) for item, answer in job.rows("item", "answer")]
    assert sorted(written) == [(number, f"name {number}") for number in range(api.items)]
    commits = committed_s(job)
    assert len(commits) > api.items // 2, "most batches are in the sink's log"
    too_late = [
        (key, asked_s) for key, asked_s in service.asked if asked_s > commits.get(int(key), float("inf"))
    ]
    assert too_late == []


@pytest.mark.crash
@pytest.mark.slow
def test_a_call_that_was_under_way_when_the_query_was_killed_has_its_whole_timeout(
    job_of: Callable[..., BarrierJob], api: Api, service: SlowService
) -> None:
    # Each slow call takes a second. That is longer than what was left of its timeout when the time between
    # epochs, and that of the restart, counted.
    job = job_of("unaligned", "local[2]", asyncTimeout="1500ms", barrierRows="60")
    job.kill_when(lambda: _stored_calls(job.folder / "state"), "rows whose calls are under way")
    check(job, api, service)


def _stored_calls(state: Path) -> bool:
    """Return whether the second epoch, or a later one, has stored rows, of the only split there is."""
    return any(int(rows.parent.name.split("-")[1]) > 1 for rows in state.glob("*/epoch-*/*.rows-*"))


@pytest.mark.crash
@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(600 + 90 * ROUNDS)
@pytest.mark.parametrize("mode", ["aligned", "unaligned"])
def test_however_often_it_is_killed_no_row_is_lost_or_asked_after_its_commit(
    mode: str, job_of: Callable[..., BarrierJob], rng: random.Random, api: Api, service: SlowService
) -> None:
    job = job_of(mode, "local-cluster[1,2,512]")
    assert job.kill_rounds(ROUNDS, rng) == {"Python worker": ROUNDS, "executor": ROUNDS, "driver": ROUNDS}
    check(job, api, service)

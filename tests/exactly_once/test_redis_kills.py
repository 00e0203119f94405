"""A stream from Redis Streams is killed (SIGKILL) at seeded points, and so is the server, under load.

Meanwhile entries keep coming, and streams are created. What was written is compared with what another client
finds.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local_redis import LocalRedis
from tests.exactly_once.barrier_job import BarrierJob
from tests.exactly_once.growing_load import GrowingLoad

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = (1, pytest.param(7, marks=pytest.mark.long))
"""Each kills a worker, with several an executor too, the server now and then, and at last the driver."""


@pytest.fixture
def server() -> Iterator[LocalRedis]:
    with LocalRedis() as running:
        yield running


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("rounds", ROUNDS)
def test_driver_workers_and_server_killed_at_seeded_points(
    server: LocalRedis,
    spark: SparkSession,
    spark_conf: dict[str, Any],
    rng: random.Random,
    tmp_path: Path,
    *,
    rounds: int,
) -> None:
    options = {
        "source": "redis",
        "url": server.url,
        "keys": "load-*",
        "startingPosition": "earliest",
        "maxRowsPerTrigger": "500",
    }
    columns = ["key", "id", "value"]
    master = "local-cluster[1,2,512]" if rounds > 1 else "local[2,8]"
    job = BarrierJob(spark, spark_conf, tmp_path, options, columns, master, is_planned=True)

    def create(stream: str) -> None:
        server.add([(stream, {"value": b"first"})])

    def add(entries: Sequence[tuple[str, bytes]]) -> list[str]:
        return server.add((stream, {"value": value}) for stream, value in entries)

    with GrowingLoad(server, create, add, rng) as load:
        killed = job.kill_rounds(rounds, rng)
    job.finish()
    stored = Counter(
        (stream, number, fields[1]) for stream in load.streams for number, fields in server.stored(stream)
    )
    written = Counter((row[0], row[1], bytes(row[2])) for row in job.rows(*columns))
    lost, doubled = stored - written, written - stored
    print(f"{stored.total()} entries, {len(load.streams)} streams, {killed}, {load.kills} servers")
    assert load.kills
    assert (lost.total(), doubled.total()) == (0, 0), (list(lost)[:3], list(doubled)[:3])

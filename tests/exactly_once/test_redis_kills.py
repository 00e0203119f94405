"""A stream from Redis Streams is killed (SIGKILL) at seeded points, and so is the server, under load.

Meanwhile entries keep coming, and streams are created. What was written is compared with what another client
finds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local_redis import LocalRedis
from tests.exactly_once.barrier_job import BarrierJob
from tests.exactly_once.growing_load import GrowingLoad
from tests.exactly_once.server_kills import KILLED_IN_ROUNDS, keeps_every_row, master_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def server() -> Iterator[LocalRedis]:
    with LocalRedis() as running:
        yield running


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(1_200)
@KILLED_IN_ROUNDS
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
    }
    columns = ["key", "id", "value"]
    job = BarrierJob(spark, spark_conf, tmp_path, options, columns, master_of(rounds), is_planned=True)

    def create(stream: str) -> None:
        server.add([(stream, {"value": b"first"})])

    def add(entries: Sequence[tuple[str, bytes]]) -> list[str]:
        return server.add((stream, {"value": value}) for stream, value in entries)

    def stored(stream: str) -> list[tuple[object, ...]]:
        return [(stream, number, fields[1]) for number, fields in server.stored(stream)]

    keeps_every_row(job, GrowingLoad(server, create, add, rng), stored, rounds, rng)

"""A stream from NATS JetStream is killed (SIGKILL) at seeded points, and so is the server, under load.

Meanwhile messages keep coming, and streams are created. What was written is compared with what another client
finds, which asks the server for one message after the other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local_nats import LocalNats
from tests.exactly_once.barrier_job import BarrierJob
from tests.exactly_once.growing_load import GrowingLoad
from tests.exactly_once.server_kills import KILLED_IN_ROUNDS, keeps_every_row, master_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def server() -> Iterator[LocalNats]:
    with LocalNats() as running:
        yield running


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(1_200)
@KILLED_IN_ROUNDS
def test_driver_workers_and_server_killed_at_seeded_points(
    server: LocalNats,
    spark: SparkSession,
    spark_conf: dict[str, Any],
    rng: random.Random,
    tmp_path: Path,
    *,
    rounds: int,
) -> None:
    options = {
        "source": "nats",
        "servers": server.url,
        "streams": "load-*",
        "startingPosition": "earliest",
        "minPartitions": "6",
    }
    columns = ["stream", "sequence", "subject", "value"]
    job = BarrierJob(spark, spark_conf, tmp_path, options, columns, master_of(rounds), is_planned=True)

    def publish(entries: Sequence[tuple[str, bytes]]) -> int:
        return server.publish((f"{stream}.x", value) for stream, value in entries)

    def stored(stream: str) -> list[tuple[object, ...]]:
        return [(stream, *message) for message in server.stored(stream)]

    keeps_every_row(job, GrowingLoad(server, server.create_stream, publish, rng), stored, rounds, rng)

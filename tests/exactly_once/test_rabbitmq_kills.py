"""A stream from RabbitMQ is killed (SIGKILL) at seeded points, and so is the server, under load.

Meanwhile messages keep coming, alone and in compressed batches, and the super stream gets partitions. What
was written is compared with what another client finds.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rstream import AMQPMessage, amqp_decoder

import newer_rabbitmq
from local_rabbitmq import LocalRabbitMq
from tests.exactly_once.barrier_job import BarrierJob
from tests.exactly_once.growing_load import GrowingLoad
from tests.exactly_once.server_kills import KILLED_IN_ROUNDS, keeps_every_row, master_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(params=["older", pytest.param("newer", marks=pytest.mark.long)])
def server(request: pytest.FixtureRequest) -> Iterator[LocalRabbitMq]:
    """A broker that does not tell where streams end, and one that does."""
    if request.param == "newer" and newer_rabbitmq.programs() is None:
        pytest.skip("scripts/newer_rabbitmq.py fetches a newer RabbitMQ")
    with LocalRabbitMq(is_newer=request.param == "newer") as running:
        yield running


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(1_200)
@KILLED_IN_ROUNDS
def test_driver_workers_and_server_killed_while_a_super_stream_grows(
    server: LocalRabbitMq,
    spark: SparkSession,
    spark_conf: dict[str, Any],
    rng: random.Random,
    tmp_path: Path,
    *,
    rounds: int,
) -> None:
    server.create_super_stream("load", 0)
    options = {
        "source": "rabbitmq",
        **server.options,
        "streams": "load",
        "startingPosition": "earliest",
        "minPartitions": "6",
    }
    columns = ["stream", "offset", "value"]
    job = BarrierJob(spark, spark_conf, tmp_path, options, columns, master_of(rounds), is_planned=True)

    def create(partition: str) -> None:
        assert server.add_partition("load") == partition

    def publish(entries: Sequence[tuple[str, bytes]]) -> None:
        messages = [(stream, bytes(AMQPMessage(body=value))) for stream, value in entries]
        server.publish(messages[::2])
        batches: dict[str, list[bytes]] = defaultdict(list)
        for stream, message in messages[1::2]:
            batches[stream].append(message)
        for stream, batch in batches.items():
            server.publish_batches(stream, [batch])

    def stored(stream: str) -> list[tuple[object, ...]]:
        return [(stream, offset, amqp_decoder(message).body) for offset, _, message in server.stored(stream)]

    keeps_every_row(job, GrowingLoad(server, create, publish, rng), stored, rounds, rng)

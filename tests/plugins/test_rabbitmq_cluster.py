"""Streams of RabbitMQ in a cluster: each is read where its leader is, and on when that one is gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from rstream import AMQPMessage, amqp_decoder

from headwater.testing import MicroBatchEngine
from local_rabbitmq import LocalRabbitMq

STREAMS = 6


@pytest.fixture
def cluster() -> Iterator[list[LocalRabbitMq]]:
    with ExitStack() as stack:
        first = stack.enter_context(LocalRabbitMq())
        joined = [stack.enter_context(LocalRabbitMq(joins=first)) for _ in range(2)]
        yield [first, *joined]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_streams_are_read_at_their_leaders_and_at_others_when_brokers_are_killed(
    cluster: list[LocalRabbitMq],
) -> None:
    first = cluster[0]
    streams = [f"orders-{number}" for number in range(STREAMS)]
    for stream in streams:
        first.create_stream(stream, initial_cluster_size=3, queue_leader_locator="balanced")
    options = {
        "servers": ",".join(each.url for each in cluster),
        "streams": ",".join(streams),
        "startingPosition": "earliest",
    }
    engine = MicroBatchEngine.of("rabbitmq", options)
    written = 0
    for killed in (None, *cluster[1:]):
        if killed is not None:
            killed.kill()
        for stream in streams:
            # Until each stream has a leader again.
            first.publish(
                (stream, bytes(AMQPMessage(body=b"%d" % each))) for each in range(written, written + 50)
            )
        written += 50
        engine.run()
        if killed is not None:
            killed.start()
            engine.run()
    found = sorted((row["stream"], row["offset"], row["value"]) for row in engine.rows)
    stored = [
        (stream, offset, amqp_decoder(message).body)
        for stream in streams
        for offset, _, message in first.stored(stream)
    ]
    assert found == sorted(stored)
    assert len(found) >= STREAMS * written

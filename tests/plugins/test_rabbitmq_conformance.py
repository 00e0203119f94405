"""The source for RabbitMQ streams passes the suites, with a real server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest
from rstream import AMQPMessage

from headwater.plugins import rabbitmq_ends
from headwater.testing import SourceTests
from local_rabbitmq import LocalRabbitMq

SEGMENT_BYTES = 5_000


class TestRabbitMq(SourceTests):
    source = "rabbitmq"
    worlds: ClassVar[Iterator[int]] = itertools.count()

    @pytest.fixture(autouse=True)
    def server(self, rabbitmq: LocalRabbitMq, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rabbitmq = rabbitmq
        # Brokers before 3.11 are asked for first chunks so seldom.
        monkeypatch.setattr(rabbitmq_ends, "_LOOK_S", 0)

    def options(self) -> Mapping[str, str]:
        world = f"world{next(self.worlds)}"
        self.rabbitmq.create_super_stream(
            world, 2, max_length_bytes=SEGMENT_BYTES, stream_max_segment_size_bytes=SEGMENT_BYTES
        )
        for number in range(2):
            self.fill(f"{world}-{number}", 3)
            self.fill(f"{world}-{number}", 3)
        return {**self.rabbitmq.options, "streams": world, "startingPosition": "earliest"}

    def fill(self, stream: str, count: int, size: int = 0) -> None:
        values = (b"%d" % number + b"x" * size for number in range(count))
        self.rabbitmq.publish((stream, bytes(AMQPMessage(body=value))) for value in values)

    def grow(self, options: Mapping[str, str]) -> None:
        self.fill(f"{options['streams']}-0", 4)
        self.fill(self.rabbitmq.add_partition(options["streams"]), 3)

    def forget(self, options: Mapping[str, str]) -> None:
        """Fill segments: the oldest one goes when there are more than the bytes that are kept."""
        for number in range(self.partitions(options)):
            for _ in range(3):
                self.fill(f"{options['streams']}-{number}", 1, size=2 * SEGMENT_BYTES)

    def partitions(self, options: Mapping[str, str]) -> int:
        return len(self.rabbitmq.partitions(options["streams"]))

    def many_splits(self, count: int) -> Mapping[str, str]:
        world = f"world{next(self.worlds)}"
        self.rabbitmq.create_super_stream(world, count)
        self.rabbitmq.publish(
            (f"{world}-{number}", bytes(AMQPMessage(body=b"%d" % number))) for number in range(count)
        )
        return {**self.rabbitmq.options, "streams": world, "startingPosition": "earliest"}

    @pytest.mark.long
    def test_a_thousand_splits_fit_into_offsets_and_are_read_once(self) -> None:
        """Each split is a stream with files and processes of its own in the broker: minutes."""
        super().test_a_thousand_splits_fit_into_offsets_and_are_read_once()

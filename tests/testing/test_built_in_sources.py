"""headwater's own sources pass the suites."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from examples.http_server import Api, serving
from headwater.testing import SourceTests, StagedTests
from local_kafka import LocalKafka
from local_mqtt import LocalMqtt
from tests.readers.http.changing_list import NOON, ChangingList
from tests.readers.http.scripted import scripted_server


class HttpTests(SourceTests):
    source = "http"

    def test_a_reader_that_is_closed_leaves_no_thread(self) -> None:
        """Its connection outlives it, and the server here has a thread for that: it is there before."""
        with self.readable() as configured:
            self.some_range(configured)
        super().test_a_reader_that_is_closed_leaves_no_thread()


class TestHttp(HttpTests):
    @pytest.fixture(autouse=True)
    def served(self) -> Iterator[None]:
        self.api = Api(0, items=110, page=50)
        serving(self.api)
        yield
        self.api.shutdown()
        self.api.server_close()

    def options(self) -> Mapping[str, str]:
        self.api.items = 110
        return {"url": self.api.url, "childrenField": "comments"}

    def grow(self, options: Mapping[str, str]) -> None:
        self.api.items += 60


class TestHttpThatChanges(HttpTests):
    @pytest.fixture(autouse=True)
    def served(self) -> Iterator[None]:
        self.made = ChangingList(page=50)
        with scripted_server() as server:
            server.answer = self.made.answer
            self.url = f"{server.origin}/a"
            yield

    def options(self) -> Mapping[str, str]:
        self.made.items.clear()
        self.made.now = NOON
        self.grow({})
        return {"url": self.url, "incrementalField": "changed", "incrementalParam": "since"}

    def grow(self, options: Mapping[str, str]) -> None:
        for _ in range(60):
            self.made.put(len(self.made.items))


class TestFiles(SourceTests):
    source = "files"

    def options(self) -> Mapping[str, str]:
        folder = Path(tempfile.mkdtemp())
        for name in ("a", "b"):
            write_lines(folder / f"{name}.txt", 20)
        return {"path": str(folder), "format": "text"}

    def grow(self, options: Mapping[str, str]) -> None:
        write_lines(Path(options["path"]) / "c.txt", 5)

    def many_splits(self, count: int) -> Mapping[str, str]:
        folder = Path(tempfile.mkdtemp())
        for number in range(count):
            write_lines(folder / f"{number:04}.txt", 1)
        return {"path": str(folder), "format": "text"}

    def small_batches(self) -> Mapping[str, str]:
        return {"maxFilesPerTrigger": "1"}


def write_lines(file: Path, count: int) -> None:
    file.write_text("".join(f"{file.stem} line {number}\n" for number in range(count)))


@pytest.mark.slow
class TestKafka(SourceTests):
    source = "kafka"
    numbers: ClassVar[Iterator[int]] = itertools.count()

    @pytest.fixture(autouse=True)
    def broker(self, kafka: LocalKafka, topic: str) -> None:
        self.kafka, self.topic = kafka, topic

    def options(self) -> Mapping[str, str]:
        return self.world(partitions=2, records=12)

    def grow(self, options: Mapping[str, str]) -> None:
        self.kafka.produce(options["subscribe"], [b"more"] * 4)

    def small_batches(self) -> Mapping[str, str]:
        return {"maxOffsetsPerTrigger": "4"}

    def world(self, partitions: int, records: int) -> Mapping[str, str]:
        topic = f"{self.topic}-{next(self.numbers)}"
        self.kafka.create_topic(topic, partitions=partitions)
        self.kafka.produce(topic, [b"value %d" % number for number in range(records)])
        return {
            "kafka.bootstrap.servers": self.kafka.bootstrap_servers,
            "subscribe": topic,
            "startingOffsets": "earliest",
        }


@pytest.fixture(scope="module")
def mqtt() -> Iterator[LocalMqtt]:
    with LocalMqtt() as running:
        yield running


class TestMqtt(SourceTests, StagedTests):
    """The messages are retained ones: the broker gives them to a batch read and, once, to a new session."""

    source = "mqtt"
    numbers: ClassVar[Iterator[int]] = itertools.count()

    @pytest.fixture(autouse=True)
    def broker(self, mqtt: LocalMqtt) -> None:
        self.mqtt = mqtt

    def options(self) -> Mapping[str, str]:
        world = f"world-{next(self.numbers)}"
        self.publish(world, "first", 12)
        more = {
            "messageKey": "payload:id",
            "maxInFlight": "2",
            "idleTimeout": "100ms",
            "receiverIdleTimeout": "5s",
        }
        return {"broker": self.mqtt.url, "topics": f"{world}/#", "clientId": world, **more}

    def grow(self, options: Mapping[str, str]) -> None:
        self.publish(options["clientId"], "more", 5)

    def publish(self, world: str, name: str, count: int) -> None:
        messages = (
            (f"{world}/{name}/{number}", json.dumps({"id": f"{name}-{number}"}).encode())
            for number in range(count)
        )
        self.mqtt.publish(messages, retain=True)

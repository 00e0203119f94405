"""Streams of all sources run for a long time beside each other: no process of theirs grows."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from rstream import AMQPMessage

from examples.http_server import Api, serving
from local_kafka import LocalKafka
from local_kinesis import LocalKinesis
from local_mqtt import LocalMqtt
from local_nats import LocalNats
from local_postgres import LocalPostgres
from local_rabbitmq import LocalRabbitMq
from local_redis import LocalRedis
from tests.connector.async_io.service import SlowService
from tests.exactly_once.processes import Program, marked
from tests.exactly_once.producing import Producer
from tests.exactly_once.test_mqtt_kills import Publisher
from tests.exactly_once.waiting import repeating, until

BATCHES = int(os.environ.get("HEADWATER_LEAK_BATCHES", "2000"))
"""Of all streams together; the first quarter fills caches and pools."""

SAMPLES = 16
"""How often processes are looked at."""

MOST_MIB = 20
"""Growth of the processes of one kind, over three quarters of the batches. Allocators keep some room."""

FORGETFUL = {
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
}
"""Spark keeps what its pages show of a thousand batches: that is no leak."""

KINDS = {
    "driver": "leak_driver.py",
    "planning": "python_streaming_source_runner",
    "tasks": "pyspark.daemon",
    "receivers": "receiver_process",
}

Held = dict[str, dict[str, int]]
"""By the kind of processes and by unit."""

PAUSE_S = 0.2
"""Between two records of a stream: each of its batches has something to read."""


class Servers:
    """A server for each source, and something that writes to it until the end of the block.

    Args:
        stack: ends them.
        folder: for files, and for what streams keep.
    """

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._stack = stack
        self._folder = folder
        self._numbers = itertools.count()

    def _repeat(self, call: Callable[[int], object]) -> None:
        self._stack.enter_context(repeating(lambda: call(next(self._numbers)), PAUSE_S))

    def _state(self, name: str) -> str:
        return str(self._folder / f"{name}-state")

    def files(self) -> dict[str, str]:
        """Return the options of a stream of files."""
        folder = self._folder / "files"
        folder.mkdir()

        def add(number: int) -> None:
            (folder / f".{number}").write_text(json.dumps({"id": number}))
            (folder / f".{number}").rename(folder / f"{number}.json")

        self._repeat(add)
        more = {"schema": "id long", "stateLocation": self._state("files")}
        return {"source": "files", "format": "json", "path": str(folder), **more}

    def kafka(self, kafka: LocalKafka, topic: str) -> dict[str, dict[str, str]]:
        """Return the options of streams of Kafka: typed, and of a pattern."""
        kafka.create_topic(topic, 1)
        producer = Producer(kafka, topic, 1, lambda number: json.dumps({"id": number}).encode())
        self._stack.enter_context(producer.running())
        live = {"source": "kafka", "kafka.bootstrap.servers": kafka.bootstrap_servers}
        typed = {"valueFormat": "json", "valueSchema": "id long", "columns": "value.*,offset"}
        return {
            "kafka": {**live, "subscribe": topic, "startingOffsets": "earliest", **typed},
            "kafka_of_a_pattern": {**live, "subscribePattern": f"{topic}.*"},
        }

    def http(self) -> dict[str, dict[str, str]]:
        """Return the options of streams over HTTP: plain, and with calls to a service."""
        api = Api(0, items=100, page=40, grow_per_s=30)
        serving(api)
        self._stack.callback(api.server_close)
        self._stack.callback(api.shutdown)
        service = self._stack.enter_context(SlowService())
        plain = {"source": "http", "url": api.url, "pollInterval": "100ms"}
        calls = {
            "asyncFunction": "tests.exactly_once.asking:Ask",
            "asyncArguments": json.dumps({"url": service.url}),
        }
        return {
            "http": {**plain, "stateLocation": self._state("http")},
            "http_with_calls": {**plain, **calls, "stateLocation": self._state("calls")},
        }

    def mqtt(self) -> dict[str, str]:
        """Return the options of a stream of MQTT."""
        broker = self._stack.enter_context(LocalMqtt(more="max_queued_messages 0\n"))
        self._stack.enter_context(Publisher(broker))
        what = {"broker": broker.url, "topics": "numbers", "clientId": "leaks"}
        return {"source": "mqtt", **what, "stateLocation": self._state("mqtt")}

    def postgres(self, server: LocalPostgres) -> dict[str, dict[str, str]]:
        """Return the options of streams of changes: read by tasks, and by the driver."""
        sql = self._stack.enter_context(psycopg.connect(server.conninfo, autocommit=True))
        sql.execute("CREATE TABLE leaks (id bigint PRIMARY KEY, note text)")
        self._repeat(lambda number: sql.execute("INSERT INTO leaks VALUES (%s, 'new')", [number]))
        plain = {"source": "postgres", "url": server.conninfo, "table": "leaks", "createPublication": "true"}
        staged = {"transport": "staged", "stateLocation": self._state("postgres")}
        return {
            "postgres": {**plain, "slot": "direct", "publication": "direct"},
            "postgres_staged": {**plain, "slot": "staged", "publication": "staged", **staged},
        }

    def nats(self) -> dict[str, str]:
        """Return the options of a stream of NATS."""
        server = self._stack.enter_context(LocalNats())
        server.create_stream("leaks")
        self._repeat(lambda number: server.publish([("leaks.x", b"%d" % number)]))
        return {"source": "nats", "servers": server.url, "streams": "leaks"}

    def redis(self) -> dict[str, str]:
        """Return the options of a stream of Redis."""
        server = self._stack.enter_context(LocalRedis())
        server.add([("leaks", {"value": b"first"})])
        self._repeat(lambda number: server.add([("leaks", {"value": b"%d" % number})]))
        return {"source": "redis", "url": server.url, "keys": "leaks"}

    def rabbitmq(self) -> dict[str, str]:
        """Return the options of a stream of RabbitMQ."""
        server = self._stack.enter_context(LocalRabbitMq())
        server.create_stream("leaks")
        self._repeat(lambda number: server.publish([("leaks", bytes(AMQPMessage(body=b"%d" % number)))]))
        return {"source": "rabbitmq", **server.options, "streams": "leaks"}

    def kinesis(self) -> dict[str, str]:
        """Return the options of a stream of Kinesis."""
        server = self._stack.enter_context(LocalKinesis())
        server.create_stream("leaks")
        self._repeat(lambda number: server.put("leaks", [("key", b"%d" % number)]))
        return {
            "source": "kinesis",
            **server.options,
            "streams": "leaks",
            "stateLocation": self._state("kinesis"),
        }


@pytest.fixture
def streams(
    kafka: LocalKafka, postgres: LocalPostgres, topic: str, tmp_path: Path
) -> Iterator[dict[str, dict[str, str]]]:
    """The options of one stream for each way in which sources run."""
    with ExitStack() as stack:
        servers = Servers(stack, tmp_path)
        yield {
            "demo": {"source": "demo", "rowsPerSecond": "100"},
            **servers.kafka(kafka, topic),
            "files": servers.files(),
            **servers.http(),
            "mqtt": servers.mqtt(),
            **servers.postgres(postgres),
            "nats": servers.nats(),
            "redis": servers.redis(),
            "rabbitmq": servers.rabbitmq(),
            "kinesis": servers.kinesis(),
        }


def held(driver: Program, mark: str) -> Held:
    """Return for the processes of each kind how many there are, and what they hold together."""
    by_kind: dict[str, dict[str, int]] = {}
    for kind, command in KINDS.items():
        pids = marked(mark, command)
        by_kind[kind] = {
            "processes": len(pids),
            "MiB": sum(_resident_kib(pid) for pid in pids) >> 10,
            "files": sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids),
            "threads": sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in pids),
        }
    by_kind["JVM"] = {"MiB": driver.ask("heap") >> 20}
    return by_kind


def lowest(samples: Sequence[Held]) -> dict[tuple[str, str], int]:
    """Return the least of each number, by kind and unit."""
    return {
        (kind, unit): min(sample[kind][unit] for sample in samples)
        for kind, units in samples[0].items()
        for unit in units
    }


def _resident_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


@pytest.mark.long
@pytest.mark.timeout(7_200)
def test_no_process_grows_with_the_batches_of_streams_of_every_source(
    streams: dict[str, dict[str, str]], spark_conf: dict[str, Any], tmp_path: Path
) -> None:
    conf = spark_conf | FORGETFUL
    job = {"conf": conf, "master": "local[2]", "folder": str(tmp_path), "streams": streams}
    mark = f"HEADWATER_LEAKS={tmp_path}"
    environment = dict([mark.split("=", 1)])
    with Program("leak_driver.py", job, tmp_path / "log", environment, asked=True) as driver:

        def ran(batches: int) -> bool:
            driver.check()
            counts: dict[str, int] = driver.ask("batches")
            return sum(counts.values()) >= batches and min(counts.values()) > 0

        samples = []
        for share in range(SAMPLES // 4, SAMPLES + 1):
            until(partial(ran, BATCHES * share // SAMPLES), f"{share}/{SAMPLES} of {BATCHES} batches", 3_600)
            samples.append(held(driver, mark))
            print(json.dumps({"batches": driver.ask("batches"), "held": samples[-1]}), flush=True)
        # A task opens files, and closes them: what is left when few are open counts.
        first, last = lowest(samples[: SAMPLES // 4]), lowest(samples[-SAMPLES // 4 :])
        for (kind, unit), before in first.items():
            most = {"MiB": MOST_MIB, "files": 4, "threads": 4, "processes": 1}[unit]
            assert last[kind, unit] <= before + most, (kind, unit, samples)
        driver.finish(120)

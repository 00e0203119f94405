"""Streams of all sources run for a long time beside each other: no process of theirs grows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from examples.http_server import Api, serving
from local_kafka import LocalKafka
from local_mqtt import LocalMqtt
from tests.connector.async_io.service import SlowService
from tests.exactly_once.processes import Program, members
from tests.exactly_once.producing import Producer
from tests.exactly_once.test_mqtt_kills import Publisher
from tests.exactly_once.waiting import repeating, until

BATCHES = 2_000
"""Of all streams together; the first quarter fills caches and pools."""

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

KINDS = {"driver": "leak_driver.py", "planning": "python_streaming_source_runner", "tasks": "pyspark.daemon"}


def streams(kafka: str, topic: str, files: Path, api: str, mqtt: str) -> dict[str, dict[str, str]]:
    """Return the options of one stream for each way in which sources run."""
    typed = {"valueFormat": "json", "valueSchema": "id long", "columns": "value.*,offset"}
    live = {"source": "kafka", "kafka.bootstrap.servers": kafka}
    return {
        "demo": {"source": "demo", "rowsPerSecond": "100"},
        "kafka": {**live, "subscribe": topic, "startingOffsets": "earliest", **typed},
        "kafka_of_a_pattern": {**live, "subscribePattern": f"{topic}.*"},
        "files": {
            "source": "files",
            "format": "json",
            "path": str(files),
            "schema": "id long",
            "stateLocation": f"{files}-files",
        },
        "http": {"source": "http", "url": api, "pollInterval": "100ms", "stateLocation": f"{files}-http"},
        "mqtt": {
            "source": "mqtt",
            "broker": mqtt,
            "topics": "numbers",
            "clientId": "leaks",
            "stateLocation": f"{files}-mqtt",
        },
    }


@pytest.fixture
def parts(kafka: LocalKafka, topic: str, tmp_path: Path) -> Iterator[dict[str, dict[str, str]]]:
    folder = tmp_path / "files"
    folder.mkdir()
    numbers = itertools.count()

    def add_file() -> None:
        number = next(numbers)
        (folder / f".{number}").write_text(json.dumps({"id": number}))
        (folder / f".{number}").rename(folder / f"{number}.json")

    kafka.create_topic(topic, 1)
    api = Api(0, items=100, page=40, grow_per_s=30)
    serving(api)
    with ExitStack() as stack:
        stack.callback(api.server_close)
        stack.callback(api.shutdown)
        service = stack.enter_context(SlowService())
        broker = stack.enter_context(LocalMqtt(more="max_queued_messages 0\n"))
        stack.enter_context(Publisher(broker))
        producer = Producer(kafka, topic, 1, lambda number: json.dumps({"id": number}).encode())
        stack.enter_context(producer.running())
        stack.enter_context(repeating(add_file, 0.2))
        made = streams(kafka.bootstrap_servers, topic, folder, api.url, broker.url)
        calls = {
            "asyncFunction": "tests.exactly_once.asking:Ask",
            "asyncArguments": json.dumps({"url": service.url}),
        }
        yield made | {"http_with_calls": {**made["http"], **calls, "stateLocation": f"{folder}-calls"}}


def held(driver: Program) -> dict[str, dict[str, int]]:
    """Return for the processes of each kind how many there are, and what they hold together."""
    by_kind = {}
    for kind, command in KINDS.items():
        pids = members(driver.session, command)
        by_kind[kind] = {
            "processes": len(pids),
            "MiB": sum(_resident_kib(pid) for pid in pids) >> 10,
            "files": sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids),
            "threads": sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in pids),
        }
    by_kind["JVM"] = {"MiB": driver.ask("heap") >> 20}
    return by_kind


def _resident_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_no_process_grows_with_the_batches_of_streams_of_every_source(
    parts: dict[str, dict[str, str]], spark_conf: dict[str, Any], tmp_path: Path
) -> None:
    conf = spark_conf | FORGETFUL
    job = {"conf": conf, "master": "local[2]", "folder": str(tmp_path), "streams": parts}
    with Program("leak_driver.py", job, tmp_path / "log", asked=True) as driver:

        def ran(batches: int) -> bool:
            driver.check()
            counts: dict[str, int] = driver.ask("batches")
            return sum(counts.values()) >= batches and min(counts.values()) > 0

        samples = []
        for share in (4, 2, 1):
            until(partial(ran, BATCHES // share), f"{BATCHES // share} batches", 1_200)
            samples.append(held(driver))
            print(driver.ask("batches"), samples[-1], flush=True)
        first, *_, last = samples
        for kind, before in first.items():
            for unit, most in (("MiB", MOST_MIB), ("files", 4), ("threads", 4)):
                if unit in before:
                    assert last[kind][unit] <= before[unit] + most, (kind, unit, samples)
        driver.finish(120)

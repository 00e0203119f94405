"""A stream from NATS JetStream is killed (SIGKILL) at seeded points, and so is the server, under load.

Meanwhile messages keep coming, and streams are created. What was written is compared with what another client
finds, which asks the server for one message after the other.
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from local_nats import LocalNats
from tests.exactly_once.barrier_job import BarrierJob

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "1"))
"""Each kills a worker or executor, the server, and at last the driver, and costs the start of a JVM."""
STREAMS = 3


class Publisher:
    """Publishes in more and more streams until it is stopped, and kills the server now and then."""

    def __init__(self, server: LocalNats, rng: random.Random) -> None:
        self._server = server
        self._rng = rng
        self._stopped = threading.Event()
        self._running = threading.Event()
        self._running.set()
        self.streams = [f"load-{number}" for number in range(STREAMS)]
        for stream in self.streams:
            server.create_stream(stream)
        self.kills = 0
        self._threads = [threading.Thread(target=each) for each in (self._publish, self._kill)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _publish(self) -> None:
        number = 0
        while not self._stopped.wait(0.05):
            self._running.wait()
            try:
                if number % 40 == 39:
                    stream = f"load-{len(self.streams)}"
                    self._server.create_stream(stream)
                    self.streams.append(stream)
                self._server.publish(
                    (f"{self._rng.choice(self.streams)}.x", b"%d" % self._rng.randrange(1 << 40))
                    for _ in range(50)
                )
            except OSError:
                continue  # killed meanwhile: what it had taken, it has
            number += 1

    def _kill(self) -> None:
        """Kill the server now and then: what it has not answered, it may have or not."""
        while not self._stopped.wait(self._rng.uniform(4, 8)):
            self._running.clear()
            self._server.kill()
            self._server.start()
            self.kills += 1
            self._running.set()


@pytest.fixture
def server() -> Iterator[LocalNats]:
    with LocalNats() as running:
        yield running


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(300 + 90 * ROUNDS)
def test_driver_workers_and_server_killed_at_seeded_points(
    server: LocalNats, spark: SparkSession, spark_conf: dict[str, Any], rng: random.Random, tmp_path: Path
) -> None:
    options = {
        "source": "nats",
        "servers": server.url,
        "streams": "load-*",
        "startingPosition": "earliest",
        "maxRowsPerTrigger": "500",
        "minPartitions": "6",
    }
    columns = ["stream", "sequence", "subject", "value"]
    master = "local-cluster[1,2,512]" if ROUNDS > 1 else "local[2,8]"
    job = BarrierJob(spark, spark_conf, tmp_path, options, columns, master, is_planned=True)
    with Publisher(server, rng) as publisher:
        killed = job.kill_rounds(ROUNDS, rng)
    job.finish()
    stored = Counter((stream, *message) for stream in publisher.streams for message in server.stored(stream))
    written = Counter((row[0], row[1], row[2], bytes(row[3])) for row in job.rows(*columns))
    lost, doubled = stored - written, written - stored
    print(f"{stored.total()} messages, {len(publisher.streams)} streams, {killed}, {publisher.kills} servers")
    assert publisher.kills
    assert (lost.total(), doubled.total()) == (0, 0), (list(lost)[:3], list(doubled)[:3])

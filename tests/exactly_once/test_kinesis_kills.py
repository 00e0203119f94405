"""A stream from Kinesis is killed (SIGKILL) at seeded points, and so is the server, under load.

Meanwhile records keep coming, and shards are split and merged. What was written is compared with what another
loop finds, and each key's records with the order in which they were put.
"""

from __future__ import annotations

import json
import random
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from local_kinesis import LocalKinesis
from tests.exactly_once.barrier_job import BarrierJob

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = [f"key {number}" for number in range(12)]
MOST_SHARDS = 6


class ReshardingLoad:
    """Puts records until it is stopped, splits and merges shards, and kills the server now and then.

    Attributes:
        kills: of the server.
        changes: splits and merges.
    """

    def __init__(self, server: LocalKinesis, stream: str, rng: random.Random, rounds: int) -> None:
        self._server = server
        self._stream = stream
        self._rng = rng
        self._rounds = rounds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run_until_stopped)
        self._failure: BaseException | None = None
        self.kills = 0
        self.changes = 0
        server.create_stream(stream, 2)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopped.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run_until_stopped(self) -> None:
        try:
            self._run()
        except BaseException as failure:  # noqa: BLE001 - raised where the load ends
            self._failure = failure

    def _run(self) -> None:
        number = 0
        puts = 0
        while not self._stopped.wait(0.1):
            puts += 1
            records = []
            for _ in range(self._rng.randrange(1, 40)):
                number += 1
                records.append((self._rng.choice(KEYS), b"%d" % number))
            self._server.put(self._stream, records)
            # Each is a generation, which is a batch or two of its own when the rest is read. The first comes
            # early, whatever is drawn: a quick machine ends a round soon.
            if puts % (25 * self._rounds) == 10:
                self._reshard()
            if puts % 80 == 20:
                self._server.kill()
                self._server.start()
                self.kills += 1

    def _reshard(self) -> None:
        shards = self._server.open_shards(self._stream)
        at = self._rng.randrange(len(shards))
        if len(shards) >= MOST_SHARDS or (at and self._rng.random() < 0.5):
            lower = max(1, at) - 1
            self._server.merge(self._stream, shards[lower], shards[lower + 1])
        else:
            self._server.split(self._stream, shards[at])
        self.changes += 1


@pytest.fixture
def server() -> Iterator[LocalKinesis]:
    with LocalKinesis(reads=5) as running:
        yield running


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("rounds", [1, pytest.param(7, marks=pytest.mark.long)])
def test_driver_workers_and_server_killed_while_shards_are_split_and_merged(
    server: LocalKinesis,
    spark: SparkSession,
    spark_conf: dict[str, Any],
    rng: random.Random,
    tmp_path: Path,
    *,
    rounds: int,
) -> None:
    """Each round kills a worker, in the long form an executor too, and at last the driver."""
    options = {
        "source": "kinesis",
        **server.options,
        "streams": "load",
        "startingPosition": "earliest",
    }
    columns = ["shardId", "sequenceNumber", "partitionKey", "value"]
    master = "local-cluster[1,2,512]" if rounds > 1 else "local[2,8]"
    job = BarrierJob(spark, spark_conf, tmp_path, options, columns, master)
    with ReshardingLoad(server, "load", rng, rounds) as load:
        killed = replace(job, options={**options, "barrierRows": "300"}).kill_rounds(rounds, rng)
    # Without the limit: on a slow machine a long load would leave many small batches.
    job.finish()
    found = server.stored("load")
    stored = Counter(found)
    written = Counter((*row[:3], bytes(row[3])) for row in job.rows(*columns))
    lost, doubled = stored - written, written - stored
    print(f"{stored.total()} records, {load.changes} splits and merges, {killed}, {load.kills} servers")
    assert load.changes
    assert load.kills, "the server was never killed"
    assert killed.total() >= (20 if rounds > 1 else 2), killed
    assert (lost.total(), doubled.total()) == (0, 0), (list(lost)[:3], list(doubled)[:3])
    check_order(job)


def check_order(job: BarrierJob) -> None:
    """Prove that a later batch has no record of a key that was put before one of an earlier batch."""
    log = job.folder / "rows" / "_spark_metadata"
    assert log.is_dir()
    newest: dict[str, int] = defaultdict(int)
    for batch in files_of_batches(log):
        rows = job.spark.read.parquet(*batch).select("partitionKey", "value").collect()
        values = [(row["partitionKey"], int(bytes(row["value"]))) for row in rows]
        assert all(value > newest[key] for key, value in values)
        for key, value in values:
            newest[key] = max(newest[key], value)


def files_of_batches(log: Path) -> Iterator[list[str]]:
    """Yield the files that each batch has written, by the log of Spark's file sink."""
    known: set[str] = set()
    for entry in sorted(log.glob("*[0-9]"), key=lambda each: int(each.name)):
        lines = [json.loads(line) for line in entry.read_text().splitlines()[1:]]
        paths = [each["path"] for each in lines if each["path"] not in known]
        known.update(paths)
        if paths:
            yield paths

"""Typed rows of a schema registry that comes and goes, while processes are killed and schemas evolve.

The driver, with all that belongs to it, and Python workers are killed (SIGKILL) at random moments. Of
neighbouring records each may name another version of the schema, and every tenth one is no Avro.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local_kafka import LocalKafka
from local_registry import LocalRegistry
from tests.exactly_once.checkpoint_steps import Disk
from tests.exactly_once.forwarder import Forwarder
from tests.exactly_once.orders import Orders
from tests.exactly_once.pipeline import Pipeline
from tests.exactly_once.processes import Program, python_workers
from tests.exactly_once.producing import Producer
from tests.exactly_once.registry_outages import RegistryOutages
from tests.exactly_once.watching import FolderWatch
from tests.patience import PATIENCE_S

Make = Callable[..., Pipeline]

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.long]

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "6"))
"""Kills of the driver. Each costs the start of a JVM."""

PARTITIONS = 3
MOST_EVENTS = 60
JVM = "org.apache.spark.deploy.SparkSubmit"


@pytest.fixture
def outages(rng: random.Random) -> Iterator[RegistryOutages]:
    """A registry that goes away."""
    with LocalRegistry() as registry, Forwarder(registry.port) as port:
        yield RegistryOutages(registry, port, rng)


@pytest.fixture
def orders(outages: RegistryOutages, topic: str, rng: random.Random) -> Orders:
    made = Orders(topic, outages, rng)
    made.next_version()
    return made


@pytest.fixture
def run(  # noqa: PLR0917 - fixtures
    pipeline: Make,
    kafka: LocalKafka,
    outages: RegistryOutages,
    orders: Orders,
    spark_conf: dict[str, Any],
    topic: str,
    tmp_path: Path,
    rng: random.Random,
) -> Callable[..., tuple[Pipeline, list[tuple[int, int, int]]]]:
    """Produce and kill for some rounds, and read the rest; return the pipeline and what was produced."""

    def running(**options: str) -> tuple[Pipeline, list[tuple[int, int, int]]]:
        kafka.create_topic(topic, PARTITIONS)
        job = pipeline(
            maxOffsetsPerTrigger=5_000,
            valueFormat="confluent-avro",
            **{"schema.registry.url": outages.url},
            **options,
        )
        disk = Disk(job)
        disk.make()
        program = {**job.job(spark_conf), "master": "local[2,8]", "trigger": {}}
        producer = Producer(kafka, topic, PARTITIONS, orders)
        kills = itertools.cycle(rng.sample([Program.kill, Program.kill_jvm], 2))
        with producer.running(), outages.running():
            for number in range(ROUNDS):
                # While a driver lives, so that its workers meet a version that it did not know.
                evolve = orders.next_version if number % 2 == 0 else None
                driver = Program("driver.py", program, tmp_path / "driver.log")
                killed = _round(disk, driver, rng, next(kills), evolve)
                print(f"round {number + 1} of {ROUNDS}: {killed}: {disk}; {outages}", flush=True)
        assert outages.refused + outages.hung
        orders.all_versions()
        job.but(maxOffsetsPerTrigger=100_000).drain()
        again = (tmp_path / "driver.log").read_text(errors="replace").count("; asking again in ")
        print(
            f"{len(producer.written)} records, {len(orders.bad)} of them bad, in {job.batch_ids()[-1] + 1} "
            f"batches; drivers and workers met a registry that was away {again} times"
        )
        return job, producer.written

    return running


def _round(
    disk: Disk,
    program: Program,
    rng: random.Random,
    kill: Callable[[Program], None],
    evolve: Callable[[], None] | None,
) -> str:
    """Let a driver live for a while; kill some of its Python workers, and then itself.

    Args:
        disk: the folders that tell how far it is.
        program: the driver.
        rng: for the moments.
        kill: the end.
        evolve: called at one of them.
    """
    fatal = rng.randrange(5, MOST_EVENTS)
    shots = {rng.randrange(fatal) for _ in range(2)}
    evolves = rng.randrange(fatal)
    workers = 0
    with FolderWatch(disk.folders) as watch, program as driver:
        for at, _ in enumerate(itertools.islice(watch.files(PATIENCE_S, driver.check), fatal)):
            if evolve is not None and at == evolves:
                evolve()
            found = python_workers(driver.session, JVM) if at in shots else []
            if found:
                with contextlib.suppress(ProcessLookupError):  # gone by itself meanwhile
                    os.kill(rng.choice(found), signal.SIGKILL)
                    workers += 1
        kill(driver)
    return f"{workers} workers, {kill.__name__} at file event {fatal}"


@pytest.mark.timeout(600 + 120 * ROUNDS)
def test_each_record_is_a_row_once_and_each_bad_one_in_the_corrupt_column_while_columns_evolve(
    run: Callable[..., tuple[Pipeline, list[tuple[int, int, int]]]], orders: Orders
) -> None:
    job, written = run(
        columns="value.*,partition,offset", columnNameOfCorruptRecord="bad", schemaEvolution="true"
    )
    expected = []
    for partition, offset, number in sorted(written):
        value = orders.values[number]
        shown = base64.b64encode(value or b"").decode() if number in orders.bad else None
        expected.append((partition, offset, None if value is None or number in orders.bad else number, shown))
    assert job.rows("partition", "offset", "id", "bad") == expected
    merged = job.spark.read.option("mergeSchema", "true").parquet(str(job.sink))
    assert set(merged.columns) == {"id", "note", "amount", "partition", "offset", "bad"}
    # A field that the writer does not have is its default.
    assert not merged.where("note <> concat('note ', id) or amount not in (id / 2, 1.5D)").count()
    # From one batch to the next there are the same columns or more of them.
    logged = [job.planned(batch)["schema"]["value"]["fields"] for batch in job.batch_ids()]
    assert list(dict.fromkeys(logged)) == sorted(set(logged), key=len)
    assert len(set(logged)) > 1


@pytest.mark.timeout(600 + 120 * ROUNDS)
def test_each_record_is_a_row_once_or_in_a_file_of_bad_records_once_and_the_columns_stay(
    run: Callable[..., tuple[Pipeline, list[tuple[int, int, int]]]], orders: Orders, tmp_path: Path
) -> None:
    folder = tmp_path / "bad"
    job, written = run(columns="value.*,partition,offset", badRecordsPath=str(folder), schemaVersion="1")
    good = [
        (partition, offset, None if orders.values[number] is None else number)
        for partition, offset, number in sorted(written)
        if number not in orders.bad
    ]
    assert job.rows("partition", "offset", "id") == good
    assert job.spark.read.parquet(str(job.sink)).columns == ["id", "partition", "offset"]
    bad = [
        (partition, offset, orders.values[number])
        for partition, offset, number in sorted(written)
        if number in orders.bad
    ]
    assert _bad_records(folder) == bad


def _bad_records(folder: Path) -> list[tuple[int, int, bytes]]:
    """Return partition, offset and value of each line; files that a killed task left are passed over."""
    files = [file for file in folder.rglob("*.jsonl") if not file.name.startswith("_")]
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return sorted(
        (
            line["partition"],
            line["offset"],
            base64.b64decode(line["valueBase64"]) if "valueBase64" in line else line["value"].encode(),
        )
        for line in lines
    )

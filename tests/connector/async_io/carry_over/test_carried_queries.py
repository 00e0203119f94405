"""Queries that carry rows over to the next micro-batch, on a real Spark, killed with SIGKILL too."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.protobuf import runtime_version
from google.protobuf.runtime_version import VersionError
from pyspark.errors import StreamingQueryException

import headwater as hw
from headwater.core.errors import OptionError
from tests.connector.async_io.carry_over.conftest import PROVIDER, ROCKSDB
from tests.connector.async_io.carry_over.driver import start_queries
from tests.connector.async_io.functions import Lookup
from tests.connector.async_io.service import SlowService
from tests.exactly_once.processes import Program
from tests.exactly_once.waiting import until
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def service() -> Iterator[SlowService]:
    with SlowService() as running:
        yield running


def add_rows(folder: Path, **columns: list[Any]) -> None:
    """Add an input file, whole or not at all."""
    folder.mkdir(exist_ok=True)
    name = f"{len(list(folder.iterdir()))}.parquet"
    table: Any = columns
    pq.write_table(pa.table(table), folder / f".{name}")
    (folder / f".{name}").rename(folder / name)


def written(folder: Path, column: str = "id") -> Counter[int]:
    """Count the ids that Spark's sink committed."""
    return Counter(in_order(folder, column))


def in_order(folder: Path, column: str = "id") -> list[int]:
    """Return the ids that Spark's sink committed, without Spark: from the sink's log, batch by batch."""
    logs = [log for log in (folder / "_spark_metadata").glob("[0-9]*") if not log.name.endswith(".tmp")]
    logs.sort(key=lambda log: int(log.name.partition(".")[0]))
    lines = [line for log in logs for line in log.read_text().splitlines()[1:]]
    # A file once: compacted logs repeat earlier ones.
    files = dict.fromkeys(urlparse(json.loads(line)["path"]).path for line in lines)
    return [
        number
        for file in files
        for number in pq.read_table(file, columns=[column])[column].to_numpy().tolist()
    ]


def calls_of(service: SlowService, behaviour: str) -> Counter[str]:
    """Return how often each id was asked."""
    return Counter(key for asked, key in service.calls.elements() if asked == behaviour)


@pytest.mark.slow
@pytest.mark.usefixtures("rocksdb")
def test_a_batch_does_not_wait_for_what_it_can_carry_over(
    spark: SparkSession, service: SlowService, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    out = tmp_path / "out"
    add_rows(folder, id=list(range(12)), behaviour=["slow"] * 10 + ["gated"] * 2)
    df = spark.readStream.schema("id long, behaviour string").parquet(str(folder))
    carried = hw.unordered_wait(df, Lookup(service.url), schema="name string", carry_over="200ms")
    writer = (
        carried.writeStream.format("parquet")
        .option("path", str(out))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    query = writer.trigger(processingTime="200 milliseconds").start()
    until(lambda: written(out).total() >= 10, "the rows that were answered")
    assert written(out).keys() == set(range(10)), "the others are not answered yet"
    until(lambda: service.count("gated") >= 4, "the others to be asked again, though no new rows came")
    service.release()
    until(lambda: written(out).total() >= 12, "the others")
    query.stop()
    add_rows(folder, id=list(range(12, 20)), behaviour=["late"] * 8)
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S), "a query that ends by itself does so"
    assert written(out) == Counter(range(20)), "and drains: nothing is carried over"
    assert service.count("late") == 8
    # Exactly ten, if none of them took longer than a batch waits.
    assert service.count("slow") >= 10


@pytest.mark.slow
@pytest.mark.usefixtures("rocksdb")
def test_calls_at_once_are_as_many_as_the_limit_says_whatever_the_number_of_tasks(
    spark: SparkSession, service: SlowService, tmp_path: Path
) -> None:
    """There are two state partitions and two slots."""
    ids = iter(range(0, 160, 40))
    (tmp_path / "in").mkdir()
    df = spark.readStream.schema("id long, behaviour string").parquet(str(tmp_path / "in"))

    def started(limit: int, parallelism: int) -> Any:
        service.peak.clear()
        service.calls.clear()
        first = next(ids)
        add_rows(tmp_path / "in", id=list(range(first, first + 40)), behaviour=["gated"] * 40)
        carried = hw.unordered_wait(
            df,
            Lookup(service.url),
            schema="name string",
            carry_over="200ms",
            max_concurrent_requests=limit,
            parallelism=parallelism,
        )
        writer = carried.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        return (
            writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(processingTime="100 milliseconds")
            .start()
        )

    def asked(calls: int) -> bool:
        return service.count("gated") >= calls

    query = started(limit=8, parallelism=8)
    until(lambda: service.running["gated"] == 8, "the whole limit to be used by the two tasks that there are")
    until(partial(asked, 9), "the next batch")
    query.stop()
    assert service.peak["gated"] == 8
    for limit, parallelism in ((8, 1), (1, 8)):
        until(lambda: not service.running["gated"], "the calls of the query before to end")
        query = started(limit, parallelism)
        # Each batch is waited for longer than the one before.
        until(partial(asked, 2 * limit), "both partitions to ask")
        query.stop()
        assert service.peak["gated"] == limit, "rows of tasks that are gone count too"
    service.release()
    query = started(limit=8, parallelism=2)
    until(lambda: written(tmp_path / "out").total() >= 160, "all rows")
    query.stop()
    assert written(tmp_path / "out") == Counter(range(160))


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.usefixtures("rocksdb")
@pytest.mark.parametrize("ticks", [True, False])
def test_after_a_restart_carried_rows_are_asked_again_with_the_first_rows_or_ticks(
    spark: SparkSession, service: SlowService, tmp_path: Path, ticks: bool
) -> None:
    out = tmp_path / "out"
    add_rows(tmp_path / "in", id=[0, 1], behaviour=["gated"] * 2)
    df = spark.readStream.schema("id long, behaviour string").parquet(str(tmp_path / "in"))
    if ticks:
        clock = spark.readStream.format("rate").load().where("value < 0")
        df = df.union(clock.selectExpr("value AS id", "'' AS behaviour"))
    carried = hw.unordered_wait(df, Lookup(service.url), schema="name string", carry_over="200ms")
    writer = (
        carried.writeStream.format("parquet")
        .option("path", str(out))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    query = writer.trigger(processingTime="200 milliseconds").start()
    until(lambda: service.count("gated") >= 4, "rows that are asked again")
    query.stop()
    forget_unfinished(tmp_path / "checkpoint")
    service.release()
    query = writer.trigger(processingTime="200 milliseconds").start()
    if not ticks:
        query.processAllAvailable()
        assert not written(out), "Spark starts no batch for timers alone"
        add_rows(tmp_path / "in", id=[2], behaviour=["gated"])
    until(lambda: written(out).total() >= 3 - ticks or not query.isActive, "the carried rows")
    query.stop()
    assert written(out) == Counter(range(3 - ticks))


def forget_unfinished(checkpoint: Path) -> None:
    """Forget a batch that is logged and not committed: a restart would ask its rows again."""
    offsets, commits = (
        {int(path.name) for path in (checkpoint / name).iterdir() if path.name.isdigit()}
        for name in ("offsets", "commits")
    )
    for batch in offsets - commits:
        (checkpoint / "offsets" / str(batch)).unlink()
        (checkpoint / "offsets" / f".{batch}.crc").unlink(missing_ok=True)


def finished(spark: SparkSession, job: dict[str, Any]) -> None:
    """Let the queries of a killed driver go on to their end, in the Spark of all tests."""
    queries = start_queries(spark, {**job, "trigger": {"availableNow": True}})
    try:
        for query in queries:
            assert query.awaitTermination(PATIENCE_S), "a query that ends by itself does so"
    finally:
        for query in queries:
            query.stop()


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.usefixtures("rocksdb")
def test_killed_with_requests_in_flight_each_result_is_written_once(
    spark: SparkSession, spark_conf: dict[str, Any], service: SlowService, tmp_path: Path
) -> None:
    """The batch of the plain query is asked again after the restart, but for what the shared cache knows.

    The state of the other only is.
    """
    add_rows(tmp_path / "in", id=list(range(20)))
    job = {
        "conf": {**spark_conf, PROVIDER: ROCKSDB},
        "url": service.url,
        "folder": str(tmp_path),
        "carry_over": "500ms",
        "queries": ["asked", "carried"],
        "trigger": {"processingTime": "500 milliseconds"},
    }
    script = str(Path(__file__).with_name("driver.py"))
    with Program(script, job, tmp_path / "driver.log") as driver:
        driver.until(lambda: service.count("plain") == 19 and service.count("cached") == 4, "the calls")
        driver.until(lambda: written(tmp_path / "carried").total() == 19, "what is not carried over")
        driver.until(lambda: service.count("gated-carried") >= 2, "what is carried over to be asked again")
        driver.kill()
    assert written(tmp_path / "asked").total() == 0
    before = calls_of(service, "carried")
    assert before.keys() == {str(n) for n in range(20) if n != 5}
    service.release()
    add_rows(tmp_path / "in", id=[20])
    finished(spark, job)
    everything = Counter(range(21))
    assert written(tmp_path / "asked") == everything
    assert written(tmp_path / "carried") == everything
    assert calls_of(service, "plain") == Counter({**{str(n): 2 for n in range(20) if n != 5}, "20": 1}), (
        "without a cache the replay asks again"
    )
    assert calls_of(service, "cached") == Counter(map(str, range(4))), "with one it does not"
    assert calls_of(service, "carried") - before == Counter(["20"]), "what was committed is not replayed"


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.usefixtures("rocksdb")
def test_rows_that_a_killed_query_has_carried_over_come_once_and_in_their_order(
    spark: SparkSession, spark_conf: dict[str, Any], service: SlowService, tmp_path: Path
) -> None:
    """Row 5 waits for the gate: all behind it wait, or those of its key, also those of a later batch."""
    names = ("ordered", "keyed")
    add_rows(tmp_path / "in", id=list(range(20)))
    job = {
        "conf": {**spark_conf, PROVIDER: ROCKSDB},
        "url": service.url,
        "folder": str(tmp_path),
        "carry_over": "500ms",
        "queries": names,
        "trigger": {"processingTime": "500 milliseconds"},
    }

    def gated() -> list[int]:
        return [service.count(f"gated-{name}") for name in names]

    script = str(Path(__file__).with_name("driver.py"))
    with Program(script, job, tmp_path / "driver.log") as driver:
        driver.until(lambda: min(gated()) >= 2, "row 5 to be asked again")
        add_rows(tmp_path / "in", id=list(range(20, 24)))
        asked = gated()
        driver.until(
            lambda: all(now >= then + 2 for now, then in zip(gated(), asked, strict=True)),
            "a batch with later rows",
        )
        driver.kill()
    assert not calls_of(service, "keyed").keys() & {"9", "13", "17", "21"}, "one of a key after the other"
    assert set(in_order(tmp_path / "ordered")) == set(range(5))
    assert set(in_order(tmp_path / "keyed")) == {n for n in range(24) if n % 4 != 1 or n < 5}
    service.release()
    add_rows(tmp_path / "in", id=[24, 25])
    finished(spark, job)
    ordered, keyed = (in_order(tmp_path / name) for name in names)
    assert ordered == list(range(26))
    assert sorted(keyed) == list(range(26))
    orders = [[n for n in keyed if n % 4 == key] for key in range(4)]
    assert all(order == sorted(order) for order in orders)


@pytest.mark.slow
@pytest.mark.usefixtures("rocksdb")
def test_a_start_with_another_number_of_partitions_is_refused_while_rows_of_a_key_are_carried_over(
    spark: SparkSession, service: SlowService, tmp_path: Path
) -> None:
    partitions = "spark.sql.shuffle.partitions"
    before = spark.conf.get(partitions)
    add_rows(tmp_path / "in", id=[0, 1], behaviour=["gated"] * 2)
    df = spark.readStream.schema("id long, behaviour string").parquet(str(tmp_path / "in"))

    def started() -> Any:
        keyed = hw.keyed_wait(df, Lookup(service.url), keys=["id"], schema="name string", carry_over="200ms")
        writer = keyed.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    query = started()
    until(lambda: service.count("gated") >= 4, "rows that are asked again")
    query.stop()
    add_rows(tmp_path / "in", id=[2], behaviour=["gated"])
    try:
        spark.conf.set(partitions, int(str(before)) + 1)
        with pytest.raises(StreamingQueryException, match=rf"carried over by id \({partitions} {before}\)"):
            started().processAllAvailable()
    finally:
        spark.conf.set(partitions, str(before))
    service.release()
    query = started()
    until(lambda: written(tmp_path / "out").total() >= 3, "all rows")
    query.stop()
    assert written(tmp_path / "out") == Counter(range(3))


@pytest.mark.usefixtures("rocksdb")
def test_a_protobuf_that_is_older_than_sparks_own_code_is_refused_by_name(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise VersionError("gencode 6.33.5 runtime 6.31.1")

    monkeypatch.delitem(sys.modules, "pyspark.sql.streaming.proto.StateMessage_pb2", raising=False)
    monkeypatch.setattr(runtime_version, "ValidateProtobufRuntimeVersion", refuse)
    stream = spark.readStream.format("rate").load()
    with pytest.raises(OptionError, match=r"does not go with the protobuf of this Python: .* 6\.31\.1"):
        hw.unordered_wait(stream, Lookup(""), schema="name string", carry_over="2s")


def test_carry_over_needs_rocksdb_and_a_stream(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(
        OptionError, match=rf"'carry_over': needs Spark's RocksDB state store: set {PROVIDER} to {ROCKSDB}"
    ):
        hw.unordered_wait(stream, Lookup(""), schema="name string", carry_over="2s")
    with pytest.raises(OptionError, match="'carry_over': must be a duration"):
        hw.unordered_wait(stream, Lookup(""), schema="name string", carry_over="soon")
    with pytest.raises(OptionError, match="'carry_over': must be greater than 0"):
        hw.unordered_wait(stream, Lookup(""), schema="name string", carry_over="0s")
    with pytest.raises(OptionError, match="'carried_bytes': must be at least 1, is 0"):
        hw.unordered_wait(stream, Lookup(""), schema="name string", carry_over="1s", carried_bytes=0)
    assert hw.unordered_wait(spark.range(3), Lookup(""), schema="name string", carry_over="2s").columns == [
        "id",
        "name",
    ], "a batch drains"

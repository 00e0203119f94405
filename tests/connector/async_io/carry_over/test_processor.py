"""What a micro-batch does not finish is in Spark's state, is asked again, and comes out once.

On a real Spark, killed with SIGKILL too.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

import headwater as hw
from headwater.connector.async_io.carry_over.buckets import pack, unpack
from headwater.connector.async_io.carry_over.processor import CarryOver
from headwater.core.errors import OptionError
from tests.connector.async_io.functions import Lookup
from tests.connector.async_io.service import SlowService
from tests.connector.async_io.test_task import batches, never_if_zero, wait_of
from tests.exactly_once.processes import Program
from tests.exactly_once.waiting import until
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def answers_zero_when_asked_again(times: int) -> Callable[[Any], Awaitable[tuple[int, int]]]:
    """Return a function that does not answer for id 0 before it was asked so many times."""
    asked = 0

    async def function(row: Any) -> tuple[int, int]:
        nonlocal asked
        if row.id == 0:
            asked += 1
            if asked < times:
                await asyncio.Event().wait()
        return row.id, 0

    return function


@pytest.fixture
def service() -> Iterator[SlowService]:
    with SlowService() as running:
        yield running


@pytest.fixture
def rocksdb(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, ROCKSDB)
    yield
    spark.conf.set(PROVIDER, str(before))


def add_rows(folder: Path, **columns: list[Any]) -> None:
    """Add an input file, whole or not at all."""
    folder.mkdir(exist_ok=True)
    name = f"{len(list(folder.iterdir()))}.parquet"
    table: Any = columns
    pq.write_table(pa.table(table), folder / f".{name}")
    (folder / f".{name}").rename(folder / name)


def written(folder: Path) -> Counter[int]:
    """Count the ids that Spark's sink committed, without Spark: from the sink's log."""
    logs = [
        log.read_text().splitlines()[1:]
        for log in (folder / "_spark_metadata").glob("[0-9]*")
        if not log.name.endswith(".tmp")
    ]
    files = {urlparse(json.loads(line)["path"]).path for log in logs for line in log}
    return Counter(
        number for file in files for number in pq.read_table(file, columns=["id"])["id"].to_numpy().tolist()
    )


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


@pytest.mark.crash
@pytest.mark.slow
def test_killed_with_requests_in_flight_each_result_is_written_once(
    spark: SparkSession, spark_conf: dict[str, Any], service: SlowService, tmp_path: Path
) -> None:
    """The batch of the plain query is asked again after the restart, but for what the shared cache knows.

    The state of the other only is.
    """
    add_rows(tmp_path / "in", id=list(range(20)))
    quick = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Duser.timezone=UTC"
    conf = {
        **spark_conf,
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": quick,
        PROVIDER: ROCKSDB,
    }
    job = {
        "conf": conf,
        "url": service.url,
        "folder": str(tmp_path),
        "carry_over": "500ms",
        "trigger": {"processingTime": "500 milliseconds"},
    }
    script = str(Path(__file__).with_name("driver.py"))
    with Program(script, job, tmp_path / "driver.log") as driver:

        def await_alive(condition: Callable[[], bool], what: str) -> None:
            until(lambda: (driver.check(), condition())[1], what)  # type: ignore[func-returns-value]

        await_alive(lambda: service.count("plain") == 19 and service.count("cached") == 4, "the calls")
        await_alive(lambda: written(tmp_path / "carried").total() == 19, "what is not carried over")
        await_alive(lambda: service.count("gated-carried") >= 2, "what is carried over to be asked again")
        driver.kill()
    assert written(tmp_path / "asked").total() == 0
    before = calls_of(service, "carried")
    assert before.keys() == {str(n) for n in range(20) if n != 5}
    service.release()
    add_rows(tmp_path / "in", id=[20])
    with Program(script, {**job, "trigger": {"availableNow": True}}, tmp_path / "driver.log") as driver:
        driver.finish(PATIENCE_S)
    everything = Counter(range(21))
    assert written(tmp_path / "asked") == everything
    assert written(tmp_path / "carried") == everything
    assert calls_of(service, "plain") == Counter({**{str(n): 2 for n in range(20) if n != 5}, "20": 1}), (
        "without a cache the replay asks again"
    )
    assert calls_of(service, "cached") == Counter(map(str, range(4))), "with one it does not"
    assert calls_of(service, "carried") - before == Counter(["20"]), "what was committed is not replayed"


class Handle:
    """State and timers of one key, as Spark keeps them."""

    def __init__(self) -> None:
        self.state: list[tuple[bytes]] = []
        self.timers: list[int] = []

    def getListState(self, name: str, schema: str) -> Self:  # noqa: N802 - Spark's name
        return self

    def get(self) -> Iterator[tuple[bytes]]:
        return iter(self.state)

    def put(self, rows: list[tuple[bytes]]) -> None:
        self.state = rows

    def clear(self) -> None:
        self.state = []

    def listTimers(self) -> Iterator[int]:  # noqa: N802 - Spark's name
        return iter(self.timers)

    def registerTimer(self, at_ms: int) -> None:  # noqa: N802 - Spark's name
        self.timers.append(at_ms)

    def deleteTimer(self, at_ms: int) -> None:  # noqa: N802 - Spark's name
        self.timers.remove(at_ms)


def test_a_row_is_waited_for_twice_as_long_each_time_until_it_is_done() -> None:
    handle: Any = Handle()
    processor = CarryOver(wait_of(answers_zero_when_asked_again(3), timeout_ms=None), 0.06)
    processor.init(handle)
    [rows] = pack(next(batches(0, size=3)))
    out = list(processor.handleInputRows(0, iter([Row(rows=rows)]), TimerValues(1000)))
    rounds = 1
    while handle.state:
        # On a busy machine others may be left beside it, and it may be asked once more.
        left = [number for (rows,) in handle.state for number in unpack(rows)["id"].to_pylist()]
        assert 0 in left or rounds > 2
        assert handle.timers == [1000 * rounds + 1]
        assert processor._patience([unpack(left) for (left,) in handle.state]) == pytest.approx(
            0.06 * 2**rounds
        )
        handle.timers.clear()  # Spark removes those that fired
        rounds += 1
        out += processor.handleExpiredTimer(0, TimerValues(1000 * rounds), ExpiredTimerInfo(1))
    assert rounds >= 3
    batch = pa.Table.from_batches([unpack(row.rows) for row in out])
    assert batch.column_names == ["id", "text", "number", "which"]
    assert sorted(batch["id"].to_numpy().tolist()) == [0, 1, 2]


def test_new_rows_take_the_place_of_a_timer() -> None:
    handle: Any = Handle()
    processor = CarryOver(wait_of(never_if_zero, timeout_ms=None), 0.01)
    processor.init(handle)
    for now in (1000, 2000):
        [rows] = pack(next(batches(0, size=1)))
        assert list(processor.handleInputRows(0, iter([Row(rows=rows)]), TimerValues(now))) == []
        assert handle.timers == [now + 1]
    assert sum(unpack(left).num_rows for (left,) in handle.state) == 2


def test_carry_over_needs_rocksdb_and_a_stream(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(
        OptionError, match=rf"'carry_over': needs Spark's RocksDB state store: set {PROVIDER} to {ROCKSDB}"
    ):
        hw.unordered_wait(stream, Lookup(""), schema="name string", carry_over="2s")
    with pytest.raises(OptionError, match="'carry_over': must be a duration"):
        hw.unordered_wait(stream, Lookup(""), schema="name string", carry_over="soon")
    with pytest.raises(OptionError, match="'carry_over': must be longer than nothing"):
        hw.unordered_wait(stream, Lookup(""), schema="name string", carry_over="0s")
    assert hw.unordered_wait(spark.range(3), Lookup(""), schema="name string", carry_over="2s").columns == [
        "id",
        "name",
    ], "a batch drains"

"""What a micro-batch does not finish is in Spark's state, is asked again, and comes out once.

On a real Spark, killed with SIGKILL too.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

import headwater as hw
from headwater.connector.async_io.carried_rows import CarriedRows, pack, unpack
from headwater.connector.async_io.carry_over import processor as processors
from headwater.connector.async_io.carry_over import queries
from headwater.connector.async_io.carry_over.event_time import EventTime
from headwater.connector.async_io.carry_over.processor import CarryOver
from headwater.core.errors import AsyncCallError, OffsetError, OptionError
from headwater.readers.async_io.function import AsyncFunction
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


STATES = Path(__file__).parent / "states"


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


def written(folder: Path, column: str = "id") -> Counter[int]:
    """Count the ids that Spark's sink committed, without Spark: from the sink's log."""
    logs = [
        log.read_text().splitlines()[1:]
        for log in (folder / "_spark_metadata").glob("[0-9]*")
        if not log.name.endswith(".tmp")
    ]
    files = {urlparse(json.loads(line)["path"]).path for log in logs for line in log}
    return Counter(
        number
        for file in files
        for number in pq.read_table(file, columns=[column])[column].to_numpy().tolist()
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


class Latest:
    """A value state, as Spark keeps it."""

    def __init__(self) -> None:
        self.value: tuple[int] | None = None

    def exists(self) -> bool:
        return self.value is not None

    def get(self) -> tuple[int] | None:
        return self.value

    def update(self, value: tuple[int]) -> None:
        self.value = value


class Handle:
    """State and timers of one key, as Spark keeps them."""

    def __init__(self) -> None:
        self.state: list[tuple[bytes]] = []
        self.timers: list[int] = []
        self.latest = Latest()

    def getValueState(self, name: str, schema: str) -> Latest:  # noqa: N802 - Spark's name
        return self.latest

    def left(self, column: str = "id") -> list[Any]:
        """Return a column of the rows that are carried over."""
        return [value for (rows,) in self.state for value in unpack(rows)[column].to_pylist()]

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


SCHEMA = pa.RecordBatch.from_pydict({"id": [0], "text": [""]}).schema
TIMED = SCHEMA.append(pa.field("at", pa.timestamp("us", "UTC")))


def processor_of(
    handle: Any,
    function: Any,
    *,
    patience_s: float = 0.01,
    schema: pa.Schema = SCHEMA,
    most_bytes: int = 1 << 20,
    event_time: EventTime | None = None,
    **settings: Any,
) -> CarryOver:
    processor = CarryOver(
        wait_of(function, **settings),
        patience_s,
        keys=[0],
        schema=schema,
        most_bytes=most_bytes,
        event_time=event_time,
    )
    processor.init(handle)
    return processor


def row_of(rows: bytes | None, latest_ms: int | None = None) -> Row:
    return Row(rows=rows, latest_ms=latest_ms)


def timed(*rows: tuple[int, int]) -> bytes:
    """Pack rows of an id and a time in ms."""
    columns: dict[str, Any] = {
        "id": [number for number, _ in rows],
        "text": ["" for _ in rows],
        "at": pa.array([at * 1000 for _, at in rows], pa.timestamp("us", "UTC")),
    }
    [packed] = pack(pa.RecordBatch.from_pydict(columns, schema=TIMED))
    return packed


def ids_of(out: Iterable[Row]) -> list[int]:
    return [number for (rows,) in out for number in unpack(rows)["id"].to_numpy().tolist()]


class Asked(AsyncFunction):
    """Answers some ids later."""

    def __init__(self, answer_after_s: dict[int, float]) -> None:
        self.answer_after_s = answer_after_s

    async def async_invoke(self, row: Any) -> tuple[int, int]:
        await asyncio.sleep(self.answer_after_s.get(row.id, 0))
        return row.id, 0


class TestEventTime:
    """No row is carried over that the watermark behind the operator would pass."""

    def test_a_batch_waits_for_rows_that_would_be_late_in_the_next(self) -> None:
        handle: Any = Handle()
        asked = Asked({1: 0.3, 2: 3600, 3: 3600})
        processor = processor_of(handle, asked, schema=TIMED, event_time=EventTime("at", 100))
        rows = [row_of(timed((1, 899), (2, 901), (3, 950), (4, 990))), row_of(None, 990), row_of(None, 1000)]
        assert sorted(ids_of(processor.handleInputRows((0,), iter(rows), TimerValues(5)))) == [1, 4], (
            "another key has seen 1000: a row at 900 or before would be late"
        )
        assert handle.left() == [2, 3]
        assert handle.latest.value == (1000,)

    def test_the_latest_time_counts_that_ever_was_not_that_of_the_batch(self) -> None:
        handle: Any = Handle()
        handle.latest.update((1000,))
        asked = Asked({1: 0.3, 2: 3600})
        processor = processor_of(handle, asked, schema=TIMED, event_time=EventTime("at", 100))
        rows = [row_of(timed((1, 700), (2, 930))), row_of(None, 930)]
        assert ids_of(processor.handleInputRows((0,), iter(rows), TimerValues(5))) == [1]
        assert handle.left() == [2]
        assert handle.latest.value == (1000,)

    def test_a_row_that_was_carried_over_is_waited_for_when_the_watermark_comes_near(self) -> None:
        handle: Any = Handle()
        asked = Asked({1: 3600})
        processor = processor_of(handle, asked, schema=TIMED, event_time=EventTime("at", 100))
        first = [row_of(timed((1, 1000))), row_of(None, 1000)]
        assert ids_of(processor.handleInputRows((0,), iter(first), TimerValues(5))) == []
        assert handle.left() == [1]
        asked.answer_after_s[1] = 0.3
        second = [row_of(None, 1100)]
        assert ids_of(processor.handleInputRows((0,), iter(second), TimerValues(6))) == [1], (
            "the rows of this batch are of other keys"
        )
        assert handle.left() == []

    @pytest.mark.parametrize("is_gone", [True, False])
    def test_a_bucket_that_does_not_know_the_latest_time_carries_no_row_over(
        self, is_gone: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As after a start with fewer tasks, or with more."""
        monkeypatch.setattr(processors, "is_first_batch", lambda: False)
        handle: Any = Handle()
        processor = processor_of(handle, Asked({1: 0.3}), schema=TIMED, event_time=EventTime("at", 100))
        if is_gone:
            handle.state = [(rows,) for rows in _carried(timed((1, 1000)))]
            out = processor.handleExpiredTimer((7,), TimerValues(6), ExpiredTimerInfo(1))
        else:
            rows = [row_of(timed((1, 1000))), row_of(None, 1000)]
            out = processor.handleInputRows((0,), iter(rows), TimerValues(6))
        assert ids_of(out) == [1]
        assert handle.left() == []


def _carried(rows: bytes) -> Iterator[bytes]:
    """Return packed rows as they are in the state."""
    stored = CarriedRows(TIMED)
    return pack(stored.carried(stored.new(unpack(rows)), [0.0], 0))


def test_a_failure_is_heard_while_the_input_is_slow() -> None:
    more = threading.Event()

    def slow_input() -> Iterator[Row]:
        [rows] = pack(next(batches(0, size=1)))
        yield row_of(rows)
        more.wait(PATIENCE_S)

    async def fails(row: Any) -> None:
        raise ValueError("bad")

    processor = processor_of(Handle(), fails)
    with pytest.raises(AsyncCallError, match="ValueError: bad"):
        list(processor.handleInputRows((0,), slow_input(), TimerValues(1)))
    assert not more.is_set()
    more.set()


def test_no_more_bytes_are_carried_over_than_it_is_said() -> None:
    handle: Any = Handle()
    processor = processor_of(handle, Asked({0: 0.2, 1: 3600}), most_bytes=150_000)
    batch = pa.RecordBatch.from_pydict({"id": [0, 1], "text": ["x" * 100_000] * 2})
    [rows] = pack(batch)
    assert ids_of(processor.handleInputRows((0,), iter([row_of(rows)]), TimerValues(1))) == [0]
    assert handle.left() == [1]


class Substitutes(Asked):
    """Has a substitute for what is not answered in time."""

    def timeout(self, row: Any) -> tuple[int, int]:
        return -1, 0


def test_a_timeout_goes_on_in_the_next_batch() -> None:
    handle: Any = Handle()
    processor = processor_of(handle, Substitutes({0: 3600}), timeout_ms=400, patience_s=0.05)
    [rows] = pack(next(batches(0, size=1)))
    out = list(processor.handleInputRows((0,), iter([row_of(rows)]), TimerValues(1)))
    rounds = 1
    while handle.state:
        rounds += 1
        out += processor.handleExpiredTimer((0,), TimerValues(rounds), ExpiredTimerInfo(1))
    assert ids_of(out) == [0]
    assert 2 <= rounds <= 4, "50 ms, 100 ms, 200 ms, and what is then left of 400 ms"


def test_carried_rows_are_read_after_columns_were_added_and_from_the_first_layout() -> None:
    """The file is the state as it was written before it held when a row was first asked."""
    handle: Any = Handle()
    handle.state = [(STATES.joinpath("v1.arrow").read_bytes(),)]
    wider = SCHEMA.insert(1, pa.field("added", pa.float64()))
    processor = processor_of(handle, Asked({}), schema=wider)
    [out] = processor.handleExpiredTimer((0,), TimerValues(1), ExpiredTimerInfo(1))
    assert unpack(out[0]).select(["id", "text"]).to_pydict() == {"id": [7, 8, 9], "text": ["t7", "t8", "t9"]}


def test_carried_rows_of_another_type_or_a_later_version_are_refused() -> None:
    rows = CarriedRows(SCHEMA.set(1, pa.field("text", pa.int32())))
    with pytest.raises(
        OffsetError, match="there are carried rows whose 'text' is string, and now it is int32: leave its"
    ):
        rows.taken_up(unpack(STATES.joinpath("v1.arrow").read_bytes()))
    later = pa.RecordBatch.from_pydict({"id": [1]}).replace_schema_metadata({b"headwater.carried_rows": b"9"})
    with pytest.raises(
        OffsetError, match=r"a later version of headwater \(layout 9, this one reads up to 2\)"
    ):
        rows.taken_up(later)


def test_rows_are_packed_in_pieces_that_are_small_in_rows_and_in_bytes() -> None:
    batch = pa.RecordBatch.from_pydict({"id": list(range(3000)), "nested": [{"n": [n]} for n in range(3000)]})
    pieces = [unpack(piece) for piece in pack(batch)]
    assert [piece.num_rows for piece in pieces] == [1024, 1024, 952]
    assert pa.Table.from_batches(pieces).equals(pa.Table.from_batches([batch]))
    large = pa.RecordBatch.from_pydict({"text": ["x" * 700_000, "", "", "y" * 700_000, "z" * 2_000_000]})
    pieces = [unpack(piece) for piece in pack(large)]
    assert [piece.num_rows for piece in pieces] == [2, 1, 1, 1]
    assert pa.Table.from_batches(pieces).equals(pa.Table.from_batches([large]))


def test_a_row_is_waited_for_twice_as_long_each_time_until_it_is_done() -> None:
    handle: Any = Handle()
    processor = processor_of(handle, answers_zero_when_asked_again(3), timeout_ms=None, patience_s=0.06)
    [rows] = pack(next(batches(0, size=3)))
    out = list(processor.handleInputRows((0,), iter([row_of(rows)]), TimerValues(1000)))
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
        out += processor.handleExpiredTimer((0,), TimerValues(1000 * rounds), ExpiredTimerInfo(1))
    assert rounds >= 3
    batch = pa.Table.from_batches([unpack(rows) for (rows,) in out])
    assert batch.column_names == ["id", "text", "number", "which"]
    assert sorted(batch["id"].to_numpy().tolist()) == [0, 1, 2]


def test_a_query_of_which_nothing_is_known_asks_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the listener had not been told of its start: rows might be lost."""
    monkeypatch.setattr(queries, "TaskContext", SimpleNamespace(get=Unseen))
    with pytest.raises(OptionError, match="'carry_over': nothing is known of this query"):
        list(processor_of(Handle(), Asked({})).handleInputRows((0,), iter([]), TimerValues(1)))


class Unseen:
    """A task's context without the properties of a query."""

    def getLocalProperty(self, name: str) -> None:  # noqa: N802 - Spark's name
        return None


def test_new_rows_take_the_place_of_a_timer() -> None:
    handle: Any = Handle()
    processor = processor_of(handle, never_if_zero, timeout_ms=None)
    for now in (1000, 2000):
        [rows] = pack(next(batches(0, size=1)))
        assert list(processor.handleInputRows((0,), iter([row_of(rows)]), TimerValues(now))) == []
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
    with pytest.raises(OptionError, match="'carried_bytes': must be at least 1, is 0"):
        hw.unordered_wait(stream, Lookup(""), schema="name string", carry_over="1s", carried_bytes=0)
    assert hw.unordered_wait(spark.range(3), Lookup(""), schema="name string", carry_over="2s").columns == [
        "id",
        "name",
    ], "a batch drains"

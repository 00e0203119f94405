"""A user's program that uses each public name as it is meant: type checkers accept it. It is never run."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self, cast

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession

import headwater as hw
from headwater import testing

SCHEMA: pa.Schema = pa.schema({"name": pa.string()})
spark: SparkSession = SparkSession.builder.getOrCreate()
version: str = hw.__version__


# Typed readers.

batches: list[DataFrame] = [
    hw.read.demo(spark, rows=5, disorder=timedelta(seconds=1)),
    hw.read.files(spark, format="csv", path=["/a", "/b"], header=True, modified_after=datetime.now(UTC)),
    hw.read.redis(spark, url="redis://a:6379", keys=["orders:*"], cluster=True),
    hw.read.rabbitmq(spark, servers="rabbitmq-stream://a", streams=["orders"], message_format="raw"),
    hw.read.kinesis(spark, streams=["orders"], region="eu-west-1", secret_access_key="env:KEY"),
    hw.read.nats(spark, servers=["nats://a:4222"], streams=["orders"], starting_position="earliest"),
    hw.read.http(spark, url="https://api.example.com/orders", params={"limit": 100}, headers={"X": "y"}),
    hw.read.hybrid(spark, sources=["a", "b"], parts={"a.source": "demo"}, seam_time=datetime.now(UTC)),
    hw.read.kafka(
        spark,
        servers=["a:9092", "b:9092"],
        topics=("orders",),
        starting_offsets={"orders": {"0": 5}},
        value_format="json",
        value_schema="id long",
        properties={"security.protocol": "SASL_SSL"},
    ),
    hw.read.mqtt(spark, broker="mqtt://localhost:1883", topics="orders/#"),
    hw.read.postgres(spark, url="postgresql://localhost/shop", table="orders", columns=["id"]),
    hw.read.postgres(spark, url="postgresql://localhost/shop", tables=["orders", "people"]),
]
streams: list[DataFrame] = [
    hw.read_stream.demo(spark, rows_per_second=5, max_rows_per_trigger=100),
    hw.read_stream.files(spark, format="json", path="/a", schema="id long", max_files_per_trigger=10),
    hw.read_stream.http(spark, url="https://api.example.com/orders", retry_deadline="5m"),
    hw.read_stream.hybrid(spark, sources="a,b", parts={"a.source": "demo"}, seam_offsets="end"),
    hw.read_stream.kafka(spark, servers="a:9092", topic_pattern="^orders", max_offsets_per_trigger=1_000),
    hw.read_stream.redis(spark, url="redis://a:6379", keys="orders", max_rows_per_trigger=100),
    hw.read_stream.rabbitmq(spark, servers="rabbitmq-stream://a", streams="orders", load_balancer=True),
    hw.read_stream.kinesis(spark, streams="orders", state_location="s3://b/s", starting_position="latest"),
    hw.read_stream.nats(spark, servers="nats://a:4222", subjects=["orders.>"], fail_on_data_loss=False),
    hw.read_stream.mqtt(spark, broker="mqtt://localhost:1883", topics=["orders/#"], client_id="orders"),
    hw.read_stream.postgres(
        spark, url="postgresql://localhost/shop", table="orders", slot="hw_orders", publication="hw"
    ),
    hw.read_stream.postgres(
        spark, url="postgresql://localhost/shop", tables=["orders", "people"], slot="hw", publication="hw"
    ),
]


# A source in short.


class Lines(
    hw.SimpleSource,
    hw.Heads,
    hw.Forgets,
    hw.Retires,
    hw.FindsTimestamps,
    hw.EstimatesSizes,
    hw.Acknowledges,
    hw.InfersSchema,
    hw.PushesFilters,
):
    """A planned source with every ability."""

    name = "lines"
    schema = SCHEMA
    OPTIONS = (
        hw.options.Option("folder", hw.options.text, None, "The folder.", required=True),
        hw.options.Option("limit", hw.options.integer(1), 10, "How many."),
        hw.options.Option("wait", hw.options.duration_ms, 1_000, "How long."),
        hw.options.Option("columns", hw.options.names, ("name",), "Which."),
        hw.options.Option("exact", hw.options.boolean, default=True, help="Whether."),
        hw.options.Option("order", hw.options.one_of("up", "down"), "up", "Which way."),
        hw.options.Option("more", hw.options.json_object, None, "The rest."),
    )

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit("one", info={"size": 1})]

    def head(self, split: hw.NamedSplit) -> int:
        return 3

    def first(self, split: hw.NamedSplit) -> int:
        return 1

    def retire(self, split: hw.NamedSplit) -> bool:
        return split.name == "closed"

    def position_at(self, split: hw.NamedSplit, timestamp_ms: int) -> int:
        return timestamp_ms

    def row_bytes(self, split: hw.NamedSplit) -> int:
        return 100

    def acknowledge(self, positions: Mapping[str, hw.contracts.JsonValue]) -> None:
        print(positions["one"])

    def infer_schema(self) -> pa.Schema:
        return SCHEMA

    def push_filters(self, filters: tuple[Any, ...]) -> None:
        print(filters)

    def read(self, split: hw.NamedSplit, position: int, stop: int | None = None) -> Iterator[hw.Page]:
        if stop is None:
            raise hw.TransientSourceError("away", source="lines", split=split.name, position=position)
        yield hw.Page([(str(number),) for number in range(position, stop)], stop)


class Shards(hw.SimpleSource, hw.OrdersSplits):
    """Splits that follow each other."""

    name = "shards"
    schema = SCHEMA

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit("one"), hw.NamedSplit("two", info="one")]

    def parents(self, split: hw.NamedSplit) -> list[str]:
        return [str(split.info)] if split.info else []

    def first_start(self, split: hw.NamedSplit, *, is_batch: bool) -> int | hw.Finished:
        return 0 if is_batch else hw.Finished()

    def read(self, split: hw.NamedSplit, position: Any, stop: Any = None) -> Iterator[hw.Page]:
        yield hw.Page([("a",)], 1)


class Server(hw.options.Spec):
    address: str = hw.options.option("address", "Where it is.")
    password: str | None = hw.options.option("password", "Of it.", default=None, is_secret=True)

    def __post_init__(self) -> None:
        if self.password is not None:
            print(hw.options.kept_secret(self.password, "option 'password'"))
        raise self.refusal("address", "is no address")


class Payloads(hw.SimpleSource):
    """A source with options of several kinds, the schema that they make, and a column that users decode."""

    name = "payloads"
    decodes = "value"
    time_column = "at"
    OPTIONS = (*Server.options(), *hw.options.TlsSettings.options())

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.schema = SCHEMA
        hw.options.TlsSettings.of(options).check_counts(encrypted=True, hint="tls://")
        print(Server.of(options).address)

    @property
    def reads(self) -> str:
        return "all"

    def discover(self) -> list[hw.NamedSplit]:
        return []

    def read(self, split: hw.NamedSplit, position: int) -> Iterator[hw.Page]:
        yield hw.Page((), position + 1, lost=True)


class Marked(hw.SimpleSource, hw.Heads, hw.ReadsAhead):
    name = "marked"
    schema = SCHEMA

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit("one")]

    def head(self, split: hw.NamedSplit) -> list[Any]:
        return [3, "c"]

    def position_after(self, split: hw.NamedSplit, position: Any, rows: int, stop: Any) -> list[Any]:
        return [position[0] + rows, "b"]

    def position_of(self, split: hw.NamedSplit, mark: Any) -> list[Any]:
        return [1, str(mark)]

    def read(self, split: hw.NamedSplit, position: Any, stop: Any = None) -> Iterator[hw.Page]:
        yield hw.Page((), stop)


# Changes of a table.


def merge(batch: DataFrame, batch_id: int) -> None:
    """For ``foreachBatch``."""
    hw.apply_changes(batch, into="lake.orders", key=["id"])
    carts = hw.changes_of(batch, "public.carts", schema="id bigint, note string")
    hw.apply_changes(carts, into="lake.carts", key=["id"])


class Decoded(hw.SimpleSource):
    """A source whose rows have a column of JSON."""

    name = "decoded"
    schema = SCHEMA

    def decoding(self) -> hw.contracts.Decoding:
        return hw.decode(
            "json",
            column="name",
            schema="id long",
            mode="FAILFAST",
            columns=["name.*"],
            options={"timeZone": "UTC"},
        )

    def discover(self) -> list[hw.NamedSplit]:
        return []

    def read(self, split: hw.NamedSplit, position: int) -> Iterator[hw.Page]:
        yield hw.Page([("{}",)], position + 1)


class Tail(hw.SimpleSource, hw.EndsAtRecords):
    """A barrier source whose splits end, wait, and name others."""

    name = "tail"
    schema = SCHEMA

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit("all")]

    def read(
        self, split: hw.NamedSplit, position: int
    ) -> Generator[hw.Page, None, hw.Finished | hw.AskAgain | None]:
        hw.count("pages")
        yield hw.Page([{"name": split.name}], position + 1, [hw.NamedSplit("child")])
        return hw.Finished() if split.name == "child" else hw.AskAgain(after_ms=500)

    def is_end(self, rows: pa.RecordBatch) -> list[bool]:
        return [row["name"] == "end" for row in rows.to_pylist()]


hw.register(spark, Lines)
table: hw.options.OptionTable = hw.options_of(Lines)
table = hw.options_of("kafka")
page: str = table.markdown()


# Settings and lag.

conf: dict[str, str] = hw.recommended_conf()
session: SparkSession = hw.session("app", master="local[2]", conf={"spark.ui.enabled": "false"})
configured: SparkSession.Builder = hw.configure(SparkSession.builder, parallelism=48)
hw.register(spark)
hw.install_excepthook()
told: str = hw.explain(ValueError("x"))
environment: dict[str, str] = hw.recommended_environment(parallelism=48)
with hw.Board(spark, port=0) as board:
    address: str = board.url
with hw.export_metrics(spark, prometheus_port=0, otel=True) as export:
    scraped: str | None = export.url

lag: hw.LagListener = hw.LagListener()
spark.streams.addListener(lag)
behind: list[hw.QueryLag] = lag.queries()
total: int = behind[0].total


# Errors.

try:
    rows: DataFrame = spark.read.format("headwater").option("source", "kafka").load()
except hw.errors.OptionError as wrong_option:
    name: str | None = wrong_option.option
except hw.errors.MissingDependencyError as missing:
    print(missing.library)
except hw.errors.NoConnectionError as absent:
    is_first: bool = absent.is_first
except (hw.errors.DeadlineError, hw.errors.AuthenticationError, hw.errors.AuthorizationError) as refused:
    where: str | None = refused.split
except hw.errors.LostSlotError as lost_slot:
    kept_from: object = lost_slot.position
except (hw.errors.UnknownSplitError, hw.errors.DataLossError, hw.errors.CorruptRecordError) as lost:
    reached: object = lost.position
except hw.errors.SourceError as failed:
    source: str | None = failed.source
except (hw.errors.CallTimeoutError, hw.errors.CircuitOpenError, hw.errors.AsyncCallError):
    pass
except (hw.errors.InstallationError, hw.errors.OffsetError, hw.errors.ContractError, hw.errors.FencedError):
    pass
except (hw.errors.StateLocationError, hw.errors.FormatSchemaError, hw.HeadwaterError):
    pass
root: type[Exception] = hw.errors.HeadwaterError
transient: type[hw.errors.SourceError] = hw.errors.TransientSourceError


# Asynchronous I/O.


class Lookup(hw.async_io.AsyncFunction):
    """One row a call."""

    scope = hw.async_io.Scope.PROCESS

    async def open(self, context: hw.async_io.OpenContext) -> None:
        print(context.capacity)

    async def async_invoke(self, row: Row) -> Any:
        return {"tier": row.id}


class Bulk(hw.async_io.AsyncBatchFunction):
    """Many rows a call."""

    async def async_invoke_batch(self, rows: Sequence[Row]) -> Sequence[Any]:
        return [{"tier": 1} for _ in rows]


class Frames(hw.async_io.AsyncArrowFunction):
    """Whole Arrow batches a call."""

    frames = "pandas"

    async def async_invoke_arrow(self, rows: Any) -> Any:
        return rows[["tier"]]


class Called(hw.async_io.CallbackFunction):
    """A client that calls back."""

    def async_invoke(self, row: Row, result_future: hw.async_io.ResultFuture) -> None:
        result_future.complete({"tier": 1})


class Blocking(hw.async_io.BlockingFunction):
    """A client that blocks."""

    def invoke(self, row: Row) -> Any:
        return {"tier": 1}


class Shared(hw.async_io.SharedCache):
    """A cache outside of the process."""

    async def get(self, keys: Sequence[Hashable]) -> Mapping[Hashable, Any]:
        return dict.fromkeys(keys)

    async def put(self, results: Mapping[Hashable, Any]) -> None:
        print(len(results))


metrics = hw.async_io.AsyncMetrics(spark)
options: hw.async_io.AsyncOptions = {
    "columns": ["id"],
    "on_failure": "error_column",
    "retry": hw.async_io.RetryPolicy.exponential(4, first_ms=50),
    "rate_limit": hw.async_io.RateLimit(requests_per_s=100, burst=10),
    "circuit_breaker": hw.async_io.CircuitBreakerSettings(failures=3),
    "cache": hw.async_io.CacheSettings(ttl_ms=60_000, shared=Shared()),
    "metrics": metrics,
}
unordered: DataFrame = hw.unordered_wait(
    spark.range(9), Lookup(), schema="tier int", timeout="5s", capacity=8, carry_over="1s", **options
)
ordered: DataFrame = hw.ordered_wait(
    spark.range(9), Bulk(), schema="tier int", batching=hw.async_io.Batching(size=100, linger_ms=5)
)
framed: DataFrame = hw.unordered_wait(
    spark.range(9), Frames(), schema="tier int", carry_over="1s", event_time="at", delay="1 minute"
)
keyed: DataFrame = hw.keyed_wait(spark.range(9), Blocking(), keys=["id"], schema="tier int", timeout=None)
good, bad = hw.split_failures(hw.unordered_wait(spark.range(9), Called(), schema="tier int"))
counted: hw.async_io.MetricsSnapshot = metrics.value
requests: int = counted.requests


# A source in full.


@dataclass(frozen=True, slots=True)
class Shelf(hw.contracts.Split):
    """A split of one's own."""

    label: str

    @property
    def path(self) -> hw.contracts.SplitPath:
        return (self.label,)


class Enumerator(hw.contracts.PlannedSplitEnumerator[Shelf, int]):
    """Which shelves there are."""

    def __init__(self, context: hw.contracts.PlannedSplitEnumeratorContext[Shelf, int]) -> None:
        self.context: hw.contracts.SplitEnumeratorContext[Shelf, int] = context
        self.keep_splits = context.keep_splits

    def start(self) -> None:
        self.context.call_async(lambda: [Shelf("a")], self.found, what="shelves")

    def found(self, shelves: list[Shelf]) -> None:
        self.context.assign_splits({shelf.path: (shelf, 0) for shelf in shelves})

    def refresh(self, checkpoint: hw.contracts.Checkpoint[Shelf, int] | None) -> None:
        print(checkpoint.positions if checkpoint else "new")
        kept: Mapping[hw.contracts.SplitPath, hw.contracts.KeptSplit[Shelf, int]] = (
            checkpoint.kept if checkpoint else {}
        )
        self.keep_splits(list(kept), "out of sight")

    def heads(self) -> Mapping[hw.contracts.SplitPath, int]:
        return {("a",): 3}

    def handle_split_request(self, request: hw.contracts.SplitRequest) -> None:
        print(request.limited)


class Reader(hw.contracts.SplitReader[range, Shelf, int]):
    """Hands out numbers."""

    def __init__(self) -> None:
        self.open: list[hw.contracts.SplitRange[Shelf, int]] = []

    def report_losses_to(self, report: hw.contracts.LossReporter) -> None:
        report(Shelf("a"), 1, 3, "were lost: torn out")

    def handle_splits_changes(self, added: Sequence[hw.contracts.SplitRange[Shelf, int]]) -> None:
        self.open += added

    def fetch(self) -> hw.contracts.RecordsWithSplitIds[range]:
        piece = self.open.pop()
        path = piece.split.path
        return hw.contracts.RecordsWithSplitIds({path: [range(piece.start, piece.stop)]}, frozenset([path]))

    def close(self) -> None:
        self.open.clear()


class Emitter(hw.contracts.RecordEmitter[range, Shelf, int]):
    """Makes rows of numbers."""

    def emit(self, record: range, state: hw.contracts.SplitState[Shelf, int]) -> Iterator[pa.RecordBatch]:
        state.position = record.stop
        yield pa.RecordBatch.from_pylist([{"name": str(number)} for number in record], schema=SCHEMA)


class Shelves(hw.contracts.PlannedSource[range, Shelf, int], hw.contracts.FromOptions):
    """A planned source in full."""

    name: ClassVar[str] = "shelves"
    OPTIONS: ClassVar[tuple[hw.options.Option[Any], ...]] = ()

    @classmethod
    def from_options(cls, options: Mapping[str, Any], boundedness: hw.contracts.Boundedness | None) -> Self:
        print(options, boundedness)
        return cls()

    @property
    def boundedness(self) -> hw.contracts.Boundedness:
        return hw.contracts.Boundedness.BOUNDED

    def schema(self) -> pa.Schema:
        return SCHEMA

    def create_enumerator(
        self, context: hw.contracts.PlannedSplitEnumeratorContext[Shelf, int]
    ) -> Enumerator:
        return Enumerator(context)

    def restore_enumerator(
        self,
        context: hw.contracts.PlannedSplitEnumeratorContext[Shelf, int],
        checkpoint: hw.contracts.Checkpoint[Shelf, int],
    ) -> Enumerator:
        return Enumerator(context)

    def create_reader(self) -> Reader:
        return Reader()

    def create_emitter(self) -> Emitter:
        return Emitter()

    def serialize_splits(self, splits: Iterable[Shelf]) -> hw.contracts.JsonValue:
        return [split.label for split in splits]

    def deserialize_splits(
        self, paths: Iterable[hw.contracts.SplitPath], definitions: hw.contracts.JsonValue
    ) -> Mapping[hw.contracts.SplitPath, Shelf]:
        return {path: Shelf(path[0]) for path in paths}

    def rows_between(self, start: int, stop: int) -> int:
        return stop - start

    def position_after(self, start: int, rows: int, stop: int) -> int:
        return min(start + rows, stop)

    def end_positions(self, splits: Sequence[Shelf]) -> hw.contracts.EndPositions:
        return {"books": {split.label: 5 for split in splits}}

    def begin_after(self, end: hw.contracts.PartEnd) -> Self:
        print(end.time_ms, end.positions)
        return self


class EpochEnumerator(hw.contracts.BarrierSplitEnumerator[Shelf, int]):
    """Which shelves there are, and what tasks tell."""

    def __init__(self, context: hw.contracts.BarrierSplitEnumeratorContext[Shelf, int]) -> None:
        self.context = context

    def start(self) -> None:
        self.context.send_event_to_source_reader(("a",), {"slow": True})

    def refresh(self, checkpoint: hw.contracts.Checkpoint[Shelf, int] | None) -> None:
        self.context.retire_splits([("b",)], "gone")


class EpochReader(hw.contracts.BarrierSplitReader[Shelf, int]):
    """Hands out one page."""

    def handle_splits_changes(self, added: Sequence[hw.contracts.SplitRange[Shelf, int]]) -> None:
        print(added)

    def handle_splits_removal(self, removed: Sequence[tuple[str, ...]]) -> None:
        print(removed)

    def fetch(self) -> hw.contracts.EpochRecords:
        rows = pa.RecordBatch.from_pylist([{"name": "a"}], schema=SCHEMA)
        found = hw.contracts.FoundSplit(Shelf("b"), 0)
        return hw.contracts.EpochRecords({("a",): [hw.contracts.EpochRecord(rows, 1, (found,))]})

    def pause_or_resume_splits(
        self, paused: Sequence[hw.contracts.SplitPath], resumed: Sequence[hw.contracts.SplitPath]
    ) -> None:
        print(paused, resumed)

    def close(self) -> None:
        print("closed")


class Epochs(hw.contracts.BarrierSource[Shelf, int]):
    """A barrier source in full."""

    name: ClassVar[str] = "epochs"

    @property
    def boundedness(self) -> hw.contracts.Boundedness:
        return hw.contracts.Boundedness.CONTINUOUS_UNBOUNDED

    def schema(self) -> pa.Schema:
        return SCHEMA

    def create_enumerator(
        self, context: hw.contracts.BarrierSplitEnumeratorContext[Shelf, int]
    ) -> hw.contracts.BarrierSplitEnumerator[Shelf, int]:
        return EpochEnumerator(context)

    def restore_enumerator(
        self,
        context: hw.contracts.BarrierSplitEnumeratorContext[Shelf, int],
        checkpoint: hw.contracts.Checkpoint[Shelf, int],
    ) -> hw.contracts.BarrierSplitEnumerator[Shelf, int]:
        return EpochEnumerator(context)

    def create_reader(self) -> EpochReader:
        return EpochReader()

    def serialize_splits(self, splits: Iterable[Shelf]) -> hw.contracts.JsonValue:
        return [split.label for split in splits]

    def deserialize_splits(
        self, paths: Iterable[hw.contracts.SplitPath], definitions: hw.contracts.JsonValue
    ) -> Mapping[hw.contracts.SplitPath, Shelf]:
        return {path: Shelf(path[0]) for path in paths}


class Client(hw.contracts.StagedClient[int]):
    """A connection to a queue."""

    def open(self, split: hw.contracts.Split) -> None:
        print(split.split_id)

    def poll(self, timeout_ms: int, most: int) -> hw.contracts.Delivery[int] | None:
        rows = pa.RecordBatch.from_pylist([{"name": "a"}], schema=SCHEMA)
        return hw.contracts.Delivery(rows, [b"a"], [1]) if timeout_ms else None

    def acknowledge(self, tokens: Sequence[int]) -> None:
        raise hw.errors.QueueTakenError(f"{tokens} are of another one")

    def close(self) -> None:
        print("closed")


@dataclass(frozen=True, kw_only=True)
class Staged(hw.contracts.StagedSource[Shelf]):
    """A queue that forgets."""

    name = "staged"
    OPTIONS = ()

    size: int

    @classmethod
    def from_options(cls, options: Mapping[str, Any], boundedness: hw.contracts.Boundedness | None) -> Self:
        return cls(size=options["size"] if boundedness else 0)

    def schema(self) -> pa.Schema:
        return SCHEMA

    def queue(self, split: Shelf) -> str:
        return split.label

    def create_client(self, split: Shelf) -> Client:
        return Client()

    def create_enumerator(
        self, context: hw.contracts.BarrierSplitEnumeratorContext[Shelf, int]
    ) -> EpochEnumerator:
        return EpochEnumerator(context)

    def restore_enumerator(
        self,
        context: hw.contracts.BarrierSplitEnumeratorContext[Shelf, int],
        checkpoint: hw.contracts.Checkpoint[Shelf, int],
    ) -> EpochEnumerator:
        return EpochEnumerator(context)

    def serialize_splits(self, splits: Iterable[Shelf]) -> hw.contracts.JsonValue:
        return None

    def deserialize_splits(
        self, paths: Iterable[hw.contracts.SplitPath], definitions: hw.contracts.JsonValue
    ) -> Mapping[hw.contracts.SplitPath, Shelf]:
        return {path: Shelf(path[0]) for path in paths}


class ChosenFiles(hw.contracts.FilesSource):
    """Files, behind an enumerator of one's own."""

    name = "chosen-files"
    OPTIONS = (hw.options.Option("chosen", hw.options.names, (), "Which."),)

    def create_enumerator(
        self, context: hw.contracts.PlannedSplitEnumeratorContext[hw.contracts.FileSplit, int]
    ) -> hw.contracts.PlannedSplitEnumerator[hw.contracts.FileSplit, int]:
        status = hw.contracts.FileStatus("/a", 5, 1_000)
        context.assign_splits({("0",): (hw.contracts.FileSplit("0", status), len(self.options["chosen"]))})
        return super().create_enumerator(context)

    @property
    def note_store(self) -> hw.contracts.StateStore:
        return hw.contracts.open_state_store("/tmp/state")


class ChosenPartitions(hw.contracts.KafkaSource):
    """Kafka, behind an enumerator of one's own."""

    name = "chosen-partitions"

    def create_enumerator(
        self, context: hw.contracts.PlannedSplitEnumeratorContext[hw.contracts.KafkaPartitionSplit, int]
    ) -> hw.contracts.PlannedSplitEnumerator[hw.contracts.KafkaPartitionSplit, int]:
        split = hw.contracts.KafkaPartitionSplit("orders", 3)
        context.assign_splits({split.path: (split, 0)})
        return super().create_enumerator(context)


emitter: hw.contracts.EpochRecordEmitter = hw.contracts.EpochRecordEmitter()
limit = hw.contracts.Barrier(rows=1_000)
hw.register(spark, Shelves)
hw.register(spark, Staged)
hw.register(spark, ChosenFiles)
hw.register(spark, ChosenPartitions)


def what_both_modes_share(
    source: hw.contracts.Source[Any, Shelf, int], enumerator: hw.contracts.SplitEnumerator[Shelf, int]
) -> pa.Schema:
    enumerator.start()
    return source.schema()


# Tests of a source.


class TestLines(testing.SourceTests):
    """All suites that need no Spark."""

    source = Lines

    def options(self) -> Mapping[str, str]:
        return {"folder": "/tmp/lines"}


class TestLinesWithSpark(TestLines, testing.SparkTests):
    """With Spark."""


class TestQueue(testing.StagedTests):
    """What a queue keeps."""

    source = Staged

    def due(self, options: Mapping[str, str]) -> list[dict[str, Any]]:
        return [{"name": options["name"]}]


class TestEvents(testing.EventTests):
    """What readers tell."""

    source = Epochs

    def told(self, state: hw.contracts.JsonValue) -> object:
        return state


class TestNotes(testing.NoteTests):
    """What tasks leave."""

    source = ChosenFiles

    def told(self, state: hw.contracts.JsonValue) -> object:
        return state


class TestParts(
    testing.EnumeratorTests,
    testing.ReaderTests,
    testing.OffsetTests,
    testing.OptionTests,
    testing.CheckpointTests,
    testing.ScaleTests,
):
    """The suites one by one."""

    source = testing.ScriptedSource

    def options(self) -> Mapping[str, str]:
        return testing.scripted(
            all=[
                testing.Rows(3),
                testing.Pause(after_ms=5),
                testing.Fail(ConnectionError("away"), times=2),
                testing.Find("child"),
                testing.End(),
            ]
        )


def play(system: testing.MemorySystem, clock: testing.Clock) -> int:
    """Run a query in this process, with a crash."""
    system.append("orders", [1, 2, 3])
    suite = TestLines()
    engine = testing.MicroBatchEngine(
        lambda: suite.configure(suite.options(), hw.contracts.Boundedness.BOUNDED)
    )
    try:
        engine.run(crash_after=testing.Step.READ)
    except testing.CrashError:
        pass
    except testing.BrokenContractError as broken:
        print(broken)
    batch = testing.read_batch(suite.configure(suite.options(), hw.contracts.Boundedness.BOUNDED))
    context: testing.RecordingContext = testing.RecordingContext()
    context.call_async(lambda: 1, print, what="numbers")
    return clock.monotonic_ms() + testing.count_rows(batch).total()


elapsed: int = play(testing.MemorySystem(), testing.ManualClock(now_ms=5))
kept = cast(
    "list[object]", [page, conf, environment, total, root, transient, unordered, ordered, keyed, limit]
)

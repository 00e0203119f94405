"""What the source for Kinesis promises, with a server of its protocol."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from botocore.exceptions import ClientError

import headwater as hw
from headwater.connector.sources.configured import ConfiguredBarrierSource
from headwater.core.source import Boundedness
from headwater.errors import (
    AuthenticationError,
    DataLossError,
    OptionError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.plugins import kinesis as plugin
from headwater.plugins import kinesis_server
from headwater.plugins.kinesis import Kinesis
from headwater.plugins.kinesis_records import user_records
from headwater.plugins.kinesis_server import BusyError, KinesisServer
from headwater.testing import MicroBatchEngine, read_batch
from headwater.testing.making import configured
from local_kinesis import LocalKinesis
from tests.exactly_once.waiting import until

NUMBERS = itertools.count()
STREAM = Boundedness.CONTINUOUS_UNBOUNDED
FIRST = "shardId-000000000000"
ALL_KEYS = ["0", str((1 << 128) - 1)]


@pytest.fixture
def name() -> str:
    return f"test{next(NUMBERS)}"


def options(kinesis: LocalKinesis, streams: str, **more: str) -> dict[str, str]:
    return {**kinesis.options, "streams": streams, "retryDeadline": "3s", **more}


def batch(kinesis: LocalKinesis, streams: str, **more: str) -> list[dict[str, Any]]:
    return read_batch(configured("kinesis", options(kinesis, streams, **more), Boundedness.BOUNDED))


def engine(kinesis: LocalKinesis, streams: str, **more: str) -> MicroBatchEngine:
    state = tempfile.mkdtemp(prefix="headwater-state-")
    return MicroBatchEngine.of("kinesis", options(kinesis, streams, stateLocation=state, **more))


def values(rows: list[dict[str, Any]]) -> list[int]:
    return [int(row["value"]) for row in rows]


def source(kinesis: LocalKinesis, stream: str, **more: str) -> Kinesis:
    state = tempfile.mkdtemp(prefix="headwater-state-")
    made = configured("kinesis", options(kinesis, stream, stateLocation=state, **more), STREAM)
    assert isinstance(made, ConfiguredBarrierSource)
    user: Any = made.source
    assert isinstance(user.user, Kinesis)
    return user.user


def put(kinesis: LocalKinesis, stream: str, numbers: range, keys: int = 5) -> list[str]:
    return kinesis.put(stream, ((f"key {number % keys}", b"%d" % number) for number in numbers))


def rows_of(pages: list[hw.Page]) -> list[dict[str, Any]]:
    return [row for page in pages for row in cast("pa.RecordBatch", page.rows).to_pylist()]


def packed(*records: tuple[str, bytes], hash_key: str = "") -> bytes:
    """Return a record of the Producer Library, written by Google's Protobuf."""
    message = packed_message()()
    message.partition_key_table.extend(key for key, _ in records)
    if hash_key:
        message.explicit_hash_key_table.append(hash_key)
    for number, (_, value) in enumerate(records):
        more = {"explicit_hash_key_index": 0} if hash_key else {}
        message.records.add(partition_key_index=number, data=value, **more)
    body: bytes = message.SerializeToString()
    return b"\xf3\x89\x9a\xc2" + body + hashlib.md5(body).digest()  # the format's


def packed_message() -> Any:
    """Return the class of its message, from its definition."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="packed.proto", package="headwater_tests")
    kinds = descriptor_pb2.FieldDescriptorProto
    record = file.message_type.add(name="Record")
    fields: tuple[tuple[str, Any], ...] = (
        ("partition_key_index", kinds.TYPE_UINT64),
        ("explicit_hash_key_index", kinds.TYPE_UINT64),
        ("data", kinds.TYPE_BYTES),
    )
    for number, (field, kind) in enumerate(fields, 1):
        # Of proto2: what is set is written, a zero too.
        record.field.add(name=field, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    whole = file.message_type.add(name="AggregatedRecord")
    for number, field in enumerate(("partition_key_table", "explicit_hash_key_table"), 1):
        whole.field.add(name=field, number=number, type=kinds.TYPE_STRING, label=kinds.LABEL_REPEATED)
    whole.field.add(
        name="records",
        number=3,
        type=kinds.TYPE_MESSAGE,
        type_name=".headwater_tests.Record",
        label=kinds.LABEL_REPEATED,
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("headwater_tests.AggregatedRecord"))


def test_shards_that_are_split_and_merged_while_a_query_stands_and_runs_bring_each_key_in_its_order(
    kinesis: LocalKinesis, name: str, rng: random.Random
) -> None:
    kinesis.create_stream(name, 2)
    query = engine(kinesis, name, startingPosition="earliest", barrierRows="20")
    count = 0
    for _ in range(6):
        for _ in range(rng.randrange(1, 3)):
            put(kinesis, name, range(count, count + 30))
            count += 30
            shards = kinesis.open_shards(name)
            if len(shards) > 2 and rng.random() < 0.5:
                at = rng.randrange(len(shards) - 1)
                kinesis.merge(name, shards[at], shards[at + 1])
            else:
                kinesis.split(name, rng.choice(shards))
        if rng.random() < 0.7:
            query.run()
    query.run()
    assert sorted(values(query.rows)) == list(range(count))
    newest: dict[str, int] = defaultdict(lambda: -1)
    for number in sorted(query.sink):
        rows = query.sink[number]
        assert all(int(row["value"]) > newest[row["partitionKey"]] for row in rows)
        for row in rows:
            newest[row["partitionKey"]] = max(newest[row["partitionKey"]], int(row["value"]))


def test_a_batch_reads_shards_that_have_ended_and_their_children(kinesis: LocalKinesis, name: str) -> None:
    kinesis.create_stream(name)
    put(kinesis, name, range(10))
    kinesis.split(name, kinesis.open_shards(name)[0])
    put(kinesis, name, range(10, 30))
    rows = batch(kinesis, name)
    assert sorted(values(rows)) == list(range(30))
    assert {(row["shardId"], row["sequenceNumber"], row["partitionKey"], row["value"]) for row in rows} == {
        *kinesis.stored(name)
    }


def test_a_new_query_begins_where_the_user_says_and_what_comes_later_at_its_beginning(
    kinesis: LocalKinesis, name: str
) -> None:
    kinesis.create_stream(name)
    numbers = put(kinesis, name, range(4))
    kinesis.split(name, kinesis.open_shards(name)[0])
    put(kinesis, name, range(4, 8))
    first = f"{name}/{FIRST}"
    for position, expected in (
        ("earliest", [*range(8)]),
        (json.dumps({first: numbers[2]}), [*range(2, 8)]),
        (json.dumps({first: None}), [*range(4, 8)]),
        ("0", [*range(8)]),
    ):
        query = engine(kinesis, name, startingPosition=position)
        query.run()
        assert sorted(values(query.rows)) == expected, position
    latest = engine(kinesis, name, startingPosition="2020-01-01")
    latest.run()
    assert len(latest.rows) == 8


def test_latest_reads_nothing_of_ended_shards_and_all_of_those_that_come_later(
    kinesis: LocalKinesis, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinesis.create_stream(name)
    put(kinesis, name, range(4))
    kinesis.split(name, kinesis.open_shards(name)[0])
    made = source(kinesis, name)
    begins = {split.name: made.first_start(split, is_batch=False) for split in made.discover()}
    assert [shard for shard, begin in begins.items() if begin == hw.Finished()] == [f"{name}/{FIRST}"]
    query = engine(kinesis, name)
    query.run()
    assert query.rows == []
    kinesis.split(name, kinesis.open_shards(name)[0])
    put(kinesis, name, range(10, 40), keys=30)
    query.run()
    assert sorted(values(query.rows)) == [*range(10, 40)]


def test_any_range_of_a_shard_that_is_read_again_brings_the_same_records(
    kinesis: LocalKinesis, name: str, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinesis.create_stream(name)
    put(kinesis, name, range(60))
    monkeypatch.setattr(plugin, "_MOST_ROWS", rng.choice([3, 7]))
    monkeypatch.setattr(plugin, "_PAUSE_MS", 0)
    made = source(kinesis, name, startingPosition="earliest")
    (split,) = made.discover()
    pages = list(made.read(split, made.start(split)))
    ends = [made.start(split), *(page.position for page in pages)]
    whole = rows_of(pages)
    assert values(whole) == [*range(60)]
    monkeypatch.setattr(plugin, "_MOST_ROWS", rng.choice([2, 5, 100]))
    put(kinesis, name, range(60, 70))
    for _ in range(10):
        start, stop = sorted(rng.sample(range(len(ends)), 2))
        again = list(made.read(split, ends[start], ends[stop]))
        assert rows_of(again) == rows_of(pages[start:stop])
        assert again[-1].position == ends[stop]


@pytest.mark.parametrize(("has_ended", "step", "requests"), [(False, -1, 1), (False, 1, 3), (True, 1, 2)])
def test_a_range_whose_last_record_is_gone_is_an_error_at_once_and_no_shorter_range(
    kinesis: LocalKinesis,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    has_ended: bool,
    step: int,
    requests: int,
) -> None:
    kinesis.create_stream(name)
    put(kinesis, name, range(5))
    made = source(kinesis, name, startingPosition="earliest")
    (split,) = made.discover()
    (page,) = made.read(split, made.start(split))
    kind, number, read_ms = cast("tuple[str, str, int]", page.position)
    if has_ended:
        kinesis.split(name, kinesis.open_shards(name)[0])
    asked: list[str] = []
    records = KinesisServer.records

    def counted(self: KinesisServer, iterator: str, most: int) -> Any:
        asked.append(iterator)
        return records(self, iterator, most)

    monkeypatch.setattr(KinesisServer, "records", counted)
    stop = [kind, str(int(number) + step), read_ms]
    with pytest.raises(DataLossError, match="records that were read before are gone"):
        list(made.read(split, made.start(split), stop))
    assert len(asked) <= requests


def test_positions_go_by_numbers_and_at_the_same_number_by_the_time_up_to_which_was_read(
    kinesis: LocalKinesis,
) -> None:
    made = source(kinesis, "any")
    numbers = [["AFTER_SEQUENCE_NUMBER", number, ms] for number, ms in (("9", 5), ("10", 1), ("10", 2))]
    ordered = [["TRIM_HORIZON", None, 0], *numbers]
    for at, position in enumerate(ordered):
        assert [made.is_before(position, other) for other in ordered] == [at < other for other in range(4)]


def test_a_shard_that_is_busy_after_an_answer_without_records_gives_way_to_others_at_last(
    kinesis: LocalKinesis, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinesis.create_stream(name)
    put(kinesis, name, range(3))
    made = source(kinesis, name, startingPosition="earliest")
    (split,) = made.discover()
    (page,) = made.read(split, made.start(split))
    records = KinesisServer.records
    asked: list[str] = []

    def busy(self: KinesisServer, iterator: str, most: int) -> Any:
        asked.append(iterator)
        if len(asked) > 1:
            raise BusyError("too often", source="kinesis")
        return records(self, iterator, most)

    monkeypatch.setattr(KinesisServer, "records", busy)
    monkeypatch.setattr(plugin, "_MOST_REFUSED", 4)
    with pytest.raises(StopIteration) as ended:
        next(made.read(split, page.position))
    assert isinstance(ended.value.value, hw.AskAgain)
    assert len(asked) == 1 + 4
    # One that begins elsewhere does not go on with the iterator of that reading.
    monkeypatch.setattr(KinesisServer, "records", records)
    assert values(rows_of(list(made.read(split, made.start(split))))) == [0, 1, 2]


def test_records_of_the_producer_library_are_taken_apart_and_others_stay_as_they_are(
    kinesis: LocalKinesis, name: str
) -> None:
    kinesis.create_stream(name)
    several = packed(("a", b"1"), ("b", b""), ("c", b"x" * 300))
    broken = several[:-1] + bytes([several[-1] ^ 1])
    kinesis.put(name, [("outer", several), ("plain", b"2"), ("broken", broken)])
    rows = batch(kinesis, name)
    assert [(row["partitionKey"], row["subSequenceNumber"], row["value"]) for row in rows] == [
        ("a", 0, b"1"),
        ("b", 1, b""),
        ("c", 2, b"x" * 300),
        ("plain", None, b"2"),
        ("broken", None, broken),
    ]
    assert len({row["sequenceNumber"] for row in rows}) == 3


def test_a_packed_record_counts_in_the_shard_of_its_key_only() -> None:
    """Its producer puts it again where it finds that a shard had been split."""
    middle = 1 << 127
    record = {"SequenceNumber": "1", "PartitionKey": "x", "ApproximateArrivalTimestamp": None}
    data = packed(*((f"key {number}", b"%d" % number) for number in range(50)))
    halves = [
        [row[-1] for row in user_records({**record, "Data": data}, keys)]
        for keys in (["0", str(middle - 1)], [str(middle), ALL_KEYS[1]])
    ]
    assert all(halves)
    assert sorted([*halves[0], *halves[1]], key=int) == [b"%d" % number for number in range(50)]
    explicit = packed(("any", b"1"), hash_key=str(middle))
    assert not list(user_records({**record, "Data": explicit}, ["0", str(middle - 1)]))
    assert list(user_records({**record, "Data": explicit}, [str(middle), ALL_KEYS[1]]))


@pytest.mark.parametrize("seed", range(5))
def test_any_bytes_that_look_packed_are_read(seed: int, rng: random.Random) -> None:
    record = {"SequenceNumber": "1", "PartitionKey": "x", "ApproximateArrivalTimestamp": None}
    for _ in range(200):
        body = bytearray(packed(("a", b"1"), ("b", b"2"))[4:-16])
        for _ in range(rng.randrange(1, 4)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        data = b"\xf3\x89\x9a\xc2" + body + hashlib.md5(body).digest()  # the format's
        for *_, value in user_records({**record, "Data": data}, ALL_KEYS):
            assert isinstance(value, bytes)


@pytest.mark.parametrize("count", [20, 2_500])
def test_many_shards_are_planned_with_a_request_for_a_thousand_of_them(
    kinesis: LocalKinesis, name: str, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Bounded in requests, whatever a machine can do: ten thousand shards take ten."""
    kinesis.create_stream(name, count)
    asked: list[str] = []
    ask = KinesisServer._ask

    def counted(self: KinesisServer, call: Any, *more: Any, **request: Any) -> Any:
        asked.append(call.__name__)
        return ask(self, call, *more, **request)

    monkeypatch.setattr(KinesisServer, "_ask", counted)
    whole = options(kinesis, name, startingPosition="earliest", stateLocation=str(tempfile.mkdtemp()))
    with closing(configured("kinesis", whole, STREAM).create_coordinator()) as coordinator:
        end: Any = coordinator.plan_next(coordinator.initial_offset(), limited=True)
    assert len(end["starts"]) == count
    assert asked == ["list_shards"] * math.ceil(count / 1_000)


@pytest.fixture(scope="module")
def narrow() -> Iterator[LocalKinesis]:
    """A server as narrow as the service, whose iterators run out soon."""
    with LocalKinesis(reads=5, iterator_ms=500) as running:
        yield running


def test_a_shard_that_is_read_too_often_is_asked_again(
    narrow: LocalKinesis, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow.create_stream(name)
    put(narrow, name, range(40))
    monkeypatch.setattr(plugin, "_MOST_ROWS", 10)
    query = engine(narrow, name, startingPosition="earliest")
    query.run()
    assert values(query.rows) == [*range(40)]
    assert sorted(values(batch(narrow, name))) == [*range(40)]


def test_a_page_that_is_asked_for_after_its_iterator_has_run_out_comes_by_a_new_one(
    narrow: LocalKinesis, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow.create_stream(name)
    put(narrow, name, range(20))
    monkeypatch.setattr(plugin, "_MOST_ROWS", 10)
    monkeypatch.setattr(plugin, "_PAUSE_MS", 0)
    made = source(narrow, name, startingPosition="earliest")
    (split,) = made.discover()
    reading = made.read(split, made.start(split))
    pages = [next(reading)]
    # Of the same age, or younger.
    where = {"StreamName": name, "ShardId": FIRST, "ShardIteratorType": "LATEST"}
    iterator = narrow.ask("get_shard_iterator", **where)["ShardIterator"]

    def has_run_out() -> bool:
        try:
            narrow.ask("get_records", ShardIterator=iterator)
        except ClientError as refused:
            return "ExpiredIterator" in str(refused)
        return False

    until(has_run_out, "an iterator to run out")
    pages += reading
    while len(pages) < 2:
        pages += made.read(split, pages[-1].position)
    assert values(rows_of(pages)) == [*range(20)]


def test_a_busy_shard_is_asked_again_with_the_iterator_that_it_has(
    kinesis: LocalKinesis, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Iterators may be made five times a second only, too."""
    kinesis.create_stream(name)
    put(kinesis, name, range(5))
    made = source(kinesis, name)
    (split,) = made.discover()
    asked: list[str] = []
    ask = KinesisServer._ask

    def busy(self: KinesisServer, call: Any, *more: Any, **request: Any) -> Any:
        asked.append(call.__name__)
        if asked.count("get_records") < 3 and call.__name__ == "get_records":
            raise BusyError("too often", source="kinesis")
        return ask(self, call, *more, **request)

    monkeypatch.setattr(KinesisServer, "_ask", busy)
    pages: list[hw.Page] = []
    while not pages:
        pages += made.read(split, made.start(split))
    assert values(rows_of(pages)) == [*range(5)]
    assert asked.count("get_shard_iterator") == 1


def test_records_that_retention_may_have_taken_are_an_error_or_counted(
    kinesis: LocalKinesis, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No test waits for a day: a position says that it was read two days ago."""
    kinesis.create_stream(name)
    put(kinesis, name, range(5))
    made = source(kinesis, name)
    (split,) = made.discover()
    (page,) = made.read(split, made.start(split))
    kind, number, read_ms = cast("tuple[str, str, int]", page.position)
    old = read_ms - 2 * 24 * 3_600_000
    # The record itself is still there: nothing behind it has gone.
    assert list(made.read(split, [kind, number, old]))
    monkeypatch.setattr(KinesisServer, "has", lambda *_: False)
    with pytest.raises(DataLossError, match=rf"may not have been read.*split {name}/{FIRST}, position"):
        list(made.read(split, [kind, number, old]))
    lenient = source(kinesis, name, failOnDataLoss="false")
    lenient.discover()
    assert list(lenient.read(split, ["AFTER_SEQUENCE_NUMBER", number, old]))
    with pytest.raises(DataLossError, match="not read to its end"):
        made.retire(split)
    assert lenient.retire(split)


@pytest.mark.parametrize("hours", [-5, 5])
def test_time_is_that_of_the_service_whatever_the_clock_of_this_host_says(
    kinesis: LocalKinesis, name: str, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    class Wrong(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(hours=hours)

    kinesis.create_stream(name)
    monkeypatch.setattr(kinesis_server, "datetime", Wrong)
    made = source(kinesis, name)
    (split,) = made.discover()
    position: Any = made.first_start(split, is_batch=False)
    assert abs(position[1] - 1_000 * time.time()) < 60_000


def test_a_stream_that_was_created_anew_needs_a_new_checkpoint(kinesis: LocalKinesis, name: str) -> None:
    kinesis.create_stream(name)
    put(kinesis, name, range(5))
    query = engine(kinesis, name, startingPosition="earliest")
    query.run()
    kinesis.ask("delete_stream", StreamName=name)
    kinesis.create_stream_again(name)
    put(kinesis, name, range(5))
    with pytest.raises(SourceError, match=r"created anew: read it with a new checkpoint"):
        query.run()


def test_a_value_becomes_typed_columns_and_bad_ones_go_aside(
    kinesis: LocalKinesis, name: str, tmp_path: Path
) -> None:
    kinesis.create_stream(name)
    kinesis.put(name, [("a", b'{"id": 1}'), ("b", b"{no"), ("c", packed(("c", b'{"id": 3}')))])
    more = {"valueFormat": "json", "valueSchema": "id INT", "columns": "partitionKey,value.*"}
    rows = batch(kinesis, name, badRecordsPath=str(tmp_path), **more)
    assert rows == [{"partitionKey": "a", "id": 1}, {"partitionKey": "c", "id": 3}]
    assert any("{no" in file.read_text() for file in tmp_path.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"streams": ""}, "streams"),
        ({"secretAccessKey": ""}, "go together|secretAccessKey"),
        ({"startingPosition": "newest"}, "must be earliest, latest, a time, or sequence numbers"),
        ({"startingPosition": '{"a": 5}'}, "as texts"),
        ({"maxRowsPerTrigger": "5"}, "maxRowsPerTrigger"),
    ],
    ids=lambda each: each if isinstance(each, str) else "-".join(each),
)
def test_a_slip_in_an_option_is_named(more: dict[str, str], what: str, tmp_path: Path) -> None:
    given = {"accessKeyId": "a", "secretAccessKey": "very-secret", "streams": "orders", "region": "eu-west-1"}
    given |= {"stateLocation": str(tmp_path), **more}
    with pytest.raises(OptionError, match=what) as slip:
        configured("kinesis", given, STREAM)
    assert "very-secret" not in str(slip.value)


def test_what_cannot_be_read_is_named(
    kinesis: LocalKinesis, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnknownSplitError, match=f"no such stream.*source kinesis, split {name}"):
        batch(kinesis, name)
    kinesis.create_stream(name)
    put(kinesis, name, range(1))
    with pytest.raises(TransientSourceError, match=r"127\.0\.0\.1.*1"):
        source(kinesis, name, endpointUrl="http://127.0.0.1:1").discover()
    with pytest.raises(OptionError, match="latest is the end"):
        batch(kinesis, name, startingPosition="latest")
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    nobody = {"endpointUrl": kinesis.url, "region": "eu-west-1", "streams": name}
    with pytest.raises(AuthenticationError, match="accessKeyId"):
        read_batch(configured("kinesis", nobody, Boundedness.BOUNDED))
    (tmp_path / "key").write_text("file-secret\n")
    monkeypatch.setenv("KINESIS_KEY", "env-secret")
    for secret in (f"file:{tmp_path}/key", "env:KINESIS_KEY"):
        login = {"accessKeyId": "me", "secretAccessKey": secret}
        assert read_batch(configured("kinesis", {**nobody, **login}, Boundedness.BOUNDED))

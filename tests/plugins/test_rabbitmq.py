"""What the source for RabbitMQ streams promises, with a real server."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import random
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pika
import pytest
from rstream import AMQPMessage

from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.core.source import Boundedness
from headwater.errors import (
    AuthenticationError,
    AuthorizationError,
    DataLossError,
    MissingDependencyError,
    OptionError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.plugins import rabbitmq as plugin
from headwater.plugins import rabbitmq_ends
from headwater.plugins.rabbitmq import RabbitMQ
from headwater.plugins.rabbitmq_frames import STATS, Frame, text_of
from headwater.plugins.rabbitmq_server import RabbitConnection
from headwater.testing import MicroBatchEngine, read_batch
from headwater.testing.making import configured
from local_kafka_tls import TlsFiles, make_certificates
from local_rabbitmq import LocalRabbitMq

NUMBERS = itertools.count()
STREAM = Boundedness.CONTINUOUS_UNBOUNDED
BOTH = pytest.mark.parametrize("rabbitmq", ["older", "newer"], indirect=True)
"""By a broker that tells where streams end, and by one that does not."""


@pytest.fixture
def name(rabbitmq: LocalRabbitMq) -> Iterator[str]:
    stream = f"test{next(NUMBERS)}"
    rabbitmq.create_stream(stream)
    yield stream
    rabbitmq.delete_stream(stream)


def options(rabbitmq: LocalRabbitMq, streams: str, **more: str) -> dict[str, str]:
    return {**rabbitmq.options, "streams": streams, "retryDeadline": "3s", **more}


def batch(rabbitmq: LocalRabbitMq, streams: str, **more: str) -> list[dict[str, Any]]:
    return read_batch(configured("rabbitmq", options(rabbitmq, streams, **more), Boundedness.BOUNDED))


def source(rabbitmq: LocalRabbitMq, streams: str, **more: str) -> RabbitMQ:
    made = configured("rabbitmq", options(rabbitmq, streams, **more), STREAM)
    assert isinstance(made, ConfiguredPlannedSource)
    user: Any = made.source
    assert isinstance(user.user, RabbitMQ)
    return user.user


def engine_of(rabbitmq: LocalRabbitMq, streams: str, **more: str) -> MicroBatchEngine:
    given = options(rabbitmq, streams, startingPosition="earliest", **more)
    return MicroBatchEngine.of("rabbitmq", given)


def publish(rabbitmq: LocalRabbitMq, stream: str, values: list[bytes]) -> None:
    rabbitmq.publish((stream, bytes(AMQPMessage(body=value))) for value in values)


def values(rows: list[dict[str, Any]]) -> list[bytes]:
    return [row["value"] for row in rows]


@BOTH
def test_any_ranges_of_any_chunks_bring_what_another_client_finds(
    rabbitmq: LocalRabbitMq, name: str, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces of the stream end anywhere in chunks, packed or not, and pages do."""
    for _ in range(6):
        publish(
            rabbitmq, name, [rng.randbytes(rng.choice([1, 5, 3_000])) for _ in range(rng.randrange(1, 90))]
        )
        packs = [[rng.randbytes(9) for _ in range(rng.randrange(1, 30))] for _ in range(rng.randrange(1, 4))]
        messages = [[bytes(AMQPMessage(body=each)) for each in pack] for pack in packs]
        rabbitmq.publish_batches(name, messages, rng.choice(["No", "Gzip"]))
    stored = rabbitmq.stored(name)
    monkeypatch.setattr(plugin, "_PAGE_ROWS", rng.choice([1, 7, 100]))
    made = source(rabbitmq, name, messageFormat="raw")
    (split,) = made.discover()
    assert (made.first(split), made.head(split)) == (0, len(stored))
    cuts = sorted({0, len(stored), *rng.sample(range(1, len(stored)), 5)})
    pages = [page for start, stop in itertools.pairwise(cuts) for page in made.read(split, start, stop)]
    rows = [row for page in pages for row in page.rows.to_pylist()]  # type: ignore[union-attr]
    assert [(row["offset"], int(row["timestamp"].timestamp() * 1000), row["value"]) for row in rows] == [
        (offset, time_ms, message) for offset, time_ms, message in stored
    ]
    assert not any(page.lost for page in pages)


@BOTH
def test_a_message_has_its_properties_headers_and_annotations(rabbitmq: LocalRabbitMq, name: str) -> None:
    with rabbitmq.amqp() as channel:
        more = pika.BasicProperties(message_id="m-1", content_type="text/plain", headers={"trace": 1})
        channel.basic_publish("", name, b"by AMQP 0-9-1", more)
    rabbitmq.stored(name)
    publish(rabbitmq, name, [b"plain"])
    by_name = {row["value"]: row for row in batch(rabbitmq, name, includeHeaders="true")}
    other, plain = by_name[b"by AMQP 0-9-1"], by_name[b"plain"]
    assert {"key": "message-id", "value": b"m-1"} in other["properties"]
    assert {"key": "content-type", "value": b"text/plain"} in other["properties"]
    assert other["headers"] == [{"key": "trace", "value": b"1"}]
    assert {"key": "x-routing-key", "value": name.encode()} in other["annotations"]
    assert (plain["properties"], plain["headers"], plain["annotations"]) == (None, None, None)


@BOTH
def test_a_super_stream_is_its_partitions_and_grows(rabbitmq: LocalRabbitMq, name: str) -> None:
    whole = f"{name}-super"
    rabbitmq.create_super_stream(whole, 2)
    publish(rabbitmq, f"{whole}-0", [b"a"])
    publish(rabbitmq, name, [b"alone"])
    engine = engine_of(rabbitmq, f"{whole},{name}")
    engine.run()
    assert sorted(values(engine.rows)) == [b"a", b"alone"]
    latest = MicroBatchEngine.of("rabbitmq", options(rabbitmq, whole))
    latest.run()
    added = rabbitmq.add_partition(whole)
    publish(rabbitmq, added, [b"b"])
    publish(rabbitmq, f"{whole}-1", [b"c"])
    for each, expected in ((engine, [b"a", b"alone", b"b", b"c"]), (latest, [b"b", b"c"])):
        each.run()
        assert sorted(values(each.rows)) == expected
    rabbitmq.delete_super_stream(whole)


@BOTH
def test_a_super_stream_without_partitions_is_waited_for(rabbitmq: LocalRabbitMq, name: str) -> None:
    """A broker that has just started knows the super stream, and none of its partitions yet."""
    whole = f"{name}-super"
    rabbitmq.create_super_stream(whole, 0)
    made = source(rabbitmq, whole)
    with pytest.raises(TransientSourceError, match=f"super stream '{whole}' has no partitions now"):
        made.discover()
    added = rabbitmq.add_partition(whole)
    assert [split.name for split in made.discover()] == [added]
    rabbitmq.delete_super_stream(whole)


@BOTH
def test_a_new_query_begins_where_the_user_says(rabbitmq: LocalRabbitMq, name: str) -> None:
    publish(rabbitmq, name, [b"0", b"1"])
    publish(rabbitmq, name, [b"2", b"3"])
    rows = batch(rabbitmq, name)
    moment = int(rows[2]["timestamp"].timestamp() * 1000)
    for position, expected in (
        ("earliest", [0, 1, 2, 3]),
        ("latest", []),
        (json.dumps({name: 3}), [3]),
        (json.dumps({"other": 9}), [0, 1, 2, 3]),
        ("2099-01-01", []),
        ("1", [0, 1, 2, 3]),
    ):
        engine = MicroBatchEngine.of("rabbitmq", options(rabbitmq, name, startingPosition=position))
        engine.run()
        assert [row["offset"] for row in engine.rows] == expected, position
    by_time = MicroBatchEngine.of("rabbitmq", options(rabbitmq, name, startingPosition=str(moment)))
    by_time.run()
    assert [row["offset"] for row in by_time.rows] in ([2, 3], [0, 1, 2, 3])
    assert all(row["timestamp"].timestamp() * 1000 >= moment - 1 for row in by_time.rows)


SMALL = {"max_length_bytes": 20_000, "stream_max_segment_size_bytes": 10_000}


def cut(rabbitmq: LocalRabbitMq, stream: str) -> None:
    """Fill segments until the first ones are gone."""
    for number in range(8):
        publish(rabbitmq, stream, [b"%d" % number + b"x" * 6_000])


@BOTH
def test_what_retention_takes_while_a_task_reads_is_told(rabbitmq: LocalRabbitMq, name: str) -> None:
    stream = f"{name}-small"
    rabbitmq.create_stream(stream, **SMALL)
    publish(rabbitmq, stream, [b"%d" % number for number in range(50)])
    made = source(rabbitmq, stream)
    (split,) = made.discover()
    cut(rabbitmq, stream)
    (first, *_), *_ = rabbitmq.stored(stream)
    assert first > 10
    lost, *pages = made.read(split, 10, 50)
    assert (lost.lost, lost.position) == (True, min(first, 50))
    rows = [row for page in pages for row in page.rows.to_pylist()]  # type: ignore[union-attr]
    assert [row["offset"] for row in rows] == list(range(first, 50))
    rabbitmq.delete_stream(stream)


def test_a_chunk_that_is_missing_in_the_middle_is_a_loss_only_if_the_stream_begins_behind_it(
    rabbitmq: LocalRabbitMq, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between chunks there may be notes of the broker, which take offsets."""
    for value in (b"a", b"b", b"c"):
        publish(rabbitmq, name, [value])
    made = source(rabbitmq, name)
    (split,) = made.discover()
    chunks = RabbitConnection.chunks

    def without(self: RabbitConnection, *more: Any) -> Iterator[memoryview]:
        for number, chunk in enumerate(chunks(self, *more)):
            if number != 1:
                yield chunk

    monkeypatch.setattr(RabbitConnection, "chunks", without)
    (page,) = made.read(split, 0, 3)
    assert (len(page.rows), page.position, page.lost) == (2, 3, False)
    monkeypatch.setattr(RabbitMQ, "_is_cut", lambda *_: True)
    first, lost, last = made.read(split, 0, 3)
    assert (len(first.rows), lost.lost, lost.position, len(last.rows)) == (1, True, 2, 1)


@BOTH
@pytest.mark.parametrize("is_running", [True, False])
def test_a_stream_that_was_created_anew_is_noticed_if_it_is_shorter(
    rabbitmq: LocalRabbitMq, name: str, monkeypatch: pytest.MonkeyPatch, is_running: bool
) -> None:
    monkeypatch.setattr(rabbitmq_ends, "_LOOK_S", 0)
    stream = f"{name}-anew"
    rabbitmq.create_stream(stream)
    publish(rabbitmq, stream, [b"old"] * 3)
    more = {"failOnDataLoss": "true", "startingPosition": "earliest"}
    engine = MicroBatchEngine(lambda: configured("rabbitmq", options(rabbitmq, stream, **more), STREAM))
    engine.run()
    made = source(rabbitmq, stream)
    (split,) = made.discover()
    rabbitmq.delete_stream(stream)
    (gone,) = made.read(split, 1, 3)
    assert (gone.lost, gone.position) == (True, 3)
    rabbitmq.create_stream(stream)
    publish(rabbitmq, stream, [b"new"] * 2)
    with pytest.raises(TransientSourceError, match=f"ends at offset 2, before 3.*split {stream}"):
        list(made.read(split, 1, 3))
    if is_running:
        made.discover()
        assert made.head(split) == 2
    with pytest.raises(DataLossError, match=f"split {stream}, position 3"):
        engine.run()
    more["failOnDataLoss"] = "false"
    engine.run()
    publish(rabbitmq, stream, [b"newer"] * 2)
    engine.run()
    assert values(engine.rows)[3:] in ([b"new"] * 2 + [b"newer"] * 2, [b"newer"] * 2)
    assert json.loads(engine.offsets[-1])["losses"]["ranges"]
    rabbitmq.delete_stream(stream)


def test_limits_go_by_rows_and_by_the_bytes_of_the_stream_itself(rabbitmq: LocalRabbitMq, name: str) -> None:
    publish(rabbitmq, name, [b"x" * 10_000] * 30)
    for limit, most in (("maxRowsPerTrigger", 7), ("maxBytesPerTrigger", 50_000)):
        engine = engine_of(rabbitmq, name, **{limit: str(most)})
        engine.run()
        sizes = [len(rows) for rows in engine.sink.values()]
        assert sum(sizes) == 30
        assert max(sizes) == (7 if limit == "maxRowsPerTrigger" else 4)


def test_more_chunks_are_read_than_are_on_their_way_at_once(rabbitmq: LocalRabbitMq, name: str) -> None:
    written = [b"%d" % number for number in range(3 * plugin._CREDIT)]
    for value in written:
        publish(rabbitmq, name, [value])
    assert values(batch(rabbitmq, name)) == written


def test_a_leader_that_does_not_tell_its_end_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a first chunk, and knows of none that is on enough brokers."""
    told = b"".join(text_of(name) + struct.pack(">q", value) for name, value in TOLD.items())
    answer = struct.pack(">HHI", STATS, 1, len(TOLD)) + told
    monkeypatch.setattr(RabbitConnection, "_request", lambda *_: 1)

    def answered(*_: object) -> Frame:
        return Frame(answer)

    monkeypatch.setattr(RabbitConnection, "_answer", answered)
    connection = RabbitConnection.__new__(RabbitConnection)
    with pytest.raises(TransientSourceError, match=r"does not know its end yet.*split orders"):
        connection.chunk_offsets(["orders"])


TOLD = {"first_chunk_id": 0, "committed_chunk_id": -1}


def test_a_message_as_large_as_a_frame_is_read(rabbitmq: LocalRabbitMq, name: str) -> None:
    sizes = [1, 1_000_000, 2, 1_000_000, 1_000_000, 3]
    for size in sizes:
        publish(rabbitmq, name, [b"x" * size])
    assert [len(row["value"]) for row in batch(rabbitmq, name)] == sizes


def test_a_payload_becomes_typed_columns_and_bad_ones_go_aside(
    rabbitmq: LocalRabbitMq, name: str, tmp_path: Path
) -> None:
    publish(rabbitmq, name, [b'{"id": 1}', b"{no", b'{"id": 3}'])
    more = {"valueFormat": "json", "valueSchema": "id INT", "columns": "offset,value.*"}
    rows = batch(rabbitmq, name, badRecordsPath=str(tmp_path), **more)
    assert rows == [{"offset": 0, "id": 1}, {"offset": 2, "id": 3}]
    assert any("{no" in file.read_text() for file in tmp_path.rglob("*") if file.is_file())


def test_messages_of_another_kind_are_read_whole_or_refused(rabbitmq: LocalRabbitMq, name: str) -> None:
    rabbitmq.publish([(name, b"no AMQP at all")])
    with pytest.raises(SourceError, match=rf"set messageFormat=raw.*split {name}, position 0"):
        batch(rabbitmq, name)
    assert values(batch(rabbitmq, name, messageFormat="raw")) == [b"no AMQP at all"]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"streams": ""}, "streams"),
        ({"servers": "rabbitmq-stream://user:secret@b"}, "must hold no user"),
        ({"servers": "amqp://b"}, "must be rabbitmq-stream://"),
        ({"servers": "rabbitmq-stream://b/shop"}, "virtualHost"),
        ({"servers": "rabbitmq-stream://a,rabbitmq-stream+tls://b"}, "all are encrypted, or none"),
        ({"tlsCa": "/ca.pem"}, r"requires rabbitmq-stream\+tls://"),
        ({"startingPosition": "newest"}, "must be earliest, latest, a time, or positions"),
        ({"messageFormat": "json"}, "messageFormat"),
        ({"messageFormat": "raw", "includeHeaders": "true"}, "requires messageFormat=amqp"),
        ({"stateLocation": "/tmp"}, "is an option of|is not an option"),
    ],
    ids=lambda each: each if isinstance(each, str) else "-".join(each),
)
def test_a_slip_in_an_option_is_named(more: dict[str, str], what: str) -> None:
    given = {"servers": "rabbitmq-stream://127.0.0.1:1", "streams": "orders", **more}
    with pytest.raises(OptionError, match=what) as slip:
        configured("rabbitmq", given, STREAM)
    assert "user:secret" not in str(slip.value)


@BOTH
def test_what_cannot_be_read_is_named(rabbitmq: LocalRabbitMq, name: str) -> None:
    with pytest.raises(UnknownSplitError, match=r"no stream or super stream 'nowhere'.*source rabbitmq"):
        batch(rabbitmq, "nowhere")
    with pytest.raises(TransientSourceError, match=r"127\.0\.0\.1:1 cannot be reached"):
        source(rabbitmq, name, servers="rabbitmq-stream://127.0.0.1:1").discover()
    with pytest.raises(TransientSourceError, match=r"nowhere\.invalid:5552 cannot be reached"):
        source(rabbitmq, name, servers="rabbitmq-stream://nowhere.invalid").discover()
    with pytest.raises(OptionError, match="latest is the end"):
        batch(rabbitmq, name, startingPosition="latest")
    rabbitmq.create_super_stream(name, 1)
    with pytest.raises(OptionError, match="is a stream and a super stream"):
        source(rabbitmq, name).discover()
    rabbitmq.delete_super_stream(name)
    with pytest.raises(TransientSourceError, match=r"ended the connection|no broker's stream port"):
        source(rabbitmq, name, servers=f"rabbitmq-stream://127.0.0.1:{rabbitmq.amqp_port}").discover()


def test_what_is_not_installed_is_said_where_a_query_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.delitem(sys.modules, "headwater.plugins.rabbitmq_payloads", raising=False)
    with pytest.raises(MissingDependencyError, match=r"rabbitmq source needs numpy.*headwater\[rabbitmq\]"):
        configured("rabbitmq", {"servers": "rabbitmq-stream://a", "streams": "orders"}, STREAM)


def test_servers_are_tried_one_after_the_other(rabbitmq: LocalRabbitMq, name: str) -> None:
    publish(rabbitmq, name, [b"a"])
    servers = f"rabbitmq-stream://127.0.0.1:1,{rabbitmq.url}"
    assert values(batch(rabbitmq, name, servers=servers)) == [b"a"]


def test_behind_a_balancer_no_advertised_address_is_used(
    rabbitmq: LocalRabbitMq, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The balancer is a port that leads to the broker; the address that it advertises is cut off."""
    publish(rabbitmq, name, [b"a"])
    opened: list[int] = []
    note_opened(monkeypatch, opened.append)
    with forwarded(rabbitmq.port) as port:
        servers = f"rabbitmq-stream://127.0.0.1:{port}"
        assert values(batch(rabbitmq, name, servers=servers, loadBalancer="true")) == [b"a"]
        assert set(opened) == {port}
        monkeypatch.setattr(RabbitConnection, "is_at", lambda *_: False)
        monkeypatch.setattr("headwater.plugins.rabbitmq_server._MOST_CONNECTIONS", 3)
        with pytest.raises(TransientSourceError, match="none of 3 connections was with"):
            source(rabbitmq, name, servers=servers, loadBalancer="true").discover()


class forwarded:  # noqa: N801 - a context, as functions are
    """A port that leads to another one."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = [self._listener]

    def __enter__(self) -> int:
        threading.Thread(target=self._accept, daemon=True).start()
        port: int = self._listener.getsockname()[1]
        return port

    def __exit__(self, *_: object) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                self._open += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


def user(name: str, password: str) -> dict[str, Any]:
    """Return a user as RabbitMQ's definitions have it."""
    salt = b"salt"
    hashed = base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()
    return {
        "name": name,
        "password_hash": hashed,
        "hashing_algorithm": "rabbit_password_hashing_sha256",
        "tags": "",
    }


USERS = {
    "users": [
        user("all", "secret-of-all"),
        user("none", "secret-of-none"),
        user("outside", "secret-of-none"),
    ],
    "vhosts": [{"name": "/"}],
    "permissions": [
        {"user": name, "vhost": "/", "configure": right, "write": right, "read": right}
        for name, right in (("all", ".*"), ("none", ""))
    ],
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalRabbitMq, TlsFiles]]:
    """A server with TLS, with a user who may do everything, and one who may read nothing."""
    certificates = make_certificates(tmp_path_factory.mktemp("tls"))
    definitions = tmp_path_factory.mktemp("users") / "definitions.json"
    definitions.write_text(json.dumps(USERS))
    # The address is as its certificate says.
    more = f"stream.advertised_host = localhost\nload_definitions = {definitions}\n"
    with LocalRabbitMq(username="all", password="secret-of-all", tls=certificates, more=more) as running:
        yield running, certificates


def test_tls_and_logins_are_kept_and_refusals_named(
    guarded: tuple[LocalRabbitMq, TlsFiles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rabbitmq, certificates = guarded
    rabbitmq.create_stream("orders")
    publish(rabbitmq, "orders", [b"hidden"])
    (tmp_path / "password").write_text("secret-of-all\n")
    monkeypatch.setenv("RABBIT_PASSWORD", "secret-of-all")
    login = {
        "servers": f"rabbitmq-stream+tls://localhost:{rabbitmq.tls_port}",
        "tlsCa": str(certificates.ca),
    }
    for password in (f"file:{tmp_path}/password", "env:RABBIT_PASSWORD", "secret-of-all"):
        (row,) = batch(rabbitmq, "orders", **{**login, "password": password})
        assert row["value"] == b"hidden"
    with pytest.raises(AuthenticationError) as refused:
        batch(rabbitmq, "orders", **{**login, "password": "secret-that-is-wrong"})
    assert "secret-that-is-wrong" not in str(refused.value)
    for user, what in (("none", "may not read.*docs/rabbitmq.md"), ("outside", "virtual host")):
        with pytest.raises(AuthorizationError, match=what):
            batch(rabbitmq, "orders", **{**login, "username": user, "password": "secret-of-none"})
    with pytest.raises(SourceError, match=r"(?i)certificate"):
        batch(rabbitmq, "orders", servers=login["servers"])


@BOTH
def test_looks_are_bounded_in_requests(
    rabbitmq: LocalRabbitMq, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection for each look, and as many answers as there are streams, not one by one."""
    whole = f"{name}-many"
    rabbitmq.create_super_stream(whole, 20)
    for number in range(20):
        publish(rabbitmq, f"{whole}-{number}", [b"x"])
    opened: list[int] = []
    note_opened(monkeypatch, opened.append)
    given = options(rabbitmq, whole, startingPosition="earliest")
    with closing(configured("rabbitmq", given, STREAM).create_coordinator()) as coordinator:
        start = coordinator.initial_offset()
        end: Any = coordinator.plan_next(start, limited=True)
    assert len(end["positions"]) == 20
    assert len(opened) <= 2
    rabbitmq.delete_super_stream(whole)


def note_opened(monkeypatch: pytest.MonkeyPatch, note: Callable[[int], None]) -> None:
    open_up = RabbitConnection.open

    def noted(self: RabbitConnection) -> None:
        note(self.server.port)
        open_up(self)

    monkeypatch.setattr(RabbitConnection, "open", noted)

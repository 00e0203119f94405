"""What the source for NATS JetStream promises, with a real server."""

from __future__ import annotations

import itertools
import json
import math
import random
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.core.source import Boundedness
from headwater.errors import (
    AuthenticationError,
    AuthorizationError,
    DataLossError,
    OptionError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.plugins import nats as plugin
from headwater.plugins.nats import Nats
from headwater.plugins.nats_server import NatsServer
from headwater.testing import MicroBatchEngine, read_batch
from headwater.testing.making import configured
from local_kafka_tls import TlsFiles, make_certificates
from local_nats import LocalNats

NUMBERS = itertools.count()
STREAM = Boundedness.CONTINUOUS_UNBOUNDED


@pytest.fixture
def name() -> str:
    return f"test{next(NUMBERS)}"


def options(nats: LocalNats, streams: str, **more: str) -> dict[str, str]:
    return {"servers": nats.url, "streams": streams, "retryDeadline": "3s", **more}


def batch(nats: LocalNats, streams: str, **more: str) -> list[dict[str, Any]]:
    return read_batch(configured("nats", options(nats, streams, **more), Boundedness.BOUNDED))


def numbers(rows: list[dict[str, Any]]) -> list[int]:
    return [row["sequence"] for row in rows]


def source(nats: LocalNats, stream: str, **more: str) -> Nats:
    made = configured("nats", options(nats, stream, **more), STREAM)
    assert isinstance(made, ConfiguredPlannedSource)
    user: Any = made.source
    assert isinstance(user.user, Nats)
    return user.user


def test_any_messages_filters_holes_and_pages_bring_what_is_stored(
    nats: LocalNats, name: str, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read in ranges that end in holes too, and compared with what another client finds one by one."""
    nats.create_stream(name)
    subjects = [f"{name}.{first}.{second}" for first in "ab" for second in "xy"]
    nats.publish((rng.choice(subjects), rng.randbytes(rng.choice([0, 5, 3_000]))) for _ in range(400))
    with nats.wire() as wire:
        for number in {*rng.sample(range(2, 401), 60), *range(390, 401)}:
            wire.demand(f"STREAM.MSG.DELETE.{name}", {"seq": number})
    stored = nats.stored(name)
    monkeypatch.setattr(plugin, "_PAGE_ROWS", rng.choice([1, 7, 100]))
    for pattern, part in (
        (">", ""),
        (f"{name}.a.*", ".a."),
        (f"{name}.*.y", ".y"),
        (f"{name}.b.x", ".b.x"),
        ("zz", "zz"),
    ):
        more = {} if pattern == ">" else {"subjects": pattern}
        made = source(nats, "*" if pattern == "zz" else name, **more)
        if pattern == "zz":
            assert made.discover() == []
            continue
        (split,) = made.discover()
        cuts = sorted({1, made.head(split), *rng.sample(range(2, 400), 5)})
        pages = [page for start, stop in itertools.pairwise(cuts) for page in made.read(split, start, stop)]
        rows = [row for page in pages for row in page.rows.to_pylist()]  # type: ignore[union-attr]
        assert [(row["sequence"], row["subject"], row["value"]) for row in rows] == [
            each for each in stored if part in each[1]
        ]
        assert not any(page.lost for page in pages)
        assert pages[-1].position == 401


def test_a_message_has_its_headers_and_its_time(nats: LocalNats, name: str) -> None:
    nats.create_stream(name)
    nats.publish([(f"{name}.a", b"plain")])
    nats.publish([(f"{name}.a", b"more")], headers="trace: 1\r\nempty:\r\ntrace: a:b")
    first, second = batch(nats, name, includeHeaders="true")
    assert first["headers"] is None
    assert [(each["key"], each["value"]) for each in second["headers"]] == [
        ("trace", b"1"),
        ("empty", b""),
        ("trace", b"a:b"),
    ]
    with nats.wire() as wire:
        told = wire.demand(f"STREAM.MSG.GET.{name}", {"seq": 2})["message"]["time"]
    assert told.startswith(second["timestamp"].strftime("%Y-%m-%dT%H:%M:%S"))
    assert second["stream"] == name


def test_a_new_query_begins_where_the_user_says_and_a_stream_that_is_found_later_at_its_beginning(
    nats: LocalNats, name: str
) -> None:
    nats.create_stream(f"{name}-a")
    nats.publish((f"{name}-a.x", b"%d" % number) for number in range(4))
    (_, _, third, _) = batch(nats, f"{name}-a")
    moment = third["timestamp"].timestamp() * 1000
    for position, expected in (
        ("earliest", [1, 2, 3, 4]),
        ("latest", []),
        (json.dumps({f"{name}-a": 4}), [4]),
        (json.dumps({"other": 9}), [1, 2, 3, 4]),
        ("2099-01-01", []),
    ):
        engine = MicroBatchEngine.of("nats", options(nats, f"{name}-*", startingPosition=position))
        engine.run()
        assert numbers(engine.rows) == expected, position
    by_time = MicroBatchEngine.of("nats", options(nats, f"{name}-*", startingPosition=str(int(moment))))
    by_time.run()
    assert set(numbers(by_time.rows)) >= {3, 4}
    latest = MicroBatchEngine.of("nats", options(nats, f"{name}-*"))
    latest.run()
    nats.create_stream(f"{name}-b")
    nats.publish([(f"{name}-b.x", b"first")])
    latest.run()
    assert [row["value"] for row in latest.rows] == [b"first"]


def test_what_retention_takes_while_a_task_reads_is_told_piece_by_piece(
    nats: LocalNats, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nats.create_stream(name)
    nats.publish((f"{name}.x", b"%d" % number) for number in range(100))
    made = source(nats, name)
    (split,) = made.discover()
    monkeypatch.setattr(plugin, "_PAGE_ROWS", 10)
    pages = made.read(split, 1, 101)
    read = [next(pages)]
    with nats.wire() as wire:
        wire.demand(f"STREAM.PURGE.{name}", {"seq": 60})
    read += pages
    lost: set[int] = set()
    came: list[int] = []
    position = 1
    for page in read:
        if page.lost:
            lost.update(range(position, page.position))  # type: ignore[arg-type]
        came += numbers(page.rows.to_pylist()) if page.rows else []  # type: ignore[union-attr]
        position = page.position  # type: ignore[assignment]
    assert position == 101
    assert lost == set(range(1, 60)) - set(came)
    assert lost
    assert sorted({*came, *lost}) == list(range(1, 101))


def test_a_stream_that_was_created_anew_is_another_one(nats: LocalNats, name: str) -> None:
    nats.create_stream(name)
    nats.publish([(f"{name}.x", b"old")] * 3)
    more = {"failOnDataLoss": "true"}
    engine = MicroBatchEngine(
        lambda: configured("nats", options(nats, name, startingPosition="earliest", **more), STREAM)
    )
    engine.run()
    made = source(nats, name)
    (split,) = made.discover()
    with nats.wire() as wire:
        wire.demand(f"STREAM.DELETE.{name}")
    nats.create_stream(name)
    nats.publish([(f"{name}.x", b"new")] * 2)
    (lost,) = made.read(split, 1, 4)
    assert lost.lost
    with pytest.raises(DataLossError, match=f"deleted and created anew.*split {name}, position 4"):
        engine.run()
    more["failOnDataLoss"] = "false"
    engine.run()
    assert [row["value"] for row in engine.rows] == [b"old"] * 3 + [b"new"] * 2
    assert json.loads(engine.offsets[-1])["losses"]["ranges"][-1]["first"] == 4


def test_a_stream_that_never_had_a_message_is_read_from_its_first_one(nats: LocalNats, name: str) -> None:
    nats.create_stream(name)
    engine = MicroBatchEngine.of("nats", options(nats, name, startingPosition="earliest"))
    engine.run()
    nats.publish([(f"{name}.x", b"first")])
    engine.run()
    assert [row["value"] for row in engine.rows] == [b"first"]
    assert batch(nats, name)


def test_several_subjects_are_filtered_or_refused_by_servers_that_ignore_them(
    nats: LocalNats, name: str
) -> None:
    nats.create_stream(name)
    nats.publish((f"{name}.{each}", b"") for each in "abcab")
    several = f"{name}.a,{name}.b"
    with nats.wire() as wire:
        config = {"filter_subjects": several.split(","), "ack_policy": "none"}
        made = wire.demand(f"CONSUMER.CREATE.{name}", {"stream_name": name, "config": config})
    if "filter_subjects" in made["config"]:
        assert numbers(batch(nats, name, subjects=several)) == [1, 2, 4, 5]
    else:
        with pytest.raises(SourceError, match=r"older than 2\.10, .*give one in subjects"):
            batch(nats, name, subjects=several)


def test_a_stream_that_goes_between_planning_and_reading_is_a_loss(nats: LocalNats, name: str) -> None:
    nats.create_stream(name)
    nats.publish([(f"{name}.x", b"gone")] * 3)
    made = source(nats, name)
    (split,) = made.discover()
    with nats.wire() as wire:
        wire.demand(f"STREAM.DELETE.{name}")
    (lost,) = made.read(split, 1, 4)
    assert lost.lost
    assert lost.position == 4


def test_a_replica_that_lags_behind_is_asked_again(
    nats: LocalNats, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nats.create_stream(name)
    nats.publish([(f"{name}.x", b"there")])
    made = source(nats, name)
    (split,) = made.discover()
    monkeypatch.setattr(NatsServer, "page", lambda _: ([], False))
    with pytest.raises(TransientSourceError, match=f"lags behind.*split {name}, position 1"):
        list(made.read(split, 1, 2))


def test_limits_go_by_rows_and_by_the_bytes_of_the_stream_itself(nats: LocalNats, name: str) -> None:
    nats.create_stream(name)
    nats.publish([(f"{name}.x", b"x" * 10_000)] * 30)
    for limit, most in (("maxRowsPerTrigger", 7), ("maxBytesPerTrigger", 50_000)):
        more = {limit: str(most), "startingPosition": "earliest"}
        engine = MicroBatchEngine.of("nats", options(nats, name, **more))
        engine.run()
        sizes = [len(rows) for rows in engine.sink.values()]
        assert sum(sizes) == 30
        assert max(sizes) == (7 if limit == "maxRowsPerTrigger" else 4)


def test_a_message_as_large_as_a_server_takes_is_read(nats: LocalNats, name: str) -> None:
    nats.create_stream(name)
    sizes = [1, 1_000_000, 2, 1_000_000, 1_000_000, 1_000_000, 1_000_000, 3]
    for size in sizes:
        nats.publish([(f"{name}.x", b"x" * size)])
    assert [len(row["value"]) for row in batch(nats, name)] == sizes


def test_a_payload_becomes_typed_columns_and_bad_ones_go_aside(
    nats: LocalNats, name: str, tmp_path: Path
) -> None:
    nats.create_stream(name)
    nats.publish((f"{name}.x", value) for value in (b'{"id": 1}', b"{no", b'{"id": 3}'))
    more = {"valueFormat": "json", "valueSchema": "id INT", "columns": "sequence,value.*"}
    rows = batch(nats, name, badRecordsPath=str(tmp_path), **more)
    assert rows == [{"sequence": 1, "id": 1}, {"sequence": 3, "id": 3}]
    assert any("{no" in file.read_text() for file in tmp_path.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"streams": ""}, "streams"),
        ({"username": "a"}, "go together"),
        ({"username": "a", "password": "b", "token": "c"}, "give one of"),
        ({"servers": "nats://a, nats://user:secret@b"}, "must hold no user"),
        ({"tlsCa": "/ca.pem"}, "requires tls://"),
        ({"startingPosition": "newest"}, "must be earliest, latest, a time, or positions"),
        ({"stateLocation": "/tmp"}, "is an option of|is not an option"),
    ],
    ids=lambda each: each if isinstance(each, str) else "-".join(each),
)
def test_a_slip_in_an_option_is_named(more: dict[str, str], what: str) -> None:
    given = {"servers": "nats://127.0.0.1:1", "streams": "orders", **more}
    with pytest.raises(OptionError, match=what) as slip:
        configured("nats", given, STREAM)
    assert "user:secret" not in str(slip.value)
    with pytest.raises(OptionError, match=r"option 'streams': is required, or else subjects"):
        configured("nats", {"servers": "nats://127.0.0.1:1"}, STREAM)


def test_what_cannot_be_read_is_named(nats: LocalNats, name: str) -> None:
    with pytest.raises(UnknownSplitError, match=f"no stream '{name}'.*source nats"):
        batch(nats, name)
    nats.create_stream(name, retention="workqueue")
    with pytest.raises(SourceError, match=rf"retention=workqueue.*split {name}"):
        batch(nats, name)
    with pytest.raises(TransientSourceError, match=r"127\.0\.0\.1.*1"):
        source(nats, name, servers="nats://127.0.0.1:1").discover()
    with pytest.raises(OptionError, match="latest is the end"):
        batch(nats, name, startingPosition="latest")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalNats, TlsFiles]]:
    """A server with TLS, with a user who may do everything, and one who may read nothing."""
    certificates = make_certificates(tmp_path_factory.mktemp("tls"))
    more = f"""
    tls {{ cert_file: "{certificates.server}", key_file: "{certificates.server}" }}
    authorization {{ users: [
        {{ user: all, password: secret-of-all }}
        {{ user: none, password: secret-of-none, permissions: {{ publish: "x", subscribe: "_INBOX.>" }} }}
    ] }}
    """
    login = {"user": "all", "pass": "secret-of-all"}
    with LocalNats(more=more, login=login, tls=ssl.create_default_context(cafile=certificates.ca)) as running:
        yield running, certificates


def test_tls_and_logins_are_kept_and_refusals_named(
    guarded: tuple[LocalNats, TlsFiles], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nats, certificates = guarded
    nats.create_stream(name)
    nats.publish([(f"{name}.x", b"hidden")])
    (tmp_path / "password").write_text("secret-of-all\n")
    monkeypatch.setenv("NATS_PASSWORD", "secret-of-all")
    login = {"tlsCa": str(certificates.ca), "username": "all"}
    for password in (f"file:{tmp_path}/password", "env:NATS_PASSWORD", "secret-of-all"):
        (row,) = batch(nats, name, password=password, **login)
        assert row["value"] == b"hidden"
    with pytest.raises(AuthenticationError) as refused:
        batch(nats, name, password="secret-that-is-wrong", **login)
    assert "secret-that-is-wrong" not in str(refused.value)
    with pytest.raises(AuthorizationError, match=r"permissions violation.*docs/nats.md"):
        batch(nats, name, password="secret-of-none", tlsCa=str(certificates.ca), username="none")
    with pytest.raises(SourceError, match=r"(?i)certificate"):
        batch(nats, name, username="all", password="secret-of-all")


@pytest.mark.parametrize("count", [20, 600])
def test_many_streams_are_planned_with_a_request_for_256_of_them(
    nats: LocalNats, name: str, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Bounded in requests, whatever a machine can do: ten thousand streams take forty."""
    with nats.wire() as wire:
        for number in range(count):
            stream = f"{name}-{number}"
            config = {"name": stream, "subjects": [f"{stream}.>"], "storage": "memory", "num_replicas": 1}
            wire.demand(f"STREAM.CREATE.{stream}", {**config, "retention": "limits"})
        there = wire.demand("STREAM.NAMES", {})["total"]
    nats.publish((f"{name}-{number}.x", b"x") for number in range(count))
    asked: list[str] = []
    ask = NatsServer.ask

    def counted(self: NatsServer, what: str, *more: Any) -> Any:
        asked.append(what)
        return ask(self, what, *more)

    monkeypatch.setattr(NatsServer, "ask", counted)
    whole = options(nats, f"{name}-*", startingPosition="earliest")
    with closing(configured("nats", whole, STREAM).create_coordinator()) as coordinator:
        start = coordinator.initial_offset()
        first = len(asked)
        end: Any = coordinator.plan_next(start, limited=True)
        planned = coordinator.tasks(start, end)
    assert len(end["positions"]) == count
    assert planned
    looks = math.ceil(there / 256)
    assert set(asked) == {"STREAM.LIST"}
    assert first <= 2 * looks
    assert len(asked) - first <= 2 * looks
    with nats.wire() as wire:
        for number in range(count):
            wire.demand(f"STREAM.DELETE.{name}-{number}")

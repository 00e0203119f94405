"""What the source for Redis Streams promises, with a real server."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from redis import Redis as Client
from redis.client import Pipeline

from headwater.core.source import Boundedness
from headwater.errors import (
    AuthenticationError,
    AuthorizationError,
    OptionError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.plugins import redis as plugin
from headwater.plugins.redis import Redis
from headwater.testing import MicroBatchEngine, read_batch
from headwater.testing.making import configured
from local_kafka_config import free_port
from local_kafka_tls import TlsFiles, make_certificates
from local_redis import LocalRedis
from tests.exactly_once.waiting import until

NUMBERS = itertools.count()
STREAM = Boundedness.CONTINUOUS_UNBOUNDED


@pytest.fixture
def key() -> str:
    return f"test:{next(NUMBERS)}"


def options(redis: LocalRedis, keys: str, **more: str) -> dict[str, str]:
    return {"url": redis.url, "keys": keys, "retryDeadline": "3s", **more}


def batch(redis: LocalRedis, keys: str, **more: str) -> list[dict[str, Any]]:
    return read_batch(configured("redis", options(redis, keys, **more), Boundedness.BOUNDED))


def source(redis: LocalRedis, keys: str, **more: str) -> Redis:
    made: Any = configured("redis", options(redis, keys, **more), STREAM).source
    assert isinstance(made.user, Redis)
    return made.user


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in rows]


def test_any_entries_holes_and_pages_bring_what_is_stored(
    redis: LocalRedis, key: str, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read in ranges between any ids, and compared with what another client finds."""
    commands: list[list[str | bytes]] = []
    ms, number = 0, 0
    for _ in range(300):
        ms, number = rng.choice(
            [(ms, number + 1), (ms + rng.randrange(1, 1 << 40), rng.choice([0, 1 << 60]))]
        )
        pairs = [rng.choice([b"value", b"a", b"b"]) for _ in range(rng.randrange(1, 4))]
        commands.append(
            ["XADD", key, f"{ms}-{number}", *(text for each in pairs for text in (each, rng.randbytes(9)))]
        )
    with redis.wire() as wire:
        added = [each.decode() for each in wire.ask_all(commands)]
        wire.ask("XDEL", key, *rng.sample(added[2:], 60), added[-1])
    monkeypatch.setattr(plugin, "_FIRST_ROWS", rng.choice([1, 7, 100]))
    monkeypatch.setattr(plugin, "_MOST_ROWS", rng.choice([1, 9, 1_000]))
    made = source(redis, key)
    (split,) = made.discover()
    cuts = [made.first(split)]
    while cuts[-1] != made.head(split):
        cuts.append(made.position_after(split, cuts[-1], rng.randrange(1, 90), made.head(split)))
    pages = [page for start, stop in itertools.pairwise(cuts) for page in made.read(split, start, stop)]
    assert not any(page.lost for page in pages)
    rows = [row for page in pages for row in page.rows.to_pylist()]  # type: ignore[union-attr]
    stored = redis.stored(key)
    assert [
        (row["id"], [text for each in row["fields"] for text in (each["name"].encode(), each["value"])])
        for row in rows
    ] == stored
    for row, (_, fields) in zip(rows, stored, strict=True):
        values = [fields[at + 1] for at in range(0, len(fields), 2) if fields[at] == b"value"]
        assert row["value"] == (values[0] if values else None)


def test_a_new_query_begins_where_the_user_says_and_a_stream_that_is_found_later_at_its_beginning(
    redis: LocalRedis, key: str
) -> None:
    with redis.wire() as wire:
        wire.ask_all(["XADD", f"{key}:a", f"{ms}-0", "value", "x"] for ms in (1_000, 2_000, 3_000, 4_000))
    all_ids = ["1000-0", "2000-0", "3000-0", "4000-0"]
    for position, expected in (
        ("earliest", all_ids),
        ("latest", []),
        ("2500", all_ids[2:]),
        ("1970-01-01T00:00:02Z", all_ids[1:]),
        (json.dumps({f"{key}:a": "3000-0"}), all_ids[2:]),
        (json.dumps({f"{key}:a": "3000-1"}), all_ids[3:]),
        (json.dumps({f"{key}:a": "9000-0"}), []),
        (json.dumps({"other": "9-0"}), all_ids),
    ):
        engine = MicroBatchEngine.of("redis", options(redis, f"{key}:*", startingPosition=position))
        engine.run()
        assert ids(engine.rows) == expected, position
    latest = MicroBatchEngine.of("redis", options(redis, f"{key}:*"))
    latest.run()
    redis.add([(f"{key}:b", {"value": b"first"})])
    latest.run()
    assert [row["value"] for row in latest.rows] == [b"first"]
    with pytest.raises(OptionError, match=r"startingPosition.*must be an id such as"):
        batch(redis, f"{key}:a", startingPosition=json.dumps({f"{key}:a": 5}))


def test_what_is_trimmed_while_a_task_reads_is_told(
    redis: LocalRedis, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = redis.add((key, {"value": b"%d" % number}) for number in range(100))
    made = source(redis, key)
    (split,) = made.discover()
    monkeypatch.setattr(plugin, "_FIRST_ROWS", 10)
    pages = made.read(split, made.first(split), made.head(split))
    first = next(pages)
    with redis.wire() as wire:
        wire.ask("XTRIM", key, "MINID", added[60])
    lost, *rest = pages
    assert lost.lost
    assert lost.position[0] == 60  # type: ignore[index]
    rows = [row for page in (first, *rest) for row in page.rows.to_pylist()]  # type: ignore[union-attr]
    assert [row["value"] for row in rows] == [b"%d" % number for number in (*range(10), *range(60, 100))]


def test_entries_that_were_read_may_be_trimmed_and_deleted(redis: LocalRedis, key: str) -> None:
    engine = MicroBatchEngine.of("redis", options(redis, key, startingPosition="earliest"))
    for number in range(4):
        redis.add((key, {"value": b"%d" % (number * 10 + each)}) for each in range(10))
        engine.run()
        with redis.wire() as wire:
            wire.ask("XDEL", key, redis.stored(key)[-1][0])
            wire.ask("XTRIM", key, "MAXLEN", "3" if number % 2 else "0")
    assert [row["value"] for row in engine.rows] == [b"%d" % number for number in range(40)]
    assert "losses" not in json.loads(engine.offsets[-1])


def test_entries_that_are_deleted_behind_the_position_are_no_loss_and_bring_nothing_twice(
    redis: LocalRedis, key: str
) -> None:
    engine = MicroBatchEngine.of("redis", options(redis, key, startingPosition="earliest"))
    redis.add((key, {"value": b"%d" % number}) for number in range(3))
    engine.run()
    added = redis.add((key, {"value": b"%d" % number}) for number in range(3, 10))
    with redis.wire() as wire:
        wire.ask("XDEL", key, *added[1:5])
    engine.run()
    assert [row["value"] for row in engine.rows] == [b"0", b"1", b"2", b"3", b"8", b"9"]
    assert "losses" not in json.loads(engine.offsets[-1])


def test_a_key_that_was_created_anew_is_told_and_read_from_its_first_entry(
    redis: LocalRedis, key: str
) -> None:
    more = {"startingPosition": "earliest", "failOnDataLoss": "false"}
    engine = MicroBatchEngine.of("redis", options(redis, key, **more))
    redis.add((key, {"value": b"old"}) for _ in range(5))
    engine.run()
    with redis.wire() as wire:
        wire.ask("DEL", key)
    redis.add((key, {"value": b"new"}) for _ in range(2))
    engine.run()
    assert [row["value"] for row in engine.rows] == [b"old"] * 5 + [b"new"] * 2
    assert json.loads(engine.offsets[-1])["losses"]["ranges"][-1]["first"][0] == 5


def test_a_key_that_goes_between_planning_and_reading_is_a_loss(redis: LocalRedis, key: str) -> None:
    redis.add((key, {"value": b"gone"}) for _ in range(3))
    made = source(redis, key)
    (split,) = made.discover()
    with redis.wire() as wire:
        wire.ask("DEL", key)
    (lost,) = made.read(split, made.first(split), made.head(split))
    assert lost.lost
    assert lost.position == made.head(split)


def test_limits_are_kept_exactly_by_reading_ahead(redis: LocalRedis, key: str) -> None:
    """In any distance of times: entries of one ms, and of days."""
    with redis.wire() as wire:
        wire.ask_all(["XADD", f"{key}:a", f"{1_000}-{number}", "value", "x"] for number in range(40))
        wire.ask_all(["XADD", f"{key}:b", f"{10**number}-0", "value", "x" * 5_000] for number in range(10))
    for limit, most in (("maxRowsPerTrigger", 7), ("maxBytesPerTrigger", 20_000)):
        more = {limit: str(most), "startingPosition": "earliest"}
        engine = MicroBatchEngine.of("redis", options(redis, f"{key}:*", **more))
        engine.run()
        sizes = [
            len(rows) if limit == "maxRowsPerTrigger" else sum(len(row["value"]) for row in rows)
            for rows in engine.sink.values()
        ]
        assert len(engine.rows) == 50
        assert len(sizes) > 2
        assert max(sizes) <= most * 1.1  # bytes are estimated


def test_a_run_that_ends_reads_nothing_twice_where_entries_were_deleted_and_come_meanwhile(
    redis: LocalRedis, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = options(redis, key, startingPosition="earliest", maxRowsPerTrigger="2")
    engine = MicroBatchEngine.of("redis", limited)
    redis.add([(key, {"value": b"0"})])
    engine.run()
    added = redis.add((key, {"value": b"%d" % number}) for number in range(1, 10))
    with redis.wire() as wire:
        wire.ask("XDEL", key, *added[1:7])
    look = Redis.discover
    more = iter(range(10, 20))

    def discover(self: Redis) -> Any:
        found = look(self)
        for number in more:
            redis.add([(key, {"value": b"%d" % number})])
        return found

    monkeypatch.setattr(Redis, "discover", discover)
    engine.run()
    assert [row["value"] for row in engine.rows] == [b"0", b"1", b"8", b"9"]
    engine.run()
    assert [row["value"] for row in engine.rows] == [b"0", b"1", *(b"%d" % each for each in range(8, 20))]


def test_a_payload_becomes_typed_columns_and_bad_ones_go_aside(
    redis: LocalRedis, key: str, tmp_path: Path
) -> None:
    redis.add((key, {"json": value, "n": b"1"}) for value in (b'{"id": 1}', b"{no", b'{"id": 3}'))
    more = {"valueField": "json", "valueFormat": "json", "valueSchema": "id INT", "columns": "key,value.*"}
    rows = batch(redis, key, badRecordsPath=str(tmp_path), **more)
    assert rows == [{"key": key, "id": 1}, {"key": key, "id": 3}]
    assert any("{no" in file.read_text() for file in tmp_path.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"url": "http://a"}, "must be redis://"),
        ({"url": "redis://user:secret@a"}, "give the options username and password"),
        ({"url": "redis://a?password=secret"}, "must have no parameters"),
        ({"tlsCa": "/ca.pem"}, "requires rediss://"),
        ({"startingPosition": "newest"}, "must be earliest, latest, a time, or positions"),
        ({"maxEventTimeSkew": "1s"}, "is an option of|is not an option"),
    ],
    ids=lambda each: each if isinstance(each, str) else "-".join(each),
)
def test_a_slip_in_an_option_is_named(more: dict[str, str], what: str) -> None:
    with pytest.raises(OptionError, match=what) as slip:
        configured("redis", {"url": "redis://127.0.0.1:1", "keys": "orders", **more}, STREAM)
    assert "secret" not in str(slip.value)


def test_what_cannot_be_read_is_named(redis: LocalRedis, key: str) -> None:
    with pytest.raises(UnknownSplitError, match=rf"no stream '{key}'.*source redis"):
        batch(redis, key)
    with redis.wire() as wire:
        wire.ask("SET", key, "text")
    with pytest.raises(SourceError, match="WRONGTYPE"):
        batch(redis, key)
    with pytest.raises(TransientSourceError, match=r"127\.0\.0\.1:1"):
        source(redis, key, url="redis://127.0.0.1:1").discover()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalRedis, TlsFiles, int]]:
    """A server that wants passwords, with a port for TLS."""
    files = make_certificates(tmp_path_factory.mktemp("tls"))
    port = free_port()
    tls = ["--tls-port", str(port), "--tls-cert-file", str(files.server), "--tls-key-file", str(files.server)]
    more = [
        *tls,
        "--tls-ca-cert-file",
        str(files.ca),
        "--tls-auth-clients",
        "no",
        "--requirepass",
        "secret-all",
    ]
    with LocalRedis(more=more, password="secret-all") as running:
        with running.wire() as wire:
            wire.ask("ACL", "SETUSER", "none", "on", ">secret-none", "+ping", "+client", "+hello")
        yield running, files, port


def test_tls_and_logins_are_kept_and_refusals_named(
    guarded: tuple[LocalRedis, TlsFiles, int], key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis, files, port = guarded
    redis.add([(key, {"value": b"hidden"})])
    (tmp_path / "password").write_text("secret-all\n")
    monkeypatch.setenv("REDIS_PASSWORD", "secret-all")
    for password in (f"file:{tmp_path}/password", "env:REDIS_PASSWORD", "secret-all"):
        tls = {"url": f"rediss://localhost:{port}", "tlsCa": str(files.ca)}
        (row,) = batch(redis, key, **{"password": password, **tls})
        assert row["value"] == b"hidden"
    with pytest.raises(AuthenticationError) as refused:
        batch(redis, key, password="secret-wrong")
    assert "secret-wrong" not in str(refused.value)
    with pytest.raises(AuthenticationError):
        batch(redis, key)
    with pytest.raises(AuthorizationError, match=r"docs/redis.md"):
        batch(redis, key, username="none", password="secret-none")
    with pytest.raises(SourceError, match=r"(?i)certificate"):
        batch(redis, key, url=f"rediss://localhost:{port}", password="secret-all")


def test_each_key_of_a_cluster_is_read_where_its_slot_is(key: str) -> None:
    # The port among nodes is 10,000 above that of clients unless it is said, and may be taken there.
    buses = (free_port(), free_port())
    with (
        LocalRedis(more=("--cluster-enabled", "yes", "--cluster-port", str(buses[0]))) as first,
        LocalRedis(more=("--cluster-enabled", "yes", "--cluster-port", str(buses[1]))) as second,
    ):
        nodes = (first, second)
        for node, slots in zip(nodes, (("0", "8191"), ("8192", "16383")), strict=True):
            with node.wire() as wire:
                wire.ask("CLUSTER", "ADDSLOTSRANGE", *slots)
        with first.wire() as wire:
            wire.ask("CLUSTER", "SET-CONFIG-EPOCH", "1")
            wire.ask("CLUSTER", "MEET", "127.0.0.1", str(second.port), str(buses[1]))

        def is_whole() -> bool:
            infos = []
            for node in nodes:
                with node.wire() as wire:
                    infos.append(wire.ask("CLUSTER", "INFO"))
            return all(b"cluster_state:ok" in each and b"known_nodes:2" in each for each in infos)

        until(is_whole, "a cluster of two nodes")
        found: dict[int, list[str]] = {0: [], 1: []}
        for number in range(8):
            name = f"{key}:{number}"
            with first.wire() as wire:
                owner = int(int(wire.ask("CLUSTER", "KEYSLOT", name)) > 8191)
            nodes[owner].add([(name, {"value": name.encode()})])
            found[owner].append(name)
        assert all(found.values())
        rows = batch(second, f"{key}:*", cluster="true")
        assert sorted(row["key"] for row in rows) == sorted(itertools.chain(*found.values()))
        named = f"{found[0][0]},{found[1][0]}"
        assert len(batch(first, named, cluster="true")) == 2


@pytest.mark.parametrize("count", [20, 2_500])
def test_many_keys_are_planned_with_a_round_trip_for_a_thousand_of_them(
    redis: LocalRedis, key: str, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Bounded in round trips, whatever a machine can do: ten thousand keys take ten, and ten to find them."""
    redis.add((f"{key}:{number}", {"value": b"x"}) for number in range(count))
    with redis.wire() as wire:
        there = wire.ask("DBSIZE")
    trips: list[str] = []
    execute: Any = Pipeline.execute
    command: Any = Client.execute_command

    def executed(self: Any, **more: Any) -> Any:
        trips.append("pipeline")
        return execute(self, **more)

    def commanded(self: Any, name: str, *more: Any, **options: Any) -> Any:
        trips.append(name)
        return command(self, name, *more, **options)

    monkeypatch.setattr(Pipeline, "execute", executed)
    monkeypatch.setattr(Client, "execute_command", commanded)
    whole = options(redis, f"{key}:*", startingPosition="earliest")
    with closing(configured("redis", whole, STREAM).create_coordinator()) as coordinator:
        start = coordinator.initial_offset()
        first = len(trips)
        end: Any = coordinator.plan_next(start, limited=True)
        planned = coordinator.tasks(start, end)
    assert len(end["positions"]) == count
    assert planned
    # A scan of N keys may take one trip more, and so may each of its thousands.
    look = math.ceil(count / 1_000) + 2 * math.ceil(there / 1_000) + 1
    assert set(trips) == {"SCAN", "pipeline"}
    assert first <= 2 * look
    assert len(trips) - first <= 2 * look

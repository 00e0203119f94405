"""onSlotLost=resync: a slot that is lost costs changes, and no row: the table is read again."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.core.errors import LostSlotError, OptionError
from headwater.core.split import SplitRange
from headwater.enumerators.postgres import initial_questions
from headwater.enumerators.postgres.chunks import chunk_from_json
from headwater.enumerators.postgres.initial_state import InitialState
from headwater.enumerators.postgres.slot import create_slot
from headwater.enumerators.postgres.slot_reading import SlotReading
from headwater.enumerators.postgres.split import WAL_PATH, WalSplit, lsn_of
from headwater.testing import MicroBatchEngine
from headwater.testing.engine import CrashError, Step
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.audited import AuditedTable, Writer
from tests.connector.sources.postgres.changes import ChangedTable, changed_table, told
from tests.patience import PATIENCE_S

_NUMBERS = itertools.count()
Make = Callable[..., ChangedTable]
WAYS = ("dropped", "made anew", "moved on")


@pytest.fixture(params=["direct", "staged"])
def transport(request: pytest.FixtureRequest) -> str:
    """One way from the slot to tasks."""
    return str(request.param)


@pytest.fixture
def make(postgres: LocalPostgres, tmp_path: Path, transport: str) -> Iterator[Make]:
    """Makes tables whose query reads them again where the slot is lost."""
    with ExitStack() as tables:

        def made(columns: str = "id int PRIMARY KEY, s text", **options: str) -> ChangedTable:
            given = {
                "onSlotLost": "resync",
                "transport": transport,
                "stateLocation": str(tmp_path),
                "chunkRows": "10",
                "snapshotTasks": "1",
                **options,
            }
            name = f"resynced_{next(_NUMBERS)}"
            return tables.enter_context(changed_table(postgres, name, columns, **given))

        yield made


def _lose(sql: psycopg.Connection[Any], slot: str, way: str) -> None:
    """Let a slot be lost; one that is gone already stays so."""
    named = f"FROM pg_replication_slots WHERE slot_name = '{slot}'"
    sql.execute(f"SELECT pg_terminate_backend(active_pid, 20000) {named} AND active_pid > 0".encode())
    if way != "moved on":
        sql.execute(f"SELECT pg_drop_replication_slot(slot_name) {named}".encode())
    if way == "made anew":
        sql.execute(f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')".encode())
    if way == "moved on":
        sql.execute("SELECT pg_logical_emit_message(true, 'lost', 'x')")
        sql.execute(
            f"SELECT pg_replication_slot_advance(slot_name, pg_current_wal_flush_lsn()) {named}".encode()
        )


def _generation(offset: str) -> int:
    logged = json.loads(offset)
    wal: Mapping[str, Any] = logged.get("state", {}).get("wal") or logged["splits"]["wal"]
    return int(wal.get("sync", 0))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("start", ["latest", "initial"])
def test_the_table_is_read_again_and_what_did_not_come_back_is_what_was_deleted_meanwhile(
    make: Make, caplog: pytest.LogCaptureFixture, way: str, start: str
) -> None:
    table = make(startingPosition=start)
    name = table.name
    table.execute(f"INSERT INTO {name} VALUES (1, 'a')")
    table.rows()
    table.execute(f"INSERT INTO {name} SELECT i, 'b' FROM generate_series(2, 30) i")
    assert {row["_sync"] for row in table.rows()} == {0}
    table.execute(f"DELETE FROM {name} WHERE id = 2", f"UPDATE {name} SET s = 'c' WHERE id = 3")
    _lose(table.sql, f"slot_{name}", way)
    again = table.rows()
    assert sorted(told(again, "id", "s")) == [
        ("r", key, {1: "a", 3: "c"}.get(key, "b")) for key in (1, *range(3, 31))
    ]
    assert {row["_sync"] for row in again} == {1}
    table.execute(f"DELETE FROM {name} WHERE id = 4")
    (later,) = table.rows()
    assert (later["_op"], later["id"], later["_sync"]) == ("d", 4, 1)
    (lost,) = json.loads(table.engine.offsets[-1])["losses"]["ranges"]
    assert (lost["split"], lost["found"]) == ("wal", "planning")
    assert lost["first"] < lost["until"] <= again[0]["_lsn"]
    assert caplog.text.count("is lost, and the rows that are there are read again") == 1
    assert table.rows() == []
    folder = Path(table.options["stateLocation"], "postgres-wal")
    assert len([log for log in folder.glob("*") if any(log.iterdir())]) <= 1


def test_a_slot_that_is_lost_once_more_or_while_chunks_are_read_is_another_generation(make: Make) -> None:
    table = make(startingPosition="initial")
    name = table.name
    table.execute(f"INSERT INTO {name} SELECT i, 'a' FROM generate_series(1, 95) i")
    for generation in range(3):
        assert table.engine.run(crash_after=Step.COMMITTED, in_batch=len(table.engine.offsets))
        assert _generation(table.engine.offsets[-1]) == generation
        assert not generation or table.engine.rows[-1]["_sync"] == generation
        table.execute(f"DELETE FROM {name} WHERE id = {generation + 1}")
        table.drop_slot()
    rows = [row for row in table.rows() if row["_sync"] == 3]
    assert sorted(told(rows, "id")) == [("r", key) for key in range(4, 96)]


def test_all_tables_of_a_stream_are_read_again_and_one_that_joins_later_has_their_generation(
    make: Make,
) -> None:
    table = make()
    name = table.name
    table.execute(*(f"CREATE TABLE {name}_{each} (id int PRIMARY KEY)" for each in "ab"))
    options = {option: value for option, value in table.options.items() if option != "table"}
    engine = MicroBatchEngine.of("postgres", {**options, "tables": f"{name},{name}_a"})
    engine.run()
    table.execute(f"INSERT INTO {name} VALUES (1, 'x')", f"INSERT INTO {name}_a VALUES (2)")
    engine.run()
    table.drop_slot()
    engine.run()
    table.execute(f"INSERT INTO {name}_b VALUES (3)", f"ALTER PUBLICATION pub_{name} ADD TABLE {name}_b")
    more = MicroBatchEngine.of("postgres", {**options, "tables": f"{name},{name}_a,{name}_b"})
    more.offsets, more.sink = engine.offsets, engine.sink
    more._committed = len(more.offsets)
    more.run()
    found = [(row["_op"], row["_sync"], json.loads(row["after"])["id"]) for row in more.rows]
    assert found[:2] == [("c", 0, "1"), ("c", 0, "2")]
    assert sorted(found[2:]) == [("r", 1, "1"), ("r", 1, "2"), ("r", 1, "3")]
    table.execute(*(f"DROP TABLE {name}_{each}" for each in "ab"))


@pytest.mark.parametrize("transport", ["direct"], indirect=True)
@pytest.mark.parametrize("step", [Step.LOGGED, Step.READ_PARTLY, Step.WRITTEN])
def test_a_batch_that_was_logged_before_the_loss_has_no_rows_and_the_next_plan_finds_the_loss(
    make: Make, step: Step
) -> None:
    table = make()
    name = table.name
    assert table.rows() == []
    table.execute(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    assert table.engine.run(crash_after=step)
    number = len(table.engine.offsets) - 1
    table.drop_slot()
    table.engine.run()
    assert table.engine.sink[number] == []
    assert sorted(told(table.engine.rows, "id", "_sync")) == [("r", 1, 1), ("r", 2, 1)]


@pytest.mark.parametrize("transport", ["direct"], indirect=True)
def test_a_batch_of_which_a_part_is_left_fails_until_the_slot_is_dropped(make: Make) -> None:
    """A plan from its end on would find everything there: so nothing may be left out of it."""
    table = make()
    name = table.name
    assert table.rows() == []
    table.execute(f"INSERT INTO {name} VALUES (1, 'a')")
    inside = table.ask("SELECT pg_current_wal_insert_lsn()")
    table.execute(f"INSERT INTO {name} VALUES (2, 'b')")
    assert table.engine.run(crash_after=Step.LOGGED)
    table.execute(
        f"SELECT pg_terminate_backend(active_pid, 20000) FROM pg_replication_slots "
        f"WHERE slot_name = 'slot_{name}' AND active_pid > 0",
        f"SELECT pg_replication_slot_advance('slot_{name}', '{inside}')",
    )
    for _ in range(2):
        with pytest.raises(LostSlotError, match="headwater slots"):
            table.engine.run()
    table.drop_slot()
    assert sorted(told(table.rows(), "id", "_sync")) == [("r", 1, 1), ("r", 2, 1)]


@pytest.mark.parametrize("transport", ["direct"], indirect=True)
def test_a_range_of_which_rows_have_come_is_never_ended_early(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch has whole transactions: its next attempt finds the loss before the first row."""
    table = make(chunkRows="100000")
    name = table.name
    assert table.rows() == []
    table.execute(f"INSERT INTO {name} SELECT i, repeat('x', 100) FROM generate_series(1, 30000) i")
    source = table.source().source
    logged = json.loads(table.engine.offsets[-1])
    split = WalSplit.from_json(logged["splits"]["wal"])
    head = lsn_of(table.ask("SELECT pg_current_wal_flush_lsn()::text"))
    opened = SlotReading.open
    times = itertools.count()

    def open_once(reading: SlotReading, *where: Any, **how: Any) -> Any:
        if next(times):
            table.drop_slot()
        return opened(reading, *where, **how)

    monkeypatch.setattr(SlotReading, "open", open_once)
    with closing(source.create_reader()) as reader:
        reader.handle_splits_changes([SplitRange(split, logged["positions"]["wal"], head)])
        while not reader.fetch().records:
            pass
        slot = f"FROM pg_replication_slots WHERE slot_name = 'slot_{name}'"
        table.execute(f"SELECT pg_terminate_backend(active_pid) {slot}")
        with pytest.raises(LostSlotError, match="does not exist any more"):
            deque(iter(lambda: reader.fetch().finished, frozenset([WAL_PATH])), maxlen=0)
    monkeypatch.undo()
    assert len(table.rows()) == 30_000


@pytest.mark.parametrize("point", ["before the slot is made", "after the slot is made"])
def test_a_driver_that_is_killed_at_the_new_slot_begins_again_once_more(
    make: Make, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    table = make()
    name = table.name
    assert table.rows() == []
    table.execute(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    table.drop_slot()

    def killed(connection: Any, slot: str) -> int:
        if point == "after the slot is made":
            create_slot(connection, slot)
        raise CrashError

    with monkeypatch.context() as patched:
        patched.setattr(initial_questions, "create_slot", killed)
        assert table.engine.run()
    table.execute(f"INSERT INTO {name} VALUES (3, 'c')")
    rows = table.rows()
    assert sorted(told(rows, "id", "_sync")) == [("r", 1, 1), ("r", 2, 1), ("r", 3, 1)]


@pytest.mark.parametrize("step", Step)
def test_keys_are_right_whatever_way_the_slot_is_lost_and_whatever_step_the_driver_is_killed_after(
    postgres: LocalPostgres, tmp_path: Path, rng: random.Random, step: Step, transport: str
) -> None:
    _run_lost(postgres, tmp_path, rng, [step], transport)


@pytest.mark.long
@pytest.mark.parametrize("round_", range(50))
def test_keys_are_right_whatever_way_slots_are_lost_and_drivers_are_killed(
    postgres: LocalPostgres, tmp_path: Path, seed: int, round_: int, transport: str
) -> None:
    _run_lost(postgres, tmp_path, random.Random(f"{seed} {round_}"), list(Step), transport)


def _run_lost(
    postgres: LocalPostgres, tmp_path: Path, rng: random.Random, steps: list[Step], transport: str
) -> None:
    """Lose the slot now and then, while writers are at work and drivers are killed."""
    table = AuditedTable(postgres, f"lost_{next(_NUMBERS)}")
    table.fill(100)
    slot = f"slot_{table.name}"
    writers = [Writer(table, postgres, number, 4, rng) for number in range(4)]
    engine = MicroBatchEngine.of(
        "postgres",
        {
            "url": postgres.conninfo,
            "table": table.name,
            "slot": slot,
            "publication": f"pub_{table.name}",
            "createPublication": "true",
            "startingPosition": rng.choice(["initial", "latest"]),
            "onSlotLost": "resync",
            "stateLocation": str(tmp_path),
            "chunkRows": str(rng.choice([5, 20, 70])),
            "snapshotTasks": "1",
            "transport": transport,
        },
    )
    engine.run(crash_after=Step.LOGGED)
    lost = 0
    with psycopg.connect(postgres.conninfo, autocommit=True) as sql:
        try:
            for round_ in range(rng.randrange(6, 12)):
                for writer in rng.sample(writers, rng.randrange(1, 5)):
                    writer.act(rng.randrange(1, 12))
                is_lost = lost > _generation(engine.offsets[-1])
                is_to_be_lost = not is_lost and (round_ == 2 or rng.random() < 0.2)
                for writer in writers if is_lost or is_to_be_lost else ():
                    writer.end()  # a new slot waits for transactions that run
                if is_to_be_lost:
                    _lose(sql, slot, rng.choice(WAYS))
                    lost += 1
                at = len(engine.offsets) - rng.choice([0, 0, 1])
                engine.run(crash_after=rng.choice(steps), in_batch=at)
            for writer in writers:
                writer.end()
            engine.run()
            engine.run()
            _check(table, engine.rows, lost, sql)
        finally:
            for writer in writers:
                writer.end(lost=True)
            _lose(sql, slot, "dropped")


def _check(table: AuditedTable, rows: list[dict[str, Any]], lost: int, sql: psycopg.Connection[Any]) -> None:
    """Compare rows with the table: the last ones of each key, and all that came after the last loss."""
    syncs = [row["_sync"] for row in rows]
    assert syncs == sorted(syncs)
    assert syncs[-1] == lost
    assert table.wrong_keys(row for row in rows if row["_sync"] == lost) == []
    last: dict[int, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (row["_sync"], row["_lsn"], row["_seq"])):
        last[row["id"]] = row
    there = {key: row["v"] for key, row in last.items() if row["_op"] != "d" and row["_sync"] == lost}
    assert there == dict(sql.execute(f"SELECT id, v FROM {table.name}".encode()).fetchall())


@pytest.mark.parametrize("reason", ["much log", pytest.param("long idle", marks=pytest.mark.long)])
def test_a_slot_that_the_server_has_given_up_is_made_anew(
    tmp_path: Path, transport: str, reason: str
) -> None:
    settings = {"idle_replication_slot_timeout": "1s"}
    if reason == "much log":
        settings = {"max_slot_wal_keep_size": "1MB", "max_wal_size": "32MB"}
    given = {"onSlotLost": "resync", "stateLocation": str(tmp_path), "transport": transport}
    with (
        LocalPostgres(settings=settings, version=None if reason == "much log" else 18) as server,
        changed_table(server, "given_up", "id int PRIMARY KEY", **given) as table,
    ):
        assert table.rows() == []
        table.execute("INSERT INTO given_up VALUES (1), (2)", "CREATE TABLE much (t text)")
        deadline_s = time.monotonic() + PATIENCE_S
        while table.ask("SELECT wal_status FROM pg_replication_slots") != "lost":
            assert time.monotonic() < deadline_s, "the server keeps the slot"
            if reason == "much log":
                table.execute("INSERT INTO much SELECT repeat('x', 1000) FROM generate_series(1, 20000)")
            table.execute("SELECT pg_switch_wal()", "CHECKPOINT")
        assert sorted(told(table.rows(), "id", "_sync")) == [("r", 1, 1), ("r", 2, 1)]
        table.execute("DELETE FROM given_up WHERE id = 1")
        assert told(table.rows(), "id", "_sync") == [("d", 1, 1)]


@pytest.mark.parametrize("transport", ["direct"], indirect=True)
def test_it_needs_a_state_location(make: Make) -> None:
    options = {name: value for name, value in make().options.items() if name != "stateLocation"}
    with pytest.raises(OptionError, match=r"stateLocation.*required with onSlotLost=resync"):
        MicroBatchEngine.of("postgres", options).run()


@pytest.mark.parametrize("transport", ["direct"], indirect=True)
def test_another_database_system_is_never_read_again_in_its_place(make: Make) -> None:
    table = make()
    assert table.rows() == []
    with LocalPostgres() as other, psycopg.connect(other.conninfo, autocommit=True) as sql:
        sql.execute(f"CREATE TABLE {table.name} (id int PRIMARY KEY, s text)".encode())
        engine = table.new_engine(url=other.conninfo)
        engine.offsets = table.engine.offsets[:]
        engine._committed = len(engine.offsets)
        with pytest.raises(LostSlotError, match=r"another database system.*option 'url'"):
            engine.run()


SAMPLES = json.loads((Path(__file__).parent / "offsets_before_resync.json").read_text())
"""Offsets of queries that an earlier version logged, batch by batch."""


@pytest.mark.parametrize("transport", ["direct"], indirect=True)
@pytest.mark.parametrize("start", SAMPLES)
def test_a_checkpoint_of_before_goes_on_and_may_be_read_again(make: Make, start: str) -> None:
    """Its last offset, with the fields that it had then, as of this server."""
    table = make(startingPosition=start)
    name = table.name
    table.execute(f"INSERT INTO {name} SELECT i, 'a' FROM generate_series(1, 30) i")
    table.rows()
    table.execute(f"DELETE FROM {name} WHERE id > 2")
    table.rows()
    now = json.loads(table.engine.offsets[-1])
    logged = SAMPLES[start][-1]
    wal = {field: now["splits"]["wal"][field] for field in logged["splits"]["wal"]}
    old = table.new_engine()
    old.offsets = [json.dumps({**logged, "positions": now["positions"], "splits": {"wal": wal}})]
    old._committed = 1
    table.execute(f"INSERT INTO {name} VALUES (40, 'b')")
    old.run()
    assert told(old.rows, "id", "_sync") == [("c", 40, 0)]
    table.drop_slot()
    old.run()
    assert sorted(told(old.rows[1:], "id", "_sync")) == [("r", 1, 1), ("r", 2, 1), ("r", 40, 1)]


@pytest.mark.parametrize("logged", SAMPLES["initial"])
def test_each_offset_of_before_is_read_as_it_was_meant(logged: dict[str, Any]) -> None:
    state = InitialState.from_json(logged["state"])
    assert (state.phase.value, state.query) == (logged["state"]["phase"], logged["state"]["query"])
    for name in logged["positions"]:
        if name == "wal":
            assert WalSplit.from_json(logged["splits"]["wal"]).sync == 0
        else:
            assert chunk_from_json((name,), logged["splits"]["chunks"]).table.sync == 0

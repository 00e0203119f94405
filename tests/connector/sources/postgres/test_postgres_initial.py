"""A stream that begins with the rows of a real table, with writers at work, and Spark's part played here."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.core.errors import LostSlotError, OptionError, SourceError, TransientSourceError
from headwater.testing import MicroBatchEngine
from headwater.testing.engine import Step
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.audited import AuditedTable, Writer
from tests.connector.sources.postgres.changes import ChangedTable, changed_table, told

_NUMBERS = itertools.count()
Make = Callable[..., ChangedTable]


@pytest.fixture
def make(postgres: LocalPostgres, tmp_path: Path) -> Iterator[Make]:
    """Makes tables that are read from their rows on, in chunks of ten."""
    with ExitStack() as tables:

        def made(columns: str = "id int PRIMARY KEY, s text", **options: str) -> ChangedTable:
            given = {
                "startingPosition": "initial",
                "stateLocation": str(tmp_path),
                "chunkRows": "10",
                "snapshotTasks": "1",
                **options,
            }
            return tables.enter_context(
                changed_table(postgres, f"initial_{next(_NUMBERS)}", columns, **given)
            )

        yield made


def _fill(table: ChangedTable, rows: int = 95) -> None:
    table.execute(f"INSERT INTO {table.name} SELECT i, 'v' || i FROM generate_series(1, {rows}) i")


def test_all_rows_that_are_there_come_first_then_every_later_change(make: Make) -> None:
    table = make()
    _fill(table)
    rows = table.rows()
    assert sorted(told(rows, "id", "s")) == sorted(("r", i, f"v{i}") for i in range(1, 96))
    assert {(row["_seq"], row["_xid"], row["_commit_ts"], tuple(row["_unchanged"])) for row in rows} == {
        (-1, None, None, ())
    }
    table.execute(
        f"INSERT INTO {table.name} VALUES (200, 'x')",
        f"UPDATE {table.name} SET s = 'y' WHERE id = 5",
        f"DELETE FROM {table.name} WHERE id = 6",
    )
    later = table.rows()
    assert told(later, "id", "s") == [("c", 200, "x"), ("u", 5, "y"), ("d", 6, None)]
    assert min(row["_lsn"] for row in later) >= rows[0]["_lsn"]
    assert table.rows() == []


def test_an_empty_table_is_one_chunk_without_rows(make: Make) -> None:
    table = make()
    assert table.rows() == []
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    assert told(table.rows(), "id") == [("c", 1)]


@pytest.mark.parametrize(
    ("columns", "expression"),
    [
        ("id int PRIMARY KEY, s text", "i - 40"),
        ("id bigint PRIMARY KEY, s text", "i * 1000000000000 - 5"),
        ("id smallint PRIMARY KEY, s text", "i"),
        ("id uuid PRIMARY KEY, s text", "md5(i::text)::uuid"),
        ("id text PRIMARY KEY, s text", "CASE WHEN i % 2 = 0 THEN '''é%' ELSE 'Z\\' END || i"),
        ('id text COLLATE "en-x-icu" PRIMARY KEY, s text', "CASE WHEN i % 2 = 0 THEN 'a' ELSE 'B' END || i"),
        ("id varchar(9) PRIMARY KEY, s text", "i::text"),
        ("id bytea PRIMARY KEY, s text", "decode(lpad(to_hex(i * 37), 6, '0'), 'hex')"),
        ("id timestamptz PRIMARY KEY, s text", "'2026-01-01'::timestamptz + i * interval '1 microsecond'"),
        ("id timestamp PRIMARY KEY, s text", "'1969-12-31'::timestamp + i * interval '1 hour'"),
        ("id date PRIMARY KEY, s text", "'1999-12-01'::date + i"),
        ("id oid PRIMARY KEY, s text", "3000000000 + i"),
        # A name that is the same as that of what a query gives, and one that needs quotes.
        ('"k""%s" int, id int, s text, PRIMARY KEY (id, "k""%s")', "i % 7, i"),
        ("id text, s text, n int, PRIMARY KEY (id, n)", "(i % 5)::text"),
    ],
)
def test_tables_are_cut_by_keys_of_each_type_and_writers_change_every_chunk(
    make: Make, columns: str, expression: str
) -> None:
    """After each batch all rows are changed: each change comes once, whichever chunk has its key."""
    table = make(columns)
    name = table.name
    target = {'"k': f'{name} ("k""%s", id)', "id text, s text, n": f"{name} (id, n)"}
    into = next((target[each] for each in target if columns.startswith(each)), f"{name} (id)")
    select = f"{expression}, i" if into.endswith("(id, n)") else expression
    table.execute(f"INSERT INTO {into} SELECT {select} FROM generate_series(1, 95) i")
    table.execute(f"UPDATE {name} SET s = '0'")
    updates = 0
    while table.engine.run(crash_after=Step.COMMITTED, in_batch=len(table.engine.offsets)):
        if updates < 4:
            updates += 1
            table.execute(f"UPDATE {name} SET s = '{updates}'")
    rows = table.engine.rows
    keys = [each for each in rows[0] if each in {"id", 'k"%s', "n"}]
    by_key: dict[Any, list[tuple[str, int]]] = {}
    for row in rows:
        by_key.setdefault(tuple(row[each] for each in keys), []).append((row["_op"], int(row["s"])))
    assert len(by_key) == 95
    assert all(
        [op for op, _ in each] == ["r"] + ["u"] * (len(each) - 1)
        and [value for _, value in each] == list(range(updates + 1))[-len(each) :]
        for each in by_key.values()
    ), by_key
    assert len([offset for offset in table.engine.offsets if "chunk-" in offset]) > 2


@pytest.mark.parametrize("step", Step)
@pytest.mark.parametrize("round_", range(2))
def test_keys_are_right_with_open_transactions_and_a_crash_after_any_step(
    postgres: LocalPostgres, tmp_path: Path, seed: int, step: Step, round_: int
) -> None:
    """Transactions begin before a chunk is read, and end after it; see `AuditedTable.wrong_keys`."""
    _run_audited(postgres, tmp_path, random.Random(f"{seed} {step} {round_}"), [step])


@pytest.mark.long
@pytest.mark.parametrize("round_", range(200))
def test_keys_are_right_with_open_transactions_and_crashes_anywhere(
    postgres: LocalPostgres, tmp_path: Path, seed: int, round_: int
) -> None:
    _run_audited(postgres, tmp_path, random.Random(f"{seed} {round_}"), list(Step))


def _run_audited(postgres: LocalPostgres, tmp_path: Path, rng: random.Random, steps: list[Step]) -> None:
    table = AuditedTable(postgres, f"audited_{next(_NUMBERS)}")
    table.fill(240)
    writers = [Writer(table, postgres, number, 4, rng) for number in range(4)]
    options = {
        "url": postgres.conninfo,
        "table": table.name,
        "slot": f"slot_{table.name}",
        "publication": f"pub_{table.name}",
        "createPublication": "true",
        "startingPosition": "initial",
        "stateLocation": str(tmp_path),
        "chunkRows": str(rng.choice([5, 20, 70])),
        "snapshotTasks": "1",
        "includeBefore": "false",
    }
    engine = MicroBatchEngine.of("postgres", options)
    # The slot waits for transactions that run: they begin when it is there.
    engine.run(crash_after=Step.LOGGED)
    try:
        for _ in range(rng.randrange(4, 30)):
            for writer in rng.sample(writers, rng.randrange(1, 5)):
                writer.act(rng.randrange(1, 12))
            engine.run(crash_after=rng.choice(steps), in_batch=len(engine.offsets) - rng.choice([0, 0, 1]))
        for writer in writers:
            writer.end()
        engine.run()
        assert table.wrong_keys(engine.rows) == []
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    finally:
        for writer in writers:
            writer.end(lost=True)
        with psycopg.connect(postgres.conninfo, autocommit=True) as sql:
            sql.execute(f"SELECT pg_drop_replication_slot('slot_{table.name}')".encode())

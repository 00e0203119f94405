"""A stream of several tables that begins with their rows, with writers at work, by both transports."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from headwater.core.errors import OptionError, SourceError
from headwater.testing import MicroBatchEngine
from headwater.testing.engine import Step
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import ChangedTable, changed_table

_NUMBERS = itertools.count()
Make = Callable[..., ChangedTable]


@pytest.fixture
def make(postgres: LocalPostgres, tmp_path: Path) -> Iterator[Make]:
    """Makes a table ``NAME`` and others ``NAME_1`` and so on, read in one stream in chunks of ten rows."""
    with ExitStack() as tables:

        def made(*columns: str, **options: str) -> ChangedTable:
            name = f"several_initial_{next(_NUMBERS)}"
            given = {
                "startingPosition": "initial",
                "stateLocation": str(tmp_path),
                "chunkRows": "10",
                "snapshotTasks": "1",
                **options,
            }
            first = tables.enter_context(changed_table(postgres, name, columns[0], **given))
            names = [name] + [f"{name}_{at}" for at in range(1, len(columns))]
            for other, described in zip(names[1:], columns[1:], strict=True):
                first.execute(f"CREATE TABLE {other} ({described})")
                tables.callback(first.execute, f"DROP TABLE {other}")
            first.options["tables"] = ",".join(names)
            del first.options["table"]
            first.engine = MicroBatchEngine.of("postgres", first.options)
            return first

        yield made


def _told(table: ChangedTable, rows: list[dict[str, Any]]) -> list[tuple[str, str, Any]]:
    """Return of each row its kind, the end of its table's name, and what it is now, or was."""
    prefix = len(f"public.{table.name}")
    return [
        (row["_op"], row["_table"][prefix:], json.loads(row["after"] or row["before"] or "null"))
        for row in rows
    ]


@pytest.mark.parametrize("transport", ["direct", "staged"])
def test_all_rows_of_all_tables_come_first_then_every_later_change_in_the_order_of_commits(
    make: Make, transport: str
) -> None:
    table = make("id int PRIMARY KEY, s text", "code text PRIMARY KEY", "v int", transport=transport)
    name = table.name
    table.execute(
        f"ALTER TABLE {name}_2 REPLICA IDENTITY FULL",
        f"INSERT INTO {name} SELECT i, 'v' || i FROM generate_series(1, 12) i",
        f"INSERT INTO {name}_1 SELECT 'c' || i FROM generate_series(1, 15) i",
        f"INSERT INTO {name}_2 VALUES (1), (1), (NULL)",
    )
    rows = table.rows()
    assert sorted(_told(table, rows), key=repr) == sorted(
        [
            *(("r", "", {"id": str(i), "s": f"v{i}"}) for i in range(1, 13)),
            *(("r", "_1", {"code": f"c{i}"}) for i in range(1, 16)),
            *(("r", "_2", {"v": v}) for v in ("1", "1", None)),
        ],
        key=repr,
    )
    # Chunks of all tables are in one batch, the rows have one instant each table by itself.
    assert len([number for number, brought in table.engine.sink.items() if brought]) == 2
    assert {(row["_seq"], row["_xid"], row["before"], tuple(row["_unchanged"])) for row in rows} == {
        (-1, None, None, ())
    }
    assert len({row["_lsn"] for row in rows}) == 1
    table.together(
        f"UPDATE {name} SET s = 'y' WHERE id = 12",
        f"DELETE FROM {name}_1 WHERE code = 'c2'",
        f"UPDATE {name}_2 SET v = 5 WHERE v IS NULL",
    )
    table.execute(f"INSERT INTO {name}_1 VALUES ('new')")
    later = table.rows()
    assert _told(table, later) == [
        ("u", "", {"id": "12", "s": "y"}),
        ("d", "_1", {"code": "c2"}),
        ("u", "_2", {"v": "5"}),
        ("c", "_1", {"code": "new"}),
    ]
    assert min(row["_lsn"] for row in later) >= rows[0]["_lsn"]
    assert table.rows() == []


@pytest.mark.parametrize(
    ("columns", "expression"),
    [
        ("id bigint PRIMARY KEY, s text", "i * 1000000000000 - 5"),
        ('id text COLLATE "en-x-icu" PRIMARY KEY, s text', "CASE WHEN i % 2 = 0 THEN 'a' ELSE 'B' END || i"),
        pytest.param(
            "id bytea PRIMARY KEY, s text",
            "decode(lpad(to_hex(i * 37), 6, '0'), 'hex')",
            marks=pytest.mark.long,
        ),
        ("id timestamptz PRIMARY KEY, s text", "'2026-01-01'::timestamptz + i * interval '1 microsecond'"),
        ("id public.several_key PRIMARY KEY, s text", "i - 40"),
        ('"k""%s" int, id text, s text, PRIMARY KEY (id, "k""%s")', "i % 7, 'x' || i"),
    ],
)
def test_each_change_is_held_against_the_chunk_of_its_key_in_its_own_table(
    make: Make, columns: str, expression: str
) -> None:
    """After each batch all rows of both tables are changed: each change comes once."""
    table = make("n int PRIMARY KEY, s text", columns.replace("public.several_key", "int"))
    name = table.name
    if "several_key" in columns:
        table.execute(
            f"CREATE DOMAIN several_key_{name} AS int",
            f"ALTER TABLE {name}_1 ALTER id TYPE several_key_{name}",
        )
    into = '("k""%s", id)' if "%s" in columns else "(id)"
    table.execute(
        f"INSERT INTO {name} SELECT i FROM generate_series(1, 35) i",
        f"INSERT INTO {name}_1 {into} SELECT {expression} FROM generate_series(1, 35) i",
        f"UPDATE {name} SET s = '0'",
        f"UPDATE {name}_1 SET s = '0'",
    )
    updates = 0
    while table.engine.run(crash_after=Step.COMMITTED, in_batch=len(table.engine.offsets)):
        if updates < 3:
            updates += 1
            table.together(f"UPDATE {name} SET s = '{updates}'", f"UPDATE {name}_1 SET s = '{updates}'")
    by_key: dict[str, list[tuple[str, int]]] = {}
    for op, of, row in _told(table, table.engine.rows):
        value = int(row.pop("s"))
        by_key.setdefault(f"{of} {row}", []).append((op, value))
    assert len(by_key) == 70
    assert all(
        [op for op, _ in each] == ["r"] + ["u"] * (len(each) - 1)
        and [value for _, value in each] == list(range(updates + 1))[-len(each) :]
        for each in by_key.values()
    ), by_key
    assert len({len(each) for each in by_key.values()}) > 1


def test_a_truncate_of_one_table_between_chunks_is_refused_and_of_a_read_one_is_a_row(make: Make) -> None:
    table = make("id int PRIMARY KEY", "id int PRIMARY KEY")
    name = table.name
    table.execute(f"INSERT INTO {name}_1 SELECT generate_series(1, 95)")
    table.engine.run(crash_after=Step.COMMITTED)
    table.execute(f"TRUNCATE {name}")
    table.engine.run()
    assert _told(table, table.engine.rows)[-1] == ("t", "", None)
    table = make("id int PRIMARY KEY", "id int PRIMARY KEY")
    name = table.name
    table.execute(f"INSERT INTO {name}_1 SELECT generate_series(1, 95)")
    table.engine.run(crash_after=Step.COMMITTED)
    table.execute(f"TRUNCATE {name}_1")
    with pytest.raises(SourceError, match="truncated while its rows were read in chunks"):
        table.engine.run()


def test_a_column_that_joins_its_table_while_rows_are_read_is_in_later_chunks(make: Make) -> None:
    table = make("id int PRIMARY KEY", "id int PRIMARY KEY")
    name = table.name
    table.execute(f"INSERT INTO {name} SELECT generate_series(1, 95)")
    table.engine.run(crash_after=Step.COMMITTED)
    table.execute(f"ALTER TABLE {name} ADD s text DEFAULT 'x'")
    table.engine.run()
    rows = [row for _, _, row in _told(table, table.engine.rows)]
    assert rows[0] == {"id": "1"}
    assert rows[-1] == {"id": "95", "s": "x"}


def test_a_key_without_a_place_in_the_order_of_chunks_is_refused_by_its_name(make: Make) -> None:
    table = make("id timestamptz PRIMARY KEY", "id int PRIMARY KEY")
    name = table.name
    table.execute(f"INSERT INTO {name} SELECT now() + i * interval '1 day' FROM generate_series(1, 95) i")
    table.engine.run(crash_after=Step.COMMITTED)
    table.execute(f"INSERT INTO {name} VALUES ('infinity')")
    with pytest.raises(SourceError, match=f"{name} was read in chunks.* value infinity of column 'id'"):
        table.engine.run()


def test_the_state_location_is_needed_as_long_as_the_query_lives(make: Make) -> None:
    table = make("id int PRIMARY KEY", "id int PRIMARY KEY")
    table.rows()
    del table.options["stateLocation"]
    table.options["startingPosition"] = "latest"
    with pytest.raises(OptionError, match="the one that the query began with"):
        table.rows()

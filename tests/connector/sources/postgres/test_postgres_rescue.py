"""onSchemaChange=rescue: columns that the query does not know come as JSON, from chunks and the log alike."""

from __future__ import annotations

import itertools
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.core.errors import OptionError, SourceError
from headwater.testing import MicroBatchEngine
from headwater.testing.engine import Step
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import ChangedTable, changed_table, told

_NUMBERS = itertools.count()
_RESCUED = "_rescued_data"
Make = Callable[..., ChangedTable]


@pytest.fixture(params=["direct", "staged"])
def transport(request: pytest.FixtureRequest) -> str:
    """One way from the slot to tasks."""
    return str(request.param)


@pytest.fixture
def make(postgres: LocalPostgres, tmp_path: Path, transport: str) -> Iterator[Make]:
    """Makes tables whose query goes on with the columns that it began with."""
    with ExitStack() as tables:

        def made(columns: str = "id int PRIMARY KEY, s text, z text", **options: str) -> ChangedTable:
            given = {
                "onSchemaChange": "rescue",
                "transport": transport,
                "stateLocation": str(tmp_path),
                "chunkRows": "10",
                "snapshotTasks": "1",
                **options,
            }
            name = f"rescued_{next(_NUMBERS)}"
            table = tables.enter_context(changed_table(postgres, name, columns, **given))
            _keep_columns(table.engine)
            return table

        yield made


def _keep_columns(engine: MicroBatchEngine) -> None:
    """Let each run have the schema of now, as one process has it, or ``.schema(...)``."""
    source = engine._configure()
    engine._configure = lambda: source


def _rescued(rows: list[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    """Return of each row its kind, these columns, and what is rescued."""
    return [
        (*known, None if row[_RESCUED] is None else json.loads(row[_RESCUED]))
        for known, row in zip(told(rows, *columns), rows, strict=True)
    ]


def test_new_columns_are_json_with_the_servers_texts_and_lost_ones_are_null(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    table = make()
    name = table.name
    assert table.rows() == []
    table.execute(
        f"INSERT INTO {name} VALUES (1, 'a', 'b')",
        f'ALTER TABLE {name} ADD n numeric(9, 3), ADD b bool, ADD "q""é" text',
        f"INSERT INTO {name} VALUES (2, 'a', 'b', 7.5, true, E'\\\\ \"x\"\\n\\t\\x01')",
        f"UPDATE {name} SET n = NULL, b = NULL WHERE id = 2",
        f"ALTER TABLE {name} DROP z, DROP b",
        f"INSERT INTO {name} VALUES (3, 'c', 8)",
        f"ALTER TABLE {name} RENAME s TO was_s",
        f"INSERT INTO {name} VALUES (4, 'd')",
        f"DELETE FROM {name} WHERE id = 4",
    )
    text = '\\ "x"\n\t\x01'
    assert _rescued(table.rows(), "id", "s", "z") == [
        ("c", 1, "a", "b", None),
        ("c", 2, "a", "b", {"n": "7.500", "b": "t", 'q"é': text}),
        ("u", 2, "a", "b", {'q"é': text}),
        ("c", 3, "c", None, {"n": "8.000"}),
        ("c", 4, None, None, {"was_s": "d"}),
        ("d", 4, None, None, None),
    ]
    assert "has lost the columns 'z'" in caplog.text
    assert f"new ones are in {_RESCUED}" in caplog.text


def test_rows_that_are_there_are_rescued_as_their_changes_are(make: Make) -> None:
    """The first chunk is read before the table is altered, the others after it."""
    table = make(startingPosition="initial", textColumns="z")
    name = table.name
    table.execute(f"INSERT INTO {name} SELECT i, 's', i FROM generate_series(1, 45) i")
    table.engine.run(crash_after=Step.COMMITTED)
    table.execute(
        f"ALTER TABLE {name} DROP z, ADD n numeric(9, 3) DEFAULT 1, ADD b bool, "
        "ADD twice int GENERATED ALWAYS AS (id * 2) STORED",
        f"UPDATE {name} SET b = id % 2 = 0 WHERE id > 20",
    )
    rows = _rescued(table.rows(), "id", "s", "z")
    read = {each[1]: each[2:] for each in rows if each[0] == "r"}
    assert len(read) == 45
    assert {each for each in read if read[each] == ("s", str(each), None)} == set(range(1, 41))
    later = {each[1]: each[2:] for each in rows if each[0] == "u"}
    assert {key: ("s", None, {"n": "1.000", "b": "ft"[key % 2 == 0]}) for key in range(41, 46)} == {
        key: value for key, value in read.items() if key > 40
    }
    assert later == {key: ("s", None, {"n": "1.000", "b": "ft"[key % 2 == 0]}) for key in range(21, 41)}


@pytest.mark.parametrize("transport", ["direct"], indirect=True)
def test_with_ignore_rows_that_are_there_go_on_without_lost_columns_too(make: Make) -> None:
    table = make(startingPosition="initial", onSchemaChange="ignore", textColumns="z")
    name = table.name
    table.execute(f"INSERT INTO {name} SELECT i, 's', i FROM generate_series(1, 45) i")
    table.engine.run(crash_after=Step.COMMITTED)
    table.execute(f"ALTER TABLE {name} DROP z, ADD n int")
    read = {id_: z for _, id_, z in told(table.rows(), "id", "z")}
    assert read == {key: str(key) if key <= 40 else None for key in range(1, 46)}


def test_the_row_before_has_what_it_had_and_a_large_value_that_is_not_sent_is_named(make: Make) -> None:
    table = make("id int PRIMARY KEY, s text", includeBefore="true")
    name = table.name
    assert table.rows() == []
    large = "repeat(md5(random()::text), 400)"
    table.execute(
        f"ALTER TABLE {name} ADD big text, ADD n int",
        f"ALTER TABLE {name} ALTER big SET STORAGE EXTERNAL",
        f"INSERT INTO {name} VALUES (1, 'a', {large}, 5)",
        f"UPDATE {name} SET n = 6",
        f"ALTER TABLE {name} REPLICA IDENTITY FULL",
        f"UPDATE {name} SET n = 7, big = 'small'",
        f"DELETE FROM {name}",
    )
    _, marked, full, deleted = table.rows()
    assert (marked["_unchanged"], json.loads(marked[_RESCUED])) == (["big"], {"n": "6"})
    assert (full["_unchanged"], json.loads(full[_RESCUED])) == ([], {"big": "small", "n": "7"})
    assert json.loads(full["before"][_RESCUED])["n"] == "6"
    assert json.loads(deleted[_RESCUED]) == {"big": "small", "n": "7"}
    strict = MicroBatchEngine.of("postgres", {**table.options, "onToast": "fail"})
    strict.offsets = table.engine.offsets[:]
    strict._committed = len(strict.offsets)
    _keep_columns(strict)
    table.execute(
        f"ALTER TABLE {name} ADD newer text",
        f"ALTER TABLE {name} ALTER newer SET STORAGE EXTERNAL",
        f"INSERT INTO {name} VALUES (2, 'a', 'b', 5, {large})",
        f"ALTER TABLE {name} REPLICA IDENTITY DEFAULT",
        f"UPDATE {name} SET n = 6",
        f"ALTER TABLE {name} REPLICA IDENTITY FULL",
    )
    with pytest.raises(SourceError, match="column 'newer': an update has not changed a large value"):
        strict.run()


def test_a_changed_type_stops_the_query(make: Make) -> None:
    table = make("id int PRIMARY KEY, n int")
    assert table.rows() == []
    table.execute(f"ALTER TABLE {table.name} ALTER n TYPE text", f"INSERT INTO {table.name} VALUES (1, 'a')")
    with pytest.raises((SourceError, OptionError), match=r"plans with others|type of column"):
        table.rows()


@pytest.mark.parametrize("transport", ["direct"], indirect=True)
def test_what_leaves_no_room_for_it_is_refused(make: Make) -> None:
    with pytest.raises(OptionError, match="leave out option columns"):
        make().source(columns="id")
    with pytest.raises(OptionError, match="rename that one"):
        make(f"id int PRIMARY KEY, {_RESCUED} text")


@pytest.mark.parametrize("step", [Step.LOGGED, Step.READ_PARTLY, Step.WRITTEN])
def test_tables_that_change_under_load_come_whole_and_a_batch_is_the_same_when_it_is_read_again(
    make: Make, rng: random.Random, step: Step
) -> None:
    _run_altered(make, rng, [step])


@pytest.mark.long
@pytest.mark.parametrize("round_", range(40))
def test_tables_that_change_under_load_come_whole_whatever_is_killed(
    make: Make, seed: int, round_: int
) -> None:
    _run_altered(make, random.Random(f"{seed} {round_}"), list(Step))


def _run_altered(make: Make, rng: random.Random, steps: list[Step]) -> None:
    """Alter and write a table between batches and crashes; see `_Altered.wrong_keys`."""
    table = make("id int PRIMARY KEY, s int, z text", startingPosition="initial")
    altered = _Altered(table, rng)
    altered.fill()
    # The slot waits for transactions that run: they begin when it is there.
    table.engine.run(crash_after=Step.LOGGED)
    for _ in range(rng.randrange(8, 14)):
        written = dict(table.engine.sink)
        altered.act()
        if rng.random() < 0.7:
            step = rng.choice(steps)
            table.engine.run(crash_after=step, in_batch=len(table.engine.offsets) - rng.choice([0, 0, 1]))
        else:
            table.engine.run()
        assert {number: table.engine.sink[number] for number in written} == written
    altered.end()
    table.engine.run()
    assert altered.wrong_keys(table.engine.rows) == []
    assert any(row[_RESCUED] for row in table.engine.rows)


class _Altered:
    """A table whose columns come and go, with a trigger that notes each row as the server writes it.

    Args:
        table: has a key and the columns s and z.
        rng: draws.
    """

    def __init__(self, table: ChangedTable, rng: random.Random) -> None:
        self._table = table
        self._rng = rng
        self._columns = ["s", "z"]
        self._dropped: set[str] = set()
        self._number = itertools.count()
        self._writers: dict[int, psycopg.Connection[Any]] = {}
        name = table.name
        table.execute(
            f"CREATE TABLE {name}_audit (place bigserial, op text, id int, row_ jsonb)",
            f"""CREATE FUNCTION {name}_note() RETURNS trigger LANGUAGE plpgsql AS $$
            DECLARE now jsonb;
            BEGIN
              IF TG_OP = 'DELETE' THEN INSERT INTO {name}_audit (op, id) VALUES ('d', OLD.id); RETURN NULL;
              END IF;
              SELECT jsonb_strip_nulls(jsonb_object_agg(key, value)) INTO now
                FROM jsonb_each_text(to_jsonb(NEW)) WHERE key <> 'id';
              INSERT INTO {name}_audit (op, id, row_)
                VALUES (CASE TG_OP WHEN 'INSERT' THEN 'c' ELSE 'u' END, NEW.id, now);
              RETURN NULL;
            END $$""",
            f"CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON {name} "
            f"FOR EACH ROW EXECUTE FUNCTION {name}_note()",
        )

    def fill(self) -> None:
        self._table.execute(f"INSERT INTO {self._table.name} SELECT i, i, 'z' FROM generate_series(0, 99) i")

    def act(self) -> None:
        """Alter the table, or write some rows in transactions that may stay open."""
        if self._rng.random() < 0.4:
            self._alter()
        for _ in range(self._rng.randrange(1, 12)):
            self._write()

    def end(self) -> None:
        """Commit what is open."""
        for connection in self._writers.values():
            connection.commit()
            connection.close()
        self._writers.clear()

    def wrong_keys(self, rows: list[dict[str, Any]]) -> list[str]:
        """Return what is wrong: a key has the state of one moment, then each later change once, whole.

        Of a row that was there, columns may be missing that were dropped before it was read.
        """
        noted = self._table.sql.execute(
            f"SELECT id, op, row_ FROM {self._table.name}_audit ORDER BY place".encode()
        ).fetchall()
        changes: dict[int, list[Any]] = defaultdict(list)
        for key, op, row in noted:
            changes[key].append((op, row))
        brought: dict[int, list[Any]] = defaultdict(list)
        for row in rows:
            known = {name: str(row[name]) for name in ("s", "z") if row[name] is not None}
            whole = known | json.loads(row[_RESCUED] or "{}")
            brought[row["id"]].append((row["_op"], None if row["_op"] == "d" else whole))
        return [
            f"{key}: brought {brought[key]}, was {changes[key]}"
            for key in sorted(changes.keys() | brought.keys())
            if not self._is_right(brought[key], changes[key])
        ]

    def _is_right(self, brought: list[Any], changes: list[Any]) -> bool:
        reads = [row for op, row in brought if op == "r"]
        later = brought[len(reads) :]
        at = len(changes) - len(later)
        if len(reads) > 1 or at < 0 or changes[at:] != later:
            return False
        state = changes[at - 1][1] if at else None
        if state is None or not reads:
            return state is None and not reads
        (read,) = reads
        return bool(read.items() <= state.items() and state.keys() - read.keys() <= self._dropped)

    def _alter(self) -> None:
        self.end()
        if len(self._columns) > 3 or (len(self._columns) > 1 and self._rng.random() < 0.3):
            column = self._columns.pop(self._rng.randrange(len(self._columns)))
            self._dropped.add(column)
            self._table.execute(f"ALTER TABLE {self._table.name} DROP {column}")
            return
        column = f"c{next(self._number)}"
        kind = self._rng.choice(["int", "text", "numeric(9, 3)"])
        self._columns.append(column)
        self._table.execute(f"ALTER TABLE {self._table.name} ADD {column} {kind}")

    def _write(self) -> None:
        number = self._rng.randrange(3)
        writer = self._writers.get(number)
        if writer is None:
            writer = self._writers[number] = psycopg.connect(self._table.server.conninfo)
        if self._rng.random() < 0.2:
            writer.commit()
            return
        name, key = self._table.name, 3 * self._rng.randrange(40) + number
        column = self._rng.choice(self._columns)
        value = self._rng.choice(["NULL", f"'{next(self._number)}'"])
        kind = self._rng.random()
        if kind < 0.3:
            writer.execute(f"DELETE FROM {name} WHERE id = {key}".encode())
        else:
            writer.execute(
                f"INSERT INTO {name} (id, {column}) VALUES ({key}, {value}) "
                f"ON CONFLICT (id) DO UPDATE SET {column} = excluded.{column}".encode()
            )

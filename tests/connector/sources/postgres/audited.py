"""A table with random writers, an audit of what they did, and the check of what a query has brought of it."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import psycopg

from local_postgres import LocalPostgres

_MADE = """
CREATE TABLE {name} (id int PRIMARY KEY, v int, pad text);
CREATE TABLE {name}_audit (place bigserial, op text, id int, v int);
CREATE FUNCTION {name}_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN INSERT INTO {name}_audit (op, id, v) VALUES ('c', NEW.id, NEW.v);
  ELSIF TG_OP = 'DELETE' THEN INSERT INTO {name}_audit (op, id) VALUES ('d', OLD.id);
  ELSIF OLD.id = NEW.id THEN INSERT INTO {name}_audit (op, id, v) VALUES ('u', NEW.id, NEW.v);
  ELSE INSERT INTO {name}_audit (op, id, v) VALUES ('d', OLD.id, NULL), ('c', NEW.id, NEW.v);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER {name}_noted AFTER INSERT OR UPDATE OR DELETE ON {name}
  FOR EACH ROW EXECUTE FUNCTION {name}_note();
"""


class AuditedTable:
    """A table whose triggers note each change, in the transaction of the change.

    The row locks of a key put its changes in the order in which they commit, and their notes too.

    Attributes:
        server: it is on.

    Args:
        server: it is on.
        name: of the table.
    """

    def __init__(self, server: LocalPostgres, name: str) -> None:
        self.server = server
        self.name = name
        self.execute(_MADE.format(name=name))

    def execute(self, statements: str) -> None:
        """Run statements."""
        with psycopg.connect(self.server.conninfo, autocommit=True) as sql:
            sql.execute(statements.encode())

    def drop_slot(self, slot: str) -> None:
        """Remove the slot of a query, whose connection may be about to end still."""
        named = f"FROM pg_replication_slots WHERE slot_name = '{slot}'"
        self.execute(f"SELECT pg_terminate_backend(active_pid, 20000) {named} AND active_pid IS NOT NULL")
        self.execute(f"SELECT pg_drop_replication_slot(slot_name) {named}")

    def fill(self, rows: int) -> None:
        """Insert the first rows, in one transaction."""
        with psycopg.connect(self.server.conninfo) as sql:
            sql.execute(
                f"INSERT INTO {self.name} SELECT i, i, repeat('x', i % 50) "
                f"FROM generate_series(0, {rows - 1}) i".encode()
            )

    def rows_of_several(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows of this table, out of a stream of several, as those of a stream of it alone."""
        found = []
        for row in rows:
            if row["_table"] == f"public.{self.name}":
                values = json.loads(row["after"] or row["before"])
                value = values.get("v")
                found.append({"_op": row["_op"], "id": int(values["id"]), "v": value and int(value)})
        return found

    def wrong_keys(self, rows: Iterable[Mapping[str, Any]]) -> list[str]:
        """Return what is wrong, key by key: a key has the state of one moment, then each later change once.

        Args:
            rows: of the query, in the order in which it brought them.
        """
        with psycopg.connect(self.server.conninfo) as sql:
            noted = sql.execute(f"SELECT id, op, v FROM {self.name}_audit ORDER BY place".encode()).fetchall()
        changes: dict[int, list[tuple[str, int | None]]] = defaultdict(list)
        for key, op, value in noted:
            changes[key].append((op, value))
        brought: dict[int, list[tuple[str, int | None]]] = defaultdict(list)
        for row in rows:
            value = None if row["_op"] == "d" else row["v"]
            brought[row["id"]].append((row["_op"], value))
        return [
            f"{key}: brought {brought[key]}, was {changes[key]}"
            for key in sorted(changes.keys() | brought.keys())
            if not is_state_and_suffix(brought[key], changes[key])
        ]


def is_state_and_suffix(brought: list[tuple[str, Any]], changes: list[tuple[str, Any]]) -> bool:
    """Return whether a key was brought with its state at one moment, and each change after that, once.

    Args:
        brought: the kinds and values of its rows, in order.
        changes: the kinds and values of all of its changes, from the first one on.
    """
    reads = [value for op, value in brought if op == "r"]
    later = [each for each in brought if each[0] != "r"]
    if len(reads) > 1 or (reads and brought[0][0] != "r"):
        return False
    at = len(changes) - len(later)
    if at < 0 or changes[at:] != later:
        return False
    state = None if at == 0 or changes[at - 1][0] == "d" else changes[at - 1][1]
    return state == (reads[0] if reads else None)


class Writer:
    """One connection, whose transactions stay open from call to call. Writes keys of its own only.

    Args:
        table: is written.
        server: it is on.
        number: of this writer; keys are those that leave it as the rest.
        writers: how many there are.
        rng: draws.
    """

    def __init__(
        self, table: AuditedTable, server: LocalPostgres, number: int, writers: int, rng: random.Random
    ) -> None:
        self._table = table
        self._server = server
        self._number = number
        self._writers = writers
        self._rng = rng
        self._sql: psycopg.Connection[Any] | None = None
        self._prepared = ""
        self._value = 1_000 * (number + 1)

    def act(self, times: int = 1) -> None:
        """Do something: a change, a savepoint, the end of a transaction, many changes at once.

        A transaction that is prepared last is committed, or not, by the next call.
        """
        for _ in range(times):
            self._end_prepared()
            sql = self._sql = self._sql or psycopg.connect(self._server.conninfo, application_name="writer")
            drawn = self._rng.random()
            if drawn < 0.12:
                sql.commit()
            elif drawn < 0.15:
                self._prepare(sql)
            elif drawn < 0.2:
                sql.rollback()
            elif drawn < 0.3:
                with sql.transaction() as savepoint:
                    self._change(sql)
                    if self._rng.random() < 0.5:
                        raise psycopg.Rollback(savepoint)
            elif drawn < 0.33:
                sql.execute(
                    f"UPDATE {self._table.name} SET v = v + 1 "
                    f"WHERE id % {self._writers} = {self._number} AND id < {self._key()}".encode()
                )
            else:
                self._change(sql)

    def end(self, *, lost: bool = False) -> None:
        """End the open transaction; ``lost``: the connection is gone with its server."""
        self._end_prepared()
        if self._sql is not None:
            if not lost:
                self._sql.commit()
            self._sql.close()
            self._sql = None

    def _prepare(self, sql: psycopg.Connection[Any]) -> None:
        sql.execute("SELECT pg_current_xact_id()")
        name = f"{self._table.name}_{self._number}"
        sql.execute(f"PREPARE TRANSACTION '{name}'".encode())
        self._prepared = name

    def _end_prepared(self) -> None:
        """Commit what is prepared, or roll it back: it outlives its connection, and the server."""
        if self._prepared:
            how = self._rng.choice(["COMMIT", "COMMIT", "ROLLBACK"])
            self._table.execute(f"{how} PREPARED '{self._prepared}'")
            self._prepared = ""

    def _key(self) -> int:
        return self._rng.randrange(60) * self._writers + self._number

    def _change(self, sql: psycopg.Connection[Any]) -> None:
        self._value += 1
        name, key, value = self._table.name, self._key(), self._value
        kind = self._rng.random()
        if kind < 0.4:
            statement = (
                f"INSERT INTO {name} VALUES ({key}, {value}) ON CONFLICT (id) DO UPDATE SET v = excluded.v"
            )
        elif kind < 0.6:
            statement = f"UPDATE {name} SET v = {value} WHERE id = {key}"
        elif kind < 0.8:
            statement = f"DELETE FROM {name} WHERE id = {key}"
        else:
            other = self._key()
            statement = (
                f"UPDATE {name} SET id = {other}, v = {value} WHERE id = {key} "
                f"AND NOT EXISTS (SELECT FROM {name} WHERE id = {other})"
            )
        sql.execute(statement.encode())

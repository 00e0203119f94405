"""The changes of a table are read while drivers, Python workers and the server are killed (SIGKILL).

Triggers note in another table what writers did. Each change is written once, in its place in its transaction.
"""

from __future__ import annotations

import os
import random
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import psycopg
import pytest

from local_postgres import LocalPostgres
from tests.exactly_once.barrier_job import BarrierJob
from tests.exactly_once.waiting import repeating, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "1"))
"""Kills at seeded points. Each costs the start of a JVM."""
KEYS = 200
TABLES = """
CREATE TABLE accounts (id int PRIMARY KEY, amount numeric(12, 2), note text);
CREATE TABLE audit (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, xid xid8 DEFAULT pg_current_xact_id(),
    op text, old_id int, new_id int, amount numeric(12, 2)
);
CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit (op, old_id, new_id, amount) VALUES (TG_OP, OLD.id, NEW.id, NEW.amount);
    RETURN NULL;
END $$;
CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION note_change();
"""
Change = tuple[Any, ...]
SEVERAL = {"tables": "accounts,audit"}
"""Both tables in one stream: each transaction changes one, and notes that in the other."""
OF_SEVERAL = ["_op", "_lsn", "_seq", "_xid", "_table", "before", "after"]
SELECTED = {
    "id": "coalesce(cast(get_json_object(coalesce(after, before), '$.id') as int), -1)",
    "amount": "get_json_object(after, '$.amount')",
    "n": "coalesce(cast(get_json_object(after, '$.n') as bigint), -1)",
}
"""How columns of a table are had from the rows of several."""


@dataclass(frozen=True)
class ChangesJob(BarrierJob):
    """A query over a stream of changes: its state is in its checkpoint alone."""

    def job(self, **trigger: Any) -> dict[str, Any]:
        return {**super().job(**trigger), "options": self.options}


class Writers:
    """Connections that change accounts at random until they are stopped, whatever becomes of the server.

    Args:
        conninfo: of the server.
        seeds: one for each connection.
    """

    def __init__(self, conninfo: str, seeds: list[int]) -> None:
        self._conninfo = conninfo
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(random.Random(seed),)) for seed in seeds]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self, chance: random.Random) -> None:
        while not self._stopped.is_set():
            try:
                with psycopg.connect(self._conninfo, autocommit=True, connect_timeout=5) as sql:
                    while not self._stopped.wait(0.02):
                        self._transaction(sql, chance)
            except psycopg.Error:
                self._stopped.wait(0.1)

    def _transaction(self, sql: psycopg.Connection[Any], chance: random.Random) -> None:
        sql.execute("BEGIN")
        for _ in range(chance.choice([1, 1, 3, 50])):
            sql.execute("SAVEPOINT one")
            try:
                sql.execute(*self._change(chance))
            except (psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected):
                sql.execute("ROLLBACK TO one")
                continue
            if chance.random() < 0.1:
                sql.execute("ROLLBACK TO one")
        sql.execute(b"ROLLBACK" if chance.random() < 0.1 else b"COMMIT")

    def _change(self, chance: random.Random) -> tuple[bytes, list[Any]]:
        one, other = chance.randrange(KEYS), chance.randrange(KEYS)
        amount = chance.randrange(10_000)
        return chance.choice(
            [
                (b"INSERT INTO accounts VALUES (%s, %s, repeat('x', 3000))", [one, amount]),
                (b"UPDATE accounts SET amount = %s WHERE id = %s", [amount, one]),
                (b"UPDATE accounts SET id = %s WHERE id = %s", [other, one]),
                (b"DELETE FROM accounts WHERE id = %s", [one]),
            ]
        )


@pytest.fixture
def server() -> Iterator[LocalPostgres]:
    with LocalPostgres() as running:
        yield running


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(600 + 120 * ROUNDS)
@pytest.mark.parametrize("is_several", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("transport", ["direct", pytest.param("staged", marks=pytest.mark.long)])
def test_each_change_is_written_once_in_its_place_whatever_is_killed(
    server: LocalPostgres,
    spark: SparkSession,
    spark_conf: dict[str, Any],
    rng: random.Random,
    tmp_path: Path,
    *,
    transport: str,
    is_several: bool,
) -> None:
    with psycopg.connect(server.conninfo, autocommit=True) as sql:
        sql.execute(TABLES.encode())
    options = {
        "source": "postgres",
        "url": server.conninfo,
        **(SEVERAL if is_several else {"table": "accounts"}),
        "slot": "hw_accounts",
        "publication": "hw_accounts",
        "createPublication": "true",
        "maxBytesPerTrigger": "400000",
        "transport": transport,
    }
    if transport == "staged":
        options["stateLocation"] = str(tmp_path / "state")
    columns = OF_SEVERAL if is_several else ["_op", "_lsn", "_seq", "_xid", "id", "amount"]
    job = ChangesJob(spark, spark_conf, tmp_path, options, columns)
    job.finish()  # it makes the slot, from which on each change counts
    kills = []

    def kill_server() -> None:
        server.kill()
        server.start()
        kills.append(1)

    with Writers(server.conninfo, [rng.randrange(1 << 32) for _ in range(3)]), repeating(kill_server, 7.0):
        assert job.kill_rounds(ROUNDS, rng) == {"Python worker": ROUNDS, "driver": ROUNDS}
        until(lambda: kills, "the first kill of the server")  # a quick machine is done before it
    job.finish()
    if is_several:
        selected = (SELECTED["id"], SELECTED["amount"], "_table", SELECTED["n"])
    else:
        selected = ("id", "cast(amount as string)", "'public.accounts'", "0")
    rows = job.rows("_lsn", "_seq", "_op", "_xid", *selected)
    with psycopg.connect(server.conninfo) as sql:
        noted = sql.execute(
            "SELECT xid::text::bigint, op, old_id, new_id, amount::text FROM audit ORDER BY n"
        )
        expected = _expected(noted.fetchall())
        left = sql.execute("SELECT id, amount::text FROM accounts ORDER BY id").fetchall()
        noted_numbers = [n for (n,) in sql.execute("SELECT n FROM audit ORDER BY n")]
    written: dict[int, list[Change]] = defaultdict(list)
    in_transaction: dict[int, int] = defaultdict(int)
    for lsn, seq, op, xid, key, amount, table, _ in rows:
        assert seq == in_transaction[xid], (lsn, seq)
        in_transaction[xid] += 1
        if table == "public.accounts":
            written[xid].append((op, key, amount))
    print(f"{len(rows)} changes in {len(written)} transactions, the server killed {len(kills)} times")
    assert len({(row[0], row[3]) for row in rows}) == len(written)
    assert dict(written) == expected
    assert _applied([row for row in rows if row[6] == "public.accounts"]) == left
    if is_several:
        assert sorted(row[7] for row in rows if row[6] == "public.audit") == noted_numbers


def _expected(noted: list[Change]) -> dict[int, list[Change]]:
    """Return the changes of each transaction, as rows tell them."""
    changes: dict[int, list[Change]] = defaultdict(list)
    for xid, op, old, new, amount in noted:
        if op == "DELETE" or (op == "UPDATE" and old != new):
            changes[xid].append(("d", old, None))
        if op != "DELETE":
            changes[xid].append(("u" if op == "UPDATE" and old == new else "c", new, amount))
    return dict(changes)


def _applied(rows: list[Change]) -> list[tuple[int, str]]:
    """Return what a target holds that applies all rows in their order."""
    state: dict[int, str] = {}
    for _, _, op, _, key, amount, _, _ in rows:
        if op == "d":
            del state[key]
        else:
            state[key] = amount
    return sorted(state.items())

"""A table is read in chunks, then its changes, while drivers, workers and the server are killed (SIGKILL).

Triggers note what writers did. Each key has the state of one moment, and then each later change once.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from local_postgres import LocalPostgres
from tests.connector.sources.postgres.audited import is_state_and_suffix
from tests.exactly_once.barrier_job import BarrierJob
from tests.exactly_once.test_postgres_kills import (
    KEYS,
    OF_SEVERAL,
    ROUNDS,
    SELECTED,
    SEVERAL,
    TABLES,
    Writers,
)
from tests.exactly_once.waiting import repeating

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def server() -> Iterator[LocalPostgres]:
    with LocalPostgres() as running:
        yield running


@pytest.fixture(
    params=[
        "direct",
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in ("staged", "several direct", "several staged")
        ),
    ]
)
def job(
    server: LocalPostgres,
    spark: SparkSession,
    spark_conf: dict[str, Any],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> BarrierJob:
    """A query over accounts, which has rows already, or over it and the table that notes its changes."""
    with psycopg.connect(server.conninfo, autocommit=True) as sql:
        sql.execute(TABLES.encode())
        sql.execute(b"INSERT INTO accounts SELECT i, i, 'first' FROM generate_series(1, %d) i" % (KEYS - 1))
    *several, transport = str(request.param).split()
    options = {
        "source": "postgres",
        "url": server.conninfo,
        **(SEVERAL if several else {"table": "accounts"}),
        "slot": "hw_accounts",
        "publication": "hw_accounts",
        "createPublication": "true",
        "startingPosition": "initial",
        "chunkRows": "4",
        "snapshotTasks": "2",
        "maxBytesPerTrigger": "400000",
        "transport": transport,
    }
    columns = OF_SEVERAL if several else ["_op", "_lsn", "_seq", "id", "amount"]
    return BarrierJob(spark, spark_conf, tmp_path, options, columns)


def _check(job: BarrierJob, server: LocalPostgres, rng: random.Random, rounds: int) -> None:
    kills = []

    def kill_server() -> None:
        server.kill()
        server.start()
        kills.append(1)

    seeds = [rng.randrange(1 << 32) for _ in range(3)]
    with Writers(server.conninfo, seeds), repeating(kill_server, 7.0):
        assert job.kill_rounds(rounds, rng) == {"Python worker": rounds, "driver": rounds}
    job.finish()
    brought: dict[int, list[tuple[str, str | None]]] = defaultdict(list)
    is_several = "tables" in job.options
    if is_several:
        every = job.rows("_lsn", "_seq", "_op", SELECTED["id"], SELECTED["n"], SELECTED["amount"], "_table")
    else:
        every = job.rows("_lsn", "_seq", "_op", "id", "0", "cast(amount as string)", "'public.accounts'")
    rows = [(*row[:4], row[5]) for row in every if row[6] == "public.accounts"]
    for _, _, op, key, amount in rows:
        brought[key].append((op, None if op == "d" else amount))
    with psycopg.connect(server.conninfo) as sql:
        noted = sql.execute("SELECT op, old_id, new_id, amount::text FROM audit ORDER BY n").fetchall()
        numbers = [n for (n,) in sql.execute("SELECT n FROM audit ORDER BY n")]
    was: dict[int, list[tuple[str, str | None]]] = defaultdict(list)
    for op, old, new, amount in noted:
        if op == "DELETE" or (op == "UPDATE" and old != new):
            was[old].append(("d", None))
        if op != "DELETE":
            was[new].append(("u" if op == "UPDATE" and old == new else "c", amount))
    wrong = [key for key in was.keys() | brought.keys() if not is_state_and_suffix(brought[key], was[key])]
    reads = sum(op == "r" for _, _, op, _, _ in rows)
    print(
        f"{reads} rows and {len(rows) - reads} of {len(noted)} changes; {rounds} drivers, {rounds} workers "
        f"and {len(kills)} servers killed; {len(wrong)} keys wrong"
    )
    assert [(key, brought[key], was[key]) for key in wrong] == []
    if is_several:
        assert sorted(row[4] for row in every if row[6] == "public.audit") == numbers
    # The rows came over several batches, with changes between the snapshots of their chunks.
    assert reads > KEYS / 4


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(600 + 120 * ROUNDS)
def test_each_key_has_one_state_and_each_later_change_whatever_is_killed(
    job: BarrierJob, server: LocalPostgres, rng: random.Random
) -> None:
    _check(job, server, rng, ROUNDS)


@pytest.mark.crash
@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("run", range(10))
def test_each_key_has_one_state_and_each_later_change_in_many_runs(
    job: BarrierJob, server: LocalPostgres, seed: int, run: int
) -> None:
    _check(job, server, random.Random(f"{seed} {run}"), 3)

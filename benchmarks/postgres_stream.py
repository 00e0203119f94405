"""Changes a second of a PostgreSQL table: decoded from memory, read from a slot, and in Spark.

    python -m benchmarks.postgres_stream [--changes 300000] [--rounds 3] [--spark]

The table has 8 columns (long, int, decimal, double, boolean, two texts, a time), the changes are 40 %
inserts, 40 % updates and 20 % deletes, in transactions of 100. *decoded* takes the messages from memory and
makes Arrow rows of them: changes by processor time, of a log with new rows alone, and of one with old ones
too (REPLICA IDENTITY FULL, includeBefore). *read* is a range of a slot through reader and emitter, *taken*
the same without the emitter: the limit is the server's sender, on the other core. *received* is the slot read
into files (transport=staged) and *read from files* what a task then does. With ``--spark`` also how
long a change takes from its commit to the sink of a stream, at 1,000 changes a second.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

import headwater as hw
from headwater.core.emitter import SplitState
from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.enumerators.postgres.split import WAL_PATH, WalSplit, lsn_of
from headwater.readers.postgres.wal_chunk import WalChunk
from headwater.testing import MicroBatchEngine
from headwater.testing.making import configured

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
from local_postgres import LocalPostgres

TABLE = """
CREATE TABLE load (
    id bigint PRIMARY KEY, n int, amount numeric(12, 2), share double precision, flag boolean, name text,
    at timestamptz, body text
)
"""
ROW = (
    "g, mod(g, 1000), g * 1.25, g * 0.37, mod(g, 2) = 0, 'name' || g, "
    "timestamptz '2024-01-01' + g * interval '1.234567 s', left(repeat(md5(g::text), 2), 48)"
)
FILL = f"""
DO $$ BEGIN
FOR t IN 0 .. %s LOOP
    INSERT INTO load SELECT {ROW} FROM generate_series(t * 40, t * 40 + 39) g;
    UPDATE load SET n = n + 1 WHERE id >= t * 40 AND id < t * 40 + 40;
    DELETE FROM load WHERE id >= t * 40 AND id < t * 40 + 20;
    COMMIT;
END LOOP; END $$
"""
ROLE = "bench"
FIRST_NEW = 1 << 30
"""No change before has such a key."""
LATENCY_S = 20
PER_S = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--changes", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spark", action="store_true")
    given = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with LocalPostgres() as server, psycopg.connect(server.conninfo, autocommit=True) as sql:
        sql.execute(TABLE.encode())
        sql.execute(f"CREATE ROLE {ROLE} SUPERUSER LOGIN REPLICATION PASSWORD '{ROLE}'".encode())
        compare(server, sql, given.changes, given.rounds)
        with tempfile.TemporaryDirectory() as folder:
            by_way_of_files(server, sql, given.changes, given.rounds, folder)
        if given.spark:
            with tempfile.TemporaryDirectory() as folder:
                latency(server, Path(folder))


def options(server: LocalPostgres, **more: str) -> dict[str, str]:
    """Return those of the source. Over TCP: a Unix socket holds few of the sender's small messages."""
    login = {"username": ROLE, "password": ROLE}
    named = {"slot": "load", "publication": "load", "createPublication": "true"}
    return {"url": server.url, "table": "load", **login, **named, **more}


def compare(server: LocalPostgres, sql: psycopg.Connection[Any], changes: int, rounds: int) -> None:
    """Print the rates of decoding and of reading."""
    engine = MicroBatchEngine.of("postgres", options(server))
    for before in ("false", "true"):
        if before == "true":
            sql.execute("ALTER TABLE load REPLICA IDENTITY FULL")
        sql.execute("TRUNCATE load")
        engine.run()
        sql.execute((FILL % (changes // 100 - 1)).encode())
        offset = json.loads(engine.offsets[-1])
        (head,) = sql.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone() or ("0/0",)
        start = offset["positions"]["wal"]
        whole = SplitRange(WalSplit.from_json(offset["splits"]["wal"]), start, lsn_of(head))
        chosen = options(server, includeBefore=before)
        source = configured("postgres", chosen, Boundedness.CONTINUOUS_UNBOUNDED).source
        chunks: list[WalChunk] = []
        images = "one image" if before == "false" else "both images"
        for what, work in (("taken", taken), ("decoded", decoded), ("read", read)):
            measures = [measured(partial(work, source, whole, chunks)) for _ in range(rounds)]
            tell(f"{what}, {images}, by the clock", [each[0] / each[1] for each in measures])
            tell(f"{what}, {images}, by processor time", [each[0] / each[2] for each in measures])


def by_way_of_files(
    server: LocalPostgres, sql: psycopg.Connection[Any], changes: int, rounds: int, folder: str
) -> None:
    """Print how fast a slot is received into files, and these are read."""
    chosen = options(server, slot="files", transport="staged", stateLocation=folder)
    sql.execute("ALTER TABLE load REPLICA IDENTITY DEFAULT")
    sql.execute("TRUNCATE load")
    engine = MicroBatchEngine.of("postgres", chosen)
    engine.run()
    sql.execute((FILL % (changes // 100 - 1)).encode())
    start = json.loads(engine.offsets[-1])
    stream = configured("postgres", chosen, Boundedness.CONTINUOUS_UNBOUNDED)
    with closing(stream.create_coordinator()) as coordinator:
        coordinator.prepare_for_available_now()
        _, seconds, used = measured(lambda: len(coordinator.plan_next(start, limited=True)))
        end: Any = coordinator.plan_next(start, limited=True)
        split = WalSplit.from_json(end["splits"]["wal"])
        whole = SplitRange(split, start["positions"]["wal"], end["positions"]["wal"])
        measures = [measured(partial(read, stream.source, whole, [])) for _ in range(rounds)]
        count = measures[0][0]
        tell("received into files, one image, by the clock", [count / seconds])
        tell("received into files, one image, by processor time", [count / used])
        tell("read from files, one image, by the clock", [each[0] / each[1] for each in measures])


def measured(work: Callable[[], int]) -> tuple[int, float, float]:
    """Return what it returns, and how long it took, by the clock and by processor time."""
    began, used = time.perf_counter(), time.process_time()
    count = work()
    return count, time.perf_counter() - began, time.process_time() - used


def taken(source: Any, whole: SplitRange[WalSplit, int], chunks: list[WalChunk]) -> int:
    """Take all messages of a range into a list; return how many rows they make."""
    chunks.clear()
    with closing(source.create_reader()) as reader:
        reader.handle_splits_changes([whole])
        while True:
            fetched = reader.fetch()
            chunks += fetched.records.get(WAL_PATH, ())
            if fetched.finished:
                # Two messages of each transaction are none of rows, and one of all is the table's form.
                return sum(len(chunk.ends) for chunk in chunks) * 100 // 102


def decoded(source: Any, whole: SplitRange[WalSplit, int], chunks: list[WalChunk]) -> int:
    """Make rows of messages; return how many."""
    emitter = source.create_emitter()
    state: SplitState[WalSplit, int] = SplitState(whole)
    return sum(batch.num_rows for chunk in chunks for batch in emitter.emit(chunk, state))


def read(source: Any, whole: SplitRange[WalSplit, int], _: list[WalChunk]) -> int:
    """Read a range; return how many rows it has."""
    emitter = source.create_emitter()
    state: SplitState[WalSplit, int] = SplitState(whole)
    rows = 0
    with closing(source.create_reader()) as reader:
        reader.handle_splits_changes([whole])
        while True:
            fetched = reader.fetch()
            for chunk in fetched.records.get(WAL_PATH, ()):
                rows += sum(batch.num_rows for batch in emitter.emit(chunk, state))
            if fetched.finished:
                return rows


def latency(server: LocalPostgres, folder: Path) -> None:
    """Print how long changes take from their commit to the sink."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    for name, value in hw.recommended_conf().items():
        builder = builder.config(name, value)
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    ages: list[float] = []

    def note(batch: Any, _: int) -> None:
        rows = batch.selectExpr("unix_micros(_commit_ts)").collect()
        now = time.time()
        ages.extend(now - row[0] / 1e6 for row in rows)

    changes = spark.readStream.format("headwater").options(source="postgres", **options(server, slot="late"))
    query = (
        changes.load()
        .writeStream.foreachBatch(note)
        .option("checkpointLocation", str(folder / "log"))
        .start()
    )
    stopped = threading.Event()
    with psycopg.connect(server.conninfo, autocommit=True) as sql:
        began = time.perf_counter()
        number = FIRST_NEW
        warm = 0
        while time.perf_counter() - began < 2 * LATENCY_S:
            sql.execute(
                f"INSERT INTO load SELECT {ROW} FROM generate_series({number}, {number + 9}) g".encode()
            )
            number += 10
            if not warm and time.perf_counter() - began > LATENCY_S:
                warm = len(ages)
            stopped.wait(max(0.0, (number - FIRST_NEW) / PER_S - (time.perf_counter() - began)))
    query.processAllAvailable()
    query.stop()
    steady = sorted(ages[warm:])
    ranks = {"p50": len(steady) // 2, "p99": len(steady) * 99 // 100}
    shown = ", ".join(f"{name} {steady[at] * 1_000:,.0f} ms" for name, at in ranks.items())
    sys.stdout.write(f"from commit to sink at {PER_S} changes a second: {shown} ({len(steady)} changes)\n")


def tell(what: str, rates: list[float]) -> None:
    """Print the median."""
    shown = ", ".join(f"{rate:,.0f}" for rate in rates)
    sys.stdout.write(f"{what}: {statistics.median(rates):,.0f} changes/s ({shown})\n")


if __name__ == "__main__":
    main()

"""Rows and changes a second of PostgreSQL: ``source=postgres`` beside what else reads it, in one run.

    python -m benchmarks.postgres [--peers debezium flink-cdc] [--quick] [--only tables] [--rows 1000000]

The server is on the same machine. *One task* is a range of the whole table, decoded into Arrow in this
process, without Spark: its rate is that of the processor time of this process. *Spark* reads the table with
two tasks into a noop sink: by headwater, by a stream of headwater that begins with all rows, by JDBC in two
partitions of the key, and by JDBC as it is without options. Changes are those of `postgres_backlog`. With
``--peers`` Debezium's embedded engine and Flink CDC read the same (`postgres_peers`): they need a JDK, and
are downloaded once. All take turns. Medians, and beside each the processor time of a million rows.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import psycopg
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.functions import count, lit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

import headwater as hw
from benchmarks.postgres_backlog import compare_changes
from benchmarks.postgres_bench import ROLE, PostgresBench
from benchmarks.postgres_peers import Debezium, FlinkCdc, Peer
from benchmarks.side_by_side import Subject, require_rows
from headwater.connector.sources.postgres.source import configure_postgres
from headwater.core.source import Boundedness
from local_postgres import LocalPostgres
from spark_kafka_jars import POSTGRES, spark_format_jar

TABLES = {
    "narrow": """
        CREATE TABLE narrow AS SELECT i::bigint AS id, (i % 1000)::int AS number,
        (i / 7.0)::numeric(12, 2) AS amount, i / 3.0::double precision AS ratio, i % 2 = 0 AS flag,
        'customer ' || i AS name, now() AS at, repeat('x', 48) AS pad FROM generate_series(1, {rows}) i
    """,
    "rows of 600 bytes": """
        CREATE TABLE wide AS SELECT i::bigint AS id, now() AS at, repeat(md5(i::text), 18) AS pad
        FROM generate_series(1, {rows}) i
    """,
}
PEERS = {"debezium": Debezium, "flink-cdc": FlinkCdc}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=(), help="who else reads it")
    parser.add_argument("--quick", action="store_true", help="100,000 rows, 50,000 changes, one round")
    parser.add_argument("--only", choices=("tables", "changes"), help="one of them; without it both")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--changes", type=int)
    parser.add_argument("--rounds", type=int)
    given = parser.parse_args(arguments)
    rows, changes, rounds = (100_000, 50_000, 1) if given.quick else (1_000_000, 300_000, 3)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with ExitStack() as stack:
        peers = [stack.enter_context(PEERS[name]()) for name in given.peers]
        server = stack.enter_context(LocalPostgres(settings={"shared_buffers": "1GB"}))
        sql = stack.enter_context(psycopg.connect(server.conninfo, autocommit=True))
        spark = session()
        stack.callback(spark.stop)
        bench = PostgresBench(server, sql, spark, peers, given.rounds or rounds)
        bench.run(f"CREATE ROLE {ROLE} SUPERUSER LOGIN REPLICATION PASSWORD '{ROLE}'")
        if given.only != "changes":
            compare_tables(bench, given.rows or rows)
        if given.only != "tables":
            compare_changes(bench, given.changes or changes)


def session() -> SparkSession:
    return (
        SparkSession.builder.master("local[2]")
        .config(map={**hw.recommended_conf()})
        .config("spark.jars", str(spark_format_jar(POSTGRES)))
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def compare_tables(bench: PostgresBench, most: int) -> None:
    """Print the rates of reading each of `TABLES`."""
    for title, statement in TABLES.items():
        rows = most if title == "narrow" else most // 2
        table = statement.split()[2]
        bench.run(
            statement.format(rows=rows),
            f"ALTER TABLE {table} ADD PRIMARY KEY (id)",
            f"CREATE PUBLICATION {table} FOR TABLE {table}",
            f"VACUUM ANALYZE {table}",
        )
        print(f"{title}, {rows:,} rows")
        show_one_task(bench, table, rows)
        subjects: dict[str, Subject] = {
            name: partial(into_noop, name, load, rows) for name, load in frames(bench, table, rows).items()
        }
        subjects["headwater, a stream from initial"] = bench.stream(table, rows, startingPosition="initial")
        subjects |= bench.peers_read(Peer.snapshot, table, rows)
        bench.compare(subjects, rows)


def show_one_task(bench: PostgresBench, table: str, rows: int) -> None:
    elapsed, processor = zip(*(one_task(bench, table, rows) for _ in range(bench.rounds + 1)), strict=True)
    took_s = statistics.median(elapsed[1:])
    cpu_s = statistics.median(processor[1:])
    print(f"  one task to Arrow: {rate(rows, took_s)} rows/s by the clock, {rate(rows, cpu_s)} a core")


def frames(bench: PostgresBench, table: str, rows: int) -> dict[str, Callable[[], DataFrame]]:
    """Return how Spark reads a table, in several ways."""
    address = {
        "url": f"jdbc:{bench.server.url}",
        "dbtable": table,
        "user": ROLE,
        "password": ROLE,
        "driver": "org.postgresql.Driver",
    }
    cut = {"partitionColumn": "id", "lowerBound": "1", "upperBound": str(rows), "numPartitions": "2"}
    return {
        "headwater": lambda: (
            bench.spark.read.format("headwater").options(source="postgres", **bench.options(table)).load()
        ),
        "JDBC, 2 partitions, fetchsize 10000": lambda: (
            bench.spark.read.format("jdbc").options(fetchsize="10000", **cut, **address).load()
        ),
        "JDBC, without options": lambda: bench.spark.read.format("jdbc").options(**address).load(),
    }


def into_noop(name: str, load: Callable[[], DataFrame], rows: int) -> float:
    seen = Observation()
    began = time.perf_counter()
    frame = load().observe(seen, count(lit(1)).alias("rows"))
    frame.write.format("noop").mode("overwrite").save()
    seconds = time.perf_counter() - began
    require_rows(name, seen.get["rows"], rows)
    return seconds


def one_task(bench: PostgresBench, table: str, rows: int) -> tuple[float, float]:
    """Return the seconds that one task took: by the clock, and of the processor."""
    options = {**bench.options(table), "snapshotidletimeout": "60s"}
    configured = configure_postgres(options, Boundedness.BOUNDED)
    configured = configured.with_schema(configured.schema(), given=False)
    coordinator = configured.create_coordinator()
    tasks = coordinator.plan_all()
    coordinator.close()
    began = time.perf_counter()
    processor = time.process_time()
    found = sum(batch.num_rows for task in tasks for batch in configured.read_task(task))
    require_rows("one task", found, rows)
    return time.perf_counter() - began, time.process_time() - processor


def rate(rows: int, seconds: float) -> str:
    return f"{rows / seconds / 1e6:.2f} M"


if __name__ == "__main__":
    main()

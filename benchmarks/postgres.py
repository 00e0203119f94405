"""Rows a second of tables of PostgreSQL: ``source=postgres`` beside Spark's own JDBC source, in one run.

    python -m benchmarks.postgres [--rows 1000000] [--rounds 3]

The server is on the same machine. *One task* is a range of the whole table, decoded into Arrow in this
process, without Spark: its rate is that of the processor time of this process. *Spark* reads the table with
two tasks into a noop sink: by headwater, by JDBC in two partitions of the key, and by JDBC as it is without
options, each round one after the other. Medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
from pyspark.sql import DataFrame, SparkSession

import headwater as hw
from headwater.connector.sources.postgres.source import configure_postgres
from headwater.core.source import Boundedness

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
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
ROLE = "bench"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with LocalPostgres(settings={"shared_buffers": "1GB"}) as server:
        spark = (
            SparkSession.builder.master("local[2]")
            .config(map={**hw.recommended_conf()})
            .config("spark.jars", str(spark_format_jar(POSTGRES)))
            .config("spark.driver.memory", "2g")
            .config("spark.ui.enabled", "false")
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
        with psycopg.connect(server.conninfo, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{ROLE}'")
            for title, statement in TABLES.items():
                rows = given.rows if title == "narrow" else given.rows // 2
                connection.execute(statement.format(rows=rows).encode())
                table = statement.split()[2]
                connection.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (id)".encode())
                connection.execute(f"GRANT SELECT ON {table} TO {ROLE}".encode())
                connection.execute(f"VACUUM ANALYZE {table}".encode())
                print(f"{title}, {rows:,} rows")
                compare(spark, server, table, rows=rows, rounds=given.rounds)
        spark.stop()


def compare(spark: SparkSession, server: LocalPostgres, table: str, *, rows: int, rounds: int) -> None:
    elapsed, processor = zip(*(one_task(server, table, rows) for _ in range(rounds + 1)), strict=True)
    took_s = statistics.median(elapsed[1:])
    cpu_s = statistics.median(processor[1:])
    print(f"  one task to Arrow: {rate(rows, took_s)} rows/s by the clock, {rate(rows, cpu_s)} a core")
    address = {
        "url": f"jdbc:{server.url}",
        "dbtable": table,
        "user": ROLE,
        "password": ROLE,
        "driver": "org.postgresql.Driver",
    }
    cut = {"partitionColumn": "id", "lowerBound": "1", "upperBound": str(rows), "numPartitions": "2"}
    subjects: dict[str, Callable[[], DataFrame]] = {
        "headwater": lambda: hw.read.postgres(
            spark, url=server.url, username=ROLE, password=ROLE, table=table
        ),
        "JDBC, 2 partitions, fetchsize 10000": lambda: (
            spark.read.format("jdbc").options(fetchsize="10000", **cut, **address).load()
        ),
        "JDBC, without options": lambda: spark.read.format("jdbc").options(**address).load(),
    }
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(rounds + 1):
        for name, load in subjects.items():
            began = time.perf_counter()
            load().write.format("noop").mode("overwrite").save()
            if number:  # the first one compiles and loads
                times[name].append(time.perf_counter() - began)
    medians = {name: statistics.median(each) for name, each in times.items()}
    for name, median in medians.items():
        print(f"  {name}: {rate(rows, median)} rows/s, {median / medians['headwater']:.1f}x the time")


def one_task(server: LocalPostgres, table: str, rows: int) -> tuple[float, float]:
    """Return the seconds that one task took: by the clock, and of the processor."""
    options = {
        "url": server.url,
        "username": ROLE,
        "password": ROLE,
        "table": table,
        "snapshotidletimeout": "60s",
    }
    configured = configure_postgres(options, Boundedness.BOUNDED)
    configured = configured.with_schema(configured.schema(), given=False)
    coordinator = configured.create_coordinator()
    tasks = coordinator.plan_all()
    coordinator.close()
    began = time.perf_counter()
    processor = time.process_time()
    found = sum(batch.num_rows for task in tasks for batch in configured.read_task(task))
    assert found == rows
    return time.perf_counter() - began, time.process_time() - processor


def rate(rows: int, seconds: float) -> str:
    return f"{rows / seconds / 1e6:.2f} M"


if __name__ == "__main__":
    main()

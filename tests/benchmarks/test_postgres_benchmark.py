"""The benchmark of PostgreSQL runs: every subject reads all of a few rows. Times do not count."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import psycopg
import pytest

from benchmarks import postgres, postgres_backlog
from benchmarks.bench import BenchmarkError
from benchmarks.postgres_bench import ROLE, PostgresBench
from benchmarks.postgres_peers import Debezium, FlinkCdc, Peer
from benchmarks.side_by_side import require_rows
from local_postgres import LocalPostgres
from spark_kafka_jars import POSTGRES, spark_format_jar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 400
CHANGES = 200
OF_SPARK = {"headwater", "JDBC, 2 partitions, fetchsize 10000", "JDBC, without options"}
OF_STREAMS = {"headwater, a stream from initial", "headwater, direct", "headwater, staged"}


PEERS = [(), *(pytest.param((each,), marks=pytest.mark.long) for each in (Debezium, FlinkCdc))]


@pytest.fixture(params=PEERS, ids=["Spark alone", "Debezium", "Flink CDC"])
def bench(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[PostgresBench]:
    spark.sql(f"ADD JAR '{spark_format_jar(POSTGRES)}'")
    with ExitStack() as stack:
        peers: list[Peer] = [stack.enter_context(each()) for each in request.param]
        server = stack.enter_context(LocalPostgres())
        sql = stack.enter_context(psycopg.connect(server.conninfo, autocommit=True))
        sql.execute(f"CREATE ROLE {ROLE} SUPERUSER LOGIN REPLICATION PASSWORD '{ROLE}'")
        yield PostgresBench(server, sql, spark, peers, rounds=1, warmups=0)


def test_every_subject_reads_every_row_and_every_change(
    bench: PostgresBench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of one of two tables: that is enough of the suite's time."""
    monkeypatch.delitem(postgres.TABLES, "narrow")
    monkeypatch.delitem(postgres_backlog.LOADS, "wide_load")
    postgres.compare_tables(bench, ROWS)
    postgres_backlog.compare_changes(bench, CHANGES)
    lines = capsys.readouterr().out.splitlines()
    rates = [line.strip().partition(":")[0] for line in lines if "a second" in line]
    peers = {peer.name for peer in bench.peers}
    assert set(rates) == OF_SPARK | OF_STREAMS | peers
    assert all(rates.count(name) == 2 for name in peers)
    assert bench.sql.execute("SELECT slot_name FROM pg_replication_slots").fetchall() == []


def test_a_subject_that_reads_other_rows_ends_the_benchmark() -> None:
    require_rows("a peer", 3, 3)
    with pytest.raises(BenchmarkError, match="a peer read 4 rows instead of 3"):
        require_rows("a peer", 4, 3)

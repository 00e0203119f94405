"""`headwater replicate`: what is missing is said at once, a program is written, and it keeps a copy."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession
from s3fs import S3FileSystem

from headwater.errors import OptionError
from headwater.tools.commands.main import main
from headwater.tools.commands.replica_target import ReplicaTarget
from local_postgres import LocalPostgres
from tests.s3_server import S3Server

pytestmark = pytest.mark.slow

SECRET = "not/to be@seen"
CATALOG = "org.apache.spark.sql.connector.catalog.SharedTablesInMemoryRowLevelOperationTableCatalog"
"""Its tables are those of all sessions and catalogs: the function of a stream has a session of its own."""


@pytest.fixture
def shop(postgres: LocalPostgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.conninfo, autocommit=True) as connection:
        yield connection


@pytest.fixture
def name(
    shop: psycopg.Connection, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The name of a table with two rows; also that of its slot and publication, after hw_."""
    monkeypatch.chdir(tmp_path)
    name = topic.replace("-", "_")[-40:].lstrip("_")
    shop.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, item text, amount numeric(10, 2))")
    shop.execute(f"INSERT INTO {name} VALUES (1, 'tea', 3.5), (2, 'milk', 1.2)")
    yield name
    shop.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s",
        [f"hw_{name}"],
    )
    shop.execute(f"DROP PUBLICATION IF EXISTS hw_{name}")
    shop.execute(f"DROP TABLE {name} CASCADE")


@pytest.fixture
def role(shop: psycopg.Connection, name: str) -> Iterator[str]:
    """A role that may log in by the password `SECRET`, and nothing else."""
    role = f"{name}_role"
    shop.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{SECRET}'")
    yield role
    shop.execute(f"DROP OWNED BY {role}")
    shop.execute(f"DROP ROLE {role}")


def replicate(url: str, table: str, *more: str) -> int:
    return main(
        ["replicate", url, "--table", table, "--into", "lake.shop.orders", "--using", "memory", *more]
    )


def test_all_that_is_missing_is_said_at_once_with_its_sql_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with (
        LocalPostgres(settings={"wal_level": "replica"}) as server,
        psycopg.connect(server.conninfo, autocommit=True) as admin,
    ):
        admin.execute("CREATE SCHEMA shop")
        admin.execute("CREATE TABLE shop.orders (id int)")
        admin.execute("CREATE ROLE etl LOGIN")
        as_etl = server.conninfo.replace("user=postgres", "user=etl")
        assert replicate(as_etl, "shop.orders") == 1
        *findings, last = capsys.readouterr().out.splitlines()
        for sql in (
            "ALTER SYSTEM SET wal_level = 'logical'",
            'ALTER ROLE "etl" REPLICATION',
            'CREATE PUBLICATION "hw_shop_orders" FOR TABLE "shop"."orders"',
            'ALTER TABLE "shop"."orders" ADD PRIMARY KEY (...)',
            'GRANT USAGE ON SCHEMA "shop" TO "etl"',
            'GRANT SELECT ON "shop"."orders" TO "etl"',
        ):
            (finding,) = [each for each in findings if sql in each]
            findings.remove(finding)
        assert len(findings) == 6
        assert all(each.startswith("not ok  ") for each in findings)
        assert last == "6 missing: mend what stands above, then run this command again"
        assert not list(tmp_path.iterdir())


def test_the_sql_that_is_said_mends_it(
    postgres: LocalPostgres,
    shop: psycopg.Connection,
    name: str,
    role: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = postgres.conninfo.replace("user=postgres", f"user={role}")
    assert replicate(url, name) == 1
    sql = capsys.readouterr().out.splitlines()[1:-1:2]
    assert len(sql) == 3
    assert sum(each.endswith("; or --create-publication") for each in sql) == 1
    for each in sql:
        shop.execute(each.partition("; or ")[0].encode())
    assert replicate(url, name, "--write-only") == 0


def test_a_password_of_the_url_is_neither_written_nor_shown(
    postgres: LocalPostgres,
    shop: psycopg.Connection,
    name: str,
    role: str,
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PGPASSWORD", "")
    shop.execute(f"ALTER ROLE {role} REPLICATION")
    shop.execute(f"GRANT SELECT ON {name} TO {role}")
    shop.execute(f"CREATE PUBLICATION hw_{name} FOR TABLE {name}")
    url = postgres.url.replace("://", f"://{role}:not%2Fto%20be%40seen@")
    assert replicate(url, name, "--write-only") == 0
    program = (tmp_path / f"replicate_{name}.py").read_text()
    assert f'.option("username", "{role}")' in program
    assert f'.option("url", "{postgres.url}")' in program
    assert '.option("password", "env:PGPASSWORD")' in program
    assert os.environ["PGPASSWORD"] == SECRET
    said = capfd.readouterr()
    assert "export PGPASSWORD=" in said.out
    for shown in (program, said.out, said.err):
        assert "seen" not in shown


LAKE = ["--into", "lake.shop"]
"""A schema, for several tables."""
SLIPS = {
    "a host that is none": (["postgresql://no-such-host.invalid/shop"], "check the host in option url"),
    "a password that is wrong": (["{url_with_password}"], "check the options username and password"),
    "a table that is not there": (["{conninfo}", "--table", "no_such", *LAKE], "there is no table no_such"),
    "a view": (["{conninfo}", "--table", "{name}_view", *LAKE], "is a view, which has no changes in the log"),
    "a slot with a capital": (["{conninfo}", "--slot", "Orders"], "must be up to 63 lower-case letters"),
    "a slot whose name is too long": (
        ["{conninfo}", "--slot", "o" * 64],
        "must be up to 63 lower-case letters",
    ),
    "a slot that is taken": (
        ["{conninfo}", "--slot", "{name}_taken"],
        "SELECT pg_drop_replication_slot('{name}_taken')",
    ),
    "a schema for several tables with too many parts": (
        ["{conninfo}", "--table", "{name}_other", "--into", "a.b.c", "--slot", "hw_{name}"],
        "must be a path, such as /lake/orders",
    ),
    "a program that is there": (["{conninfo}", "--program", "mine.py"], "--program FILE"),
    "a target that is none": (
        ["{conninfo}", "--into", "lake.orders;"],
        "must be a path, such as /lake/orders",
    ),
    "Delta's package of another Spark": (
        ["{conninfo}", "--into", "/lake/orders", "--using", "delta"],
        "pip install 'pyspark==4.2.*'",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_status_1_and_says_what_to_do(
    postgres: LocalPostgres,
    shop: psycopg.Connection,
    name: str,
    role: str,
    slip: str,
    *,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments, remedy = SLIPS[slip]
    monkeypatch.setenv("PGPASSWORD", "")
    monkeypatch.setattr("pyspark.__version__", "4.3.0")
    shop.execute(f"CREATE VIEW {name}_view AS SELECT * FROM {name}")
    shop.execute(f"CREATE TABLE {name}_other (id int PRIMARY KEY)")
    shop.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', true)", [f"{name}_taken"])
    Path("mine.py").write_text("print('mine')\n")
    words = {
        "conninfo": postgres.conninfo,
        "url_with_password": postgres.url.replace("://", f"://{role}:wrong@"),
        "name": name,
    }
    given = [each.format_map(words) for each in arguments]
    assert replicate(given[0], name, "--create-publication", *given[1:]) == 1
    said = capsys.readouterr()
    assert remedy.format_map(words) in said.out + said.err
    assert [each.name for each in Path().iterdir()] == ["mine.py"]
    assert Path("mine.py").read_text() == "print('mine')\n"
    shop.execute("SELECT pg_drop_replication_slot(%s)", [f"{name}_taken"])
    shop.execute(f"DROP TABLE {name}_other")


def test_copies_checkpoint_and_state_may_be_in_an_object_store(
    postgres: LocalPostgres, name: str, s3: S3Server, *, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = s3.storage_options
    monkeypatch.setenv("AWS_ENDPOINT_URL", server["endpoint_url"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", server["key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server["secret"])
    monkeypatch.setattr("pyspark.__version__", "4.2.0")
    places = ["--into", "s3a://lake/orders", "--using", "delta", "--folder", "s3a://state/orders/"]
    run = [postgres.conninfo, name, *places, "--create-publication", "--write-only"]
    assert replicate(*run) == 0
    program = (tmp_path / f"replicate_{name}.py").read_text()
    assert 'INTO = "delta.`s3a://lake/orders`"' in program
    assert '.option("checkpointLocation", "s3a://state/orders/checkpoint")' in program
    assert '.option("stateLocation", "s3a://state/orders/state")' in program
    # A query that has begun has its slot already.
    fs = S3FileSystem(**server)
    fs.pipe("state/orders/checkpoint/metadata", b'{"id":"one"}')
    with psycopg.connect(postgres.conninfo, autocommit=True) as sql:
        sql.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [f"hw_{name}"])
        assert replicate(*run) == 0
        fs.rm("state/orders", recursive=True)
        assert replicate(*run) == 1


@pytest.fixture
def session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """The session of all tests, which a program that is run here neither stops nor changes."""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    return spark


def test_rows_then_changes_come_into_a_table_that_is_made_and_a_later_run_goes_on(
    postgres: LocalPostgres,
    shop: psycopg.Connection,
    name: str,
    session: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:
    into = f"{name}.{name}.orders"
    conf = f"spark.sql.catalog.{name}={CATALOG}"
    run = [postgres.conninfo, name, "--into", into, "--create-publication", "--available-now", "--conf", conf]

    def rows() -> list[tuple[int, str]]:
        return sorted((row["id"], row["item"]) for row in session.table(into).collect())

    try:
        assert replicate(*run) == 0, capsys.readouterr().err
        assert rows() == [(1, "tea"), (2, "milk")]
        shop.execute(f"UPDATE {name} SET item = 'salt' WHERE id = 1")
        shop.execute(f"DELETE FROM {name} WHERE id = 2")
        shop.execute(f"INSERT INTO {name} VALUES (3, 'bread', 2)")
        assert replicate(*run) == 0, capsys.readouterr().err
        assert rows() == [(1, "salt"), (3, "bread")]
        assert session.table(into).schema["amount"].dataType.simpleString() == "decimal(10,2)"
        session.sql(f"ALTER TABLE {into} DROP COLUMN item")
        assert replicate(*run) == 1
        last = capsys.readouterr().err.splitlines()[-1]
        assert "the table lacks 'item'" in last
        assert "ALTER TABLE ... ADD COLUMN" in last
    finally:
        session.sql(f"DROP TABLE {into}")
        session.conf.set("spark.sql.shuffle.partitions", "2")


def test_one_program_follows_several_tables_each_by_its_key_and_its_types(
    postgres: LocalPostgres,
    shop: psycopg.Connection,
    name: str,
    session: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shop.execute(f'CREATE TABLE "{name}-2" (code text, part int, seen timestamptz, PRIMARY KEY (part, code))')
    shop.execute(f"INSERT INTO \"{name}-2\" VALUES ('a', 1, '2026-01-01 12:00+00'), ('b', 1, NULL)")
    into = f"{name}.{name}"
    run = [postgres.conninfo, name, "--table", f'public."{name}-2"', "--into", into, "--slot", f"hw_{name}"]
    run += ["--create-publication", "--available-now", "--conf", f"spark.sql.catalog.{name}={CATALOG}"]

    def rows(table: str, *columns: str) -> list[tuple[Any, ...]]:
        return sorted(map(tuple, session.table(f"{into}.`{table}`").selectExpr(*columns).collect()))

    try:
        assert replicate(*run) == 0, capsys.readouterr().err
        said = capsys.readouterr().out
        assert f"ok      public.{name}-2, by its key part, code\n" in said
        assert f"replicate_{name}_{name}.py is the program" in said
        assert rows(name, "id", "item") == [(1, "tea"), (2, "milk")]
        with shop.transaction():
            shop.execute(f"UPDATE {name} SET item = 'salt' WHERE id = 1")
            shop.execute(f"DELETE FROM \"{name}-2\" WHERE code = 'a'")
        shop.execute(f"INSERT INTO \"{name}-2\" VALUES ('a', 2, '2026-01-01 14:30:00.5+02')")
        shop.execute(f"TRUNCATE {name}")
        shop.execute(f"INSERT INTO {name} VALUES (3, 'bread', 2)")
        assert replicate(*run) == 0, capsys.readouterr().err
        assert rows(name, "id", "item", "cast(amount AS string)") == [(3, "bread", "2.00")]
        assert rows(f"{name}-2", "part", "code", "coalesce(unix_millis(seen), -1)") == [
            (1, "b", -1),
            (2, "a", 1_767_270_600_500),
        ]
    finally:
        session.sql(f"DROP SCHEMA IF EXISTS {into} CASCADE")
        session.conf.set("spark.sql.shuffle.partitions", "2")
        shop.execute(f'DROP TABLE "{name}-2"')


@pytest.mark.parametrize(
    ("into", "expected"),
    [
        ("/lake/shop/", ["delta.`/lake/shop/orders`", "delta.`/lake/shop/all orders`"]),
        ("s3a://lake/shop", ["delta.`s3a://lake/shop/orders`", "delta.`s3a://lake/shop/all orders`"]),
        ("shop", ["shop.orders", "shop.`all orders`"]),
        ("unity.shop", ["unity.shop.orders", "unity.shop.`all orders`"]),
    ],
)
def test_the_target_of_several_tables_is_a_folder_or_a_schema(into: str, expected: list[str]) -> None:
    target = ReplicaTarget(into, "delta", {})
    assert [each.sql for each in target.of_several(["orders", "all orders"])] == expected
    with pytest.raises(OptionError, match="two tables are named Orders"):
        target.of_several(["orders", "Orders"])


@pytest.mark.parametrize(
    ("into", "sql", "schema"),
    [
        ("/lake/orders", "delta.`/lake/orders`", ""),
        ("s3a://lake/orders", "delta.`s3a://lake/orders`", ""),
        ("orders", "orders", ""),
        ("lake.orders", "lake.orders", "lake"),
        ("lake.`all/orders`", "lake.`all/orders`", "lake"),
        ("unity.lake.orders", "unity.lake.orders", "unity.lake"),
    ],
)
def test_a_target_is_a_path_or_a_name(into: str, sql: str, schema: str) -> None:
    target = ReplicaTarget(into, "delta", {})
    assert (target.sql, target.schema) == (sql, schema)

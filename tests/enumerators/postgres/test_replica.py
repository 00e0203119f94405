"""What keeps a table from being followed by another one: found at once, each with what mends it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from headwater.enumerators.postgres.connection import connect
from headwater.enumerators.postgres.replica import examine_replicas
from headwater.enumerators.postgres.settings import PostgresSettings
from headwater.enumerators.postgres.stream_settings import StreamSettings
from local_postgres import LocalPostgres

CREATION = 'CREATE PUBLICATION "{name}" FOR TABLE "public"."{name}" WITH (publish_via_partition_root = true)'


@pytest.fixture
def shop(postgres: LocalPostgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.conninfo, autocommit=True) as connection:
        yield connection


@pytest.fixture
def name(shop: psycopg.Connection, topic: str) -> Iterator[str]:
    """The name of a table, of a publication that has it, and of a role that may read it and the log."""
    name = topic.replace("-", "_")[-50:].lstrip("_")
    shop.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, note text NOT NULL)")
    shop.execute(f"CREATE PUBLICATION {name} FOR TABLE {name}")
    shop.execute(f"CREATE ROLE {name} LOGIN REPLICATION")
    shop.execute(f"GRANT SELECT ON {name} TO {name}")
    yield name
    shop.execute(f"DROP PUBLICATION IF EXISTS {name}")
    shop.execute(f"DROP TABLE {name}")
    shop.execute(f"DROP ROLE {name}")


def examined(
    server: LocalPostgres, name: str, *, creates: bool = False, is_new: bool = True
) -> tuple[tuple[str, ...], list[str]]:
    """Return the key of a table, and what is in its way."""
    settings = PostgresSettings(url=server.conninfo.replace("user=postgres", f"user={name}"))
    stream = StreamSettings(slot=name, publication=name, creates_publication=creates)
    with connect(settings) as connection:
        ((replica,), findings) = examine_replicas(connection, [name], stream, is_new=is_new)
    assert replica.table.full_name == f"public.{name}"
    return replica.key, findings


def findings_of(server: LocalPostgres, name: str, *, creates: bool = False, is_new: bool = True) -> list[str]:
    return examined(server, name, creates=creates, is_new=is_new)[1]


def test_nothing_is_in_the_way_of_a_table_with_a_key(postgres: LocalPostgres, name: str) -> None:
    assert examined(postgres, name) == (("id",), [])


@pytest.mark.parametrize(
    ("sql", "key"),
    [
        ("ALTER TABLE {name} REPLICA IDENTITY FULL", ("id",)),
        (
            "CREATE UNIQUE INDEX i ON {name} (note); ALTER TABLE {name} REPLICA IDENTITY USING INDEX i",
            ("note",),
        ),
        ("ALTER TABLE {name} DROP CONSTRAINT {name}_pkey, ADD PRIMARY KEY (note, id)", ("note", "id")),
    ],
)
def test_the_key_is_that_by_which_the_log_names_rows(
    postgres: LocalPostgres, shop: psycopg.Connection, name: str, sql: str, key: tuple[str, ...]
) -> None:
    shop.execute(sql.format(name=name).encode())
    assert examined(postgres, name) == (key, [])


FINDINGS = {
    "no key": ("ALTER TABLE {name} DROP CONSTRAINT {name}_pkey", "ADD PRIMARY KEY (...)"),
    "no key, though the log has all columns": (
        "ALTER TABLE {name} DROP CONSTRAINT {name}_pkey; ALTER TABLE {name} REPLICA IDENTITY FULL",
        "ADD PRIMARY KEY (...)",
    ),
    "a key that may be broken meanwhile": (
        "ALTER TABLE {name} DROP CONSTRAINT {name}_pkey, ADD PRIMARY KEY (id) DEFERRABLE",
        "ADD PRIMARY KEY (...)",
    ),
    "a key that the log does not have": (
        "ALTER TABLE {name} REPLICA IDENTITY NOTHING",
        'ALTER TABLE "public"."{name}" REPLICA IDENTITY FULL',
    ),
    "row security": (
        "ALTER TABLE {name} ENABLE ROW LEVEL SECURITY",
        'ALTER ROLE "{name}" BYPASSRLS',
    ),
    "a column that may not be read": (
        "REVOKE SELECT ON {name} FROM {name}; GRANT SELECT (id) ON {name} TO {name}",
        'GRANT SELECT ("note") ON "public"."{name}" TO "{name}"',
    ),
    "a publication without the table": (
        "ALTER PUBLICATION {name} DROP TABLE {name}",
        'ALTER PUBLICATION "{name}" ADD TABLE "public"."{name}"',
    ),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_each_thing_that_is_in_the_way_is_one_finding(
    postgres: LocalPostgres, shop: psycopg.Connection, name: str, case: str
) -> None:
    sql, remedy = FINDINGS[case]
    shop.execute(sql.format(name=name).encode())
    (finding,) = findings_of(postgres, name)
    assert remedy.format(name=name) in finding


def test_findings_of_several_tables_come_once_each_with_its_table(
    postgres: LocalPostgres, shop: psycopg.Connection, name: str
) -> None:
    settings = PostgresSettings(url=postgres.conninfo.replace("user=postgres", f"user={name}"))
    stream = StreamSettings(slot=name, publication=name)
    shop.execute(f"CREATE TABLE {name}_2 (id int)")
    with connect(settings) as connection:
        replicas, findings = examine_replicas(connection, [name, f"{name}_2"], stream, is_new=True)
    shop.execute(f"DROP TABLE {name}_2")
    assert [each.key for each in replicas] == [("id",), ()]
    assert all(each.startswith(f"public.{name}_2: ") for each in findings)
    remedies = ("ADD TABLE", "ADD PRIMARY KEY", "GRANT SELECT")
    assert [sum(each in finding for finding in findings) for each in remedies] == [1, 1, 1]
    assert len(findings) == 3


def test_a_role_that_may_not_make_the_publication_is_told_so_with_the_sql_for_another_one(
    postgres: LocalPostgres, shop: psycopg.Connection, name: str
) -> None:
    shop.execute(f"DROP PUBLICATION {name}")
    (finding,) = findings_of(postgres, name, creates=True)
    assert "may not make publication" in finding
    assert finding.endswith(CREATION.format(name=name))
    shop.execute(f"ALTER TABLE {name} OWNER TO {name}")
    shop.execute(f"GRANT CREATE ON DATABASE postgres TO {name}")
    assert not findings_of(postgres, name, creates=True)
    shop.execute(f"REVOKE CREATE ON DATABASE postgres FROM {name}")
    shop.execute(f"ALTER TABLE {name} OWNER TO postgres")


def test_a_slot_that_is_there_is_another_querys_unless_this_one_goes_on(
    postgres: LocalPostgres, shop: psycopg.Connection, name: str
) -> None:
    shop.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [name])
    (finding,) = findings_of(postgres, name)
    assert finding.endswith(f"SELECT pg_drop_replication_slot('{name}')")
    assert not findings_of(postgres, name, is_new=False)
    shop.execute("SELECT pg_drop_replication_slot(%s)", [name])


def test_a_server_whose_slots_are_used_up_says_how_many_there_are() -> None:
    with (
        LocalPostgres(settings={"max_replication_slots": "1"}) as server,
        psycopg.connect(server.conninfo, autocommit=True) as admin,
    ):
        admin.execute("CREATE TABLE orders (id int PRIMARY KEY)")
        admin.execute("CREATE PUBLICATION orders FOR TABLE orders")
        admin.execute("CREATE ROLE orders SUPERUSER LOGIN")
        assert not findings_of(server, "orders")
        admin.execute("SELECT pg_create_physical_replication_slot('standby')")
        (finding,) = findings_of(server, "orders")
        assert "the server has 1 slots and takes no more" in finding
        assert "max_replication_slots = 11" in finding

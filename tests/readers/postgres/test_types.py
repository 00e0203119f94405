"""Each type of PostgreSQL: the value that is read says what the server's own text says."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql

from headwater.connector.sources.postgres.source import configure_postgres
from headwater.core.errors import SourceError
from headwater.core.source import Boundedness
from local_postgres import WHEEL_VERSIONS, LocalPostgres
from tests.conftest import SEED
from tests.postgres_values import OWN_TYPES, WITHOUT_INPUT, values_of

Connection = psycopg.Connection[tuple[Any, ...]]
ALL_TYPES = """
SELECT typname FROM pg_type
WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm', 'd') AND typelem = 0
   OR typname IN ('name', 'int2vector', 'oidvector', 'point', 'box', 'lseg', 'line')
"""


def read(url: str, table: str, **options: str) -> list[dict[str, Any]]:
    given = {"url": url, "table": table, "snapshotidletimeout": "20s", **options}
    configured = configure_postgres(given, Boundedness.BOUNDED)
    configured = configured.with_schema(configured.schema(), given=False)
    coordinator = configured.create_coordinator()
    tasks = coordinator.plan_all()
    coordinator.close()
    return [row for task in tasks for batch in configured.read_task(task) for row in batch.to_pylist()]


@pytest.fixture(scope="module", params=[None, *WHEEL_VERSIONS], ids=lambda version: f"{version or 'Debian'}")
def server(request: pytest.FixtureRequest, postgres: LocalPostgres) -> Iterator[LocalPostgres]:
    if request.param is None:
        yield postgres
        return
    with LocalPostgres(version=request.param) as running:
        yield running


@pytest.fixture(scope="module")
def database(server: LocalPostgres) -> Iterator[tuple[str, Connection]]:
    with psycopg.connect(server.conninfo, autocommit=True) as admin:
        admin.execute("CREATE DATABASE all_types")
    with psycopg.connect(server.conninfo, dbname="all_types", autocommit=True) as connection:
        for statement in OWN_TYPES.split(";\n"):
            connection.execute(statement)
        # What a role or a database sets must not change a text.
        connection.execute("ALTER DATABASE all_types SET datestyle = 'German'")
        connection.execute("ALTER DATABASE all_types SET timezone = 'Asia/Kolkata'")
        connection.execute("ALTER DATABASE all_types SET bytea_output = 'escape'")
        connection.execute("ALTER DATABASE all_types SET intervalstyle = 'iso_8601'")
        connection.execute("ALTER DATABASE all_types SET extra_float_digits = -10")
        yield server.conninfo.replace("dbname=postgres", "dbname=all_types"), connection


def known_types(connection: Connection) -> dict[str, list[str]]:
    """Return drawn values of the types that this server has."""
    values = values_of(random.Random(SEED), drawn=20)
    return {
        kind: texts
        for kind, texts in values.items()
        if connection.execute("SELECT to_regtype(%s)", [re.sub(r"\(.*\)", "", kind)]).fetchone() != (None,)
        and not (kind == "xml" and not takes_xml(connection))
    }


def takes_xml(connection: Connection) -> bool:
    """Whether the server was built with libxml: those of the wheel are not."""
    try:
        connection.execute("SELECT '<a/>'::xml")
    except psycopg.errors.FeatureNotSupported:
        return False
    return True


def test_there_are_values_of_each_type_that_the_server_brings(database: tuple[str, Connection]) -> None:
    _, connection = database
    built_in = {row[0] for row in connection.execute(ALL_TYPES)}
    tried = {re.sub(r"\(.*\)|\W", "", kind) for kind in known_types(connection)}
    assert built_in - WITHOUT_INPUT - tried - {"xml"} == set()


def test_each_value_says_what_the_servers_own_text_says(database: tuple[str, Connection]) -> None:
    url, connection = database
    values = known_types(connection)
    rows = max(map(len, values.values()))
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(values))
    connection.execute(sql.SQL("CREATE TABLE everything (n int, {})").format(sql.SQL(columns)))
    for row in range(rows):
        texts = [each[row] if row < len(each) else None for each in values.values()]
        connection.execute(
            sql.SQL("INSERT INTO everything VALUES ({})").format(
                sql.SQL(", ").join([sql.Literal(row), *map(sql.Literal, texts)])
            )
        )
    # COPY in text form calls the output function of each type.
    session = "datestyle=ISO intervalstyle=postgres timezone=UTC extra_float_digits=1 bytea_output=hex"
    options = " ".join(f"-c {each}" for each in session.split())
    query = "COPY (SELECT * FROM everything ORDER BY n) TO STDOUT"
    with psycopg.connect(url, options=options) as plain, plain.cursor().copy(query) as copy:
        copied: list[tuple[Any, ...]] = list(copy.rows())
    found = sorted(read(url, "everything"), key=lambda row: row["n"])
    assert len(found) == len(copied) == rows
    for each, expected in zip(found, copied, strict=True):
        for kind, value, text in zip(("int", *values), each.values(), expected, strict=True):
            assert said(value, text), (kind, value, text)
    names = ",".join(f"c{number}" for number in range(len(values)))
    as_text = sorted(read(url, "everything", textcolumns=names), key=lambda row: row["n"])
    assert [tuple(row.values())[1:] for row in as_text] == [row[1:] for row in copied]


def said(value: Any, text: str | None) -> bool:
    """Whether a value is what a text says."""
    if value is None or text is None:
        return value is text
    parse: dict[type, Callable[[str], Any]] = {
        bool: lambda each: {"t": True, "f": False}[each],
        int: int,
        Decimal: Decimal,
        bytes: lambda each: bytes.fromhex(each.removeprefix("\\x")),
        dt.date: dt.date.fromisoformat,
        dt.datetime: dt.datetime.fromisoformat,
    }
    if isinstance(value, float):
        # A float of 32 bits comes to Python as the double next to it.
        expected = float(text)
        single = pa.scalar(expected, pa.float32()).as_py()
        return repr(value) in {repr(expected), repr(single)}
    return bool(parse.get(type(value), str)(text) == value)


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("date", "infinity", "infinity"),
        ("date", "-infinity", "-infinity"),
        ("date", "0001-12-31 BC", "a time before the year 1"),
        ("date", "10000-01-01", "a time after the year 9999"),
        ("timestamp", "infinity", "infinity"),
        ("timestamp", "0001-12-31 23:59:59.999999 BC", "a time before the year 1"),
        ("timestamptz", "10000-01-01 00:00:00+00", "a time after the year 9999"),
        ("numeric(10,2)", "NaN", "NaN"),
    ],
)
def test_a_value_without_a_place_is_an_error_and_its_text_is_not(
    postgres: LocalPostgres, kind: str, value: str, shown: str
) -> None:
    with psycopg.connect(postgres.conninfo, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS misfits")
        connection.execute(sql.SQL("CREATE TABLE misfits (v {})").format(sql.SQL(kind)))
        connection.execute("INSERT INTO misfits VALUES (%s)", [value])
    with pytest.raises(SourceError) as failed:
        read(postgres.conninfo, "misfits")
    assert "column 'v' of type " in str(failed.value)
    assert f": {shown} has no place" in str(failed.value)
    assert "option textColumns=v" in str(failed.value)
    assert read(postgres.conninfo, "misfits", textcolumns="v") == [{"v": value}]

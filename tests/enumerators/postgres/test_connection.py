"""Connections to a real server with TLS and passwords, and what an error says when none comes about."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.connector.sources.postgres.source import configure_postgres
from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    DeadlineError,
    HeadwaterError,
    OptionError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.core.source import Boundedness
from headwater.enumerators.postgres import connection
from headwater.enumerators.postgres.connection import LastingConnection, PostgresConnection, connect
from headwater.enumerators.postgres.errors import connection_error
from headwater.enumerators.postgres.settings import PostgresSettings
from local_kafka_config import free_port
from local_kafka_tls import TlsFiles, make_certificates
from local_postgres import LocalPostgres

PASSWORD = "hunter2 is the 'password'"
MANY = 20_000


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def server(tls: TlsFiles) -> Iterator[LocalPostgres]:
    with LocalPostgres(tls=tls) as running:
        with psycopg.connect(running.conninfo, autocommit=True) as connection:
            connection.execute("CREATE ROLE reader LOGIN PASSWORD 'hunter2 is the ''password'''")
            connection.execute(
                f"CREATE TABLE lines AS SELECT i, repeat('y', i % 700) t FROM generate_series(1, {MANY}) i"
            )
            connection.execute("GRANT SELECT ON lines TO reader")
        yield running


def options(server: LocalPostgres, tls: TlsFiles, **more: str) -> dict[str, str]:
    return {
        "url": f"{server.url}?sslmode=verify-full&sslrootcert={tls.ca}",
        "username": "reader",
        "password": "env:READER_PASSWORD",
        "table": "lines",
        "snapshotidletimeout": "20s",
        **more,
    }


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER_PASSWORD", PASSWORD)


def read(given: dict[str, str]) -> tuple[int, int, bytes]:
    """Return how many rows there are, their sum, and what Spark would send to executors."""
    configured = configure_postgres(given, Boundedness.BOUNDED)
    configured = configured.with_schema(configured.schema(), given=False)
    coordinator = configured.create_coordinator()
    try:
        tasks = coordinator.plan_all()
    finally:
        coordinator.close()
    rows = 0
    total = 0
    for task in tasks:
        for batch in configured.read_task(task):
            rows += batch.num_rows
            total += sum(number or 0 for number in batch["i"].to_pylist())
    return rows, total, pickle.dumps((configured, tasks))


def test_rows_come_over_tls_too_and_no_password_travels(server: LocalPostgres, tls: TlsFiles) -> None:
    rows, total, sent = read(options(server, tls, minpartitions="3"))
    assert (rows, total) == (MANY, MANY * (MANY + 1) // 2)
    assert b"hunter2" not in sent
    given = options(server, tls, password=PASSWORD)
    assert "hunter2" not in repr(configure_postgres(given, Boundedness.BOUNDED))


def expired(tls: TlsFiles, folder: Path) -> Path:
    """Return a certificate of the same authority and name that ended yesterday, with its key."""
    ca = tls.ca
    key = folder / "expired.key"
    request = folder / "expired.csr"
    certificate = folder / "expired.pem"
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost"]
    signing = ["-CA", ca, "-CAkey", ca.with_suffix(".key")]
    for command in (
        ["req", *new, "-keyout", key, "-out", request],
        ["x509", "-req", "-days", "-1", "-in", request, *signing, "-out", certificate],
    ):
        subprocess.run(["openssl", *map(str, command)], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text(key.read_text() + certificate.read_text())
    return both


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"password": "wrong password"}, AuthenticationError, "check the options username and password"),
        ({"username": "nobody"}, AuthenticationError, "check the options username and password"),
        ({"url": "{url}&dbname=nothing"}, UnknownSplitError, "check the database in option url"),
        (
            {"url": "{plain}?sslmode=verify-full&sslrootcert={other}"},
            AuthenticationError,
            "sslrootcert in option url",
        ),
        (
            {"url": "{plain}?sslmode=verify-full&sslrootcert=/nowhere"},
            AuthenticationError,
            "must be on every host",
        ),
        (
            {"url": "{numeric}?sslmode=verify-full&sslrootcert={ca}"},
            AuthenticationError,
            "check sslmode and sslrootcert",
        ),
        ({"url": "{plain}?sslmode=disable"}, AuthenticationError, "lets this host in with this sslmode"),
        ({"url": "{plain}?sslmode=sometimes"}, SourceError, "check option url"),
        ({"url": "{plain}?nonsense=1"}, SourceError, "check option url"),
    ],
)
def test_a_connection_that_is_refused_says_what_to_do_and_no_secret(
    server: LocalPostgres, tls: TlsFiles, change: dict[str, str], kind: type[HeadwaterError], said: str
) -> None:
    given = options(server, tls)
    places = {
        "url": given["url"],
        "plain": server.url,
        "numeric": server.url.replace("localhost", "127.0.0.1"),
        "ca": str(tls.ca),
        "other": str(tls.other_ca),
    }
    given |= {name: value.format(**places) for name, value in change.items()}
    with pytest.raises(kind) as failed:
        configure_postgres(given, Boundedness.BOUNDED).schema()
    last = str(failed.value).splitlines()[-1]
    assert said in last
    assert "hunter2" not in str(failed.value)
    assert "wrong password" not in last


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("the database system is starting up", TransientSourceError),
        ("the database system is shutting down", TransientSourceError),
        ("the database system is in recovery mode", TransientSourceError),
        ("the database system is not yet accepting connections", TransientSourceError),
        ('too many connections for role "spark"', TransientSourceError),
        ('too many connections for database "shop"', TransientSourceError),
        ("sorry, too many clients already", TransientSourceError),
        ('database "shop" does not exist', UnknownSplitError),
        ('role "spark" does not exist', AuthenticationError),
        ('permission denied for database "shop"', AuthorizationError),
        ("permission denied to start WAL sender", AuthorizationError),
        ("must be superuser or replication role to start walsender", AuthorizationError),
    ],
)
def test_a_refusal_that_passes_is_told_from_one_that_lasts(message: str, kind: type[HeadwaterError]) -> None:
    refused = connection_error(f'connection to server at "10.0.0.1", port 5432 failed: FATAL:  {message}')
    assert type(refused) is kind


def test_an_expired_certificate_is_named(tls: TlsFiles, tmp_path: Path) -> None:
    refused = pytest.raises(AuthenticationError, match="renew the server's certificate if it has expired")
    with LocalPostgres(tls=replace(tls, server=expired(tls, tmp_path))) as server, refused:
        configure_postgres(options(server, tls), Boundedness.BOUNDED).schema()


def test_a_server_that_is_not_there_is_asked_until_the_deadline() -> None:
    given = {"url": f"postgresql://127.0.0.1:{free_port()}/shop", "table": "lines", "retrydeadline": "300ms"}
    with pytest.raises(DeadlineError, match=r"(?s)Connection refused.*check the address"):
        configure_postgres(given, Boundedness.BOUNDED).schema()


def test_a_server_without_tls_is_told(postgres: LocalPostgres) -> None:
    with pytest.raises(SourceError, match="turn TLS on at the server, or choose another sslmode"):
        connect(PostgresSettings(url=f"{postgres.url}?sslmode=require&user=postgres"))


def test_a_server_that_goes_away_while_rows_come_is_an_error_that_passes(
    server: LocalPostgres, tls: TlsFiles
) -> None:
    for url in (options(server, tls)["url"], f"{server.conninfo} sslmode=disable"):
        more = {"username": "postgres"} if "host=" in url else {}
        configured = configure_postgres(options(server, tls, url=url, **more), Boundedness.BOUNDED)
        configured = configured.with_schema(configured.schema(), given=False)
        coordinator = configured.create_coordinator()
        (task,) = coordinator.plan_all()
        coordinator.close()
        batches = configured.read_task(task)
        next(batches)
        with psycopg.connect(server.conninfo, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name LIKE 'headwater %' AND application_name <> 'headwater snapshot'"
            )
        with pytest.raises(TransientSourceError):
            list(batches)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "postgresql://spark:hunter2@db/shop",
            "must hold no password: give option password, such as env:NAME",
        ),
        ("postgresql://spark:#hunter2@db/shop", "must hold no password"),
        ("postgresql://spark:?hunter2@db/shop", "must hold no password"),
        ("host=db password=hunter2", "must hold no password"),
        ("postgresql://db/shop?password=hunter2", "must hold no password"),
        ("jdbc:postgresql://db/shop", "must be one of libpq, not of JDBC"),
        ("hunter2", "must be postgresql://host:port/database"),
    ],
)
def test_a_url_with_a_password_or_of_another_kind_is_refused_without_showing_it(url: str, said: str) -> None:
    with pytest.raises(OptionError, match=said) as failed:
        configure_postgres({"url": url, "table": "lines"}, Boundedness.BOUNDED)
    assert "hunter2" not in str(failed.value)


def test_the_settings_of_a_session_are_the_same_whatever_the_role_has_set(
    server: LocalPostgres, tls: TlsFiles
) -> None:
    with psycopg.connect(server.conninfo, autocommit=True) as admin:
        admin.execute("ALTER ROLE reader SET datestyle = 'German'")
        admin.execute("ALTER ROLE reader SET statement_timeout = '1ms'")
    given = options(server, tls)
    settings = PostgresSettings(url=given["url"], username="reader", password=given["password"])
    with connect(settings) as connection:
        shown: dict[str, Any] = {
            name: connection.execute(f"SHOW {name}").fetchone() for name in ("datestyle", "statement_timeout")
        }
    assert shown == {"datestyle": ("ISO, MDY",), "statement_timeout": ("0",)}


@pytest.mark.parametrize("is_first", [True, False])
def test_a_connection_that_comes_while_the_query_ends_does_not_stay_open(
    postgres: LocalPostgres, monkeypatch: pytest.MonkeyPatch, *, is_first: bool
) -> None:
    lasting = LastingConnection(PostgresSettings(url=postgres.conninfo))
    opened: list[PostgresConnection] = []

    def slow(settings: PostgresSettings) -> PostgresConnection:
        opened.append(connect(settings))
        if is_first or len(opened) > 1:
            lasting.close()
        return opened[-1]

    monkeypatch.setattr(connection, "connect", slow)
    if not is_first:
        assert lasting.get() is opened[0] is lasting.get()
        lasting.drop()
    with pytest.raises(TransientSourceError, match="the query ends"):
        lasting.get()
    with pytest.raises(TransientSourceError, match="the query ends"):
        lasting.get()
    assert len(opened) == (1 if is_first else 2)
    assert all(each.closed for each in opened)

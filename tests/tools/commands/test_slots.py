"""`headwater slots`: what each slot keeps, who reads it, and how one is dropped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from headwater.enumerators.postgres.slots import SlotUse
from headwater.tools.commands import slots
from headwater.tools.commands.main import main
from local_postgres import LocalPostgres

pytestmark = pytest.mark.slow


@pytest.fixture
def slot(postgres: LocalPostgres, topic: str) -> Iterator[str]:
    """A slot that nobody reads. The server takes names of at most 63 characters."""
    name = topic.replace("-", "_").lower()[-63:]
    with psycopg.connect(postgres.conninfo, autocommit=True) as connection:
        connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [name])
        yield name
        end_reader(connection, name)
        connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s",
            [name],
        )


def end_reader(connection: psycopg.Connection, slot: str) -> None:
    """End the server's side of a reader, which may outlive its connection for a moment, and wait for it."""
    connection.execute(
        "SELECT pg_terminate_backend(active_pid, 20000) FROM pg_replication_slots"
        " WHERE slot_name = %s AND active_pid IS NOT NULL",
        [slot],
    )


def lines_of(out: str, slot: str) -> list[str]:
    return [line for line in out.splitlines() if line.split()[:1] == [slot]]


def test_a_slot_is_shown_with_the_wal_that_it_keeps(
    postgres: LocalPostgres, slot: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def kept() -> int:
        assert main(["slots", postgres.conninfo]) == 0
        (line,) = lines_of(capsys.readouterr().out, slot)
        assert line.split()[1:4] == ["postgres", "pgoutput", "reserved"]
        assert line.endswith("any amount  nobody")
        return int(line.split()[4].replace(",", ""))

    before = kept()
    with psycopg.connect(postgres.conninfo, autocommit=True) as connection:
        connection.execute("SELECT pg_logical_emit_message(true, 'x', repeat('y', 1000000))")
    assert kept() - before >= 1_000_000


def test_a_slot_is_dropped(postgres: LocalPostgres, slot: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slots", postgres.conninfo, "--drop", slot]) == 0
    assert capsys.readouterr().out == f"dropped {slot}\n"
    assert main(["slots", postgres.conninfo]) == 0
    assert not lines_of(capsys.readouterr().out, slot)
    assert main(["slots", postgres.conninfo, "--drop", slot]) == 1
    assert f"there is no slot {slot!r}; the server has " in capsys.readouterr().err


def test_a_slot_that_is_read_is_not_dropped_and_its_reader_is_named(
    postgres: LocalPostgres, slot: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(
        psycopg.connect(f"{postgres.conninfo} replication=database application_name=etl", autocommit=True)
    ) as reader:
        pid = reader.info.backend_pid
        options = b"(proto_version '1', publication_names 'p')"
        reader.pgconn.send_query(f"START_REPLICATION SLOT {slot} LOGICAL 0/0 ".encode() + options)
        # The first answer comes when the server has taken the slot for this reader.
        assert reader.pgconn.get_result() is not None
        assert main(["slots", postgres.conninfo]) == 0
        (line,) = lines_of(capsys.readouterr().out, slot)
        assert line.endswith(f"pid {pid}, role postgres, etl, from the server's host")
        assert main(["slots", postgres.conninfo, "--drop", slot]) == 1
        said = capsys.readouterr().err
        assert f"slot {slot!r} is not dropped, since it is read, by pid {pid}, role postgres, etl" in said
        assert main(["slots", postgres.conninfo]) == 0
        assert lines_of(capsys.readouterr().out, slot)


@pytest.mark.parametrize("has_rights", [False, True])
def test_the_rights_that_the_page_names_are_those_that_dropping_and_seeing_a_reader_need(
    postgres: LocalPostgres, slot: str, capsys: pytest.CaptureFixture[str], *, has_rights: bool
) -> None:
    role = f"{slot}_role"[-63:]
    with psycopg.connect(postgres.conninfo, autocommit=True) as admin:
        admin.execute(f'CREATE ROLE "{role}" LOGIN')
        try:
            if has_rights:
                admin.execute(f'ALTER ROLE "{role}" REPLICATION')
                admin.execute(f'GRANT pg_monitor TO "{role}"')
            as_role = ["slots", postgres.conninfo.replace("user=postgres", f"user={role}")]
            assert as_role[1] != postgres.conninfo
            with closing(
                psycopg.connect(f"{postgres.conninfo} replication=database", autocommit=True)
            ) as reader:
                options = b"(proto_version '1', publication_names 'p')"
                reader.pgconn.send_query(f"START_REPLICATION SLOT {slot} LOGICAL 0/0 ".encode() + options)
                assert reader.pgconn.get_result() is not None
                assert main(as_role) == 0
                (line,) = lines_of(capsys.readouterr().out, slot)
                seen = f"pid {reader.info.backend_pid}, role postgres"
                assert line.endswith(f"{seen}, from the server's host" if has_rights else seen)
            end_reader(admin, slot)
            assert main([*as_role, "--drop", slot]) == (0 if has_rights else 1)
            assert has_rights or "ALTER ROLE <role> REPLICATION" in capsys.readouterr().err
        finally:
            admin.execute(f'DROP ROLE "{role}"')


def test_a_lost_slot_is_status_1_and_its_way_out_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = {"max_slot_wal_keep_size": "1MB", "min_wal_size": "32MB", "max_wal_size": "32MB"}
    with (
        LocalPostgres(settings=settings) as server,
        psycopg.connect(server.conninfo, autocommit=True) as connection,
    ):
        connection.execute("SELECT pg_create_logical_replication_slot('gone', 'pgoutput')")
        for _ in range(4):
            connection.execute("SELECT pg_logical_emit_message(false, 'x', 'y'), pg_switch_wal()")
        connection.execute("CHECKPOINT")
        assert main(["slots", server.conninfo]) == 1
        out = capsys.readouterr().out
        (shown, _) = lines_of(out, "gone")
        assert shown.split()[3:6] == ["lost", "none", "lost"]
        assert f"headwater slots '{server.conninfo}' --drop gone\n" in out
        assert main(["slots", server.conninfo, "--drop", "gone"]) == 0
        capsys.readouterr()
        assert main(["slots", server.conninfo]) == 0
        assert capsys.readouterr().out == "no slots\n"


def test_a_physical_slot_that_was_never_used_keeps_nothing() -> None:
    slot = SlotUse("standby", None, None, None, None, None, None, "", None)
    names, _, line = slots.shown_slots([slot])
    assert names.split()[0] == "slot"
    assert line.split() == ["standby", "physical", "not", "used", "yet", "none", "any", "amount", "nobody"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("postgresql://u:secret@h/d",), "must hold no password: give option password"),
        (("db.example.com",), "must be postgresql://host:port/database"),
    ],
)
def test_a_url_that_is_none_is_named_and_its_password_is_not_shown(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["slots", *arguments]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert "secret" not in error

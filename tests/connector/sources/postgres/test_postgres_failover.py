"""A standby takes over from a server that is killed: the query goes on, or says what is undone."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.core.errors import LostSlotError
from headwater.enumerators.postgres.slot import ServerView
from headwater.enumerators.postgres.slot_reading import SlotReading
from headwater.enumerators.postgres.split import LogTable, WalSplit, lsn_of
from headwater.enumerators.postgres.timeline import end_in, followed
from headwater.testing import MicroBatchEngine
from headwater.testing.engine import Step
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.audited import AuditedTable, Writer
from tests.connector.sources.postgres.changes import ChangedTable, told
from tests.patience import PATIENCE_S

VERSION = 18


class _Pair:
    """A server with a table that is read, and a standby that copies its slots."""

    def __init__(self, stack: ExitStack, name: str, **options: str) -> None:
        self.primary = stack.enter_context(LocalPostgres(version=VERSION))
        self.table = ChangedTable(
            self.primary, name, "id int PRIMARY KEY, s text", retryDeadline="60s", **options
        )
        stack.callback(self.table.sql.close)
        self.name = name
        self.touch = f"UPDATE {name} SET s = s"
        """A change that the query reads."""
        self.table.execute("SELECT pg_create_physical_replication_slot('of_standby', true)")
        settings = {
            "primary_slot_name": "of_standby",
            "hot_standby_feedback": "on",
            "sync_replication_slots": "on",
        }
        self.standby = stack.enter_context(
            LocalPostgres(version=VERSION, settings=settings, standby_of=self.primary)
        )
        folders = [each.conninfo.split()[0].removeprefix("host=") for each in (self.primary, self.standby)]
        self.table.options["url"] = (
            f"host={','.join(folders)} port={self.primary.port},{self.standby.port} user=postgres "
            "dbname=postgres target_session_attrs=read-write"
        )
        self.table.engine = self.table.new_engine()
        self.sql = psycopg.connect(self.standby.conninfo, autocommit=True)
        stack.callback(self.sql.close)

    def ask(self, question: str) -> Any:
        row = self.sql.execute(question.encode()).fetchone()
        assert row is not None
        return row[0]

    def synchronize(self) -> None:
        """Let the standby have all of the log so far, and a copy of the slot that lasts."""
        deadline_s = time.monotonic() + PATIENCE_S
        copied = f"FROM pg_replication_slots WHERE slot_name = 'slot_{self.name}' AND NOT temporary"
        while not self.ask(f"SELECT count(*) {copied}"):
            # A copy lasts once the slot has moved beyond where the copy began.
            assert time.monotonic() < deadline_s, "the standby has no copy of the slot"
            self.table.execute("SELECT pg_log_standby_snapshot()", self.touch)
            self.table.engine.run()
        self.follow()

    def follow(self) -> None:
        """Let the standby have all of the log so far."""
        deadline_s = time.monotonic() + PATIENCE_S
        end = lsn_of(self.table.ask("SELECT pg_current_wal_flush_lsn()::text"))
        while lsn_of(self.ask("SELECT pg_last_wal_replay_lsn()::text")) < end:
            assert time.monotonic() < deadline_s, "the standby does not follow"

    def fail_over(self) -> None:
        self.primary.kill()
        self.standby.promote()


@pytest.fixture
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[_Pair]:
    asked = getattr(request, "param", "direct")
    options = {"transport": "staged", "stateLocation": str(tmp_path)} if "staged" in asked else {}
    if "resync" in asked:
        options |= {"onSlotLost": "resync", "stateLocation": str(tmp_path)}
    with ExitStack() as stack:
        yield _Pair(stack, f"pair_{request.node.name.split('_')[1]}", **options)


by_transport = pytest.mark.parametrize(
    "pair", ["direct", pytest.param("staged", marks=pytest.mark.long)], indirect=True
)


@by_transport
def test_changes_go_on_at_the_server_that_took_over_each_once(pair: _Pair) -> None:
    table = pair.table
    assert table.rows() == []
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    assert told(table.rows(), "id") == [("c", 1)]
    table.execute(f"INSERT INTO {table.name} VALUES (2, 'b')")
    pair.synchronize()
    pair.fail_over()
    pair.sql.execute(f"INSERT INTO {table.name} VALUES (3, 'c')".encode())
    table.engine.run(crash_after=Step.LOGGED, in_batch=len(table.engine.offsets))
    pair.sql.execute(f"DELETE FROM {table.name} WHERE id = 1".encode())
    table.engine.run()
    told_once = [each for each in told(table.engine.rows, "id") if each[0] != "u"]
    assert told_once == [("c", 1), ("c", 2), ("c", 3), ("d", 1)]


def test_what_no_standby_had_and_nobody_has_read_never_comes(
    pair: _Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pair.table
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    pair.synchronize()
    table.rows()
    pair.sql.close()
    pair.standby.stop()
    table.execute(f"INSERT INTO {table.name} VALUES (2, 'b')")
    looked_at: list[tuple[int, int]] = []

    def open_later(slot: SlotReading, position: int, stop: int, **how: Any) -> Any:
        if not looked_at:  # the query knows already how far the log went
            looked_at.append((position, stop))
            pair.primary.kill()
            pair.standby.start()
            pair.standby.promote()
            with psycopg.connect(pair.standby.conninfo) as connection:
                connection.execute(f"INSERT INTO {table.name} VALUES (3, 'c')".encode())
        return opened(slot, position, stop, **how)

    opened = SlotReading.open
    monkeypatch.setattr(SlotReading, "open", open_later)
    assert told(table.rows(), "id") == [("c", 3)]
    assert looked_at


@by_transport
def test_what_was_read_and_no_standby_had_is_a_loss_that_counts_its_bytes(pair: _Pair) -> None:
    table = pair.table
    assert table.rows() == []
    table.execute(f"INSERT INTO {table.name} VALUES (0, 'a')")
    pair.synchronize()
    table.rows()
    pair.sql.close()
    pair.standby.stop()
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    assert told(table.rows(), "id") == [("c", 1)]
    pair.primary.kill()
    pair.standby.start()
    pair.standby.promote()
    with pytest.raises(LostSlotError, match=r"timeline 2 now.*bytes of that log are undone"):
        table.rows()


@pytest.mark.parametrize(
    "pair", ["direct resync", pytest.param("staged resync", marks=pytest.mark.long)], indirect=True
)
def test_with_resync_the_table_is_read_again_at_the_server_that_took_over(pair: _Pair) -> None:
    table = pair.table
    assert table.rows() == []
    table.execute(f"INSERT INTO {table.name} VALUES (0, 'a')")
    pair.synchronize()
    table.rows()
    pair.sql.close()
    pair.standby.stop()
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'undone')")
    assert told(table.rows(), "id", "_sync") == [("c", 1, 0)]
    pair.primary.kill()
    pair.standby.start()
    pair.standby.promote()
    assert told(table.rows(), "id", "_sync") == [("r", 0, 1)]
    with psycopg.connect(pair.standby.conninfo) as connection:
        connection.execute(f"DELETE FROM {table.name}".encode())
    assert told(table.rows(), "id", "_sync") == [("d", 0, 1)]


@pytest.mark.long
@pytest.mark.parametrize("round_", range(3))
@pytest.mark.parametrize("pair", ["direct", "staged"], indirect=True)
def test_keys_are_right_where_drivers_are_killed_and_a_standby_takes_over_from_a_server_under_load(
    pair: _Pair, seed: int, round_: int
) -> None:
    """Transactions are open when the server is killed: nobody has them. See `AuditedTable.wrong_keys`."""
    rng = random.Random(f"{seed} {round_}")
    table = AuditedTable(pair.primary, f"audited_{pair.name}")
    pair.touch = f"UPDATE {table.name} SET v = v WHERE id = -1"
    pair.table.options["table"] = table.name
    engine = MicroBatchEngine.of("postgres", pair.table.options)
    pair.table.engine = engine

    def write_and_run() -> None:
        for _ in range(rng.randrange(3, 8)):
            for writer in rng.sample(writers, rng.randrange(1, 5)):
                writer.act(rng.randrange(1, 12))
            at = len(engine.offsets) - rng.choice([0, 0, 1])
            engine.run(crash_after=rng.choice([*Step]), in_batch=at)

    engine.run()
    table.execute(f"INSERT INTO {table.name} VALUES (-1, 0)")
    writers = [Writer(table, pair.primary, number, 4, rng) for number in range(4)]
    write_and_run()
    for writer in writers:
        writer.end()
    pair.synchronize()
    write_and_run()
    pair.follow()
    pair.fail_over()
    table.server = pair.standby
    for writer in writers:
        writer.end(lost=True)
    writers = [Writer(table, pair.standby, number, 4, rng) for number in range(4)]
    write_and_run()
    for writer in writers:
        writer.end()
    engine.run()
    assert table.wrong_keys(engine.rows) == []
    assert len(engine.rows) > 20


SPLIT = WalSplit("s", "1", 1, (LogTable(16_384),))
VIEW = ServerView(
    "1", is_standby=False, timeline=3, flush_lsn=5_000, oldest_xid=1, next_xid=1, database="shop", slot=None
)
HISTORY = "1\t0/7D0\tno recovery target specified\n\n# a note\n2\t0/FA0\tno recovery target specified\n"


@pytest.mark.parametrize("until", [1_000, 2_000])
def test_a_range_that_ends_before_the_branch_is_the_same_on_the_later_timeline(until: int) -> None:
    assert followed(VIEW, SPLIT, 1_000, until, end_in(HISTORY, 1)) == replace(SPLIT, timeline=3)


@pytest.mark.parametrize(
    ("split", "until", "message"),
    [
        (SPLIT, 2_001, r"began at 0/7D0.*up to 0/7D1, or was reading it: 1 bytes"),
        (replace(SPLIT, timeline=4), 1_000, r"does not come of timeline 4"),
        (replace(SPLIT, rules="r"), 1_000, r"rows of chunks may hold transactions"),
    ],
)
def test_what_may_be_undone_is_a_loss(split: WalSplit, until: int, message: str) -> None:
    with pytest.raises(LostSlotError, match=message):
        followed(VIEW, split, 1_000, until, end_in(HISTORY, split.timeline))

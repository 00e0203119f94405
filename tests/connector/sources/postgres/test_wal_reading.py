"""A range of the log: the same rows however often it is read, and however often the connection is lost."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from headwater.core.emitter import SplitState
from headwater.core.errors import LostSlotError, SourceError
from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.enumerators.postgres.slot import ServerView, SlotView, check_kept, check_usable
from headwater.enumerators.postgres.split import LogTable, WalSplit, lsn_of, lsn_text
from headwater.testing.driving import read_range
from headwater.testing.making import configured
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import ChangedTable, changed_table
from tests.patience import PATIENCE_S

ROWS = 30_000


def _range(table: ChangedTable) -> tuple[Any, SplitRange[WalSplit, int]]:
    """Return the source, and the range from the last position of its query to the end of the log."""
    source = configured("postgres", table.options, Boundedness.CONTINUOUS_UNBOUNDED).source
    offset = json.loads(table.engine.offsets[-1])
    split = WalSplit.from_json(offset["splits"]["wal"])
    head = lsn_of(table.ask("SELECT pg_current_wal_flush_lsn()::text"))
    return source, SplitRange(split, offset["positions"]["wal"], head)


def test_a_connection_that_is_lost_inside_of_a_transaction_costs_no_row_and_doubles_none(
    postgres: LocalPostgres,
) -> None:
    with changed_table(postgres, "broken_off", "id int PRIMARY KEY, s text") as table:
        table.rows()
        table.execute("INSERT INTO broken_off VALUES (-1, 'before')")
        table.execute(f"INSERT INTO broken_off SELECT g, repeat('x', 100) FROM generate_series(1, {ROWS}) g")
        table.together("DELETE FROM broken_off WHERE id = 1", "DELETE FROM broken_off WHERE id = 2")
        source, whole = _range(table)
        rows: list[dict[str, Any]] = []
        ended: set[int] = set()
        with closing(source.create_reader()) as reader:
            emitter = source.create_emitter()
            state: SplitState[WalSplit, int] = SplitState(whole)
            reader.handle_splits_changes([whole])
            finished: frozenset[Any] = frozenset()
            while not finished:
                fetched = reader.fetch()
                finished = fetched.finished
                for record in fetched.records.get(("wal",), ()):
                    rows += [row for batch in emitter.emit(record, state) for row in batch.to_pylist()]
                if not fetched.records or len(ended) == 3:
                    continue
                # A process whose reader lags behind ends when that has read what it had sent: not waited for.
                sender = table.ask(
                    "SELECT active_pid FROM pg_replication_slots WHERE slot_name = 'slot_broken_off'"
                )
                if sender is not None and sender not in ended:
                    assert table.ask(f"SELECT pg_terminate_backend({sender})")
                    ended.add(sender)
        assert len(ended) == 3
        assert [row["_seq"] for row in rows] == [0, *range(ROWS), 0, 1]
        assert rows == read_range(source, whole).rows == read_range(source, whole).rows


def test_two_scans_of_one_batch_take_turns_at_the_slot(postgres: LocalPostgres) -> None:
    with changed_table(postgres, "scanned_twice", "id int PRIMARY KEY, s text") as table:
        table.rows()
        table.execute(
            f"INSERT INTO scanned_twice SELECT g, repeat('x', 100) FROM generate_series(1, {ROWS}) g"
        )
        source, whole = _range(table)
        with ThreadPoolExecutor(2) as threads:
            scans = [threads.submit(read_range, source, whole) for _ in range(2)]
            first, second = (scan.result(PATIENCE_S).rows for scan in scans)
        assert first == second
        assert len(first) == ROWS


def test_two_halves_of_a_range_are_the_whole_wherever_it_is_cut(postgres: LocalPostgres) -> None:
    with changed_table(postgres, "halves", "id int PRIMARY KEY, s text") as table:
        table.rows()
        for number in range(5):
            table.execute(f"INSERT INTO halves SELECT {number} * 10 + g, 'x' FROM generate_series(1, 3) g")
        source, whole = _range(table)
        rows = read_range(source, whole).rows
        lsns = sorted({row["_lsn"] for row in rows})
        assert len(lsns) == 5
        for cut in (lsns[2] - 1, lsns[2], lsns[2] + 1):
            ends = [SplitRange(whole.split, whole.start, cut), SplitRange(whole.split, cut, whole.stop)]
            # The second half first would confirm it: the first one is not there any more then.
            halves = [read_range(source, half).rows for half in ends]
            assert halves[0] + halves[1] == rows
            whole = SplitRange(whole.split, cut, whole.stop)
            rows = halves[1]


def test_a_slot_that_the_server_gave_up_is_a_loss_that_names_its_reason() -> None:
    settings = {"max_slot_wal_keep_size": "1MB", "max_wal_size": "32MB"}
    with (
        LocalPostgres(settings=settings) as server,
        changed_table(server, "given_up", "id int PRIMARY KEY") as table,
    ):
        table.rows()
        table.execute("CREATE TABLE much (t text)")
        for _ in range(4):
            table.execute("INSERT INTO much SELECT repeat('x', 1000) FROM generate_series(1, 20000)")
            table.execute("SELECT pg_switch_wal()", "CHECKPOINT")
        with pytest.raises(LostSlotError, match=r"wal_status lost.*bytes up to now.*max_slot_wal_keep_size"):
            table.rows()


SPLIT = WalSplit("s", "1", 1, (LogTable(16_384),))
SLOT = SlotView("s", "pgoutput", "shop", None, 1_000, 900, "reserved", None, None)
VIEW = ServerView(
    "1", is_standby=False, timeline=1, flush_lsn=5_000, oldest_xid=1, next_xid=1, database="shop", slot=SLOT
)


def _changed(view: ServerView, **fields: Any) -> ServerView:
    of_slot = {name: fields.pop(name) for name in list(fields) if hasattr(SLOT, name)}
    return replace(view, **fields) if not of_slot else replace(view, slot=replace(SLOT, **of_slot), **fields)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"system_id": "2"}, "another database system"),
        ({"timeline": 2}, "on timeline 2 now, after a failover or a restore"),
        ({"slot": None}, "does not exist any more"),
        ({"flush_lsn": 1_500}, "ends at 0/5DC, before what was read already: 500 bytes of it are undone"),
        ({"confirmed": 2_001}, "begins at 0/7D1: changes from 0/7D0 on, 1 bytes"),
        ({"wal_status": "lost", "inactive_since": "2026-01-01"}, "Nobody has read it since 2026-01-01"),
        ({"restart": None}, "was invalidated"),
    ],
)
def test_what_is_lost_is_said_before_anything_is_read(changes: dict[str, Any], message: str) -> None:
    check_kept(VIEW, SPLIT, 2_000)
    with pytest.raises(LostSlotError, match=message) as error:
        check_kept(_changed(VIEW, **changes), SPLIT, 2_000)
    assert error.value.position == lsn_text(2_000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"is_standby": True}, "is a standby"),
        ({"plugin": None}, "is physical"),
        ({"plugin": "wal2json"}, "of plugin wal2json"),
        ({"database": "other"}, "is of database"),
    ],
)
def test_servers_and_slots_that_no_query_can_read_are_refused(changes: dict[str, Any], message: str) -> None:
    check_usable(VIEW, "s")
    with pytest.raises(SourceError, match=message):
        check_usable(_changed(VIEW, **changes), "s")

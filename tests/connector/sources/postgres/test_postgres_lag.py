"""How far a query is behind a real server, in bytes and in time, and what the server keeps for it."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from headwater.connector.spark.lag import QueryLag, lag_of
from headwater.readers.postgres import wal_receiver
from headwater.readers.runtime.partitions.segment_log import SegmentLog
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import ChangedTable, changed_table, told
from tests.patience import PATIENCE_S

_NUMBERS = itertools.count()
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_FLUSHED = "SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint"


class Query:
    """A stream whose batches a test plans and reads one by one, as Spark does."""

    def __init__(self, table: ChangedTable) -> None:
        self.table = table
        self._source = table.source()
        self._coordinator = self._source.create_coordinator()
        self._start = self._coordinator.initial_offset()
        self._batches = 0
        self.rows: list[dict[str, Any]] = []

    def batch(self) -> QueryLag:
        """Plan and read a batch, if there is one; return what Spark's progress tells of it."""
        end = json.loads(json.dumps(self._coordinator.plan_next(self._start, limited=True)))
        self.rows = []
        if end != self._start:
            for task in self._coordinator.tasks(self._start, end):
                for rows in self._source.read_task(task):
                    self.rows += rows.to_pylist()
            self._start = end
            self._batches += 1
        latest = json.loads(json.dumps(self._coordinator.latest()))
        lag = lag_of("changes", self._batches, 0.0, [(end, latest)])
        assert lag is not None
        return lag

    def last(self) -> QueryLag:
        """Run batches until one has nothing to read."""
        lag = self.batch()
        while self.rows:
            lag = self.batch()
        return lag

    def end_with_the_log_of_now(self) -> None:
        """Read what the server has now, and no more, as AvailableNow does."""
        self._coordinator.prepare_for_available_now()

    def position(self) -> int:
        return int(self._start["positions"]["wal"])

    def close(self) -> None:
        self._coordinator.close()


Begin = Callable[..., Query]


@pytest.fixture
def begin(postgres: LocalPostgres) -> Iterator[Begin]:
    """Makes tables with rows, and queries of their changes that have begun."""
    with ExitStack() as made:

        def begun(rows: int = 0, **options: str) -> Query:
            name = f"lag_{next(_NUMBERS)}"
            table = made.enter_context(changed_table(postgres, name, "id int PRIMARY KEY, s text", **options))
            if rows:
                table.execute(
                    f"INSERT INTO {name} SELECT g, repeat('x', 50) FROM generate_series(1, {rows}) g",
                    f"ANALYZE {name}",
                )
            query = Query(table)
            made.callback(query.close)
            query.batch()
            return query

        yield begun


def _insert(table: ChangedTable, key: int) -> int:
    """Insert a row; return by when it was committed, by the server's clock."""
    table.execute(f"INSERT INTO {table.name} VALUES ({key}, 'x')")
    return int(table.ask(_NOW))


def _kept(table: ChangedTable) -> int:
    return int(
        table.ask(
            "SELECT (pg_current_wal_flush_lsn() - restart_lsn)::bigint FROM pg_replication_slots "
            f"WHERE slot_name = 'slot_{table.name}'"
        )
    )


@pytest.mark.parametrize("transport", ["direct", "staged"])
def test_lag_is_the_log_between_the_batch_and_its_end_and_the_age_of_the_first_change_that_is_not_read(
    begin: Begin, tmp_path: Path, transport: str
) -> None:
    staged = {"transport": "staged", "stateLocation": str(tmp_path)} if transport == "staged" else {}
    query = begin(maxBytesPerTrigger="1", **staged)
    table = query.table
    since_ms = table.ask(_NOW)
    _insert(table, 1)
    _insert(table, 2)
    until_lsn = table.ask(_FLUSHED)
    query.end_with_the_log_of_now()
    lag = query.batch()
    now_ms = table.ask(_NOW)
    assert told(query.rows, "id") == [("c", 1)]
    assert lag.unit == "bytes"
    # The last bytes before the end may be a record of the server's own.
    assert 0 < lag.total <= table.ask(_FLUSHED) - query.position()
    assert lag.total >= 100 or transport == "staged" or lag.total >= until_lsn - query.position()
    assert lag.metrics["pendingBytes"] == lag.total
    assert 0 <= lag.metrics["lagTime"] <= now_ms - since_ms
    assert f"lag {lag.total:,} bytes" in str(lag)
    query.batch()
    assert told(query.rows, "id") == [("c", 2)]
    caught_up = query.last()
    assert (caught_up.total, caught_up.metrics["pendingBytes"], caught_up.metrics["lagTime"]) == (0, 0, 0)


def test_the_age_is_that_by_the_servers_clock_of_the_transaction_that_was_first(begin: Begin) -> None:
    query = begin(maxBytesPerTrigger="1")
    table = query.table
    _insert(table, 1)
    committed_ms = table.ask(_NOW)
    _insert(table, 2)
    before_ms = table.ask(_NOW)
    lag = query.batch()
    after_ms = table.ask(_NOW)
    (row,) = query.rows
    read_ms = round(row["_commit_ts"].timestamp() * 1_000)
    assert read_ms <= committed_ms
    assert before_ms - read_ms - 1 <= lag.metrics["lagTime"] <= after_ms - read_ms + 1


def test_wal_of_other_tables_is_no_lag_but_the_server_keeps_it(begin: Begin) -> None:
    query = begin()
    table = query.table
    _insert(table, 1)
    query.last()
    kept = _kept(table)
    table.execute(f"CREATE TABLE other_{table.name} AS SELECT repeat('x', 1000) FROM generate_series(1, 500)")
    lag = query.batch()
    assert query.rows == []
    assert (lag.total, lag.metrics["pendingBytes"], lag.metrics["lagTime"]) == (0, 0, 0)
    assert kept + 100_000 < lag.metrics["retainedBytes"] <= _kept(table)
    assert f"{lag.metrics['retainedBytes']:,} bytes kept for it" in str(lag)
    table.execute(f"DROP TABLE other_{table.name}")


@pytest.mark.parametrize("transport", ["direct", "staged"])
def test_chunks_are_counted_with_their_rows_until_the_table_is_read(
    begin: Begin, tmp_path: Path, transport: str
) -> None:
    """Finished are those of committed batches; of a table that was analyzed the number of all is right."""
    query = begin(
        rows=95,
        transport=transport,
        startingPosition="initial",
        stateLocation=str(tmp_path),
        chunkRows="10",
        snapshotTasks="1",
    )
    found = [query.batch() for _ in range(3)]
    progress = [lag.snapshot for lag in found]
    assert [(each.finished, each.left, each.rows) for each in progress if each] == [
        (4, 6, 40),
        (8, 2, 80),
        (10, 0, 95),
    ]
    assert "snapshot 4 of about 10 splits, 40 rows" in str(found[0])
    assert "snapshot" not in str(found[2])
    pending = [lag.metrics["pendingBytes"] for lag in found]
    assert pending[0] > pending[1]
    assert found[0].metrics["numSnapshotSplitsFinished"] == 4
    assert found[0].metrics["numSnapshotSplitsRemaining"] == 6
    assert found[0].metrics["numSnapshotRows"] == 40
    assert "lagTime" not in found[0].metrics, "nobody has looked into the log yet"
    assert [lag.metrics["isProcessingBacklog"] for lag in found] == [1, 1, 0]
    assert all(lag.metrics["retainedBytes"] > 0 for lag in found)
    _insert(query.table, 200)
    query.batch()
    assert query.batch().snapshot == progress[-1], "what was read stays known"


def test_a_restart_goes_on_counting(begin: Begin, tmp_path: Path) -> None:
    query = begin(
        rows=95, startingPosition="initial", stateLocation=str(tmp_path), chunkRows="10", snapshotTasks="1"
    )
    query.close()
    again = Query(query.table)
    again._start = query._start
    try:
        snapshot = again.batch().snapshot
    finally:
        again.close()
    assert snapshot is not None
    assert (snapshot.finished, snapshot.left, snapshot.rows) == (4, 6, 40)


@pytest.mark.parametrize("analyzed", [True, False])
def test_the_number_of_chunks_of_a_partitioned_table_is_that_of_its_partitions(
    postgres: LocalPostgres, tmp_path: Path, analyzed: bool
) -> None:
    name = f"lag_{next(_NUMBERS)}"
    options = {
        "startingPosition": "initial",
        "stateLocation": str(tmp_path),
        "chunkRows": "10",
        "snapshotTasks": "1",
    }
    columns = "id int PRIMARY KEY, s text) PARTITION BY RANGE (id"
    with changed_table(postgres, name, columns, **options) as table:
        table.execute(
            f"CREATE TABLE {name}_a PARTITION OF {name} FOR VALUES FROM (0) TO (50)",
            f"CREATE TABLE {name}_b PARTITION OF {name} FOR VALUES FROM (50) TO (100)",
            f"INSERT INTO {name} SELECT g, repeat('x', 50) FROM generate_series(1, 95) g",
            f"CREATE PUBLICATION pub_{name} FOR TABLE {name} WITH (publish_via_partition_root)",
        )
        if analyzed:
            table.execute(f"ANALYZE {name}")
        query = Query(table)
        try:
            snapshot = query.batch().snapshot
        finally:
            query.close()
    assert snapshot is not None
    assert snapshot.finished == 0
    assert snapshot.left == 10 if analyzed else snapshot.left > 4


def test_what_is_on_its_way_to_the_files_is_lag_too(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver has one segment of many transactions, and is held up with the next one."""
    monkeypatch.setattr(wal_receiver, "SEGMENT_BYTES", 3_000)
    query = begin(transport="staged", stateLocation=str(tmp_path))
    table = query.table
    reached = [threading.Event() for _ in range(3)]
    goes_on = [threading.Event() for _ in range(3)]
    append = SegmentLog.append
    appended = itertools.count()

    def holding(log: SegmentLog, data: Any) -> Any:
        at = min(next(appended), 2)
        reached[at].set()
        assert goes_on[at].wait(PATIENCE_S)
        return append(log, data)

    monkeypatch.setattr(SegmentLog, "append", holding)
    _insert(table, 1)
    since_ms = table.ask(_NOW)
    try:
        assert reached[0].wait(PATIENCE_S)
        inserted = f"INSERT INTO {table.name} VALUES (i, repeat('x', 90))"
        table.execute(f"DO $$ BEGIN FOR i IN 10..400 LOOP {inserted}; COMMIT; END LOOP; END $$")
        goes_on[0].set()
        goes_on[1].set()
        assert reached[2].wait(PATIENCE_S)
        until_lsn = table.ask(_FLUSHED)
        lag = query.batch()
        read = len(query.rows)
        assert 1 < read < 391
        assert lag.total == 0, "all that is in the files is read"
        assert lag.metrics["pendingBytes"] >= until_lsn - query.position() > 10_000
        assert 0 < lag.metrics["lagTime"] <= table.ask(_NOW) - since_ms
        assert lag.metrics["isProcessingBacklog"] == 1
    finally:
        for each in goes_on:
            each.set()
    query.end_with_the_log_of_now()
    while read < 392:
        lag = query.batch()
        read += len(query.rows)
    assert (read, lag.metrics["lagTime"], lag.metrics["pendingBytes"]) == (392, 0, 0)

"""``transport=staged``: the slot is read into durable segments, and tasks read these; crashes anywhere."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from headwater.core.errors import LostSlotError, OffsetError, OptionError, SourceError
from headwater.core.state_location import open_state_store
from headwater.enumerators.postgres.replication import ReplicationStream
from headwater.enumerators.postgres.split import WalSplit, lsn_of
from headwater.readers.postgres import wal_receiver
from headwater.readers.postgres.wal_segments import WalSegments
from headwater.readers.runtime.partitions.segment_log import SegmentLog
from headwater.testing import MicroBatchEngine
from headwater.testing.engine import Step
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import ChangedTable, changed_table, told
from tests.s3_server import S3Server

_NUMBERS = itertools.count()
Make = Callable[..., ChangedTable]


@pytest.fixture
def make(postgres: LocalPostgres, tmp_path: Path) -> Iterator[Make]:
    """Makes tables whose changes are read from now on, by way of segments."""
    with ExitStack() as tables:

        def made(
            columns: str = "id int PRIMARY KEY, s text", *, begins: bool = True, **options: str
        ) -> ChangedTable:
            given = {"transport": "staged", "stateLocation": str(tmp_path), **options}
            name = f"staged_{next(_NUMBERS)}"
            table = tables.enter_context(changed_table(postgres, name, columns, **given))
            # Options that a test changes are those of the next run.
            table.engine = MicroBatchEngine.of("postgres", table.options)
            if begins:
                table.rows()
            return table

        yield made


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wal_receiver, "SEGMENT_BYTES", 3_000)


def _offset(table: ChangedTable) -> Any:
    return json.loads(table.engine.offsets[-1])


def _log(table: ChangedTable, folder: Path) -> WalSegments:
    split = WalSplit.from_json(_offset(table)["splits"]["wal"])
    return WalSegments(open_state_store(str(folder), None), split)


def _confirmed(table: ChangedTable) -> int:
    return lsn_of(
        table.ask(
            "SELECT confirmed_flush_lsn::text FROM pg_replication_slots "
            f"WHERE slot_name = 'slot_{table.name}'"
        )
    )


def _beside(table: ChangedTable) -> MicroBatchEngine:
    """Return a query of the same changes that reads another slot itself."""
    slot = f"beside_{table.name}"
    options = {**table.options, "slot": slot, "transport": "direct"}
    del options["stateLocation"]
    engine = MicroBatchEngine.of("postgres", options)
    engine.run()
    return engine


def _change(table: ChangedTable, rng: random.Random, number: int) -> None:
    """Run a transaction: a few changes, or many."""
    first = number * 1_000
    rows = rng.choice([1, 2, 150])
    table.together(
        f"INSERT INTO {table.name} SELECT g, repeat('x', 60) FROM generate_series({first}, {first + rows}) g",
        f"UPDATE {table.name} SET s = 'y' WHERE id = {first}",
        f"DELETE FROM {table.name} WHERE id = {first + 1}",
    )


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("point", ["before the segment is durable", "before the slot is confirmed"])
def test_a_receiver_that_dies_at_any_segment_neither_loses_nor_doubles_a_change(
    make: Make, rng: random.Random, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """The rows are those of a query that reads a slot itself; segments are cut inside of transactions."""
    table = make()
    beside = _beside(table)
    append = SegmentLog.append
    left = [0]

    def dying(log: SegmentLog, batches: Any) -> int:
        left[0] -= 1
        if left[0] == 0 and point == "before the segment is durable":
            raise ConnectionAbortedError("killed")
        number = append(log, batches)
        if left[0] == 0:
            raise ConnectionAbortedError("killed")
        return number

    monkeypatch.setattr(SegmentLog, "append", dying)
    deaths = 0
    for number in range(30):
        if deaths == 4:
            break
        _change(table, rng, number)
        left[0] = rng.randrange(1, 4)
        try:
            table.engine.run()
        except ConnectionAbortedError:
            deaths += 1
    left[0] = 0
    table.engine.run()
    beside.run()
    assert deaths == 4
    assert table.engine.rows == beside.rows
    table.drop_slot(f"beside_{table.name}")


@pytest.mark.usefixtures("small_segments")
def test_the_slot_is_confirmed_only_as_far_as_segments_are_durable(
    make: Make, tmp_path: Path, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make()
    confirm = ReplicationStream.confirm
    confirmed: list[int] = []

    def checked(stream: ReplicationStream, lsn: int) -> None:
        last = _log(table, tmp_path).last_before(1 << 40)
        assert lsn <= (_offset(table)["positions"]["wal"] if last is None else last.head.until)
        confirmed.append(lsn)
        confirm(stream, lsn)

    monkeypatch.setattr(ReplicationStream, "confirm", checked)
    for number in range(5):
        _change(table, rng, number)
        table.engine.run()
    assert len(set(confirmed)) > 2
    assert len(table.engine.rows) > 10


def test_the_slot_is_not_confirmed_before_an_offset_names_the_log(make: Make) -> None:
    table = make()
    table.drop_slot()
    table.execute(
        f"SELECT pg_create_logical_replication_slot('slot_{table.name}', 'pgoutput')",
        f"INSERT INTO {table.name} VALUES (1, 'a')",
    )
    table.engine = table.new_engine(startingPosition="slot")
    position = _confirmed(table)
    table.engine.run(crash_after=Step.PLANNED)
    assert _confirmed(table) == position
    assert told(table.rows(), "id") == [("c", 1)]


@pytest.mark.usefixtures("small_segments")
def test_a_large_transaction_is_many_segments_and_one_batch(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(maxBytesPerTrigger="1000")
    append = SegmentLog.append
    sizes: list[int] = []

    def measured(log: SegmentLog, batches: Any) -> int:
        sizes.append(sum(each.nbytes for each in batches))
        return append(log, batches)

    monkeypatch.setattr(SegmentLog, "append", measured)
    batches = len(table.engine.offsets)
    table.execute(f"INSERT INTO {table.name} SELECT g, repeat('x', 100) FROM generate_series(1, 8000) g")
    rows = table.rows()
    assert [row["_seq"] for row in rows] == list(range(8_000))
    assert (
        len([number for number in table.engine.sink if number >= batches and table.engine.sink[number]]) == 1
    )
    assert len(sizes) > 10
    # What the socket held is taken in one go, however small segments are meant to be.
    assert max(sizes) < sum(sizes) / 4


@pytest.mark.usefixtures("small_segments")
def test_segments_are_deleted_once_their_batch_is_committed(
    make: Make, tmp_path: Path, rng: random.Random
) -> None:
    table = make()
    for number in range(6):
        _change(table, rng, number)
        table.rows()
    table.rows()
    log = _log(table, tmp_path)
    kept = [each for each in log.numbers() if log.get(each) is not None]
    assert kept == [log.number_at(_offset(table)["positions"]["wal"])]


def test_a_driver_that_lost_its_log_to_another_one_ends_with_an_error(make: Make) -> None:
    table = make()
    with closing(table.source().create_coordinator()) as first:
        first.plan_next(_offset(table), limited=True)
        table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
        assert told(table.rows(), "id") == [("c", 1)]  # a second driver, on the same checkpoint
        table.execute(f"INSERT INTO {table.name} VALUES (2, 'b')")
        first.prepare_for_available_now()
        with pytest.raises(SourceError, match="another driver has taken the log of this query over"):
            first.plan_next(_offset(table), limited=True)
    assert told(table.rows(), "id") == [("c", 2)]


def test_a_query_with_a_log_is_not_continued_from_its_slot_and_the_other_way_round_goes_on(
    make: Make,
) -> None:
    table = make(transport="direct")
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    assert told(table.rows(), "id") == [("c", 1)]
    table.execute(f"INSERT INTO {table.name} VALUES (2, 'b')")
    table.options["transport"] = "staged"
    assert told(table.rows(), "id") == [("c", 2)]
    table.execute(f"INSERT INTO {table.name} VALUES (3, 'c')")
    table.options["transport"] = "direct"
    with pytest.raises(OptionError, match=r"option 'transport': is direct.*Set transport=staged"):
        table.rows()
    table.options["transport"] = "staged"
    assert told(table.rows(), "id") == [("c", 3)]


def test_a_log_that_no_offset_names_yet_is_the_same_in_the_next_round(make: Make) -> None:
    table = make(transport="direct")
    table.options["transport"] = "staged"
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    with closing(table.source(transport="staged").create_coordinator()) as coordinator:
        logs = {coordinator.plan_next(_offset(table), limited=True)["splits"]["wal"]["log"] for _ in range(3)}
    assert len(logs) == 1
    assert told(table.rows(), "id") == [("c", 1)]


def test_a_form_of_the_table_before_the_range_is_not_held_against_the_query(make: Make) -> None:
    table = make()
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    assert told(table.rows(), "id") == [("c", 1)]
    table.execute(f"ALTER TABLE {table.name} DROP COLUMN s", f"INSERT INTO {table.name} VALUES (2)")
    assert told(table.rows(), "id") == [("c", 2)]


def test_segments_that_somebody_deleted_are_a_loss_that_says_where_they_were(
    make: Make, tmp_path: Path
) -> None:
    table = make()
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    assert table.engine.run(crash_after=Step.LOGGED, in_batch=len(table.engine.offsets))
    log = _log(table, tmp_path)
    for path in tmp_path.rglob(f"{log.numbers()[-1]:012d}"):
        path.unlink()
    with pytest.raises(OffsetError, match=r"postgres-wal/.* of the stateLocation ends at .* Restore it"):
        table.engine.run()


def test_wal_does_not_wait_on_the_server_for_the_rows_that_are_there(make: Make) -> None:
    """While chunks are read the log is received: the slot is confirmed beyond where the stream begins."""
    table = make(begins=False, startingPosition="initial", chunkRows="10", snapshotTasks="1")
    table.execute(f"INSERT INTO {table.name} SELECT g, 'x' FROM generate_series(1, 200) g")
    table.engine.run(crash_after=Step.COMMITTED, in_batch=1)
    start = json.loads(table.engine.offsets[-1])["state"]["start"]
    table.execute(f"UPDATE {table.name} SET s = 'y'")
    table.engine.run(crash_after=Step.COMMITTED, in_batch=len(table.engine.offsets) + 1)
    assert "chunks" in json.dumps(_offset(table))
    assert _confirmed(table) > start
    table.engine.run()
    state = {row["id"]: row["s"] for row in table.engine.rows}
    assert state == dict.fromkeys(range(1, 201), "y")
    assert len(table.engine.rows) == len({(row["id"], row["_lsn"], row["_op"]) for row in table.engine.rows})


def test_a_log_that_begins_with_the_last_chunk_is_not_confirmed_before_it_is_logged(make: Make) -> None:
    table = make(begins=False, startingPosition="initial")
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    table.engine.run(crash_after=Step.COMMITTED)
    start = _offset(table)["state"]["start"]
    for number in (2, 3):
        table.execute(f"INSERT INTO {table.name} VALUES ({number}, 'a')")
        table.engine.run(crash_after=Step.PLANNED, in_batch=len(table.engine.offsets))
        assert _confirmed(table) <= start
    assert told(table.rows(), "id") == [("r", 1), ("c", 2), ("c", 3)]


def test_a_slot_that_is_gone_is_a_loss_before_a_row_is_missed(make: Make) -> None:
    table = make()
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    table.rows()
    table.drop_slot()
    with pytest.raises(LostSlotError, match="does not exist any more"):
        table.rows()


def test_staged_needs_a_state_location(make: Make) -> None:
    table = make()
    del table.options["stateLocation"]
    with pytest.raises(OptionError, match="is required with transport=staged"):
        table.rows()


def test_rows_and_log_may_wait_in_an_object_store(make: Make, s3: S3Server) -> None:
    given = {
        "startingPosition": "initial",
        "chunkRows": "10",
        "stateLocation": "s3a://state/postgres",
        "stateStorageOptions": json.dumps(s3.storage_options),
    }
    table = make(begins=False, **given)
    table.execute(f"INSERT INTO {table.name} SELECT generate_series(1, 95), 'x'")
    step = itertools.cycle((Step.LOGGED, Step.READ, Step.COMMITTED))
    assert table.engine.run(crash_after=next(step))
    table.execute(f"UPDATE {table.name} SET s = 'y' WHERE id < 3", f"DELETE FROM {table.name} WHERE id = 95")
    while table.engine.run(crash_after=next(step), in_batch=len(table.engine.offsets)):
        pass
    table.execute(f"INSERT INTO {table.name} VALUES (200, 'z')")
    table.engine.run()
    left: dict[int, tuple[str, str]] = {}
    for row in table.engine.rows:
        left[row["id"]] = (row["_op"], row["s"])
    there: dict[int, str] = dict(table.sql.execute(f"SELECT id, s FROM {table.name}".encode()).fetchall())
    assert {key: text for key, (op, text) in left.items() if op != "d"} == there
    assert [row["id"] for row in table.rows()][-1] == 200

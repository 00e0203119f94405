"""What a micro-batch does not finish is state, is asked again, and comes out once: without Spark."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

from headwater.connector.async_io.carried_rows import CarriedRows, pack, unpack
from headwater.connector.async_io.carry_over import processor as processors
from headwater.connector.async_io.carry_over import queries
from headwater.connector.async_io.carry_over.event_time import EventTime
from headwater.connector.async_io.carry_over.processor import CarryOver
from headwater.core.errors import AsyncCallError, OffsetError, OptionError
from headwater.readers.async_io.function import AsyncFunction
from headwater.readers.async_io.settings import OutputMode
from tests.connector.async_io.test_task import batches, never_if_zero, wait_of
from tests.patience import PATIENCE_S

STATES = Path(__file__).parent / "states"


def answers_zero_when_asked_again(times: int) -> Callable[[Any], Awaitable[tuple[int, int]]]:
    """Return a function that does not answer for id 0 before it was asked so many times."""
    asked = 0

    async def function(row: Any) -> tuple[int, int]:
        nonlocal asked
        if row.id == 0:
            asked += 1
            if asked < times:
                await asyncio.Event().wait()
        return row.id, 0

    return function


class Latest:
    """A value state, as Spark keeps it."""

    def __init__(self) -> None:
        self.value: tuple[int] | None = None

    def exists(self) -> bool:
        return self.value is not None

    def get(self) -> tuple[int] | None:
        return self.value

    def update(self, value: tuple[int]) -> None:
        self.value = value


class Handle:
    """State and timers of one key, as Spark keeps them."""

    def __init__(self) -> None:
        self.state: list[tuple[bytes]] = []
        self.timers: list[int] = []
        self.latest = Latest()

    def getValueState(self, name: str, schema: str) -> Latest:  # noqa: N802 - Spark's name
        return self.latest

    def left(self, column: str = "id") -> list[Any]:
        """Return a column of the rows that are carried over."""
        return [value for (rows,) in self.state for value in unpack(rows)[column].to_pylist()]

    def getListState(self, name: str, schema: str) -> Self:  # noqa: N802 - Spark's name
        return self

    def get(self) -> Iterator[tuple[bytes]]:
        return iter(self.state)

    def put(self, rows: list[tuple[bytes]]) -> None:
        self.state = rows

    def clear(self) -> None:
        self.state = []

    def listTimers(self) -> Iterator[int]:  # noqa: N802 - Spark's name
        return iter(self.timers)

    def registerTimer(self, at_ms: int) -> None:  # noqa: N802 - Spark's name
        self.timers.append(at_ms)

    def deleteTimer(self, at_ms: int) -> None:  # noqa: N802 - Spark's name
        self.timers.remove(at_ms)


SCHEMA = pa.RecordBatch.from_pydict({"id": [0], "text": [""]}).schema
TIMED = SCHEMA.append(pa.field("at", pa.timestamp("us", "UTC")))


def processor_of(
    handle: Any,
    function: Any,
    *,
    patience_s: float = 0.01,
    schema: pa.Schema = SCHEMA,
    most_bytes: int = 1 << 20,
    event_time: EventTime | None = None,
    order: str | None = None,
    **settings: Any,
) -> CarryOver:
    processor = CarryOver(
        wait_of(function, **settings),
        patience_s,
        keys=[0],
        schema=schema,
        most_bytes=most_bytes,
        event_time=event_time,
        order=order,
    )
    processor.init(handle)
    return processor


def row_of(rows: bytes | None, latest_ms: int | None = None) -> Row:
    return Row(rows=rows, latest_ms=latest_ms)


def timed(*rows: tuple[int, int]) -> bytes:
    """Pack rows of an id and a time in ms."""
    columns: dict[str, Any] = {
        "id": [number for number, _ in rows],
        "text": ["" for _ in rows],
        "at": pa.array([at * 1000 for _, at in rows], pa.timestamp("us", "UTC")),
    }
    [packed] = pack(pa.RecordBatch.from_pydict(columns, schema=TIMED))
    return packed


def ids_of(out: Iterable[Row]) -> list[int]:
    return [number for (rows,) in out for number in unpack(rows)["id"].to_numpy().tolist()]


class Asked(AsyncFunction):
    """Answers some ids later."""

    def __init__(self, answer_after_s: dict[int, float]) -> None:
        self.answer_after_s = answer_after_s

    async def async_invoke(self, row: Any) -> tuple[int, int]:
        await asyncio.sleep(self.answer_after_s.get(row.id, 0))
        return row.id, 0


class TestEventTime:
    """No row is carried over that the watermark behind the operator would pass."""

    def test_a_batch_waits_for_rows_that_would_be_late_in_the_next(self) -> None:
        handle: Any = Handle()
        asked = Asked({1: 0.3, 2: 3600, 3: 3600})
        processor = processor_of(handle, asked, schema=TIMED, event_time=EventTime("at", 100))
        rows = [row_of(timed((1, 899), (2, 901), (3, 950), (4, 990))), row_of(None, 990), row_of(None, 1000)]
        assert sorted(ids_of(processor.handleInputRows((0,), iter(rows), TimerValues(5)))) == [1, 4], (
            "another key has seen 1000: a row at 900 or before would be late"
        )
        assert handle.left() == [2, 3]
        assert handle.latest.value == (1000,)

    def test_the_latest_time_counts_that_ever_was_not_that_of_the_batch(self) -> None:
        handle: Any = Handle()
        handle.latest.update((1000,))
        asked = Asked({1: 0.3, 2: 3600})
        processor = processor_of(handle, asked, schema=TIMED, event_time=EventTime("at", 100))
        rows = [row_of(timed((1, 700), (2, 930))), row_of(None, 930)]
        assert ids_of(processor.handleInputRows((0,), iter(rows), TimerValues(5))) == [1]
        assert handle.left() == [2]
        assert handle.latest.value == (1000,)

    def test_a_row_that_was_carried_over_is_waited_for_when_the_watermark_comes_near(self) -> None:
        handle: Any = Handle()
        asked = Asked({1: 3600})
        processor = processor_of(handle, asked, schema=TIMED, event_time=EventTime("at", 100))
        first = [row_of(timed((1, 1000))), row_of(None, 1000)]
        assert ids_of(processor.handleInputRows((0,), iter(first), TimerValues(5))) == []
        assert handle.left() == [1]
        asked.answer_after_s[1] = 0.3
        second = [row_of(None, 1100)]
        assert ids_of(processor.handleInputRows((0,), iter(second), TimerValues(6))) == [1], (
            "the rows of this batch are of other keys"
        )
        assert handle.left() == []

    @pytest.mark.parametrize("is_gone", [True, False])
    def test_a_bucket_that_does_not_know_the_latest_time_carries_no_row_over(
        self, is_gone: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As after a start with fewer tasks, or with more."""
        monkeypatch.setattr(processors, "is_first_batch", lambda: False)
        handle: Any = Handle()
        processor = processor_of(handle, Asked({1: 0.3}), schema=TIMED, event_time=EventTime("at", 100))
        if is_gone:
            handle.state = [(rows,) for rows in _carried(timed((1, 1000)))]
            out = processor.handleExpiredTimer((7,), TimerValues(6), ExpiredTimerInfo(1))
        else:
            rows = [row_of(timed((1, 1000))), row_of(None, 1000)]
            out = processor.handleInputRows((0,), iter(rows), TimerValues(6))
        assert ids_of(out) == [1]
        assert handle.left() == []


def _carried(rows: bytes) -> Iterator[bytes]:
    """Return packed rows as they are in the state."""
    stored = CarriedRows(TIMED)
    return pack(stored.carried(stored.new(unpack(rows))))


def test_a_failure_is_heard_while_the_input_is_slow() -> None:
    more = threading.Event()

    def slow_input() -> Iterator[Row]:
        [rows] = pack(next(batches(0, size=1)))
        yield row_of(rows)
        more.wait(PATIENCE_S)

    async def fails(row: Any) -> None:
        raise ValueError("bad")

    processor = processor_of(Handle(), fails)
    with pytest.raises(AsyncCallError, match="ValueError: bad"):
        list(processor.handleInputRows((0,), slow_input(), TimerValues(1)))
    assert not more.is_set()
    more.set()


def test_no_more_bytes_are_carried_over_than_it_is_said() -> None:
    handle: Any = Handle()
    processor = processor_of(handle, Asked({0: 0.2, 1: 3600}), most_bytes=150_000)
    batch = pa.RecordBatch.from_pydict({"id": [0, 1], "text": ["x" * 100_000] * 2})
    [rows] = pack(batch)
    assert ids_of(processor.handleInputRows((0,), iter([row_of(rows)]), TimerValues(1))) == [0]
    assert handle.left() == [1]


class Substitutes(Asked):
    """Has a substitute for what is not answered in time."""

    def timeout(self, row: Any) -> tuple[int, int]:
        return -1, 0


@pytest.mark.parametrize(("answer_after_s", "number"), [(1.5, 0), (3600, -1)])
def test_a_carried_row_has_its_whole_timeout_in_each_batch_and_ends_by_it_at_last(
    answer_after_s: float, number: int
) -> None:
    handle: Any = Handle()
    function = Substitutes({0: answer_after_s})
    processor = processor_of(handle, function, timeout_ms=2000, patience_s=0.3)
    [rows] = pack(next(batches(0, size=1)))
    out = list(processor.handleInputRows((0,), iter([row_of(rows)]), TimerValues(1)))
    rounds = 1
    while handle.state:
        rounds += 1
        out += processor.handleExpiredTimer((0,), TimerValues(rounds), ExpiredTimerInfo(1))
    [answer] = [unpack(rows)["number"].to_pylist() for (rows,) in out]
    assert answer == [number]
    assert 3 <= rounds <= 4, "0.3 s, 0.6 s, 1.2 s, and all of the 2 s that a call may take"


class AnswersAtLast(AsyncFunction):
    """Answers an id when it was asked for so many times, and notes which are asked."""

    def __init__(self, asks: Mapping[int, int]) -> None:
        self.asks = dict(asks)
        self.asked: list[int] = []

    async def async_invoke(self, row: Any) -> tuple[int, int]:
        self.asked.append(row.id)
        self.asks[row.id] = self.asks.get(row.id, 1) - 1
        if self.asks[row.id] > 0:
            await asyncio.Event().wait()
        return row.id, 0


def _key(row: Any) -> int:
    number: int = row[0]
    return number % 3


@settings(max_examples=15, deadline=None)
@given(
    asks=st.dictionaries(st.integers(0, 11), st.integers(2, 3), max_size=3),
    sizes=st.lists(st.integers(0, 5), min_size=1, max_size=4),
)
@pytest.mark.parametrize("mode", [OutputMode.ORDERED, OutputMode.KEYED])
def test_rows_that_are_carried_over_keep_their_order_before_new_ones(
    mode: OutputMode, asks: dict[int, int], sizes: list[int]
) -> None:
    handle: Any = Handle()
    function = AnswersAtLast(asks)
    processor = processor_of(
        handle,
        function,
        mode=mode,
        key=_key if mode is OutputMode.KEYED else None,
        timeout_ms=None,
        patience_s=0.02,
        order="as they came",
    )
    out: list[int] = []
    new = iter(range(sum(sizes)))
    batch_ms = 0
    while sizes or handle.state:
        batch_ms += 1
        rows = [
            Row(rows=piece, latest_ms=None, task=0, number=place)
            for place, number in enumerate(itertools.islice(new, sizes.pop(0) if sizes else 0))
            for piece in pack(next(batches(number, size=1)))
        ]
        if rows:
            # Spark's sort may have spilled.
            rows.reverse()
            out += ids_of(processor.handleInputRows((0,), iter(rows), TimerValues(batch_ms)))
        elif handle.timers:
            handle.timers.clear()
            out += ids_of(processor.handleExpiredTimer((0,), TimerValues(batch_ms), ExpiredTimerInfo(1)))
    if mode is OutputMode.ORDERED:
        assert out == sorted(out)
    for key in range(3):
        assert [number for number in out if number % 3 == key] == sorted(n for n in out if n % 3 == key)
        asked = [number for number in function.asked if number % 3 == key]
        assert mode is OutputMode.ORDERED or asked == sorted(asked), "one after the other"
    assert sorted(out) == list(range(len(out)))


def test_rows_that_were_carried_over_in_another_order_are_refused_with_the_way_out() -> None:
    of_keys = CarriedRows(SCHEMA, "by id (spark.sql.shuffle.partitions 4)")
    stored = of_keys.carried(of_keys.new(next(batches(0, size=1))))
    [packed] = pack(stored)
    assert of_keys.taken_up(unpack(packed)).num_rows == 1
    assert CarriedRows(SCHEMA).taken_up(unpack(packed)).num_rows == 1, "without an order they are as any"
    ordered = CarriedRows(SCHEMA, "in the order of all rows")
    with pytest.raises(
        OffsetError, match=r"carried over by id \(.* 4\), and now .* in the order of all rows, .*availableNow"
    ):
        ordered.taken_up(unpack(packed))
    with pytest.raises(OffsetError, match="carried over in any order, and now"):
        ordered.taken_up(unpack(STATES.joinpath("v1.arrow").read_bytes()))


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_carried_rows_are_read_after_columns_were_added_and_from_earlier_layouts(layout: str) -> None:
    """The files are the state as it was written before, and while, it held when a row was first asked."""
    handle: Any = Handle()
    handle.state = [(STATES.joinpath(f"{layout}.arrow").read_bytes(),)]
    wider = SCHEMA.insert(1, pa.field("added", pa.float64()))
    processor = processor_of(handle, Asked({}), schema=wider)
    [out] = processor.handleExpiredTimer((0,), TimerValues(1), ExpiredTimerInfo(1))
    assert unpack(out[0]).select(["id", "text"]).to_pydict() == {"id": [7, 8, 9], "text": ["t7", "t8", "t9"]}


def test_carried_rows_of_another_type_or_a_later_version_are_refused() -> None:
    rows = CarriedRows(SCHEMA.set(1, pa.field("text", pa.int32())))
    with pytest.raises(
        OffsetError, match="there are carried rows whose 'text' is string, and now it is int32: leave its"
    ):
        rows.taken_up(unpack(STATES.joinpath("v1.arrow").read_bytes()))
    later = pa.RecordBatch.from_pydict({"id": [1]}).replace_schema_metadata({b"headwater.carried_rows": b"9"})
    with pytest.raises(
        OffsetError, match=r"a later version of headwater \(layout 9, this one reads up to 2\)"
    ):
        rows.taken_up(later)


def test_rows_are_packed_in_pieces_that_are_small_in_rows_and_in_bytes() -> None:
    batch = pa.RecordBatch.from_pydict({"id": list(range(3000)), "nested": [{"n": [n]} for n in range(3000)]})
    pieces = [unpack(piece) for piece in pack(batch)]
    assert [piece.num_rows for piece in pieces] == [1024, 1024, 952]
    assert pa.Table.from_batches(pieces).equals(pa.Table.from_batches([batch]))
    large = pa.RecordBatch.from_pydict({"text": ["x" * 700_000, "", "", "y" * 700_000, "z" * 2_000_000]})
    pieces = [unpack(piece) for piece in pack(large)]
    assert [piece.num_rows for piece in pieces] == [2, 1, 1, 1]
    assert pa.Table.from_batches(pieces).equals(pa.Table.from_batches([large]))


def test_a_row_is_waited_for_twice_as_long_each_time_until_it_is_done() -> None:
    handle: Any = Handle()
    processor = processor_of(handle, answers_zero_when_asked_again(3), timeout_ms=None, patience_s=0.06)
    [rows] = pack(next(batches(0, size=3)))
    out = list(processor.handleInputRows((0,), iter([row_of(rows)]), TimerValues(1000)))
    rounds = 1
    while handle.state:
        # On a busy machine others may be left beside it, and it may be asked once more.
        left = [number for (rows,) in handle.state for number in unpack(rows)["id"].to_pylist()]
        assert 0 in left or rounds > 2
        assert handle.timers == [1000 * rounds + 1]
        assert processor._wait_s([unpack(left) for (left,) in handle.state]) == pytest.approx(
            0.06 * 2**rounds
        )
        handle.timers.clear()  # Spark removes those that fired
        rounds += 1
        out += processor.handleExpiredTimer((0,), TimerValues(1000 * rounds), ExpiredTimerInfo(1))
    assert rounds >= 3
    batch = pa.Table.from_batches([unpack(rows) for (rows,) in out])
    assert batch.column_names == ["id", "text", "number", "which"]
    assert sorted(batch["id"].to_numpy().tolist()) == [0, 1, 2]


def test_a_query_of_which_nothing_is_known_asks_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the listener had not been told of its start: rows might be lost."""
    monkeypatch.setattr(queries, "TaskContext", SimpleNamespace(get=Unseen))
    with pytest.raises(OptionError, match="'carry_over': nothing is known of this query"):
        list(processor_of(Handle(), Asked({})).handleInputRows((0,), iter([]), TimerValues(1)))


class Unseen:
    """A task's context without the properties of a query."""

    def getLocalProperty(self, name: str) -> None:  # noqa: N802 - Spark's name
        return None


def test_new_rows_take_the_place_of_a_timer() -> None:
    handle: Any = Handle()
    processor = processor_of(handle, never_if_zero, timeout_ms=None)
    for now in (1000, 2000):
        [rows] = pack(next(batches(0, size=1)))
        assert list(processor.handleInputRows((0,), iter([row_of(rows)]), TimerValues(now))) == []
        assert handle.timers == [now + 1]
    assert sum(unpack(left).num_rows for (left,) in handle.state) == 2

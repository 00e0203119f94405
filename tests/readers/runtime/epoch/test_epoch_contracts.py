"""What a task in barrier mode promises, contract by contract (docs/contracts.md)."""

from __future__ import annotations

import asyncio
import itertools
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pytest

from headwater_core.clock import ManualClock
from headwater_core.emitter import RecordEmitter, SplitState
from headwater_core.epoch import AlignmentMode, Barrier, EpochState, FoundSplit, InFlight, SplitProgress, SplitStatus
from headwater_core.epoch_records import EpochRecord, EpochRecords
from headwater_core.errors import ContractError, DataLossError, SourceError
from headwater_core.jsons import JsonValue
from readers.async_io.settings import AsyncSettings
from readers.runtime.epoch.calls import AsyncCalls
from readers.runtime.epoch.epoch_reader import EpochReader
from readers.runtime.epoch.ipc import read_batches
from readers.runtime.fetchers.shape import INLINE, ONE_AFTER_THE_OTHER, ONE_THREAD, ThreadShape, thread_per_split
from readers.runtime.partitions.manager import PROCESS_PARTITIONS
from tests.doubles import NUMBER_SCHEMA, NumberSplit
from tests.exactly_once.waiting import until
from tests.pages import Library, Page, PageReader, PageSource, pages, rows_of, start_of

SHAPES = [INLINE, ONE_THREAD, ONE_AFTER_THE_OTHER, thread_per_split(2)]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=["inline", "one thread", "one after the other", "thread per split"])
ALIGNED, UNALIGNED, AT_LEAST_ONCE = AlignmentMode.ALIGNED, AlignmentMode.UNALIGNED, AlignmentMode.AT_LEAST_ONCE


def reading(library: Library, labels: str, barrier: Barrier | None = None, **settings: Any) -> EpochReader:
    return EpochReader(PageSource(library), [start_of(label) for label in labels], barrier or Barrier(), **settings)


def backlog(reader: EpochReader) -> int:
    return sum(channel.backlog for channel in reader._partition._pipelined)


def is_cut(reader: EpochReader) -> bool:
    return all(fetcher._is_cut for fetcher in reader._manager._fetchers)


def positions(state: EpochState) -> dict[str, JsonValue]:
    return {progress.split.split_id: progress.position for progress in state.progress}


# --- R: the reader base


def test_r1_r2_state_is_made_when_a_split_is_added_and_only_the_emitter_on_the_tasks_thread_sees_it() -> None:
    seen: list[tuple[threading.Thread, JsonValue]] = []

    class Emitter(RecordEmitter[EpochRecord, NumberSplit, JsonValue]):
        def emit(self, record: EpochRecord, state: SplitState[NumberSplit, JsonValue]) -> Iterator[pa.RecordBatch]:
            seen.append((threading.current_thread(), state.position))
            state.position = record.position
            yield record.rows

    source = PageSource(Library({"a": pages(3)}))
    source.create_emitter = Emitter  # type: ignore[method-assign]
    list(EpochReader(source, [start_of("a")], Barrier(), threads=ONE_THREAD))
    assert seen == [(threading.main_thread(), number) for number in range(3)]


def test_r1_a_split_that_is_given_twice_breaks_the_contract() -> None:
    with pytest.raises(ContractError, match="given to the task twice"):
        reading(Library(), "aa")


def test_r3_r4_each_record_is_one_batch_and_one_without_rows_is_none() -> None:
    library = Library({"a": [Page((1, 2)), Page(()), Page((3,))]})
    assert [batch.num_rows for batch in reading(library, "a", threads=INLINE)] == [2, 1]


def test_r3_what_an_emitter_makes_of_one_record_comes_as_one_batch() -> None:
    class Emitter(RecordEmitter[EpochRecord, NumberSplit, JsonValue]):
        def emit(self, record: EpochRecord, state: SplitState[NumberSplit, JsonValue]) -> Iterator[pa.RecordBatch]:
            state.position = record.position
            yield record.rows
            yield record.rows

    source = PageSource(Library({"a": [Page((1, 2))]}))
    source.create_emitter = Emitter  # type: ignore[method-assign]
    assert [batch.to_pydict()["number"] for batch in EpochReader(source, [start_of("a")], Barrier())] == [[1, 2, 1, 2]]


def test_r5_a_buffer_is_recycled_only_after_the_next_batch_is_asked_for() -> None:
    reader = reading(Library({"a": pages(2)}), "a", threads=INLINE)
    batches = iter(reader)
    next(batches)
    assert reader._partition.pool.used_bytes > 0
    assert not list(batches)[1:]
    assert reader._partition.pool.used_bytes == 0


def test_r6_a_split_finishes_after_all_its_records() -> None:
    reader = reading(Library({"a": pages(1)}), "a", threads=ONE_THREAD)
    batches = iter(reader)
    next(batches)
    assert reader._node.progress.open == 1
    assert not list(batches)
    assert reader._node.progress.open == 0


@each_shape
def test_r7_a_snapshot_is_after_the_last_emitted_record_whatever_was_fetched(shape: ThreadShape) -> None:
    reader = reading(Library({"a": pages(9, 10)}, cursors=True), "a", threads=shape)
    reader._node.progress._states[("a",)].position = "page 0"
    batches = iter(reader)
    for _ in range(3):
        next(batches)
    reader.close()
    assert positions(reader.state()) == {"a": "page 3"}


def test_r7_splits_that_were_finished_and_found_in_the_same_epoch_are_absent() -> None:
    reader = reading(Library({"a": [Page((1,), ("b", "c"))], "b": pages(1), "c": pages(1)}, {"c": None}), "a")
    assert len(list(reader)) == 3
    assert [(p.split.split_id, p.status) for p in reader.state().progress] == [("a", SplitStatus.FINISHED), ("c", SplitStatus.CAUGHT_UP)]


@each_shape
def test_r9_r10_without_splits_an_epoch_ends_at_once(shape: ThreadShape) -> None:
    reader = EpochReader(PageSource(), [], Barrier(rows=5), threads=shape)
    assert list(reader) == []
    assert reader.state() == EpochState()


def test_r10_more_threads_than_splits_end_too() -> None:
    assert len(rows_of(reading(Library({"a": pages(3)}), "a", threads=thread_per_split(4)))) == 3


def test_r11_a_task_that_waits_does_not_spin() -> None:
    go = threading.Event()

    def wait(_: PageReader) -> None:
        assert go.wait(10)

    reader = reading(Library({"a": pages(1)}, before_fetch=wait), "a", threads=ONE_THREAD)
    looks = 0
    poll = reader._gate.poll

    def counted() -> Any:
        nonlocal looks
        looks += 1
        return poll()

    reader._gate.poll = counted  # type: ignore[method-assign]
    with_rows: list[Any] = []
    thread = threading.Thread(target=lambda: with_rows.extend(reader))
    thread.start()
    thread.join(0.1)
    assert looks <= 2
    go.set()
    thread.join(10)
    assert len(with_rows) == 1


@each_shape
def test_r12_a_fetchers_error_surfaces_once_with_its_cause_and_then_there_is_no_end(shape: ThreadShape) -> None:
    def fail(reader: PageReader) -> None:
        if len(library.fetched) == 2:
            raise SourceError("no", source="pages", split="a", position=2) from ConnectionError("reset")

    library = Library({"a": pages(9)}, before_fetch=fail)
    reader = reading(library, "a", threads=shape)
    with pytest.raises(SourceError, match="no") as caught:
        list(reader)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert list(reader) == []
    reader.close()
    with pytest.raises(ContractError, match="not after an error"):
        reader.state()


def test_r13_rows_are_counted_once() -> None:
    reader = reading(Library({"a": pages(3, 7)}), "a")
    list(reader)
    assert (reader.metrics.rows, reader.metrics.fetches) == (21, 3)


def test_r15_the_next_split_is_begun_when_there_is_room_for_it() -> None:
    library = Library({label: pages(2) for label in "abc"})
    list(reading(library, "abc", threads=ONE_AFTER_THE_OTHER))
    assert [path[0] for path in library.fetched] == list("aabbcc")


def test_r16_open_splits_are_those_added_minus_those_done() -> None:
    reader = reading(Library({"a": [Page((1,), ("c",)), Page((2,))], "b": pages(1), "c": pages(2)}), "ab", threads=INLINE)
    opened = [reader._node.progress.open for _ in iter(reader)]
    assert opened[0] == 3
    assert reader._node.progress.open == 0


# --- the cut


@each_shape
def test_every_ready_split_is_fetched_from_once_however_small_the_limit(shape: ThreadShape) -> None:
    library = Library({label: pages(50) for label in "abcd"})
    reader = reading(library, "abcd", Barrier(rows=1), threads=shape)
    list(reader)
    assert all(position in {1, 2} for position in positions(reader.state()).values())
    assert set(library.fetched) == {(label,) for label in "abcd"}


def test_a_duration_wakes_up_a_fetch_that_waits() -> None:
    clock = ManualClock()

    def wait(reader: PageReader) -> None:
        if len(library.fetched) == 1:
            assert reader.woken.wait(10)

    library = Library({"a": pages(9)}, before_fetch=wait)
    reader = reading(library, "a", Barrier(duration_ms=60_000), threads=ONE_THREAD, clock=clock)
    assert rows_of(reader) == [("a", 0)]
    assert positions(reader.state()) == {"a": 1}


def test_a_slow_first_fetch_is_waited_for_though_the_duration_is_over() -> None:
    over = threading.Event()

    class Clock(ManualClock):
        def wait(self, event: threading.Event, timeout_ms: int) -> bool:
            super().wait(event, timeout_ms)
            over.set()
            return True

    def slow(reader: PageReader) -> None:
        assert over.wait(10)

    clock = Clock()
    reader = reading(Library({"a": pages(9)}, before_fetch=slow), "a", Barrier(duration_ms=5), threads=ONE_THREAD, clock=clock)
    assert len(rows_of(reader)) == 1
    assert clock.monotonic_ms() == 5


def test_caught_up_says_when_to_come_back_counted_from_the_snapshot() -> None:
    clock = ManualClock()
    reader = reading(Library({"a": pages(1), "b": pages(3)}, {"a": 500, "b": None}), "ab", threads=INLINE, clock=clock)
    batches = iter(reader)
    for _ in range(3):
        next(batches)
    clock.advance(200)
    assert len(list(batches)) == 1
    assert reader.state().progress == (
        SplitProgress(NumberSplit("a"), 1, SplitStatus.CAUGHT_UP, 300),
        SplitProgress(NumberSplit("b"), 3, SplitStatus.CAUGHT_UP, None),
    )


def test_events_go_both_ways() -> None:
    library = Library({"a": pages(2)}, events=[{"seen": 1}])
    reader = reading(library, "a", events=["look at b"], threads=ONE_THREAD)
    list(reader)
    assert reader.state().events == ({"seen": 1},)
    assert library.readers[0].events == ["look at b"]


def test_splits_that_were_found_and_not_begun_are_the_loops_log() -> None:
    library = Library({"a": [Page((1,), ("x", "y")), *pages(3)], "x": pages(1), "y": pages(1)})
    reader = reading(library, "a", Barrier(rows=1), threads=INLINE)
    assert rows_of(reader) == [("a", 1)]
    assert reader.state().found == (FoundSplit(NumberSplit("x"), 0), FoundSplit(NumberSplit("y"), 0))


def test_too_many_found_splits_cut_an_epoch_that_has_a_limit_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readers.runtime.epoch.epoch_reader.MOST_FOUND", 3)
    children = "uvwxyz"

    def library() -> Library:
        return Library({"a": [Page((number,), (label,)) for number, label in enumerate(children)], **{label: pages(1) for label in children}})

    limited = reading(library(), "a", Barrier(rows=1_000), threads=ThreadShape(0, 1))
    list(limited)
    assert len(limited.state().found) == 3
    assert len(rows_of(reading(library(), "a", threads=ThreadShape(0, 1)))) == 12


def test_a_source_that_stands_still_or_goes_back_breaks_the_contract() -> None:
    class Standing(Library):
        def position(self, page: int) -> JsonValue:
            return 4

        def page(self, position: JsonValue) -> int:
            return 0

    for start in (4, 5):
        with pytest.raises(ContractError, match="which is not behind it"):
            list(EpochReader(PageSource(Standing({"a": pages(9)})), [start_of("a", start)], Barrier()))


# --- modes


def prepared(mode: AlignmentMode, **settings: Any) -> tuple[EpochReader, Iterator[pa.RecordBatch]]:
    """A reader at its first batch, with four more before the barrier in its only channel."""
    go = threading.Event()

    def wait(_: PageReader) -> None:
        assert not library.fetched or go.wait(10)

    library = Library({"a": pages(9)}, before_fetch=wait)
    reader = reading(library, "a", Barrier(rows=5), mode=mode, threads=ONE_THREAD, **settings)
    batches = iter(reader)
    assert rows_of([next(batches)]) == [("a", 0)]
    go.set()
    until(lambda: backlog(reader) == 4, "four batches in the channel", 10)
    until(lambda: is_cut(reader), "all barriers in their channels", 10)
    return reader, batches


def test_aligned_emits_all_that_was_fetched_before_the_barrier_and_stores_nothing() -> None:
    reader, batches = prepared(ALIGNED)
    assert rows_of(batches) == [("a", number) for number in (1, 2, 3, 4)]
    assert (positions(reader.state()), reader.state().in_flight) == ({"a": 5}, ())
    assert reader.metrics.in_flight_bytes == 0


def test_unaligned_ends_at_once_and_stores_what_the_barrier_overtook_to_be_emitted_first_in_the_next_epoch() -> None:
    reader, batches = prepared(UNALIGNED)
    assert rows_of(batches) == []
    state = reader.state()
    [held] = state.in_flight
    assert (positions(state), held.path, held.start) == ({"a": 5}, ("a",), 1)
    assert rows_of(read_batches(held.rows)) == [("a", number) for number in (1, 2, 3, 4)]
    assert reader.metrics.in_flight_bytes > 0
    following = EpochReader(PageSource(Library({"a": pages(9)})), [start_of("a", 5)], Barrier(rows=1), restored=state.in_flight)
    assert rows_of(following) == [("a", number) for number in (1, 2, 3, 4, 5)]
    assert following.state().in_flight == ()


def test_aligned_past_its_time_out_goes_on_as_unaligned() -> None:
    clock = ManualClock()
    reader, batches = prepared(ALIGNED, alignment_timeout_ms=100, clock=clock)
    assert rows_of([next(batches)]) == [("a", 1)]
    clock.advance(100)
    assert rows_of(batches) == []
    assert [held.start for held in reader.state().in_flight] == [2]


def test_aligned_within_its_time_out_stores_nothing() -> None:
    clock = ManualClock()
    reader, batches = prepared(ALIGNED, alignment_timeout_ms=100, clock=clock)
    clock.advance(99)
    assert len(rows_of(batches)) == 4
    assert reader.state().in_flight == ()


@pytest.mark.parametrize("mode", [ALIGNED, AT_LEAST_ONCE])
def test_at_least_once_copies_the_state_at_the_first_barrier_and_aligned_at_the_last(mode: AlignmentMode) -> None:
    """Channel a: 2 rows and its barrier, channel b: 6 rows and its barrier. The consumer takes turns and comes to the barrier of a first."""
    go, copied = threading.Event(), []

    def wait(reader: PageReader) -> None:
        assert ("b",) not in reader.open or go.wait(10)

    def copy(state: EpochState) -> None:
        copied.append((positions(state), len(rows)))

    library = Library({"a": pages(2), "b": pages(9)}, before_fetch=wait)
    reader = reading(library, "ab", Barrier(rows=8), mode=mode, threads=thread_per_split(2), on_snapshot=copy)
    batches = iter(reader)
    rows = rows_of([next(batches)])
    until(lambda: reader._trigger._rows == 2, "both pages of a to be counted", 10)
    go.set()
    until(lambda: is_cut(reader), "all barriers in their channels", 10)
    for batch in batches:
        rows += rows_of([batch])
    assert sorted(rows) == [("a", 0), ("a", 1), *(("b", number) for number in range(6))]
    assert positions(reader.state()) == {"a": 2, "b": 6}
    [(state, emitted)] = copied
    assert sum(int(str(position)) for position in state.values()) == emitted
    assert emitted == 8 if mode is ALIGNED else emitted < 8


def test_metrics_of_a_cut() -> None:
    clock = ManualClock()
    reader, batches = prepared(ALIGNED, clock=clock)
    clock.advance(70)
    list(batches)
    assert (reader.metrics.start_delay_ms, reader.metrics.alignment_ms, reader.metrics.snapshot_ms) == (70, 0, 0)
    assert 0 < reader.metrics.peak_buffered_bytes < 1_000


def test_memory_stays_within_the_budget_and_one_batch_per_channel() -> None:
    library = Library({label: pages(30, 100) for label in "ab"})
    one = 100 * 8 + 100 * 1 + 101 * 4 + 64
    reader = reading(library, "ab", threads=thread_per_split(2), budget_bytes=3 * one)
    batches = iter(reader)
    next(batches)
    until(lambda: reader._partition.pool._waiting == 2, "both fetchers to wait for room", 10)
    assert len(library.fetched) * one <= 3 * one + 4 * one
    list(batches)
    assert reader.metrics.peak_buffered_bytes <= 4 * one


# --- requests in flight


class Service:
    """Answers when it is let."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.let: set[int] | None = None

    async def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(row["number"])
        while self.let is not None and row["number"] not in self.let:
            await asyncio.sleep(0.001)
        return {"label": row["label"], "number": 100 + row["number"]}


def calls(service: Service, capacity: int = 4) -> AsyncCalls:
    return AsyncCalls(service.__call__, AsyncSettings(capacity=capacity, queue_size=capacity), NUMBER_SCHEMA)


def test_requests_in_flight_finish_before_an_aligned_barrier() -> None:
    service = Service()
    reader = reading(Library({"a": pages(5)}), "a", calls=calls(service), threads=ONE_THREAD)
    assert sorted(rows_of(reader)) == [("a", 100 + number) for number in range(5)]
    assert reader.state().in_flight == ()


def test_requests_in_flight_are_stored_when_a_reader_is_left_and_asked_again_first() -> None:
    service = Service()
    service.let = {0, 1}
    library = Library({"a": [Page((0, 1, 2, 3))]})
    reader = reading(library, "a", calls=calls(service), threads=ONE_THREAD)
    batches = iter(reader)
    rows: list[tuple[str, int]] = []
    while len(rows) < 2:
        rows += rows_of([next(batches)])
    reader.close()
    state = reader.state()
    [held] = state.in_flight
    assert (sorted(rows), positions(state)) == ([("a", 100), ("a", 101)], {"a": 1})
    assert [request["number"] for request in held.requests if isinstance(request, dict)] == [2, 3]

    again = reading(library, "a", calls=calls(Service()), stop_at=state)
    assert sorted(rows_of(again)) == sorted(rows)

    following = EpochReader(PageSource(library), [start_of("a", 1)], Barrier(), restored=state.in_flight, calls=calls(Service()))
    assert sorted(rows + rows_of(following)) == [("a", 100 + number) for number in range(4)]


def test_requests_in_flight_are_overtaken_by_an_unaligned_barrier() -> None:
    service = Service()
    service.let = set()
    reader = reading(Library({"a": pages(9)}), "a", Barrier(rows=3), mode=UNALIGNED, calls=calls(service), threads=ONE_THREAD)
    assert rows_of(reader) == []
    state = reader.state()
    [held] = state.in_flight
    assert (positions(state), held.rows) == ({"a": 3}, b"")
    assert [request["number"] for request in held.requests if isinstance(request, dict)] == [0, 1, 2]


def test_requests_in_flight_are_stored_when_an_aligned_barrier_times_out() -> None:
    service = Service()
    service.let = {0}
    reader = reading(Library({"a": pages(3)}), "a", Barrier(rows=3), alignment_timeout_ms=100, calls=calls(service), threads=ONE_THREAD)
    answered = [number - 100 for _, number in rows_of(reader)]
    [held] = reader.state().in_flight
    left = [int(str(row["number"])) for row in held.requests if isinstance(row, dict)]
    assert sorted(answered + left) == [0, 1, 2]
    assert {1, 2} <= set(left)


def test_restored_requests_of_a_reader_that_is_left_before_it_makes_them_are_in_flight_again() -> None:
    restored = (*reading_in_flight(), InFlight((), None, b"", ({"label": "a", "number": 8},)))
    for steps in (0, 1):
        reader = EpochReader(PageSource(), [], Barrier(), restored=restored, calls=calls(Service()))
        batches = iter(reader)
        for _ in range(steps):
            next(batches)
        reader.close()
        assert reader.state().in_flight[-1] == restored[-1]


def test_restored_requests_without_anything_that_makes_them_are_an_error() -> None:
    with pytest.raises(ContractError, match="nothing that makes them"):
        list(EpochReader(PageSource(), [], Barrier(), restored=[InFlight((), None, b"", (1,))]))


# --- reading again


def test_a_second_reading_says_so_when_a_split_ends_earlier_than_the_first_time() -> None:
    state = EpochState((SplitProgress(NumberSplit("a"), 5),))
    with pytest.raises(DataLossError, match="read to 5"):
        list(reading(Library({"a": pages(3)}), "a", stop_at=state))


def test_a_second_reading_says_so_when_a_record_reaches_across_its_stop() -> None:
    class Wide(Library):
        def position(self, page: int) -> JsonValue:
            return 2 * page

        def page(self, position: JsonValue) -> int:
            return int(str(position)) // 2

    with pytest.raises(DataLossError, match="across 3"):
        list(reading(Wide({"a": pages(9)}), "a", stop_at=EpochState((SplitProgress(NumberSplit("a"), 3),))))


def test_a_second_reading_says_so_when_a_child_that_was_finished_has_no_end_any_more() -> None:
    library = Library({"a": [Page((1,), ("b",))], "b": pages(1)}, {"b": None})
    with pytest.raises(DataLossError, match="read to its end"):
        list(reading(library, "a", stop_at=EpochState((SplitProgress(NumberSplit("a"), 1, SplitStatus.FINISHED),))))


# --- leaving early


class Holding(PageReader):
    """Holds a socket and a file from its first fetch on."""

    def __init__(self, library: Library) -> None:
        super().__init__(library)
        self.sockets: tuple[socket.socket, ...] = ()
        self.file: IO[bytes] | None = None

    def fetch(self) -> EpochRecords:
        if not self.sockets:
            self.sockets, self.file = socket.socketpair(), tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        return super().fetch()

    def close(self) -> None:
        super().close()
        for one in self.sockets:
            one.close()
        if self.file is not None:
            self.file.close()


def held() -> tuple[int, int]:
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))


ENDINGS = ["to the end", "closed", "generator closed", "dropped", "failed", "full channel", "never begun"]


@pytest.mark.parametrize(("how", "shape"), [*itertools.product(ENDINGS, SHAPES), *(("blocked fetch", shape) for shape in SHAPES if shape.threads)])
def test_no_thread_socket_or_file_outlives_a_reader(how: str, shape: ThreadShape) -> None:
    def hook(reader: PageReader) -> None:
        if how == "failed" and len(library.fetched) == 3:
            raise SourceError("no")
        if how == "blocked fetch" and len(library.fetched) >= 2:
            assert reader.woken.wait(10)

    library = Library({"a": pages(20), "b": pages(20)}, before_fetch=hook)
    source = PageSource(library)
    source.create_reader = lambda: Holding(library)  # type: ignore[method-assign]
    before = held()
    reader = EpochReader(source, [start_of("a"), start_of("b")], Barrier(), threads=shape, budget_bytes=1 if how == "full channel" else 1 << 20)
    batches = iter(reader)
    if how == "to the end":
        assert len(list(batches)) == 40
    elif how == "failed":
        with pytest.raises(SourceError):
            list(batches)
    elif how != "never begun":
        next(batches)
        next(batches)
        if how == "generator closed":
            batches.close()  # type: ignore[attr-defined]
    if how == "dropped":
        del batches, reader
    else:
        reader.close()
    assert held() == before
    assert not len(PROCESS_PARTITIONS)


def test_the_state_of_a_reader_that_never_began_is_where_it_would_have_begun() -> None:
    restored = reading_in_flight()
    reader = EpochReader(PageSource(Library({"a": pages(9)})), [start_of("a", 5)], Barrier(), restored=restored)
    reader.close()
    assert (positions(reader.state()), reader.state().in_flight) == ({"a": 5}, restored)


def test_restored_rows_that_were_not_emitted_are_in_flight_again() -> None:
    restored = reading_in_flight()
    reader = EpochReader(PageSource(Library({"a": pages(9)})), [start_of("a", 5)], Barrier(), restored=restored)
    rows = rows_of([next(iter(reader))])
    reader.close()
    [left] = reader.state().in_flight
    assert rows + rows_of(read_batches(left.rows)) == [("a", number) for number in (1, 2, 3, 4)]
    again = EpochReader(PageSource(Library({"a": pages(9)})), [start_of("a", 5)], Barrier(), restored=restored, stop_at=reader.state())
    assert rows_of(again) == rows


def reading_in_flight() -> tuple[InFlight, ...]:
    reader, batches = prepared(UNALIGNED)
    list(batches)
    return reader.state().in_flight


def test_the_state_is_not_known_while_reading() -> None:
    reader = reading(Library({"a": pages(2)}), "a", threads=INLINE)
    batches = iter(reader)
    next(batches)
    with pytest.raises(ContractError, match="known when its iteration has ended"):
        reader.state()
    reader.close()

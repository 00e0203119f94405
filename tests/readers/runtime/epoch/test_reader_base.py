"""What FLIP-27 promises of a reader, contract by contract (docs/contracts.md)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from headwater.core.barrier_reader import EpochRecord
from headwater.core.clock import ManualClock
from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.epoch import Barrier, EpochState, FoundSplit, SplitStatus
from headwater.core.errors import ContractError, SourceError
from headwater.core.jsons import JsonValue
from headwater.readers.runtime.epoch.progress import EpochProgress, SplitFailures
from tests.doubles import NumberSplit
from tests.pages import Library, Page, PageReader, PageSource, pages, rows_of, start_of
from tests.patience import PATIENCE_S
from tests.readers.runtime.epoch.rig import (
    each_number_of_threads,
    positions,
    reading,
)
from tests.readings import epoch_task, read_task


def test_r1_r2_state_is_made_when_a_split_is_added_and_only_the_emitter_on_the_tasks_thread_sees_it() -> None:
    seen: list[tuple[threading.Thread, JsonValue]] = []

    class Emitter(RecordEmitter[EpochRecord, NumberSplit, JsonValue]):
        def emit(
            self, record: EpochRecord, state: SplitState[NumberSplit, JsonValue]
        ) -> Iterator[pa.RecordBatch]:
            seen.append((threading.current_thread(), state.position))
            state.position = record.position
            yield record.rows

    source = PageSource(Library({"a": pages(3)}))
    source.create_emitter = Emitter  # type: ignore[method-assign]
    list(read_task(source, epoch_task([start_of("a")])))
    assert seen == [(threading.main_thread(), number) for number in range(3)]


def test_r1_records_of_a_split_without_state_are_an_error() -> None:
    reader = reading(Library({"a": pages(1)}), "a")
    del reader._node.progress._states[("a",)]
    with pytest.raises(ContractError, match="records of split a came, which is not registered"):
        list(reader)


def test_r1_a_split_that_is_given_twice_breaks_the_contract() -> None:
    with pytest.raises(ContractError, match="given to the task twice"):
        reading(Library(), "aa")


def test_r3_r4_each_record_is_one_batch_and_one_without_rows_is_none() -> None:
    library = Library({"a": [Page((1, 2)), Page(()), Page((3,)), Page(())]})
    reader = reading(library, "a")
    assert [batch.num_rows for batch in reader] == [2, 1]

    class Emitter(RecordEmitter[EpochRecord, NumberSplit, JsonValue]):
        """Yields a batch for a page without rows, too."""

        def emit(
            self, record: EpochRecord, state: SplitState[NumberSplit, JsonValue]
        ) -> Iterator[pa.RecordBatch]:
            state.position = record.position
            yield record.rows

    source = PageSource(library)
    source.create_emitter = Emitter  # type: ignore[method-assign]
    assert [batch.num_rows for batch in read_task(source, epoch_task([start_of("a")]))] == [2, 1]
    # What has no rows moves the position all the same.
    assert positions(reader.state()) == {"a": 4}


def test_r3_what_an_emitter_makes_of_one_record_comes_as_one_batch() -> None:
    class Emitter(RecordEmitter[EpochRecord, NumberSplit, JsonValue]):
        def emit(
            self, record: EpochRecord, state: SplitState[NumberSplit, JsonValue]
        ) -> Iterator[pa.RecordBatch]:
            state.position = record.position
            yield record.rows
            yield record.rows

    source = PageSource(Library({"a": [Page((1, 2))]}))
    source.create_emitter = Emitter  # type: ignore[method-assign]
    assert [batch.to_pydict()["number"] for batch in read_task(source, epoch_task([start_of("a")]))] == [
        [1, 2, 1, 2]
    ]


def test_r5_a_buffer_is_recycled_only_after_the_next_batch_is_asked_for() -> None:
    reader = reading(Library({"a": pages(2)}), "a")
    batches = iter(reader)
    next(batches)
    assert reader._flow.partition.pool._used_bytes > 0
    assert not list(batches)[1:]
    assert reader._flow.partition.pool._used_bytes == 0


def test_r6_a_split_finishes_after_all_its_records() -> None:
    reader = reading(Library({"a": pages(1)}), "a")
    batches = iter(reader)
    next(batches)
    assert reader._node.progress.open == 1
    assert not list(batches)
    assert reader._node.progress.open == 0


@each_number_of_threads
def test_r7_a_snapshot_is_after_the_last_emitted_record_not_the_last_fetched(threads: int) -> None:
    reader = reading(Library({"a": pages(9, 10)}, cursors=True), "a", threads=threads)
    reader._node.progress._states[("a",)].position = "page 0"
    batches = iter(reader)
    for _ in range(3):
        next(batches)
    reader.close()
    assert positions(reader.state()) == {"a": "page 3"}


def test_r7_splits_that_were_finished_and_found_in_the_same_epoch_are_absent() -> None:
    reader = reading(Library({"a": [Page((1,), ("b", "c"))], "b": pages(1), "c": pages(1)}, {"c": None}), "a")
    assert len(list(reader)) == 3
    assert [(p.split.split_id, p.status) for p in reader.state().progress] == [
        ("a", SplitStatus.FINISHED),
        ("c", SplitStatus.CAUGHT_UP),
    ]


@each_number_of_threads
def test_r9_r10_without_splits_an_epoch_ends_at_once(threads: int) -> None:
    reader = reading(Library(), "", Barrier(rows=5), threads=threads)
    assert list(reader) == []
    assert reader.state() == EpochState()


def test_r10_more_threads_than_splits_end_too() -> None:
    assert len(rows_of(reading(Library({"a": pages(3)}), "a", threads=4))) == 3


def test_r11_a_task_that_waits_does_not_spin() -> None:
    go = threading.Event()

    def wait(_: PageReader) -> None:
        assert go.wait(PATIENCE_S)

    reader = reading(Library({"a": pages(1)}, before_fetch=wait), "a")
    looks = 0
    poll = reader._flow.poll

    def counted() -> Any:
        nonlocal looks
        looks += 1
        return poll()

    reader._flow.poll = counted  # type: ignore[method-assign]
    with_rows: list[Any] = []
    thread = threading.Thread(target=lambda: with_rows.extend(reader))
    thread.start()
    thread.join(0.1)
    assert looks <= 2
    go.set()
    thread.join(PATIENCE_S)
    assert len(with_rows) == 1


@each_number_of_threads
def test_r12_a_fetchers_error_surfaces_once_with_its_cause_and_then_there_is_no_end(
    threads: int,
) -> None:
    def fail(reader: PageReader) -> None:
        if len(library.fetched) == 2:
            raise SourceError("no", source="pages", split="a", position=2) from ConnectionError("reset")

    library = Library({"a": pages(9)}, before_fetch=fail)
    reader = reading(library, "a", threads=threads)
    with pytest.raises(SourceError, match="no") as caught:
        list(reader)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert list(reader) == []
    reader.close()
    with pytest.raises(ContractError, match="not after an error"):
        reader.state()


def test_r13_rows_are_counted_once() -> None:
    reader = reading(Library({"a": pages(9, 7)}), "a", Barrier(rows=21))
    list(reader)
    assert (reader.metrics.rows, reader.metrics.fetches) == (21, 3)


def test_r15_the_next_split_is_begun_when_there_is_room_for_it() -> None:
    library = Library({label: pages(2) for label in "abc"})
    list(reading(library, "abc"))
    assert [path[0] for path in library.fetched] == list("aabbcc")
    # One that is found waits until there is room: for one of those that are open, but for one an epoch.
    children = {f"b{n}": pages(2) for n in range(4)}
    roots = [*(Page((n,), (child,)) for n, child in enumerate(children)), *pages(9)]
    library = Library({"a": roots, **children})
    reader = reading(library, "a", Barrier(rows=8), least_ready=1, budget_bytes=1)
    list(reader)
    begun = {path[0] for path in library.fetched if path != ("a",)}
    assert begun == {"b0"}
    assert {split.split.split_id for split in reader.state().found} == children.keys() - begun


def test_r16_open_splits_are_those_added_minus_those_done() -> None:
    reader = reading(Library({"a": [Page((1,), ("c",)), Page((2,))], "b": pages(1), "c": pages(2)}), "ab")
    opened = [reader._node.progress.open for _ in iter(reader)]
    assert opened == [3, 3, 2, 1, 1]
    assert reader._node.progress.open == 0
    progress = EpochProgress(
        [start_of("a"), start_of("b")], ManualClock(), SplitFailures({}, None, ManualClock())
    )
    # What comes twice is counted once.
    for _ in range(2):
        progress.add_found(FoundSplit(NumberSplit("c"), 0))
        progress.done(("a",), SplitStatus.FINISHED)
        progress.done(("c",), SplitStatus.FINISHED)
        assert progress.open == 1


@each_number_of_threads
def test_f12_splits_that_are_removed_while_they_are_read_keep_their_position_and_are_not_finished(
    threads: int,
) -> None:
    reader = reading(Library({"a": pages(60), "b": pages(3)}), "ab", threads=threads, budget_bytes=1)
    batches = iter(reader)
    rows = rows_of([next(batches)])
    reader._flow.manager.remove_splits([("a",)])
    rows += rows_of(batches)
    # In the order of their next turns, which depends on the threads.
    [a] = [progress for progress in reader.state().progress if progress.split.path == ("a",)]
    assert (a.position, a.status) == (sum(label == "a" for label, _ in rows), SplitStatus.MORE)
    assert ("a", 59) not in rows


@each_number_of_threads
def test_f13_splits_that_are_paused_while_they_are_read_go_on_where_they_were(threads: int) -> None:
    reader = reading(Library({"a": pages(20), "b": pages(20)}), "ab", threads=threads, budget_bytes=1)
    rows: list[tuple[str, int]] = []
    for batch in reader:
        rows += rows_of([batch])
        if len(rows) == 1:
            reader._flow.manager.pause_or_resume_splits([("a",)], [])
        elif rows[-1] == ("b", 15):
            assert ("a", 19) not in rows
            reader._flow.manager.pause_or_resume_splits([], [("a",)])
    assert [number for label, number in rows if label == "a"] == list(range(20))
    assert len(rows) == 40

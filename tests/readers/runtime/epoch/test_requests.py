"""Asynchronous calls under way when an epoch is cut."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from headwater.core.epoch import Barrier, InFlight
from headwater.core.errors import ContractError
from headwater.readers.runtime.batches import read_batches
from headwater.readers.runtime.epoch.calls import CreateCalls
from tests.asynchronous import calls_of
from tests.pages import Library, Page, PageReader, pages, rows_of
from tests.patience import PATIENCE_S
from tests.readers.runtime.epoch.rig import (
    UNALIGNED,
    positions,
    reading,
    reading_in_flight,
)


class Service:
    """Answers when it is let."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.let: set[int] | None = None
        self.was_asked = threading.Event()

    async def __call__(self, row: Any) -> tuple[str, int]:
        self.asked.append(row.number)
        self.was_asked.set()
        while self.let is not None and row.number not in self.let:
            await asyncio.sleep(0.001)
        return row.label, 100 + row.number


def asking(service: Service, queue_size: int = 4) -> CreateCalls:
    return calls_of(service.__call__, capacity=4, queue_size=queue_size)


def unanswered(in_flight: Iterable[InFlight]) -> list[int]:
    batches = [batch for held in in_flight for batch in read_batches(held.rows)]
    return [row["number"] for batch in batches for row in batch.to_pylist()]


def after_a_call(library: Library, service: Service) -> Callable[[PageReader], None]:
    """Let the second page be fetched when the service was asked about the first."""

    def wait(_: PageReader) -> None:
        assert not library.fetched or service.was_asked.wait(PATIENCE_S)

    return wait


def left_behind() -> tuple[InFlight, ...]:
    """Rows 0 to 2, which an unaligned barrier overtook: row 0 had been asked."""
    service = Service()
    service.let = set()
    library = Library({"a": pages(9)})
    library.before_fetch = after_a_call(library, service)
    reader = reading(library, "a", Barrier(rows=3), mode=UNALIGNED, calls=asking(service))
    assert rows_of(reader) == []
    assert positions(reader.state()) == {"a": 3}
    return reader.state().in_flight


def test_requests_in_flight_finish_before_an_aligned_barrier() -> None:
    service = Service()

    async def late(row: Any) -> tuple[str, int]:
        # When it is answered all pages are fetched, and the barrier is in the channel.
        while len(library.fetched) < 5:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
        return await service(row)

    library = Library({"a": pages(9)})
    reader = reading(library, "a", Barrier(rows=5), calls=calls_of(late, capacity=8))
    assert sorted(rows_of(reader)) == [("a", 100 + number) for number in range(5)]
    assert reader.state().in_flight == ()


def test_requests_in_flight_are_stored_when_a_reader_is_left_and_asked_again_first() -> None:
    service = Service()
    service.let = {0, 1}
    library = Library({"a": [Page((0, 1, 2, 3))]})
    reader = reading(library, "a", calls=asking(service))
    batches = iter(reader)
    rows: list[tuple[str, int]] = []
    while len(rows) < 2:
        rows += rows_of([next(batches)])
    reader.close()
    state = reader.state()
    assert (sorted(rows), positions(state)) == ([("a", 100), ("a", 101)], {"a": 1})
    assert unanswered(state.in_flight) == [2, 3]

    again = reading(library, "a", calls=asking(Service()), stop_at=state)
    assert sorted(rows_of(again)) == sorted(rows)

    following = reading(library, "a", position=1, restored=state.in_flight, calls=asking(Service()))
    assert sorted(rows + rows_of(following)) == [("a", 100 + number) for number in range(4)]


def test_rows_that_found_no_room_are_stored_too_when_a_reader_is_left() -> None:
    service = Service()
    service.let = {0}
    library = Library({"a": [Page(tuple(range(3000)))]})
    reader = reading(library, "a", calls=asking(service))
    assert rows_of([next(iter(reader))]) == [("a", 100)]
    reader.close()
    assert unanswered(reader.state().in_flight) == list(range(1, 3000))


def test_requests_in_flight_are_overtaken_by_an_unaligned_barrier() -> None:
    assert sorted(unanswered(left_behind())) == [0, 1, 2]


def test_an_unaligned_barrier_does_not_wait_for_room() -> None:
    service = Service()
    service.let = set()
    library = Library({"a": [Page(tuple(range(2000)))] * 3})
    library.before_fetch = after_a_call(library, service)
    reader = reading(
        library,
        "a",
        Barrier(rows=2500),
        mode=UNALIGNED,
        calls=asking(service, queue_size=1),
    )
    assert rows_of(reader) == []
    state = reader.state()
    assert sorted(unanswered(state.in_flight)) == sorted([*range(2000), *range(2000)])
    assert positions(state) == {"a": 2}
    assert () in [held.path for held in state.in_flight], "the calls had begun with a record"


def test_requests_in_flight_are_stored_when_an_aligned_barrier_times_out() -> None:
    service = Service()
    service.let = {0}
    reader = reading(
        Library({"a": pages(3)}),
        "a",
        Barrier(rows=3),
        alignment_timeout_ms=100,
        calls=asking(service),
    )
    answered = [number - 100 for _, number in rows_of(reader)]
    left = unanswered(reader.state().in_flight)
    assert sorted(answered + left) == [0, 1, 2]
    assert {1, 2} <= set(left)


@pytest.mark.parametrize(("takes_s", "timeout_ms"), [(0.05, None), (1.2, 1_500)])
def test_a_call_that_takes_longer_than_an_epoch_has_its_whole_timeout_in_each(
    takes_s: float, timeout_ms: int | None
) -> None:
    restored = left_behind()
    numbers: list[int] = []
    service = Service()

    async def slow(row: Any) -> tuple[str, int]:
        await asyncio.sleep(takes_s)
        return await service(row)

    epochs = 0
    while restored:
        # A split that always has more: each epoch is cut, unaligned, at once.
        calls = calls_of(slow, capacity=4, timeout_ms=timeout_ms)
        reader = reading(
            Library({"a": pages(99)}),
            "a",
            Barrier(rows=1),
            position=3 + epochs,
            mode=UNALIGNED,
            restored=restored,
            calls=calls,
        )
        numbers += [number for _, number in rows_of(reader)]
        restored = reader.state().in_flight
        epochs += 1
        if {100, 101, 102} <= set(numbers):
            break
    assert {100, 101, 102} <= set(numbers)
    assert len(numbers) == len(set(numbers))


def test_restored_requests_of_a_reader_that_is_left_before_it_makes_them_are_in_flight_again() -> None:
    restored = (*reading_in_flight(), *left_behind())
    reader = reading(Library(), "", restored=restored, calls=asking(Service()))
    reader.close()
    assert reader.state().in_flight == restored


def test_restored_requests_without_anything_that_makes_them_are_an_error() -> None:
    with pytest.raises(ContractError, match="rows of source pages wait for asynchronous calls"):
        reading(Library(), "", restored=left_behind())

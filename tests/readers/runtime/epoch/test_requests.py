"""Asynchronous calls under way when an epoch is cut."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headwater.core.epoch import Barrier, InFlight
from headwater.core.errors import ContractError
from headwater.readers.async_io.settings import AsyncSettings
from tests.pages import Library, Page, pages, rows_of
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

    async def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(row["number"])
        while self.let is not None and row["number"] not in self.let:
            await asyncio.sleep(0.001)
        return {"label": row["label"], "number": 100 + row["number"]}


def asking(service: Service) -> tuple[Any, Any]:
    return service.__call__, AsyncSettings(capacity=4, queue_size=4)


def test_requests_in_flight_finish_before_an_aligned_barrier() -> None:
    service = Service()
    reader = reading(Library({"a": pages(5)}), "a", function=asking(service))
    assert sorted(rows_of(reader)) == [("a", 100 + number) for number in range(5)]
    assert reader.state().in_flight == ()


def test_requests_in_flight_are_stored_when_a_reader_is_left_and_asked_again_first() -> None:
    service = Service()
    service.let = {0, 1}
    library = Library({"a": [Page((0, 1, 2, 3))]})
    reader = reading(library, "a", function=asking(service))
    batches = iter(reader)
    rows: list[tuple[str, int]] = []
    while len(rows) < 2:
        rows += rows_of([next(batches)])
    reader.close()
    state = reader.state()
    [held] = state.in_flight
    assert (sorted(rows), positions(state)) == ([("a", 100), ("a", 101)], {"a": 1})
    assert [request["number"] for request in held.requests if isinstance(request, dict)] == [2, 3]

    again = reading(library, "a", function=asking(Service()), stop_at=state)
    assert sorted(rows_of(again)) == sorted(rows)

    following = reading(library, "a", position=1, restored=state.in_flight, function=asking(Service()))
    assert sorted(rows + rows_of(following)) == [("a", 100 + number) for number in range(4)]


def test_requests_in_flight_are_overtaken_by_an_unaligned_barrier() -> None:
    service = Service()
    service.let = set()
    reader = reading(
        Library({"a": pages(9)}),
        "a",
        Barrier(rows=3),
        mode=UNALIGNED,
        function=asking(service),
    )
    assert rows_of(reader) == []
    state = reader.state()
    [held] = state.in_flight
    assert (positions(state), held.rows) == ({"a": 3}, b"")
    assert [request["number"] for request in held.requests if isinstance(request, dict)] == [0, 1, 2]


def test_requests_in_flight_are_stored_when_an_aligned_barrier_times_out() -> None:
    service = Service()
    service.let = {0}
    reader = reading(
        Library({"a": pages(3)}),
        "a",
        Barrier(rows=3),
        alignment_timeout_ms=100,
        function=asking(service),
    )
    answered = [number - 100 for _, number in rows_of(reader)]
    [held] = reader.state().in_flight
    left = [int(str(row["number"])) for row in held.requests if isinstance(row, dict)]
    assert sorted(answered + left) == [0, 1, 2]
    assert {1, 2} <= set(left)


def test_restored_requests_of_a_reader_that_is_left_before_it_makes_them_are_in_flight_again() -> None:
    restored = (*reading_in_flight(), InFlight((), None, b"", ({"label": "a", "number": 8},)))
    for steps in (0, 1):
        reader = reading(Library(), "", restored=restored, function=asking(Service()))
        batches = iter(reader)
        for _ in range(steps):
            next(batches)
        reader.close()
        assert reader.state().in_flight[-1] == restored[-1]


def test_restored_requests_without_anything_that_makes_them_are_an_error() -> None:
    with pytest.raises(ContractError, match="source pages has no asynchronous function"):
        list(reading(Library(), "", restored=(InFlight((), None, b"", (1,)),)))

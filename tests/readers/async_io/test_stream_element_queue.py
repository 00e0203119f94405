"""Flink's ``StreamElementQueueTest``, ordered and unordered, case by case; and the orders as properties."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.readers.async_io.stream_element_queue import (
    OrderedStreamElementQueue,
    StreamElement,
    StreamElementQueue,
    UnorderedStreamElementQueue,
    Watermark,
)

MODES = (OrderedStreamElementQueue, UnorderedStreamElementQueue)
both_modes = pytest.mark.parametrize("mode", MODES)
Mode = type[OrderedStreamElementQueue] | type[UnorderedStreamElementQueue]


def put(queue: StreamElementQueue, value: Any) -> StreamElement:
    element = queue.try_put(value)
    assert element is not None
    return element


def pop(queue: StreamElementQueue) -> list[Any]:
    return [element.value for element in queue.pop_completed()]


@both_modes
def test_put(mode: Mode) -> None:
    queue = mode(2)
    put(queue, Watermark(0))
    put(queue, "row")
    assert queue.try_put("third") is None
    assert [element.value for element in queue.elements()] == [Watermark(0), "row"]
    assert len(queue) == 2


@both_modes
def test_pop(mode: Mode) -> None:
    queue = mode(2)
    put(queue, Watermark(0))
    row = put(queue, ("row", 42))
    assert pop(queue) == [Watermark(0)]
    assert pop(queue) == []
    queue.complete([(row, "result")])
    [popped] = queue.pop_completed()
    assert (popped.value, popped.result) == (("row", 42), "result")
    assert len(queue) == 0
    assert [element.value for element in queue.elements()] == []


@both_modes
def test_put_on_full(mode: Mode) -> None:
    queue = mode(1)
    row = put(queue, "first")
    assert queue.try_put(Watermark(1)) is None
    assert queue.try_put("second") is None
    assert len(queue) == 1
    queue.complete([(row, None)])
    assert queue.try_put("second") is None, "what is done but not out still fills its place"
    assert pop(queue) == ["first"]
    put(queue, "second")


@both_modes
def test_watermark_only(mode: Mode) -> None:
    queue = mode(2)
    put(queue, Watermark(2))
    put(queue, Watermark(5))
    assert pop(queue) == [Watermark(2), Watermark(5)]
    assert len(queue) == 0
    assert pop(queue) == []


@both_modes
def test_the_first_completion_wins(mode: Mode) -> None:
    queue = mode(2)
    row = put(queue, "row")
    assert queue.complete([(row, "first")])
    assert not queue.complete([(row, "second")])
    [popped] = queue.pop_completed()
    assert popped.result == "first"
    assert not queue.complete([(row, "third")]), "nor once it is out"
    assert pop(queue) == []


def test_completion_order_ordered() -> None:
    queue = OrderedStreamElementQueue(4)
    r1 = put(queue, "r1")
    r2 = put(queue, "r2")
    put(queue, Watermark(1))
    r4 = put(queue, "r4")
    queue.complete([(r2, None)])
    queue.complete([(r4, None)])
    assert pop(queue) == []
    assert len(queue) == 4
    queue.complete([(r1, None)])
    assert pop(queue) == ["r1", "r2", Watermark(1), "r4"]
    assert len(queue) == 0


def test_completion_order_unordered() -> None:
    queue = UnorderedStreamElementQueue(8)
    r1 = put(queue, "r1")
    r2 = put(queue, "r2")
    put(queue, Watermark(1))
    r3 = put(queue, "r3")
    r4 = put(queue, "r4")
    put(queue, Watermark(2))
    r5 = put(queue, "r5")
    r6 = put(queue, "r6")

    queue.complete([(r3, None)])
    assert pop(queue) == []
    queue.complete([(r2, None)])
    assert pop(queue) == ["r2"]
    queue.complete([(r6, None)])
    queue.complete([(r4, None)])
    assert pop(queue) == []
    queue.complete([(r1, None)])
    assert pop(queue) == ["r1", Watermark(1), "r3", "r4", Watermark(2), "r6"]
    assert [element.value for element in queue.elements()] == ["r5"]
    queue.complete([(r5, None)])
    assert pop(queue) == ["r5"]
    assert len(queue) == 0


inputs = st.lists(st.one_of(st.just("row"), st.just("watermark")), max_size=30)


@both_modes
@given(kinds=inputs, data=st.data())
def test_nothing_is_lost_or_doubled_and_no_row_passes_a_watermark(
    mode: Mode, kinds: list[str], data: st.DataObject
) -> None:
    queue = mode(max(len(kinds), 1))
    values: list[Any] = [Watermark(n) if kind == "watermark" else n for n, kind in enumerate(kinds)]
    elements = [put(queue, value) for value in values]
    rows = [element for element in elements if not isinstance(element.value, Watermark)]
    out: list[Any] = []
    for element in data.draw(st.permutations(rows)):
        queue.complete([(element, None)])
        if data.draw(st.booleans()):
            out += pop(queue)
        assert [value for value in values if value not in out] == [
            element.value for element in queue.elements()
        ], "the snapshot is what has not come out, in its order"
        assert len(queue) == len(values) - len(out)
    out += pop(queue)
    assert sorted(map(number, out)) == sorted(map(number, values))
    if mode is OrderedStreamElementQueue:
        assert out == values
    assert segments(out) == segments(values)


@given(count=st.integers(1, 20), data=st.data())
def test_without_watermarks_rows_come_out_as_they_complete(count: int, data: st.DataObject) -> None:
    queue = UnorderedStreamElementQueue(count)
    elements = [put(queue, n) for n in range(count)]
    completed = data.draw(st.permutations(elements))
    for element in completed:
        queue.complete([(element, None)])
    assert pop(queue) == [element.value for element in completed]


def number(value: Any) -> int:
    return value.timestamp if isinstance(value, Watermark) else int(value)


def segments(values: list[Any]) -> list[set[Any]]:
    """Return the rows between the watermarks, each watermark a set of its own."""
    found: list[set[Any]] = [set()]
    for value in values:
        if isinstance(value, Watermark):
            found += [{value}, set()]
        else:
            found[-1].add(value)
    return found

"""Bulk calls: how rows are gathered, and that each row has its own fate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import AsyncCallError, ContractError, OptionError
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.function import AsyncBatchFunction
from headwater.readers.async_io.settings import (
    AsyncSettings,
    Batching,
    CacheSettings,
    OnFailure,
    OutputMode,
    RetryPolicy,
)
from headwater.readers.async_io.stream_element_queue import Watermark
from tests.readers.async_io.doubles import ManualHost, operator_of


class Bulk(AsyncBatchFunction):
    """Answers at once, or after a while, what ``answer`` says; remembers what it was asked."""

    def __init__(self, answer: Callable[[Any], Any] = lambda row: f"{row}!", delay_s: float = 0.0) -> None:
        self.asked: list[list[Any]] = []
        self.answer = answer
        self.delay_s = delay_s

    async def async_invoke_batch(self, rows: Sequence[Any]) -> Sequence[Any]:
        self.asked.append(list(rows))
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        return [self.answer(row) for row in rows]

    def timeout(self, row: Any) -> Any:
        return f"{row}?"


def drained(operator: AsyncWaitOperator) -> list[Any]:
    return [output for outputs in operator.drain() for output in outputs]


def test_full_batches_leave_at_once_and_the_rest_after_its_linger(host: ManualHost) -> None:
    bulk = Bulk()
    with operator_of(bulk, host, batching=Batching(size=3, linger_ms=100)) as operator:
        operator.feed([1, 2, 3, 4])
        host.settle()
        assert bulk.asked == [[1, 2, 3]]
        operator.feed([5])
        assert operator.values() == [1, 2, 3, 4, 5]
        assert operator.poll() == [(1, "1!"), (2, "2!"), (3, "3!")]
        assert operator.poll(0.09) == []
        assert operator.poll(0.02) == [(4, "4!"), (5, "5!")]
    assert bulk.asked == [[1, 2, 3], [4, 5]]


def test_without_linger_a_batch_is_what_one_feed_brought(host: ManualHost) -> None:
    bulk = Bulk()
    with operator_of(bulk, host, batching=Batching(size=3)) as operator:
        operator.feed([1])
        operator.feed([2, 3])
        assert sorted(drained(operator)) == [(1, "1!"), (2, "2!"), (3, "3!")]
    assert bulk.asked == [[1], [2, 3]]


def test_a_watermark_sends_what_was_gathered_off(host: ManualHost) -> None:
    bulk = Bulk()
    with operator_of(
        bulk, host, batching=Batching(size=3, linger_ms=10_000), mode=OutputMode.ORDERED
    ) as operator:
        operator.feed([1])
        assert operator.put_watermark(Watermark(7))
        operator.feed([2])
        assert operator.values() == [1, Watermark(7), 2]
        assert drained(operator) == [(1, "1!"), Watermark(7), (2, "2!")]
    assert bulk.asked == [[1], [2]]


def test_the_room_is_counted_in_rows(host: ManualHost) -> None:
    with operator_of(
        Bulk(delay_s=1), host, batching=Batching(size=4, linger_ms=1000), queue_size=8
    ) as operator:
        assert operator.feed(range(5)) == 5
        assert operator.feed(range(5, 20)) == 3
        assert not operator.put_watermark(Watermark(1))
        assert len(drained(operator)) == 8


def test_only_the_rows_that_failed_are_asked_again(host: ManualHost) -> None:
    seen: dict[int, int] = {}

    def answer(row: int) -> Any:
        seen[row] = seen.get(row, 0) + 1
        return OSError("busy") if row == 2 and seen[row] < 3 else row * 10

    bulk = Bulk(answer)
    with operator_of(bulk, host, batching=Batching(size=3), retry=RetryPolicy.fixed(3, 10)) as operator:
        operator.feed([1, 2, 3])
        assert drained(operator) == [(1, 10), (2, 20), (3, 30)]
    assert bulk.asked == [[1, 2, 3], [2], [2]]


def test_results_that_are_not_believed_are_asked_again(host: ManualHost) -> None:
    bulk = Bulk(lambda row: None if row == 2 else row)
    retry = RetryPolicy.fixed(2, 10, on_result=lambda result: result is None)
    with operator_of(bulk, host, batching=Batching(size=3), retry=retry) as operator:
        operator.feed([1, 2, 3])
        assert drained(operator) == [(1, 1), (2, None), (3, 3)]
    assert bulk.asked == [[1, 2, 3], [2]]


def test_a_call_that_raises_fails_all_its_rows(host: ManualHost) -> None:
    class Fails(AsyncBatchFunction):
        async def async_invoke_batch(self, rows: Sequence[int]) -> Sequence[int]:
            raise OSError("away")

    with operator_of(
        Fails(),
        host,
        batching=Batching(size=2),
        on_failure=OnFailure.ERROR_COLUMN,
        retry=RetryPolicy.fixed(2, 1),
    ) as operator:
        operator.feed([1, 2])
        out = drained(operator)
        assert [(row, result.message, result.attempts) for row, result in out] == [
            (1, "away", 2),
            (2, "away", 2),
        ]
        assert operator.metrics.failures == 2
        assert operator.metrics.requests == 2


@pytest.mark.parametrize("policy", [OnFailure.NULL, OnFailure.DROP, OnFailure.FAIL])
def test_a_row_that_failed_follows_the_policy_alone(host: ManualHost, policy: OnFailure) -> None:
    bulk = Bulk(lambda row: ValueError("bad") if row == 2 else row)
    with operator_of(bulk, host, batching=Batching(size=3), on_failure=policy) as operator:
        operator.feed([1, 2, 3])
        host.settle()
        out = operator.poll()
        if policy is OnFailure.FAIL:
            assert out == [(1, 1), (3, 3)]
            with pytest.raises(AsyncCallError, match="ValueError: bad"):
                operator.poll()
        else:
            assert isinstance(out[1], tuple)
            assert isinstance(out[1][1], Failure) if policy is OnFailure.NULL else out[1] == (2, None)


def test_a_timeout_substitutes_row_by_row_what_is_missing(host: ManualHost) -> None:
    bulk = Bulk(lambda row: OSError() if row == 2 else row)
    with operator_of(
        bulk, host, batching=Batching(size=3), timeout_ms=1000, retry=RetryPolicy.fixed(9, 400)
    ) as operator:
        operator.feed([1, 2, 3])
        assert drained(operator) == [(1, 1), (2, "2?"), (3, 3)]
        assert operator.metrics.timeouts == 1
    with operator_of(Bulk(delay_s=5), host, batching=Batching(size=3), timeout_ms=1000) as operator:
        operator.feed([1, 2])
        assert drained(operator) == [(1, "1?"), (2, "2?")]


@pytest.mark.parametrize(("answers", "was"), [([1], "1 results"), ("ab", "a str"), (None, "a NoneType")])
def test_a_wrong_number_of_results_breaks_the_contract(host: ManualHost, answers: Any, was: str) -> None:
    class Wrong(AsyncBatchFunction):
        async def async_invoke_batch(self, rows: Sequence[int]) -> Any:
            return answers

    with operator_of(Wrong(), host, batching=Batching(size=2), on_failure=OnFailure.NULL) as operator:
        operator.feed([1, 2])
        with pytest.raises(
            ContractError,
            match=rf"Wrong.async_invoke_batch returned {was} for 2 rows; it must return one per row",
        ):
            operator.poll(1)


def test_known_rows_are_not_asked_and_equal_ones_once(host: ManualHost) -> None:
    bulk = Bulk(delay_s=1)
    with operator_of(
        bulk, host, batching=Batching(size=4), cache=CacheSettings(key=lambda row: row)
    ) as operator:
        operator.feed(["a", "b", "a", "c"])
        operator.feed(["c", "d"])  # c is in flight
        operator.feed(["a"])
        out = drained(operator)
        assert sorted(out) == sorted((row, f"{row}!") for row in "abaccda")
        assert bulk.asked == [["a", "b", "c"], ["d"]]
        operator.feed(["d", "a"])
        assert drained(operator) == [("d", "d!"), ("a", "a!")]
        assert len(bulk.asked) == 2
        assert (operator.metrics.cache_hits, operator.metrics.joined) == (2, 3)


def test_equal_rows_of_one_call_fail_together_and_once(host: ManualHost) -> None:
    bulk = Bulk(lambda _: OSError("busy"))
    cache = CacheSettings(key=lambda row: row)
    with operator_of(
        bulk, host, batching=Batching(size=2), cache=cache, on_failure=OnFailure.DROP
    ) as operator:
        operator.feed(["a", "a", "b", "b"])
        assert drained(operator) == [("a", None), ("a", None), ("b", None), ("b", None)]
        assert operator.metrics.failures == 4
    assert bulk.asked == [["a"], ["b"]]


def test_rows_that_joined_a_call_that_timed_out_have_their_own_substitutes(host: ManualHost) -> None:
    bulk = Bulk(delay_s=100)
    with operator_of(
        bulk, host, batching=Batching(size=2), timeout_ms=1000, cache=CacheSettings(key=lambda row: row[0])
    ) as operator:
        operator.feed(["a1", "b1"])
        operator.feed(["a2", "c2"])
        assert sorted(drained(operator)) == [("a1", "a1?"), ("a2", "a2?"), ("b1", "b1?"), ("c2", "c2?")]


def test_batching_and_its_function_need_each_other() -> None:
    async def single(row: int) -> int:
        return row

    with pytest.raises(OptionError, match="'batching': is for an AsyncBatchFunction"):
        AsyncWaitOperator(single, AsyncSettings(batching=Batching(size=2)))
    with pytest.raises(OptionError, match="'batching': rows of a key go one by one"):
        AsyncWaitOperator(Bulk(), AsyncSettings(mode=OutputMode.KEYED, key=str))


@given(
    rows=st.lists(st.integers(0, 5), max_size=30),
    size=st.integers(1, 5),
    capacity=st.integers(1, 3),
    cached=st.booleans(),
    ordered=st.booleans(),
    failing=st.sets(st.integers(0, 5)),
    delay_s=st.sampled_from([0.0, 0.5, 2.0]),
)
def test_every_row_comes_out_once(
    *,
    rows: list[int],
    size: int,
    capacity: int,
    cached: bool,
    ordered: bool,
    failing: set[int],
    delay_s: float,
) -> None:
    bulk = Bulk(lambda row: OSError() if row[1] in failing else row[1], delay_s)
    settings: dict[str, Any] = {"cache": CacheSettings(key=lambda row: row[1] % 6)} if cached else {}
    mode = OutputMode.ORDERED if ordered else OutputMode.UNORDERED
    numbered = list(enumerate(rows))
    with (
        closing(ManualHost()) as host,
        operator_of(
            bulk,
            host,
            mode=mode,
            batching=Batching(size=size, linger_ms=100),
            capacity=capacity,
            queue_size=4 * size,
            timeout_ms=1500,
            retry=RetryPolicy.fixed(2, 100),
            on_failure=OnFailure.NULL,
            **settings,
        ) as operator,
    ):
        out: list[Any] = [
            output for outputs in operator.process([numbered[:7], numbered[7:]]) for output in outputs
        ]
    assert sorted(row for row, _ in out) == numbered
    assert not ordered or [row for row, _ in out] == numbered
    for row, result in out:
        expected = Failure if row[1] in failing else int
        assert isinstance(result, expected if delay_s < 1 else (str, expected))

"""What is known is not asked, and what is being asked is asked once."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pytest

from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.function import AsyncBatchFunction
from headwater.readers.async_io.result_cache import MISSING, ResultCache, kept_cache
from headwater.readers.async_io.settings import (
    AsyncSettings,
    Batching,
    CacheSettings,
    OnFailure,
    OutputMode,
    RetryPolicy,
)
from headwater.readers.async_io.shared_cache import SharedCache
from tests.readers.async_io.doubles import ManualHost, Service, operator_of


def cache(**settings: Any) -> ResultCache:
    return ResultCache(CacheSettings(key=str, **settings))


def test_the_least_recently_used_entry_leaves_first() -> None:
    lru = cache(size=2)
    lru.put("a", 1, 0)
    lru.put("b", 2, 0)
    assert lru.get("a", 0) == 1
    lru.put("c", 3, 0)
    assert [lru.get(key, 0) for key in "abc"] == [1, MISSING, 3]
    assert len(lru._entries) == 2


def test_entries_end_with_their_time() -> None:
    lru = cache(ttl_ms=1000)
    lru.put("a", 1, 10.0)
    assert lru.get("a", 10.999) == 1
    assert lru.get("a", 11.0) is MISSING
    assert len(lru._entries) == 0


@pytest.mark.parametrize("nothing", [None, []])
def test_no_rows_is_a_result_with_a_time_of_its_own(nothing: Any) -> None:
    lru = cache(ttl_ms=10_000, negative_ttl_ms=1000)
    lru.put("a", nothing, 0)
    assert lru.get("a", 0.5) == nothing
    assert lru.get("a", 1.0) is MISSING
    never = cache(negative_ttl_ms=0)
    never.put("a", nothing, 0)
    assert never.get("a", 0) is MISSING


def test_size_zero_remembers_nothing() -> None:
    lru = cache(size=0)
    lru.put("a", 1, 0)
    assert lru.get("a", 0) is MISSING


def test_tasks_of_a_job_have_one_cache_for_as_long_as_it_is_in_use() -> None:
    settings = CacheSettings()
    kept = kept_cache("job", settings)
    assert kept_cache("another", settings) is not kept
    assert kept_cache("job", settings) is kept
    for number in range(8):
        kept_cache(number, settings)
    assert kept_cache("job", settings) is not kept


def test_the_next_task_of_a_job_knows_what_the_one_before_asked(host: ManualHost) -> None:
    async def twice(row: int) -> int:
        return row * 2

    def task() -> tuple[int, int]:
        with AsyncWaitOperator(
            twice, AsyncSettings(cache=CacheSettings()), share_id="two tasks", host=host
        ) as operator:
            assert [output for outputs in operator.process([[1, 2, 1]]) for output in outputs] == [
                (1, 2),
                (2, 4),
                (1, 2),
            ]
        return operator.metrics.requests, operator.metrics.cache_hits

    assert [task(), task()] == [(2, 1), (0, 3)]


def first_letter(row: str) -> str:
    return row[0]


class TestSingleFlight:
    def test_equal_keys_in_flight_are_one_call(self, host: ManualHost) -> None:
        service = Service()
        with operator_of(service, host, cache=CacheSettings(key=first_letter), capacity=4) as operator:
            operator.feed(["a1", "a2", "b1", "a3"])
            host.settle()
            assert service.calls == ["a1", "b1"]
            service.answer("a1", "b1")
            host.settle()
            results: Any = operator.poll()
            assert dict(results) == {"a1": "a1!", "a2": "a1!", "a3": "a1!", "b1": "b1!"}
            operator.feed(["a4"])
            host.settle()
            assert operator.poll() == [("a4", "a1!")]
            assert (operator.metrics.joined, operator.metrics.cache_hits, operator.metrics.requests) == (
                2,
                1,
                2,
            )

    def test_a_failure_is_shared_by_those_in_flight_and_not_remembered(self, host: ManualHost) -> None:
        service = Service()
        with operator_of(
            service, host, cache=CacheSettings(key=first_letter), on_failure=OnFailure.DROP
        ) as operator:
            operator.feed(["a1", "a2"])
            host.settle()
            service.fail("a1", OSError())
            host.settle()
            assert operator.poll() == [("a1", None), ("a2", None)]
            assert operator.metrics.failures == 2
            operator.feed(["a3"])
            host.settle()
            assert service.calls == ["a1", "a3"]

    def test_followers_wait_through_retries_and_have_their_own_substitutes(self, host: ManualHost) -> None:
        service = Service(substitute=lambda row: f"{row}?")
        retry = RetryPolicy.fixed(9, 100)
        with operator_of(
            service, host, cache=CacheSettings(key=first_letter), retry=retry, timeout_ms=1000
        ) as operator:
            operator.feed(["a1", "a2"])
            host.settle()
            service.fail("a1", OSError())
            host.advance(1)
            assert operator.poll() == [("a1", "a1?"), ("a2", "a2?")]
            assert service.calls == ["a1", "a1"]
            operator.feed(["a3"])
            host.settle()
            assert service.calls[-1] == "a3", "a substitute is not remembered"

    def test_followers_keep_the_order_of_their_key(self, host: ManualHost) -> None:
        service = Service()
        cached = CacheSettings(key=first_letter)
        with operator_of(
            service, host, cache=cached, mode=OutputMode.KEYED, key=lambda row: row[1]
        ) as operator:
            operator.feed(["ax", "bx", "ay", "bx"])
            host.settle()
            assert service.calls == ["ax"], "bx waits for ax, ay joins it"
            service.answer("ax")
            host.settle()
            service.answer("bx")
            host.settle()
            assert operator.poll() == [("ax", "ax!"), ("ay", "ax!"), ("bx", "bx!"), ("bx", "bx!")]


class Shared(SharedCache):
    """A dict that may be broken."""

    def __init__(self) -> None:
        self.stored: dict[Hashable, Any] = {}
        self.log: list[str] = []
        self.broken = False

    async def open(self) -> None:
        self.log.append("open")

    async def close(self) -> None:
        self.log.append("close")

    async def get(self, keys: Sequence[Hashable]) -> Mapping[Hashable, Any]:
        self._check()
        return {key: self.stored[key] for key in keys if key in self.stored}

    async def put(self, results: Mapping[Hashable, Any]) -> None:
        self._check()
        self.stored.update(results)

    def _check(self) -> None:
        if self.broken:
            raise ConnectionError("away")


class TestSharedCache:
    def test_it_is_asked_before_the_service_and_told_afterwards(self, host: ManualHost) -> None:
        shared = Shared()
        service = Service()
        shared.stored = {"a": "known", "n": None}
        settings = CacheSettings(key=first_letter, shared=shared)
        with operator_of(service, host, cache=settings) as operator:
            operator.feed(["a1", "n1", "b1"])
            host.settle()
            assert service.calls == ["b1"]
            service.answer("b1")
            host.settle()
            assert operator.poll() == [("a1", "known"), ("n1", None), ("b1", "b1!")]
            assert (operator.metrics.cache_hits, operator.metrics.requests) == (2, 1)
        assert shared.stored["b"] == "b1!"
        assert shared.log == ["open", "close"]

    def test_a_broken_one_costs_only_the_saving(
        self, host: ManualHost, caplog: pytest.LogCaptureFixture
    ) -> None:
        shared = Shared()
        service = Service()
        shared.broken = True
        with (
            caplog.at_level(logging.ERROR),
            operator_of(service, host, cache=CacheSettings(key=first_letter, shared=shared)) as operator,
        ):
            operator.feed(["a1"])
            host.settle()
            service.answer("a1")
            host.settle()
            assert operator.poll() == [("a1", "a1!")]
        assert "the shared cache cannot be read" in caplog.text
        assert "the shared cache cannot be written" in caplog.text

    def test_results_that_are_not_believed_are_not_stored(self, host: ManualHost) -> None:
        shared = Shared()
        service = Service()
        retry = RetryPolicy.fixed(2, 10, on_result=lambda result: result is None)
        with operator_of(
            service, host, cache=CacheSettings(key=first_letter, shared=shared), retry=retry
        ) as operator:
            operator.feed(["a1"])
            host.settle()
            service.answer("a1", result=lambda _: None)
            host.settle()
            assert shared.stored == {}
            host.advance(0.01)
            service.answer("a1")
            host.settle()
            assert shared.stored == {"a": "a1!"}

    def test_a_bulk_call_asks_only_for_what_it_lacks(self, host: ManualHost) -> None:
        asked: list[list[str]] = []

        class Bulk(AsyncBatchFunction):
            async def async_invoke_batch(self, rows: Sequence[str]) -> Sequence[Any]:
                asked.append(list(rows))
                return [OSError("busy") if row == "c1" else f"{row}!" for row in rows]

        shared = Shared()
        shared.stored = {"a": "known"}
        settings = CacheSettings(key=first_letter, shared=shared)
        with operator_of(
            Bulk(), host, cache=settings, batching=Batching(size=3), on_failure=OnFailure.DROP
        ) as operator:
            operator.feed(["a1", "b1", "c1"])
            host.settle()
            assert operator.poll() == [("a1", "known"), ("b1", "b1!"), ("c1", None)]
        assert asked == [["b1", "c1"]]
        assert shared.stored == {"a": "known", "b": "b1!"}

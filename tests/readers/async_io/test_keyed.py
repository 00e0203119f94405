"""Rows of equal keys are called in sequence."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headwater.readers.async_io.function import AsyncFunction
from headwater.readers.async_io.settings import CacheSettings, OutputMode, RetryPolicy
from tests.readers.async_io.doubles import ManualHost, Service, operator_of, times_two
from tests.readers.async_io.outputs import inputs_of

KEYED = OutputMode.KEYED


def unhashable(row: Any) -> Any:
    return [row]


class TestKeyed:
    def test_rows_of_a_key_in_sequence_and_keys_at_once(self, host: ManualHost) -> None:
        service = Service()
        with operator_of(service, host, mode=KEYED, key=lambda row: row[0]) as operator:
            operator.feed(["a1", "a2", "b1", "a3", "b2"])
            host.settle()
            assert service.calls == ["a1", "b1"]
            service.answer("b1")
            host.settle()
            assert service.calls == ["a1", "b1", "b2"]
            service.answer("a1")
            host.settle()
            service.answer("a2", "b2")
            host.settle()
            service.answer("a3")
            host.settle()
            assert inputs_of(operator.poll()) == ["b1", "a1", "a2", "b2", "a3"]

    def test_the_next_of_a_key_starts_when_the_call_before_has_really_ended(self, host: ManualHost) -> None:
        ended = asyncio.Event()
        calls: list[str] = []

        class CleansUp(AsyncFunction):
            async def async_invoke(self, row: str) -> str:
                calls.append(row)
                try:
                    await asyncio.sleep(0 if row == "a2" else 100)
                finally:
                    await ended.wait()
                return row

            def timeout(self, row: str) -> str:
                return "late"

        with operator_of(CleansUp(), host, mode=KEYED, key=lambda row: row[0], timeout_ms=1000) as operator:
            operator.feed(["a1", "a2"])
            host.advance(1.5)
            assert operator.poll() == [("a1", "late")]
            assert calls == ["a1"]
            ended.set()
            host.settle()
            assert calls == ["a1", "a2"]

    def test_a_key_stays_taken_between_attempts(self, host: ManualHost) -> None:
        service = Service()
        with operator_of(
            service,
            host,
            mode=KEYED,
            key=lambda row: row[0],
            retry=RetryPolicy.fixed(2, 1000),
            timeout_ms=500,
        ) as operator:
            operator.feed(["a1", "a2"])
            host.settle()
            service.fail("a1", OSError())
            host.advance(0.4)
            assert service.calls == ["a1"]
            host.advance(0.1)  # a1 times out while it waits for its second attempt
            assert service.calls == ["a1", "a2"]

    def test_a_key_function_that_raises_is_heard_where_rows_are_fed(self, host: ManualHost) -> None:
        with (
            operator_of(times_two, host, mode=KEYED, key=lambda row: row["id"]) as operator,
            pytest.raises(TypeError),
        ):
            operator.feed([1])

    @pytest.mark.parametrize("what", ["key", "cache"])
    def test_a_key_that_is_no_key_is_heard_where_rows_are_fed(self, host: ManualHost, what: str) -> None:
        settings: dict[str, Any] = (
            {"mode": KEYED, "key": unhashable} if what == "key" else {"cache": CacheSettings(key=unhashable)}
        )
        with (
            operator_of(times_two, host, **settings) as operator,
            pytest.raises(TypeError, match="unhashable"),
        ):
            operator.feed([(1, 2)])

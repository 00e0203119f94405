"""Functions and settings that break their contract are named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from headwater.core.errors import AsyncCallError, CallTimeoutError, ContractError, OptionError
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.function import AsyncFunction, InputRow, OpenContext, Result
from headwater.readers.async_io.settings import (
    AsyncSettings,
    CacheSettings,
    OnFailure,
    OutputMode,
    RateLimit,
    RetryPolicy,
)
from tests.readers.async_io.doubles import ManualHost, Service, operator_of

KEYED = OutputMode.KEYED
OTHER: Any = "3"


class TestWrongUse:
    def test_open_that_raises_names_the_function(self, host: ManualHost) -> None:
        class NoServer(Service):
            async def open(self, context: OpenContext) -> None:
                raise ConnectionError("refused")

        with pytest.raises(AsyncCallError, match=r"NoServer.open raised ConnectionError: refused"):
            AsyncWaitOperator(NoServer(), host=host).open()

    def test_open_that_hangs_is_given_up(self, host: ManualHost) -> None:
        class Hangs(Service):
            async def open(self, context: OpenContext) -> None:
                await asyncio.sleep(1000)

        with pytest.raises(AsyncCallError, match=r"Hangs.open did not end within 60 s"):
            AsyncWaitOperator(Hangs(), host=host).open()

    def test_a_call_that_returns_nothing_to_await(self, host: ManualHost) -> None:
        class NotAsync(AsyncFunction):
            def async_invoke(self, row: int) -> int:  # type: ignore[override]
                return row

        with operator_of(NotAsync(), host, on_failure=OnFailure.NULL) as operator:
            operator.feed([1])
            with pytest.raises(
                ContractError,
                match=r"NotAsync.async_invoke must be an async def function, and returned a int",
            ):
                operator.poll(1)

    def test_a_timeout_that_is_a_coroutine(self, host: ManualHost) -> None:
        class AsyncTimeout(Service):
            async def timeout(self, row: InputRow) -> Result:
                return row

        with operator_of(AsyncTimeout(), host, timeout_ms=10) as operator:
            operator.feed([1])
            with pytest.raises(ContractError, match=r"AsyncTimeout.timeout must be a plain def function"):
                operator.poll(1)

    def test_a_row_that_cannot_be_described_fails_all_the_same(self, host: ManualHost) -> None:
        with operator_of(Service(), host, timeout_ms=10, describe_row=lambda row: row["id"]) as operator:
            operator.feed([1])
            with pytest.raises(CallTimeoutError, match="Service failed, attempt 1"):
                operator.poll(1)

    @pytest.mark.parametrize(
        ("function", "message"),
        [
            (Service, r"is a class; pass an instance: Service\(\)"),
            (3, "must be an AsyncFunction, or a function of a row, and is a int"),
        ],
    )
    def test_what_is_no_function(self, function: Any, message: str) -> None:
        with pytest.raises(OptionError, match=message):
            AsyncWaitOperator(function)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (lambda: AsyncSettings(capacity=0), "'capacity': must be at least 1"),
            (lambda: AsyncSettings(timeout_ms=0), "'timeout_ms': must be positive"),
            (lambda: AsyncSettings(queue_size=0), "'queue_size': must be at least 1"),
            (lambda: AsyncSettings(block_warning_ms=0), "'block_warning': must be at least 1"),
            (lambda: AsyncSettings(mode=KEYED), "'key': is needed in keyed mode"),
            (lambda: AsyncSettings(key=str), "'key': is needed in keyed mode"),
            (lambda: RetryPolicy.fixed(0, 1), "'attempts': must be at least 1"),
            (lambda: RetryPolicy.fixed(OTHER, 1), "'attempts': must be a whole number, and is '3'"),
            (lambda: RetryPolicy.fixed(2, 1, on_error=OTHER), "'on_error': must be a function, and is '3'"),
            (lambda: RateLimit(requests_per_s=OTHER), "'requests_per_s': must be a number, and is '3'"),
            (lambda: CacheSettings(shared=OTHER), "'shared': must be a SharedCache, and is '3'"),
            (lambda: RetryPolicy.exponential(2, 1, jitter=2), "'jitter': must lie between 0 and 1"),
        ],
    )
    def test_settings_without_sense(self, settings: Callable[[], Any], message: str) -> None:
        with pytest.raises(OptionError, match=message):
            settings()

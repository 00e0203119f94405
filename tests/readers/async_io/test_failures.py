"""Calls that fail: asked again, row by row, and what becomes of those that fail for good."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.core.errors import ContractError
from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.settings import OnFailure, OutputMode, RetryPolicy
from tests.readers.async_io.doubles import ManualHost, Service, operator_of
from tests.readers.async_io.outputs import drained, pairs

ORDERED = OutputMode.ORDERED


class TestRetries:
    def test_each_row_has_its_own_back_off(self, host: ManualHost) -> None:
        """In PyFlink the attempts of one row make the waits of another longer."""
        service = Service()
        retry = RetryPolicy.exponential(5, 200, jitter=0.0)
        with operator_of(service, host, retry=retry, on_failure=OnFailure.NULL) as operator:
            operator.feed(["a"])
            for _ in range(3):
                host.settle()
                service.fail("a", OSError())
                host.advance(0.2 * 2**_)
            operator.feed(["b"])
            host.settle()
            service.fail("b", OSError())
            before = len(service.calls)
            host.advance(0.199)
            assert len(service.calls) == before
            host.advance(0.001)
            assert service.calls[before:] == ["b"]

    def test_only_errors_worth_it_are_asked_again(self, host: ManualHost) -> None:
        service = Service()
        retry = RetryPolicy.fixed(3, 10, on_error=lambda error: isinstance(error, OSError))
        with operator_of(service, host, retry=retry, on_failure=OnFailure.NULL) as operator:
            operator.feed([1])
            host.settle()
            service.fail(1, OSError())
            host.advance(0.01)
            service.fail(1, ValueError("bad"))
            [(_, failure)] = pairs(drained(operator))
            assert (failure.error_class, failure.message, failure.attempts) == ("ValueError", "bad", 2)
            assert operator.metrics.retries == 1

    @pytest.mark.parametrize("predicate", ["on_error", "on_result"])
    def test_a_predicate_that_raises_fails_the_task(self, host: ManualHost, predicate: str) -> None:
        async def call(row: int) -> int:
            if predicate == "on_error":
                raise OSError
            return row

        def broken(_: Any) -> bool:
            raise KeyError("oops")

        retry = (
            RetryPolicy.fixed(3, 10, on_error=broken)
            if predicate == "on_error"
            else RetryPolicy.fixed(3, 10, on_result=broken)
        )
        with operator_of(call, host, retry=retry, on_failure=OnFailure.NULL) as operator:
            operator.feed([1])
            host.settle()
            operator.poll()
            with pytest.raises(ContractError, match=f"retry policy's {predicate} for .*call raised KeyError"):
                operator.poll()


class TestFailurePolicies:
    async def fails(self, row: int) -> int:
        if row % 2:
            raise ValueError(f"row {row}")
        return row

    @pytest.mark.parametrize("policy", [OnFailure.NULL, OnFailure.ERROR_COLUMN])
    def test_a_failure_is_a_result(self, host: ManualHost, policy: OnFailure) -> None:
        with operator_of(self.fails, host, on_failure=policy, mode=ORDERED) as operator:
            operator.feed([0, 1, 2])
            zero, (row, failure), two = pairs(drained(operator))
            assert (zero, two, row) == ((0, 0), (2, 2), 1)
            assert isinstance(failure, Failure)
            assert (failure.error_class, failure.message, failure.attempts) == ("ValueError", "row 1", 1)
            assert operator.metrics.failures == 1

    def test_a_dropped_row_has_no_result(self, host: ManualHost) -> None:
        with operator_of(self.fails, host, on_failure=OnFailure.DROP, mode=ORDERED) as operator:
            operator.feed([0, 1, 2])
            assert drained(operator) == [(0, 0), (1, None), (2, 2)]
            assert operator.metrics.failures == 1

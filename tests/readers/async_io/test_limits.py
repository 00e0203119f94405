"""Calls per second, and the circuit breaker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email import message_from_string
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import CircuitOpenError, ContractError
from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.failure_policy import retry_after_s
from headwater.readers.async_io.function import AsyncBatchFunction
from headwater.readers.async_io.permits import CircuitBreaker, RateLimiter
from headwater.readers.async_io.settings import (
    Batching,
    CircuitBreakerSettings,
    OnFailure,
    RateLimit,
    RetryPolicy,
)
from tests.readers.async_io.doubles import ManualHost, Service, operator_of


def test_tokens_come_one_by_one_after_the_burst() -> None:
    limiter = RateLimiter(RateLimit(requests_per_s=4, burst=2))
    assert [limiter.reserve(8.0) for _ in range(4)] == [0.0, 0.0, 0.25, 0.5]
    assert limiter.reserve(16.0) == 0.0


@given(
    gaps=st.lists(st.floats(0, 3), min_size=1, max_size=40), rate=st.integers(1, 20), burst=st.integers(1, 5)
)
def test_no_window_has_more_starts_than_its_tokens(gaps: list[float], rate: int, burst: int) -> None:
    limiter = RateLimiter(RateLimit(requests_per_s=rate, burst=burst))
    now = 0.0
    starts = []
    for gap in gaps:
        now += gap
        starts.append(now + limiter.reserve(now))
    for first in range(len(starts)):
        for last in range(first, len(starts)):
            assert last - first + 1 <= burst + (starts[last] - starts[first]) * rate + 1e-6


def test_heavy_calls_take_more_tokens() -> None:
    limiter = RateLimiter(RateLimit(requests_per_s=10, burst=10))
    assert [limiter.reserve(8.0, tokens) for tokens in (4, 6, 5, 30)] == [0.0, 0.0, 0.5, pytest.approx(3.5)]


@pytest.mark.parametrize("batching", [None, Batching(size=1)])
def test_a_limit_counts_what_its_weight_says(host: ManualHost, batching: Batching | None) -> None:
    asked: list[int] = []

    class Bulk(AsyncBatchFunction):
        async def async_invoke_batch(self, rows: Sequence[int]) -> Sequence[int]:
            asked.extend(rows)
            return rows

    async def one(row: int) -> int:
        asked.append(row)
        return row

    limit = RateLimit(requests_per_s=100, burst=100, weight=lambda row: row)
    with operator_of(Bulk() if batching else one, host, rate_limit=limit, batching=batching) as operator:
        operator.feed([60, 40, 50, 10])
        host.settle()
        assert asked == [60, 40]
        host.advance(0.49)
        assert asked == [60, 40]
        host.advance(0.02)
        assert asked == [60, 40, 50]
        host.advance(0.1)
        assert asked == [60, 40, 50, 10]


def test_a_bulk_call_that_asks_again_takes_the_tokens_of_the_rows_that_it_asks_about(
    host: ManualHost,
) -> None:
    asked: list[tuple[float, int]] = []

    class FailsForHeavy(AsyncBatchFunction):
        async def async_invoke_batch(self, rows: Sequence[int]) -> Sequence[Any]:
            asked.append((host.loop.now, sum(rows)))
            return [BusyError() if row == 40 and len(asked) == 1 else row for row in rows]

    limit = RateLimit(requests_per_s=100, burst=100, weight=lambda row: row)
    batching = Batching(size=2)
    retry = RetryPolicy.fixed(2, 0)
    with operator_of(FailsForHeavy(), host, rate_limit=limit, batching=batching, retry=retry) as operator:
        operator.feed([60, 40])
        host.advance(1)
        assert operator.poll()
    [(first, _), (second, tokens)] = asked
    assert tokens == 40
    assert second - first == pytest.approx(0.4)


@pytest.mark.parametrize("weight", [-1, float("nan"), "7"])
def test_a_weight_that_is_no_number_of_tokens_is_an_error_of_its_own(host: ManualHost, weight: Any) -> None:
    limit = RateLimit(requests_per_s=1, weight=lambda _: weight)
    with (
        operator_of(Service(), host, rate_limit=limit) as operator,
        pytest.raises(ContractError, match="weight must be a number of tokens"),
    ):
        operator.feed([1])


class BusyError(Exception):
    """As clients raise it."""

    def __init__(self, **said: Any) -> None:
        super().__init__("429")
        self.__dict__.update(said)


NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (BusyError(), 0),
        (BusyError(retry_after=7), 7),
        (BusyError(retry_after=-7), 0),
        (BusyError(retry_after=timedelta(minutes=1)), 60),
        (HTTPError("http://crm", 429, "", message_from_string("Retry-After: 8"), None), 8),
        (BusyError(headers={"Retry-After": "30"}), 30),
        (BusyError(response=SimpleNamespace(headers={"retry-after": "1.5"})), 1.5),
        (BusyError(headers={"Retry-After": "Thu, 01 Jan 2026 00:01:00 GMT"}), 60),
        (BusyError(headers={"Retry-After": "Thu, 01 Jan 2025 00:01:00 GMT"}), 0),
        (BusyError(headers={"Retry-After": "soon"}), 0),
        (BusyError(headers={"Retry-After": "inf"}), 0),
        (BusyError(headers=None, response=None), 0),
    ],
)
def test_what_a_failure_says_about_when_to_ask_again(error: Exception, seconds: float) -> None:
    assert retry_after_s(error, NOW) == seconds


@pytest.mark.parametrize("in_bulk", [False, True])
def test_a_row_waits_as_long_as_the_service_wants(host: ManualHost, in_bulk: bool) -> None:
    asked: list[float] = []

    class Bulk(AsyncBatchFunction):
        async def async_invoke_batch(self, rows: Sequence[int]) -> Sequence[Any]:
            asked.append(host.loop.now)
            # The last one to be asked again does not say when.
            return [BusyError(retry_after=20), BusyError()]

    async def one(row: int) -> None:
        asked.append(host.loop.now)
        raise BusyError(retry_after=20)

    retry = RetryPolicy.fixed(3, 10)
    with operator_of(Bulk() if in_bulk else one, host, retry=retry, on_failure=OnFailure.NULL) as operator:
        operator.feed([1, 2] if in_bulk else [1])
        host.advance(50)
        assert operator.poll()
    assert [at - asked[0] for at in asked] == [0, pytest.approx(20), pytest.approx(40)]


def test_calls_start_no_faster_than_the_limit_retries_included(host: ManualHost) -> None:
    service = Service()
    limit = RateLimit(requests_per_s=2)
    with operator_of(
        service, host, rate_limit=limit, retry=RetryPolicy.fixed(2, 1), on_failure=OnFailure.DROP
    ) as operator:
        operator.feed([1, 2, 3])
        host.settle()
        assert service.calls == [1]
        service.fail(1, OSError())
        host.advance(0.5)
        assert service.calls == [1, 2]
        host.advance(1)
        assert service.calls == [1, 2, 3, 1]


def test_a_limit_counts_the_calls_of_the_task_before_and_not_those_that_it_never_made(
    host: ManualHost,
) -> None:
    """Micro-batches may be shorter than the time that a token takes."""
    service = Service()
    limit = RateLimit(requests_per_s=2)
    for batch in range(3):
        with operator_of(service, host, rate_limit=limit, share_id="a job") as operator:
            operator.feed([f"{batch}a", f"{batch}b", f"{batch}c"])
            host.advance(0.2)
    assert service.calls == ["0a", "2a"], "the second one comes 0.5 s after the first"
    with operator_of(service, host, rate_limit=limit, share_id="another job") as operator:
        operator.feed(["other"])
        host.settle()
    assert service.calls == ["0a", "2a", "other"]


def test_waiting_for_the_first_token_is_not_part_of_the_timeout(host: ManualHost) -> None:
    service = Service()
    with operator_of(service, host, rate_limit=RateLimit(requests_per_s=1), timeout_ms=900) as operator:
        operator.feed([1, 2])
        host.settle()
        service.answer(1)
        host.advance(1.5)
        service.answer(2)
        host.settle()
        assert operator.poll() == [(1, "1!"), (2, "2!")]


def test_the_circuit_opens_pauses_probes_and_closes() -> None:
    breaker = CircuitBreaker(CircuitBreakerSettings(failures=2, pause_ms=1000, probes=2))
    assert breaker.allow(0)
    breaker.failed(0)
    breaker.succeeded()
    breaker.failed(0)
    assert breaker.closed, "only failures in a row count"
    breaker.failed(0)
    assert not breaker.closed
    assert not breaker.allow(0.999)
    assert breaker.allow(1)
    assert not breaker.allow(1), "one probe at a time"
    breaker.succeeded()
    assert not breaker.closed
    assert breaker.allow(1)
    breaker.succeeded()
    assert breaker.closed


def test_a_probe_that_fails_opens_it_again() -> None:
    breaker = CircuitBreaker(CircuitBreakerSettings(failures=1, pause_ms=1000))
    breaker.failed(0)
    assert breaker.allow(1)
    breaker.failed(1)
    assert not breaker.allow(1.9)
    assert breaker.allow(2)


def test_answers_of_calls_from_before_it_opened_do_not_close_it() -> None:
    breaker = CircuitBreaker(CircuitBreakerSettings(failures=1, pause_ms=1000))
    breaker.failed(0)
    breaker.succeeded()
    assert not breaker.closed


@pytest.mark.parametrize("timed_out", [True, False])
def test_with_the_circuit_open_rows_fail_without_a_call(host: ManualHost, timed_out: bool) -> None:
    service = Service()
    circuit = CircuitBreakerSettings(failures=2, pause_ms=5000)
    with operator_of(
        service, host, circuit_breaker=circuit, on_failure=OnFailure.NULL, timeout_ms=1000
    ) as operator:
        operator.feed([1, 2])
        host.settle()
        if not timed_out:
            service.fail(1, OSError())
            service.fail(2, OSError())
        host.advance(1)
        operator.feed([3])
        host.settle()
        failures = [output[1] for output in operator.poll() if isinstance(output, tuple)]
        assert isinstance(failures[2], Failure)
        assert isinstance(failures[2].error, CircuitOpenError)
        assert service.calls == [1, 2]
        assert operator.metrics.rejected == 1
        host.advance(5)
        operator.feed([4])
        host.settle()
        assert service.calls == [1, 2, 4]
        service.answer(4)
        host.settle()
        assert operator.poll() == [(4, "4!")]

"""Calls per second, and the circuit breaker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import CircuitOpenError
from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.permits import CircuitBreaker, RateLimiter
from headwater.readers.async_io.settings import CircuitBreakerSettings, OnFailure, RateLimit, RetryPolicy
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

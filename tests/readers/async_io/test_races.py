"""What happens at the same moment, and the orders as properties."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import AsyncCallError
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.function import AsyncFunction
from headwater.readers.async_io.settings import AsyncSettings, OnFailure, OutputMode, RetryPolicy
from tests.readers.async_io.doubles import ManualHost, Service, operator_of
from tests.readers.async_io.outputs import drained, inputs_of, pairs, results_of

ORDERED = OutputMode.ORDERED
UNORDERED = OutputMode.UNORDERED
KEYED = OutputMode.KEYED


class Hangs(AsyncFunction):
    async def async_invoke(self, row: int) -> int:
        await asyncio.get_running_loop().create_future()
        return row

    def timeout(self, row: int) -> int:
        return row


class TestRaces:
    """What happens at the same moment is settled by who comes first, and only once."""

    def test_a_result_before_the_timeout_in_one_turn(self, host: ManualHost) -> None:
        service = Service()
        with operator_of(service, host, timeout_ms=1000) as operator:
            operator.feed([1])
            host.settle()
            service.answer(1)
            host.loop.now += 1  # the call's wake-up is in this turn's queue before the timer
            host.settle()
            [(row, result)] = pairs(operator.poll())
            assert (row, result) == (1, "1!")
            assert service.expired == []

    def test_a_result_after_the_timeout_in_one_turn(self, host: ManualHost) -> None:
        service = Service(substitute=lambda row: f"{row}?")
        with operator_of(service, host, timeout_ms=1000) as operator:
            operator.feed([1])
            host.settle()
            # A timer made later, due at the same moment.
            host.loop.call_at(host.loop.now + 1, service.answer, 1)
            host.advance(1)
            assert operator.poll() == [(1, "1?")]
            assert operator.poll() == []
            assert operator.metrics.requests == 1

    def test_the_worker_of_a_timed_out_call_goes_on_with_the_next(self, host: ManualHost) -> None:
        service = Service(substitute=lambda row: f"{row}?")
        with operator_of(service, host, timeout_ms=1000, capacity=1) as operator:
            operator.feed([1, 2])
            host.advance(1)
            assert service.calls == [1, 2]
            service.answer(2)
            host.settle()
            assert operator.poll() == [(1, "1?"), (2, "2!")]

    def test_a_call_that_ignores_its_cancellation_keeps_its_slot(self, host: ManualHost) -> None:
        running = 0
        peak = 0

        class Stubborn(AsyncFunction):
            async def async_invoke(self, row: int) -> int:
                nonlocal running, peak
                running += 1
                peak = max(peak, running)
                try:
                    for _ in range(3):
                        try:
                            await asyncio.sleep(10)
                        except asyncio.CancelledError:
                            await asyncio.sleep(5)
                finally:
                    running -= 1
                return row

            def timeout(self, row: int) -> str:
                return f"{row}?"

        with operator_of(Stubborn(), host, timeout_ms=1000, capacity=2, close_timeout_ms=100_000) as operator:
            operator.feed(list(range(6)))
            assert results_of(drained(operator)) == [f"{n}?" for n in range(6)]
            assert peak == 2

    def test_timed_out_calls_never_add_up(self, host: ManualHost) -> None:
        """PyFlink lets them run on: 60 at once with a capacity of 10."""
        service = Service(substitute=lambda _: None)
        with operator_of(service, host, timeout_ms=100, capacity=10) as operator:
            operator.feed(list(range(60)))
            assert len(drained(operator)) == 60
            assert service.peak == 10
            assert len(service.cancelled) == 60

    @pytest.mark.parametrize("timeout_ms", [500, pytest.param(300_000, marks=pytest.mark.long)])
    def test_100_000_calls_that_hang_end_in_seconds(self, timeout_ms: int) -> None:
        many = 100_000
        began_s = time.process_time()
        settings = AsyncSettings(
            capacity=many, queue_size=many, timeout_ms=timeout_ms, close_timeout_ms=40_000
        )
        with AsyncWaitOperator(Hangs(), settings) as operator:
            operator.feed(range(many))
            if timeout_ms == 500:
                assert sorted(results_of(drained(operator))) == list(range(many))
                assert operator.metrics.timeouts == many
            # Else they are all cancelled now.
        assert operator.metrics.left_behind == 0
        # Of the processor: the machine may have much else to do.
        assert time.process_time() - began_s < 20

    def test_the_loop_turns_while_many_calls_expire(self, host: ManualHost) -> None:
        expired: list[int] = []
        expired_before_a_turn: list[int] = []

        class Counts(Hangs):
            def timeout(self, row: int) -> int:
                expired.append(row)
                if len(expired) == 1:
                    host.loop.call_soon(lambda: expired_before_a_turn.append(len(expired)))
                return row

        with operator_of(Counts(), host, capacity=2000, queue_size=2000, timeout_ms=1000) as operator:
            operator.feed(range(2000))
            assert len(drained(operator)) == 2000
        assert expired_before_a_turn[0] <= 1000

    def test_asyncio_timeouts_work_in_a_worker_that_was_cancelled_before(self, host: ManualHost) -> None:
        async def with_a_timeout_of_its_own(row: int) -> str:
            if row == 0:
                await asyncio.sleep(100)
            try:
                async with asyncio.timeout(0.1):
                    await asyncio.sleep(100)
            except TimeoutError:
                return "mine"
            return "none"

        with operator_of(
            with_a_timeout_of_its_own, host, timeout_ms=1000, capacity=1, on_failure=OnFailure.NULL
        ) as operator:
            operator.feed([0, 1])
            assert results_of(drained(operator))[1] == "mine"

    def test_a_call_that_cancels_itself_fails_and_its_worker_lives(self, host: ManualHost) -> None:
        async def cancels_itself(row: int) -> int:
            if row == 0:
                raise asyncio.CancelledError
            return row

        with operator_of(cancels_itself, host, capacity=1, on_failure=OnFailure.NULL) as operator:
            operator.feed([0, 1])
            (_, failure), one = pairs(drained(operator))
            assert failure.message == "the function cancelled its own call"
            assert one == (1, 1)

    @pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
    def test_no_exception_of_a_call_ends_the_loop(self, host: ManualHost, error: BaseException) -> None:
        async def raises(row: int) -> int:
            raise error

        with operator_of(raises, host, retry=RetryPolicy.fixed(3, 1)) as operator:
            operator.feed([0])
            with pytest.raises(AsyncCallError, match=f"attempt 1: {type(error).__name__}"):
                operator.poll(1)


@given(
    data=st.data(),
    count=st.integers(1, 25),
    mode=st.sampled_from([ORDERED, UNORDERED, KEYED]),
    capacity=st.integers(1, 6),
)
def test_every_row_comes_out_once_in_its_order(
    data: st.DataObject, count: int, mode: OutputMode, capacity: int
) -> None:
    """In all orders in which calls are answered, fail, are asked again or time out."""
    delays = data.draw(st.lists(st.sampled_from([0.0, 0.1, 0.5, 5.0]), min_size=count, max_size=count))
    failing = data.draw(st.sets(st.integers(0, count - 1)))
    running: dict[int, int] = defaultdict(int)
    peak = 0

    class Outside(AsyncFunction):
        async def async_invoke(self, row: int) -> int:
            nonlocal peak
            running[row % 3] += 1
            peak = max(peak, sum(running.values()))
            assert mode is not KEYED or running[row % 3] == 1
            try:
                if delays[row]:
                    await asyncio.sleep(delays[row])
                if row in failing:
                    raise OSError
                return row
            finally:
                running[row % 3] -= 1

        def timeout(self, row: int) -> str:
            return "late"

    key = {"key": lambda row: row % 3} if mode is KEYED else {}
    retry = RetryPolicy.exponential(3, 200, jitter=0.5)
    with (
        closing(ManualHost()) as host,
        operator_of(
            Outside(),
            host,
            mode=mode,
            capacity=capacity,
            queue_size=8,
            timeout_ms=1000,
            retry=retry,
            on_failure=OnFailure.NULL,
            **key,
        ) as operator,
    ):
        out = [output for outputs in operator.process([list(range(count))]) for output in outputs]
    assert sorted(inputs_of(out)) == list(range(count))
    assert peak <= capacity
    if mode is ORDERED:
        assert inputs_of(out) == list(range(count))
    if mode is KEYED:
        assert [[row for row in inputs_of(out) if row % 3 == key] for key in range(3)] == [
            list(range(key, count, 3)) for key in range(3)
        ]

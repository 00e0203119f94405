"""Flink's ``AsyncWaitOperatorTest``, case by case; then what PyFlink's suite adds; then the orders as properties. Time is the test's own."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater_core.errors import AsyncCallError, CallTimeoutError, ContractError, OptionError
from readers.async_io.async_wait_operator import AsyncWaitOperator, Output
from readers.async_io.call import Failure
from readers.async_io.function import AsyncFunction, CallbackFunction, OpenContext, Result, ResultFuture, Row
from readers.async_io.settings import AsyncSettings, CacheSettings, OnFailure, OutputMode, RetryPolicy
from readers.async_io.stream_element_queue import Watermark
from tests.readers.async_io.doubles import ManualHost, Service, operator_of

ORDERED, UNORDERED, KEYED = OutputMode.ORDERED, OutputMode.UNORDERED, OutputMode.KEYED
both_modes = pytest.mark.parametrize("mode", [ORDERED, UNORDERED])


async def times_two(row: int) -> int:
    await asyncio.sleep(0.01 * (row % 3))
    return row * 2


def unhashable(row: Any) -> Any:
    return [row]


def drained(operator: AsyncWaitOperator) -> list[Output]:
    return [output for outputs in operator.drain() for output in outputs]


def pairs(outputs: Sequence[Output]) -> list[tuple[Any, Any]]:
    return [output for output in outputs if not isinstance(output, Watermark)]


def inputs_of(outputs: Sequence[Output]) -> list[Any]:
    return [output if isinstance(output, Watermark) else output[0] for output in outputs]


def results_of(outputs: Sequence[Output]) -> list[Any]:
    return [output if isinstance(output, Watermark) else output[1] for output in outputs]


class TestFlinksCases:
    """Named as there."""

    def test_event_time_ordered(self, host: ManualHost) -> None:
        with operator_of(times_two, host, mode=ORDERED) as operator:
            operator.feed([2, 1])
            operator.put_watermark(Watermark(2))
            operator.feed([3])
            assert drained(operator) == [(2, 4), (1, 2), Watermark(2), (3, 6)]

    def test_watermark_unordered(self, host: ManualHost) -> None:
        with operator_of(times_two, host, mode=UNORDERED) as operator:
            operator.feed([2, 1])
            operator.put_watermark(Watermark(2))
            operator.feed([3])
            assert drained(operator) == [(1, 2), (2, 4), Watermark(2), (3, 6)], "3 is done first and comes last"

    def test_a_watermark_behind_each_row_makes_unordered_ordered(self, host: ManualHost) -> None:
        with operator_of(times_two, host, mode=UNORDERED) as operator:
            for row in (2, 1, 3):
                operator.feed([row])
                operator.put_watermark(Watermark(row))
            assert inputs_of(drained(operator)) == [2, Watermark(2), 1, Watermark(1), 3, Watermark(3)]

    @both_modes
    def test_processing_time(self, host: ManualHost, mode: OutputMode) -> None:
        """Eight inputs through room for six."""
        with operator_of(times_two, host, mode=mode, capacity=6, queue_size=6) as operator:
            rows = list(range(1, 9))
            assert operator.feed(rows) == 6
            assert operator.feed(rows[6:]) == 0, "no row is taken before a place is free"
            out: list[Output] = []
            while len(out) < 8:
                out += operator.poll(1.0)
                operator.feed(rows[len(out) + len(operator) :])
            if mode is ORDERED:
                assert results_of(out) == [row * 2 for row in rows]
            assert sorted(results_of(out)) == [row * 2 for row in rows]

    @both_modes
    def test_operator_chain_with_processing_time(self, host: ManualHost, mode: OutputMode) -> None:
        opened: list[str] = []

        class Named(AsyncFunction):
            def __init__(self, name: str) -> None:
                self.name = name

            async def open(self, context: OpenContext) -> None:
                opened.append(self.name)

            async def async_invoke(self, row: int) -> int:
                return await times_two(row)

        with operator_of(Named("tail"), host, mode=mode) as tail, operator_of(Named("head"), host, mode=mode) as head:
            assert opened == ["tail", "head"]
            mapped = ([result + 1 for _, result in outputs] for outputs in map(pairs, head.process([[1, 2], [3, 4]])))
            out = [result for outputs in tail.process(mapped) for _, result in pairs(outputs)]
        assert sorted(out) == [(row * 2 + 1) * 2 for row in (1, 2, 3, 4)]

    def test_state_snapshot_and_restore(self, host: ManualHost) -> None:
        first = Service()
        with operator_of(first, host, mode=ORDERED) as operator:
            operator.feed([1, 2, 3, 4])
            host.settle()
            first.answer(2)
            host.settle()
            assert operator.poll() == []
            snapshot = operator.values()
        assert snapshot == [1, 2, 3, 4], "done and not out is asked again too"
        second = Service()
        with operator_of(second, host, mode=ORDERED) as operator:
            operator.restore(snapshot)
            operator.feed([5, 6])
            assert operator.values() == [1, 2, 3, 4, 5, 6]
            operator.feed([7, 8])
            host.settle()
            second.answer(8, 7, 6, 5, 4, 3, 2, 1)
            assert inputs_of(drained(operator)) == [1, 2, 3, 4, 5, 6, 7, 8]

    @pytest.mark.parametrize("extra", [0, 1, 7])
    @both_modes
    def test_restart_with_full_queue(self, host: ManualHost, extra: int, mode: OutputMode) -> None:
        """FLINK-7949: a snapshot may hold more than there is room for."""
        rows = [*range(3), Watermark(0), *range(3, 4 + extra)]
        with operator_of(times_two, host, mode=mode, capacity=2, queue_size=4) as operator:
            operator.restore(rows)
            assert operator.values() == rows
            assert operator.feed([99]) == 0 or not extra
            out = drained(operator)
        assert sorted(inputs_of(out), key=str) == sorted(rows, key=str)
        assert set(inputs_of(out)[:3]) == {0, 1, 2}

    @both_modes
    def test_async_timeout_failure(self, host: ManualHost, mode: OutputMode) -> None:
        service = Service()
        with operator_of(service, host, mode=mode, timeout_ms=1000, describe_row=lambda row: f"id {row}") as operator:
            operator.feed([1, 2])
            host.settle()
            service.answer(1)
            host.advance(1)
            assert operator.poll() == [(1, "1!")], "the other result is still emitted"
            with pytest.raises(CallTimeoutError, match=r"Service failed for id 2, attempt 1: .*no result within the timeout") as caught:
                operator.poll()
            assert isinstance(caught.value, TimeoutError)
            assert service.cancelled == [2]

    @both_modes
    def test_async_timeout_ignore(self, host: ManualHost, mode: OutputMode) -> None:
        service = Service(substitute=lambda row: f"{row}?")
        with operator_of(service, host, mode=mode, timeout_ms=1000) as operator:
            operator.feed([1, 2])
            host.settle()
            service.answer(2)
            host.advance(1)
            out = operator.poll()
            assert sorted(results_of(out)) == ["1?", "2!"]
            assert mode is UNORDERED or results_of(out) == ["1?", "2!"]
            assert operator.metrics.timeouts == 1
            assert operator.metrics.failures == 0

    @both_modes
    def test_a_timeout_that_raises_fails_the_task_with_what_it_raised(self, host: ManualHost, mode: OutputMode) -> None:
        def no_substitute(row: Row) -> Result:
            raise ValueError("none for this")

        with operator_of(Service(no_substitute), host, mode=mode, timeout_ms=1000) as operator:
            operator.feed([1])
            with pytest.raises(AsyncCallError, match="Service failed, attempt 1: ValueError: none for this"):
                operator.poll(2)

    @both_modes
    def test_timeout_cleanup(self, host: ManualHost, mode: OutputMode) -> None:
        """FLINK-5652: no timer outlives its call, the operator being open still."""
        service = Service()
        with operator_of(service, host, mode=mode, timeout_ms=100_000) as operator:
            operator.feed([1, 2])
            host.settle()
            assert len(host.loop.timers()) == 1, "one timer, however many calls"
            service.answer(1, 2)
            host.settle()
            assert host.loop.timers() == []
            assert len(operator.poll()) == 2

    @both_modes
    def test_timeout_after_complete(self, host: ManualHost, mode: OutputMode) -> None:
        service = Service()
        with operator_of(service, host, mode=mode, timeout_ms=1000) as operator:
            operator.feed([1, 2])
            host.settle()
            service.answer(1)
            host.advance(0.5)
            operator.feed([3])
            host.advance(0.4)
            service.answer(2, 3)
            host.advance(10)
            assert len(operator.poll()) == 3
            assert service.expired == []
            assert service.cancelled == []

    @pytest.mark.parametrize("retry", [None, RetryPolicy.fixed(2, 10)])
    @both_modes
    def test_user_exception_handling(self, host: ManualHost, mode: OutputMode, retry: RetryPolicy | None) -> None:
        """FLINK-6435: a failure fails the task at once; it does not wait for its neighbours."""
        service = Service()
        with operator_of(service, host, mode=mode, retry=retry) as operator:
            operator.feed([1, 2])
            for _ in range(2 if retry else 1):
                host.settle()
                service.fail(2, ValueError("no such customer"))
                host.advance(0.01)
            with pytest.raises(AsyncCallError, match=r"Service failed, attempt \d: ValueError: no such customer") as caught:
                operator.poll()
            assert isinstance(caught.value.__cause__, ValueError)
            assert service.running == [1]

    @both_modes
    def test_a_failure_that_comes_with_the_last_results_is_raised_behind_them(self, host: ManualHost, mode: OutputMode) -> None:
        service = Service()
        with operator_of(service, host, mode=mode) as operator:
            operator.feed([1, 2])
            host.settle()
            service.answer(1)
            service.fail(2, ValueError())
            host.settle()
            outputs = operator.drain()
            assert next(outputs) == [(1, "1!")]
            with pytest.raises(AsyncCallError, match="ValueError"):
                next(outputs)

    @pytest.mark.parametrize("retry", [None, RetryPolicy.fixed(5, 10)])
    @both_modes
    def test_timeout_handling(self, host: ManualHost, mode: OutputMode, retry: RetryPolicy | None) -> None:
        """A call that never ends times out, and closing does not hang."""
        service = Service()
        with operator_of(service, host, mode=mode, timeout_ms=1000, retry=retry) as operator:
            operator.feed([1])
            with pytest.raises(CallTimeoutError):
                operator.poll(10)
            assert service.calls == [1]

    def test_object_reused(self, host: ManualHost) -> None:
        """The list of rows may be used again for other rows; neither calls nor snapshot see it."""
        service = Service()
        with operator_of(service, host) as operator:
            rows = [1, 2]
            operator.feed(rows)
            rows[:] = [8, 9]
            host.settle()
            assert service.calls == [1, 2]
            assert operator.values() == [1, 2]

    @pytest.mark.parametrize("retry", [None, RetryPolicy.fixed(2, 10)])
    def test_ignore_async_operator_records_on_drain(self, host: ManualHost, retry: RetryPolicy | None) -> None:
        """What is done and not out when it is closed does not come out; the snapshot has it."""
        service = Service()
        with operator_of(service, host, retry=retry) as operator:
            operator.feed([1, 2])
            host.settle()
            service.answer(1)
            host.settle()
            snapshot = operator.values()
            operator.close()
            assert snapshot == [1, 2]
            assert service.cancelled == [2]

    @both_modes
    def test_processing_time_with_retry(self, host: ManualHost, mode: OutputMode) -> None:
        """Odd rows are empty at first."""
        asked: dict[int, int] = defaultdict(int)

        async def odd_rows_are_late(row: int) -> list[int]:
            asked[row] += 1
            return [] if row % 2 and asked[row] < 3 else [row]

        retry = RetryPolicy.fixed(5, 10, on_result=lambda result: result == [])
        with operator_of(odd_rows_are_late, host, mode=mode, retry=retry) as operator:
            operator.feed([1, 2, 3, 4])
            out = drained(operator)
        assert asked == {1: 3, 2: 1, 3: 3, 4: 1}
        assert sorted(results_of(out)) == [[1], [2], [3], [4]]
        assert mode is UNORDERED or inputs_of(out) == [1, 2, 3, 4]

    def test_after_the_last_attempt_a_result_counts_as_it_is(self, host: ManualHost) -> None:
        async def never_there(row: int) -> list[int]:
            return []

        with operator_of(never_there, host, retry=RetryPolicy.fixed(3, 10, on_result=lambda result: result == [])) as operator:
            operator.feed([1])
            assert drained(operator) == [(1, [])]
            assert operator.metrics.requests == 3

    @both_modes
    def test_processing_time_repeated_complete_with_retry(self, host: ManualHost, mode: OutputMode) -> None:
        """However often a function completes: one result, one retry."""
        asked: dict[int, int] = defaultdict(int)

        class CompletesOften(CallbackFunction):
            def async_invoke(self, row: int, result_future: ResultFuture) -> None:
                asked[row] += 1
                for _ in range(3):
                    result_future.complete([] if asked[row] == 1 else [row])
                result_future.complete_exceptionally(ValueError("too late"))

        retry = RetryPolicy.fixed(5, 10, on_result=lambda result: result == [])
        with operator_of(CompletesOften(), host, mode=mode, retry=retry) as operator:
            operator.feed([1, 2])
            assert sorted(results_of(drained(operator))) == [[1], [2]]
        assert asked == {1: 2, 2: 2}

    @both_modes
    def test_processing_time_with_timeout_function_with_retry(self, host: ManualHost, mode: OutputMode) -> None:
        """FLINK-30477: the timeout comes while the row waits for its next attempt, which then never comes."""
        service = Service(substitute=lambda row: f"{row}?")
        with operator_of(service, host, mode=mode, timeout_ms=1000, retry=RetryPolicy.fixed(9, 600)) as operator:
            operator.feed([1])
            host.settle()
            service.fail(1, OSError())
            host.advance(0.6)
            service.fail(1, OSError())
            host.advance(100)
            assert operator.poll() == [(1, "1?")]
            assert service.calls == [1, 1]
            assert service.expired == [1]

    @both_modes
    def test_processing_time_with_always_timeout_function_with_retry(self, host: ManualHost, mode: OutputMode) -> None:
        """FLINK-38082: a `timeout` that raises causes no further attempt."""
        service = Service()
        with operator_of(service, host, mode=mode, timeout_ms=1000, retry=RetryPolicy.fixed(9, 10), on_failure=OnFailure.NULL) as operator:
            operator.feed([1])
            host.advance(100)
            [(row, failure)] = pairs(operator.poll())
            assert (row, failure.error_class, failure.attempts) == (1, "CallTimeoutError", 1)
            assert service.calls == [1]

    @pytest.mark.parametrize("retry_first", [True, False])
    def test_timeout_racing_a_retry_never_loses_the_row(self, host: ManualHost, retry_first: bool) -> None:
        """FLINK-40456: both fall due at the same moment, in both orders."""
        service = Service(substitute=lambda row: f"{row}?")
        with operator_of(service, host, timeout_ms=1000, retry=RetryPolicy.fixed(9, 500 if retry_first else 1000)) as operator:
            operator.feed([1])
            host.settle()
            host.advance(0.5 if retry_first else 0.0)
            service.fail(1, OSError())
            host.advance(0.5)
            host.advance(0.5)
            host.advance(100)
            assert operator.poll() == [(1, "1?")]
            assert operator.poll() == []
            assert operator.values() == []
            assert service.running == []


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
            host.loop.call_at(host.loop.now + 1, service.answer, 1)  # a timer made later, due at the same moment
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
        running, peak = 0, 0

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

        with operator_of(with_a_timeout_of_its_own, host, timeout_ms=1000, capacity=1, on_failure=OnFailure.NULL) as operator:
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

        with operator_of(call, host, retry=RetryPolicy.fixed(3, 10, **{predicate: broken}), on_failure=OnFailure.NULL) as operator:
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
        with operator_of(service, host, mode=KEYED, key=lambda row: row[0], retry=RetryPolicy.fixed(2, 1000), timeout_ms=500) as operator:
            operator.feed(["a1", "a2"])
            host.settle()
            service.fail("a1", OSError())
            host.advance(0.4)
            assert service.calls == ["a1"]
            host.advance(0.1)  # a1 times out while it waits for its second attempt
            assert service.calls == ["a1", "a2"]

    def test_a_key_function_that_raises_is_heard_where_rows_are_fed(self, host: ManualHost) -> None:
        with operator_of(times_two, host, mode=KEYED, key=lambda row: row["id"]) as operator, pytest.raises(TypeError):
            operator.feed([1])

    @pytest.mark.parametrize("what", ["key", "cache"])
    def test_a_key_that_is_no_key_is_heard_where_rows_are_fed(self, host: ManualHost, what: str) -> None:
        settings: dict[str, Any] = {"mode": KEYED, "key": unhashable} if what == "key" else {"cache": CacheSettings(key=unhashable)}
        with operator_of(times_two, host, **settings) as operator, pytest.raises(TypeError, match="unhashable"):
            operator.feed([(1, 2)])


class TestBackPressureAndEnds:
    def test_rows_are_pulled_only_as_places_are_free(self, host: ManualHost) -> None:
        service = Service()
        pulled: list[int] = []

        def source() -> Any:
            for n in range(100):
                pulled.append(n)
                yield [n]

        with operator_of(service, host, capacity=2, queue_size=4) as operator:
            outputs = operator.process(source(), linger_s=0.1)
            host.loop.call_later(1, lambda: service.answer(*service.running))
            first = next(outputs)
            assert len(pulled) <= 5 + len(first)
            assert service.peak == 2

    def test_leaving_process_early_and_closing_leaves_nothing(self, host: ManualHost) -> None:
        service = Service()
        with operator_of(service, host, capacity=2) as operator:
            outputs = operator.process([[1, 2, 3]])
            host.loop.call_later(1, service.answer, 1)
            assert next(outputs) == [(1, "1!")]
            outputs.close()
        assert service.running == []
        assert service.log == ["open", "close"]

    @pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
    def test_whatever_ends_the_task_everything_is_cancelled_and_closed(self, host: ManualHost, error: type[BaseException]) -> None:
        service = Service()

        def task() -> None:
            with operator_of(service, host, timeout_ms=1000) as operator:
                operator.feed([1, 2])
                host.settle()
                raise error

        with pytest.raises(error):
            task()
        assert sorted(service.cancelled) == [1, 2]
        assert service.log == ["open", "close"]

    def test_waiting_can_be_ended_from_outside(self, host: ManualHost) -> None:
        def ended() -> None:
            raise BrokenPipeError

        service = Service()
        with AsyncWaitOperator(service, AsyncSettings(), host=host, on_wait=ended) as operator:
            operator.feed([1])
            began = host.loop.now
            with pytest.raises(BrokenPipeError):
                operator.poll(60)
            assert host.loop.now - began <= 1
        assert service.cancelled == [1]

    def test_drain_with_a_time_limit_leaves_the_rest_to_the_snapshot(self, host: ManualHost) -> None:
        """What a query with carry-over does at the end of a micro-batch."""
        service = Service()
        with operator_of(service, host) as operator:
            operator.feed([1, 2, 3])
            host.loop.call_later(1, service.answer, 2)
            out = [output for outputs in operator.drain(2.0) for output in outputs]
            assert out == [(2, "2!")]
            assert operator.values() == [1, 3]

    def test_processing_with_patience_takes_everything_in_and_leaves_the_rest_to_the_snapshot(self, host: ManualHost) -> None:
        service = Service()
        with operator_of(service, host, capacity=2, queue_size=2) as operator:
            host.loop.call_later(1.5, service.answer, 1)
            began = host.loop.now
            out = [output for outputs in operator.process([[1, 2, 3], [4, 5]], patience_s=2.0) for output in outputs]
            assert out == [(1, "1!")]
            assert operator.values() == [2, 3, 4, 5]
            assert host.loop.now - began == pytest.approx(3.5, abs=0.1), "what comes out proves that the service lives"

    def test_a_queue_full_of_nothing_but_results_is_not_stuck(self, host: ManualHost) -> None:
        with operator_of(times_two, host, queue_size=1, mode=ORDERED) as operator:
            out = [output for outputs in operator.process([range(5), range(5, 7)]) for output in outputs]
        assert inputs_of(out) == list(range(7))

    def test_when_every_slot_is_stuck_the_rows_behind_time_out_too(self, host: ManualHost) -> None:
        release = asyncio.Event()

        class Hangs(AsyncFunction):
            async def async_invoke(self, row: int) -> int:
                while not release.is_set():
                    try:
                        await release.wait()
                    except asyncio.CancelledError:
                        continue
                return row

            def timeout(self, row: int) -> str:
                return "late"

        with operator_of(Hangs(), host, timeout_ms=1000, capacity=2) as operator:
            operator.feed([1, 2, 3, 4])
            host.advance(1)
            assert len(operator.poll()) == 2
            operator.feed([5])
            host.advance(2)
            assert sorted(pairs(operator.poll())) == [(n, "late") for n in (3, 4, 5)]
            release.set()


class TestWrongUse:
    def test_open_that_raises_names_the_function(self, host: ManualHost) -> None:
        class NoServer(AsyncFunction):
            async def open(self, context: OpenContext) -> None:
                raise ConnectionError("refused")

            async def async_invoke(self, row: Row) -> Result:
                return row

        with pytest.raises(AsyncCallError, match=r"NoServer.open raised ConnectionError: refused"):
            AsyncWaitOperator(NoServer(), host=host).open()

    def test_open_that_hangs_is_given_up(self, host: ManualHost) -> None:
        class Hangs(AsyncFunction):
            async def open(self, context: OpenContext) -> None:
                await asyncio.sleep(1000)

            async def async_invoke(self, row: Row) -> Result:
                return row

        with pytest.raises(AsyncCallError, match=r"Hangs.open did not end within 60 s"):
            AsyncWaitOperator(Hangs(), host=host).open()

    def test_a_call_that_returns_nothing_to_await(self, host: ManualHost) -> None:
        class NotAsync(AsyncFunction):
            def async_invoke(self, row: int) -> int:  # type: ignore[override]
                return row

        with operator_of(NotAsync(), host, on_failure=OnFailure.NULL) as operator:
            operator.feed([1])
            with pytest.raises(ContractError, match=r"NotAsync.async_invoke must be an async def function, and returned a int"):
                operator.poll(1)

    def test_a_timeout_that_is_a_coroutine(self, host: ManualHost) -> None:
        class AsyncTimeout(Service):
            async def timeout(self, row: Row) -> Result:
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
        [(Service, r"is a class; pass an instance: Service\(\)"), (3, "must be an AsyncFunction, or a function of a row, and is a int")],
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
            (lambda: AsyncSettings(mode=KEYED), "'key': is needed in keyed mode"),
            (lambda: AsyncSettings(key=str), "'key': is needed in keyed mode"),
            (lambda: RetryPolicy.fixed(0, 1), "'attempts': must be at least 1"),
            (lambda: RetryPolicy.exponential(2, 1, jitter=2), "'jitter': must lie between 0 and 1"),
        ],
    )
    def test_settings_without_sense(self, settings: Callable[[], Any], message: str) -> None:
        with pytest.raises(OptionError, match=message):
            settings()


@given(data=st.data(), count=st.integers(1, 25), mode=st.sampled_from([ORDERED, UNORDERED, KEYED]), capacity=st.integers(1, 6))
def test_every_row_comes_out_once_in_its_order(data: st.DataObject, count: int, mode: OutputMode, capacity: int) -> None:
    """Whatever answers, fails, is asked again or times out, and when."""
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
            Outside(), host, mode=mode, capacity=capacity, queue_size=8, timeout_ms=1000, retry=retry, on_failure=OnFailure.NULL, **key
        ) as operator,
    ):
        out = [output for outputs in operator.process([list(range(count))]) for output in outputs]
    assert sorted(inputs_of(out)) == list(range(count))
    assert peak <= capacity
    if mode is ORDERED:
        assert inputs_of(out) == list(range(count))
    if mode is KEYED:
        assert [[row for row in inputs_of(out) if row % 3 == key] for key in range(3)] == [list(range(key, count, 3)) for key in range(3)]

"""Flink's ``AsyncWaitOperatorTest``, case by case. Time is the test's own."""

from __future__ import annotations

from collections import defaultdict

import pytest

from headwater.core.errors import AsyncCallError, CallTimeoutError
from headwater.readers.async_io.function import (
    AsyncFunction,
    CallbackFunction,
    InputRow,
    OpenContext,
    Result,
    ResultFuture,
)
from headwater.readers.async_io.settings import OnFailure, OutputMode, RetryPolicy
from headwater.readers.async_io.stream_element_queue import Output, Watermark
from headwater.readers.async_io.wait_policy import WaitPolicy
from tests.readers.async_io.doubles import ManualHost, Service, operator_of, times_two
from tests.readers.async_io.outputs import drained, inputs_of, pairs, results_of

ORDERED = OutputMode.ORDERED
UNORDERED = OutputMode.UNORDERED
both_modes = pytest.mark.parametrize("mode", [ORDERED, UNORDERED])


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
            assert drained(operator) == [(1, 2), (2, 4), Watermark(2), (3, 6)], (
                "3 is done first and comes last"
            )

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
                operator.feed(rows[len(out) + len(operator.values()) :])
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

        with (
            operator_of(Named("tail"), host, mode=mode) as tail,
            operator_of(Named("head"), host, mode=mode) as head,
        ):
            assert opened == ["tail", "head"]
            mapped = (
                [result + 1 for _, result in outputs]
                for outputs in map(pairs, head.process([[1, 2], [3, 4]]))
            )
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
        with operator_of(
            service, host, mode=mode, timeout_ms=1000, describe_row=lambda row: f"id {row}"
        ) as operator:
            operator.feed([1, 2])
            host.settle()
            service.answer(1)
            host.advance(1)
            assert operator.poll() == [(1, "1!")], "the other result is still emitted"
            with pytest.raises(
                CallTimeoutError, match=r"Service failed for id 2, attempt 1: .*no result within the timeout"
            ) as caught:
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
    def test_a_timeout_that_raises_fails_the_task_with_what_it_raised(
        self, host: ManualHost, mode: OutputMode
    ) -> None:
        def no_substitute(row: InputRow) -> Result:
            raise ValueError("none for this")

        with operator_of(Service(no_substitute), host, mode=mode, timeout_ms=1000) as operator:
            operator.feed([1])
            said = r"Service failed, attempt 1: ValueError: none for this, at \w+\.py:\d+ in no_substitute$"
            with pytest.raises(AsyncCallError, match=said):
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
    def test_user_exception_handling(
        self, host: ManualHost, mode: OutputMode, retry: RetryPolicy | None
    ) -> None:
        """FLINK-6435: a failure fails the task at once; it does not wait for its neighbours."""
        service = Service()
        with operator_of(service, host, mode=mode, retry=retry) as operator:
            operator.feed([1, 2])
            for _ in range(2 if retry else 1):
                host.settle()
                service.fail(2, ValueError("no such customer"))
                host.advance(0.01)
            with pytest.raises(
                AsyncCallError, match=r"Service failed, attempt \d: ValueError: no such customer"
            ) as caught:
                operator.poll()
            assert isinstance(caught.value.__cause__, ValueError)
            assert service.running == [1]

    @both_modes
    def test_a_failure_that_comes_with_the_last_results_is_raised_behind_them(
        self, host: ManualHost, mode: OutputMode
    ) -> None:
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
    def test_ignore_async_operator_records_on_drain(
        self, host: ManualHost, retry: RetryPolicy | None
    ) -> None:
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

        with operator_of(
            never_there, host, retry=RetryPolicy.fixed(3, 10, on_result=lambda result: result == [])
        ) as operator:
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
    def test_processing_time_with_timeout_function_with_retry(
        self, host: ManualHost, mode: OutputMode
    ) -> None:
        """FLINK-30477: the timeout comes while the row waits for its next attempt, which then never comes."""
        service = Service(substitute=lambda row: f"{row}?")
        with operator_of(
            service, host, mode=mode, timeout_ms=1000, retry=RetryPolicy.fixed(9, 600)
        ) as operator:
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
    def test_processing_time_with_always_timeout_function_with_retry(
        self, host: ManualHost, mode: OutputMode
    ) -> None:
        """FLINK-38082: a `timeout` that raises causes no further attempt."""
        service = Service()
        with operator_of(
            service,
            host,
            mode=mode,
            timeout_ms=1000,
            retry=RetryPolicy.fixed(9, 10),
            on_failure=OnFailure.NULL,
        ) as operator:
            operator.feed([1])
            host.advance(100)
            [(row, failure)] = pairs(operator.poll())
            assert (row, failure.error_class, failure.attempts) == (1, "CallTimeoutError", 1)
            assert service.calls == [1]

    @pytest.mark.parametrize("retry_first", [True, False])
    def test_timeout_racing_a_retry_never_loses_the_row(self, host: ManualHost, retry_first: bool) -> None:
        """FLINK-40456: both fall due at the same moment, in both orders."""
        service = Service(substitute=lambda row: f"{row}?")
        with operator_of(
            service, host, timeout_ms=1000, retry=RetryPolicy.fixed(9, 500 if retry_first else 1000)
        ) as operator:
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


def test_watermarks_among_batches_wait_for_room_and_for_their_turn_as_rows_do(host: ManualHost) -> None:
    batches: list[list[int] | Watermark] = [[2, 1], Watermark(2), [3], Watermark(3), [1]]
    with operator_of(times_two, host, mode=UNORDERED, queue_size=2) as operator:
        out = [output for outputs in operator.process(batches) for output in outputs]
        assert inputs_of(out) == [1, 2, Watermark(2), 3, Watermark(3), 1]
        assert operator.values() == []


def test_watermarks_without_room_are_left_in_their_places(host: ManualHost) -> None:
    class NoWaiting(WaitPolicy):
        def waits_for_room(self) -> bool:
            return False

        def seconds(self) -> float:
            return 0.0

    batches: list[list[int] | Watermark] = [[2, 1, 4], Watermark(4), [3]]
    with operator_of(times_two, host, mode=UNORDERED, queue_size=2) as operator:
        assert list(operator.process(batches, wait_policy=NoWaiting())) == []
        assert operator.values() == [2, 1, 4, Watermark(4), 3]
        assert operator.rows() == [2, 1, 4, 3]

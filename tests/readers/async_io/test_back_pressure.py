"""Rows are taken as there is room, and the end of a task leaves nothing behind, whether it failed or not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from headwater.core.errors import AsyncCallError
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.function import AsyncBatchFunction, AsyncFunction
from headwater.readers.async_io.settings import AsyncSettings, Batching, OutputMode
from headwater.readers.async_io.wait_policy import WaitPolicy
from tests.readers.async_io.doubles import ManualHost, Service, operator_of, times_two
from tests.readers.async_io.outputs import inputs_of, pairs

ORDERED = OutputMode.ORDERED


class Until(WaitPolicy):
    """Waits for so many seconds, and for what may not be left."""

    def __init__(self, seconds: float, may_leave: Callable[[Any], bool] = lambda _: True) -> None:
        self._seconds = seconds
        self._may_leave = may_leave

    def seconds(self) -> float:
        return self._seconds

    def may_leave(self, left: Any) -> bool:
        return self._may_leave(left)


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
    def test_whatever_ends_the_task_everything_is_cancelled_and_closed(
        self, host: ManualHost, error: type[BaseException]
    ) -> None:
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
            out = [output for outputs in operator.drain(Until(2.0)) for output in outputs]
            assert out == [(2, "2!")]
            assert operator.values() == [1, 3]

    def test_a_hung_service_stops_the_intake_at_capacity(self, host: ManualHost) -> None:
        """WaitPolicy for results is none for room: what is left for the snapshot is bounded."""
        service = Service()
        taken: list[int] = []

        def rows() -> Iterator[list[int]]:
            for start in range(0, 100, 2):
                taken.append(start)
                yield [start, start + 1]

        with operator_of(service, host, capacity=2, queue_size=4, timeout_ms=None) as operator:
            host.loop.call_later(60, lambda: service.answer(*range(2)))
            host.loop.call_later(61, lambda: service.answer(*range(2, 4)))
            host.loop.call_later(120, service.fail, 4, ValueError())
            outs = operator.process(rows(), wait_policy=Until(2.0))
            out = [*next(outs), *next(outs)]
            assert len(operator.values()) <= 4 + 2, "what the queue holds, and the batch that waits"
            with pytest.raises(AsyncCallError):
                next(outs)
            assert sorted(inputs_of(out)) == [0, 1, 2, 3]
            assert taken == [0, 2, 4, 6, 8], "the batch waits: no row is taken for which there is no room"

    def test_what_is_done_comes_out_at_once_where_handing_on_is_cheap(self, host: ManualHost) -> None:
        service = Service()
        with operator_of(service, host) as operator:
            host.loop.call_later(1.0, service.answer, 1)
            host.loop.call_later(1.03, service.answer, 2)
            began = host.loop.now
            outs = operator.process([[1, 2]])
            assert next(outs) == [(1, "1!")]
            assert host.loop.now - began == pytest.approx(1.0, abs=0.005)
            assert next(outs) == [(2, "2!")]

    def test_what_may_not_be_left_is_waited_for_beyond_the_time(self, host: ManualHost) -> None:
        service = Service()
        with operator_of(service, host) as operator:
            host.loop.call_later(30, service.answer, 1)
            began = host.loop.now
            outs = operator.process([[1, 2, 3]], wait_policy=Until(2.0, lambda rows: 1 not in rows))
            assert [output for outputs in outs for output in outputs] == [(1, "1!")]
            assert host.loop.now - began == pytest.approx(30, abs=0.1)
            assert operator.values() == [2, 3]

    @pytest.mark.parametrize("batching", [None, Batching(size=2)])
    def test_a_restored_row_has_its_whole_timeout(self, host: ManualHost, batching: Batching | None) -> None:
        class Hangs(AsyncFunction):
            async def async_invoke(self, row: int) -> None:
                await asyncio.Event().wait()

            def timeout(self, row: int) -> str:
                return "late"

        class HangsInBulk(AsyncBatchFunction):
            async def async_invoke_batch(self, rows: Sequence[int]) -> Sequence[None]:
                await asyncio.Event().wait()
                return []

            def timeout(self, row: int) -> str:
                return "late"

        function = HangsInBulk() if batching else Hangs()
        settings = {"timeout_ms": 300_000, "capacity": 1, "batching": batching}
        with operator_of(function, host, **settings) as operator:
            operator.feed([1, 2, 3, 4])
            host.advance(290)
            rows = operator.values()
        host.advance(3600)
        with operator_of(function, host, **settings) as operator:
            operator.restore(rows)
            host.advance(299)
            assert operator.poll() == []
            host.advance(2)
            assert operator.poll() == [(row, "late") for row in rows[: 2 if batching else 1]]

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

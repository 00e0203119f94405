"""A client that the tasks of a process share: when it is opened, made anew and closed, and its threads."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, ClassVar

import pytest

from headwater.readers.async_io import shared_functions
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.function import AsyncFunction, OpenContext, Scope
from headwater.readers.async_io.settings import AsyncSettings, OnFailure
from headwater.readers.async_io.shared_functions import close_shared_functions
from tests.patience import PATIENCE_S
from tests.readers.async_io.counting import Counting
from tests.readers.async_io.outputs import drained, results_of


class SharedCounting(Counting):
    scope = Scope.PROCESS
    opened: ClassVar[list[OpenContext]] = []
    closed: ClassVar[list[int]] = []


def test_a_function_of_scope_task_is_opened_and_closed_by_each_task() -> None:
    for _ in range(2):
        with AsyncWaitOperator(Counting(), AsyncSettings(capacity=7), task="task 3"):
            pass
    assert Counting.opened == [OpenContext("Counting", Scope.TASK, 7, "task 3")] * 2
    assert len(Counting.closed) == 2


def test_a_function_of_scope_process_is_opened_once_for_all_tasks_of_an_id() -> None:
    for share_id in ("a", "a", "b"):
        with AsyncWaitOperator(SharedCounting(), share_id=share_id) as operator:
            operator.feed([1])
            assert operator.poll(10) == [(1, 1)]
    assert len(SharedCounting.opened) == 2
    assert SharedCounting.closed == []
    close_shared_functions()
    assert len(SharedCounting.closed) == 2


def test_a_shared_function_that_no_task_asks_for_is_closed_and_opened_again_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_functions, "_IDLE_S", 0.01)
    opened: list[OpenContext] = []
    closed = threading.Semaphore(0)

    class Idles(AsyncFunction):
        async def open(self, context: OpenContext) -> None:
            opened.append(context)

        async def close(self) -> None:
            closed.release()

        async def async_invoke(self, row: int) -> int:
            return row

    for times in (1, 2):
        with AsyncWaitOperator(Idles(), share_id="idles") as operator:
            operator.feed([1])
            assert results_of(drained(operator)) == [1]
            assert not closed.acquire(timeout=0.05), "not while a task has it"
        assert closed.acquire(timeout=PATIENCE_S)
        assert len(opened) == times


def test_the_close_of_a_shared_function_is_given_up_after_its_timeout(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class NeverCloses(AsyncFunction):
        async def async_invoke(self, row: int) -> int:
            return row

        async def close(self) -> None:
            await asyncio.Event().wait()

    with AsyncWaitOperator(NeverCloses(), AsyncSettings(close_timeout_ms=50), share_id="never"):
        pass
    close_shared_functions()
    assert "NeverCloses.close failed" in caplog.text


def test_one_client_a_process_is_the_default() -> None:
    assert AsyncFunction.scope is Scope.PROCESS


def test_without_an_id_nothing_is_shared() -> None:
    SharedCounting.opened.clear()
    SharedCounting.closed.clear()
    for _ in range(2):
        with AsyncWaitOperator(SharedCounting()):
            pass
    assert (len(SharedCounting.opened), len(SharedCounting.closed)) == (2, 2)


def test_tasks_of_one_client_get_the_threads_that_each_of_them_asks_for() -> None:
    class Blocks(AsyncFunction):
        def __init__(self, calls: int) -> None:
            self.calls = calls

        async def async_invoke(self, row: threading.Barrier) -> bool:
            await asyncio.to_thread(row.wait, PATIENCE_S)
            return True

    for calls in (2, 40):
        together = threading.Barrier(calls)
        with AsyncWaitOperator(Blocks(calls), AsyncSettings(capacity=calls), share_id="grows") as operator:
            operator.feed([together] * calls)
            assert results_of(drained(operator)) == [True] * calls
    close_shared_functions()


def test_threads_that_hang_are_not_missing_in_the_next_task_and_are_counted() -> None:
    release = threading.Event()

    class Hangs(AsyncFunction):
        async def async_invoke(self, row: int) -> int:
            await asyncio.to_thread(release.wait if row < 0 else int, PATIENCE_S)
            return row

    settings = AsyncSettings(capacity=2, timeout_ms=200, on_failure=OnFailure.NULL)
    with AsyncWaitOperator(Hangs(), settings, share_id="hangs") as hanging:
        hanging.feed([-1, -2])
        assert len(drained(hanging)) == 2
    assert hanging.metrics.left_behind == 2
    patient = AsyncSettings(capacity=2, timeout_ms=60_000)
    with AsyncWaitOperator(Hangs(), patient, share_id="hangs") as operator:
        operator.feed([1, 2, 3])
        assert sorted(results_of(drained(operator))) == [1, 2, 3]
    assert operator.metrics.left_behind == 0
    release.set()
    close_shared_functions()


def test_a_client_has_threads_between_its_tasks_too(caplog: pytest.LogCaptureFixture) -> None:
    closed = threading.Event()

    class ClosesOnThread(AsyncFunction):
        async def async_invoke(self, row: int) -> int:
            return row

        async def close(self) -> None:
            await asyncio.to_thread(closed.set)

    settings = AsyncSettings(close_timeout_ms=5_000)
    with AsyncWaitOperator(ClosesOnThread(), settings, share_id="closes on a thread"):
        pass
    close_shared_functions()
    assert closed.is_set()
    assert not caplog.records


def test_a_client_is_made_anew_for_a_task_that_makes_more_calls_than_it_was_made_for() -> None:
    opened: list[int] = []
    closed: list[int] = []

    class Sized(AsyncFunction):
        async def open(self, context: OpenContext) -> None:
            self.size = context.capacity
            opened.append(self.size)

        async def close(self) -> None:
            closed.append(self.size)

        async def async_invoke(self, row: int) -> int:
            return self.size

    def operator(capacity: int) -> AsyncWaitOperator:
        return AsyncWaitOperator(Sized(), AsyncSettings(capacity=capacity), share_id="sized")

    def sizes(operator: AsyncWaitOperator) -> list[Any]:
        operator.feed([1])
        return results_of(drained(operator))

    with operator(5) as small:
        with operator(50) as large:
            assert sizes(large) == [50]
        with operator(7) as also_small:
            assert sizes(also_small) == [50]
        assert sizes(small) == [5]
        assert closed == []
    assert closed == [5], "replaced, and no task uses it any more"
    close_shared_functions()
    assert (opened, closed) == ([5, 50], [5, 50])

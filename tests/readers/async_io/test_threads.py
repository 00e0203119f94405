"""What needs real threads.

Functions that block or call back, the life of loop and functions, the watchdog.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, ClassVar

import pytest

from headwater.core.errors import AsyncCallError, CallTimeoutError
from headwater.readers.async_io import event_loop, shared_functions
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.event_loop import acquire_loop, process_loop, release_loop
from headwater.readers.async_io.function import (
    AsyncBatchFunction,
    AsyncFunction,
    BlockingFunction,
    CallbackFunction,
    InputRow,
    OpenContext,
    Result,
    ResultFuture,
    Scope,
)
from headwater.readers.async_io.settings import (
    AsyncSettings,
    Batching,
    CacheSettings,
    OnFailure,
    OutputMode,
    RateLimit,
    RetryPolicy,
)
from headwater.readers.async_io.shared_functions import close_shared_functions
from headwater.readers.async_io.watchdog import where_blocked
from tests.patience import PATIENCE_S
from tests.readers.async_io.outputs import drained, results_of


def ask(function: Any, rows: list[Any], **settings: Any) -> tuple[list[Any], AsyncWaitOperator]:
    operator = AsyncWaitOperator(function, AsyncSettings(**settings))
    with operator:
        return [output for outputs in operator.process([rows]) for output in outputs], operator


def test_a_plain_async_function() -> None:
    async def double(row: int) -> int:
        await asyncio.sleep(0)
        return row * 2

    out, operator = ask(double, list(range(3000)), mode=OutputMode.ORDERED)
    assert out == [(n, 2 * n) for n in range(3000)]
    assert operator.name.endswith("double")
    assert operator.metrics.requests == 3000
    assert operator.metrics.in_flight == 0


def test_a_plain_function_runs_on_threads_as_many_as_the_capacity() -> None:
    together = threading.Barrier(4)  # passes only when four calls run at once

    def blocks(row: int) -> str:
        together.wait(10)
        return threading.current_thread().name

    out, operator = ask(blocks, list(range(8)), capacity=4)
    assert {row for row, _ in out} == set(range(8))
    assert len({name for _, name in out}) == 4
    assert operator.metrics.peak_in_flight == 4


def test_a_thread_past_its_timeout_keeps_its_slot_until_it_returns() -> None:
    release = threading.Event()
    running = 0
    peak = 0
    lock = threading.Lock()
    both = threading.Barrier(2)  # the calls of the first two rows, before their time is over

    class Blocks(BlockingFunction):
        def invoke(self, row: int) -> int:
            nonlocal running, peak
            with lock:
                running += 1
                peak = max(peak, running)
            if row < 2:
                both.wait(10)
            release.wait(10)
            with lock:
                running -= 1
            return row

        def timeout(self, row: int) -> str:
            if row == 1:
                release.set()
            return "late"

    out, _ = ask(Blocks(), list(range(6)), capacity=2, timeout_ms=500)
    assert len(out) == 6
    assert peak == 2


@pytest.mark.parametrize("error", [ValueError("bad"), StopIteration("odd")])
def test_what_a_thread_raises_is_its_rows_failure(error: Exception) -> None:
    def raises(row: int) -> int:
        raise error

    [(_, failure)], _ = ask(raises, [1], on_failure=OnFailure.NULL)
    assert failure.error_class in {"ValueError", "RuntimeError"}


def test_a_client_that_calls_back_from_its_own_threads() -> None:
    class Client(CallbackFunction):
        def __init__(self) -> None:
            self.threads: list[threading.Thread] = []

        def async_invoke(self, row: int, result_future: ResultFuture) -> None:
            def answer() -> None:
                if row % 2:
                    result_future.complete_exceptionally(ValueError("odd"))
                result_future.complete(row)
                result_future.complete(-1)

            self.threads.append(threading.Thread(target=answer))
            self.threads[-1].start()

    out, _ = ask(Client(), list(range(40)), on_failure=OnFailure.DROP, mode=OutputMode.ORDERED)
    assert out == [(n, None if n % 2 else n) for n in range(40)]


def test_a_client_can_see_that_its_result_is_not_waited_for_and_may_answer_late() -> None:
    futures: list[ResultFuture] = []

    class Silent(CallbackFunction):
        def async_invoke(self, row: int, result_future: ResultFuture) -> None:
            futures.append(result_future)

    out, _ = ask(Silent(), [1], timeout_ms=10, on_failure=OnFailure.NULL)
    assert out[0][1].error_class == "CallTimeoutError"
    assert futures[0].cancelled()
    futures[0].complete(1)  # the loop is closed by now


def test_a_callback_function_that_raises_at_once() -> None:
    class Raises(CallbackFunction):
        def async_invoke(self, row: int, result_future: ResultFuture) -> None:
            raise ConnectionError("away")

    [(_, failure)], operator = ask(Raises(), [1], on_failure=OnFailure.NULL, retry=RetryPolicy.fixed(2, 1))
    assert failure.attempts == 2
    assert operator.metrics.retries == 1


def test_operators_of_a_process_share_one_loop_which_ends_with_the_last() -> None:
    async def thread_of(row: int) -> int:
        return threading.get_ident()

    with AsyncWaitOperator(thread_of) as one, AsyncWaitOperator(thread_of) as other:
        one.feed([1])
        other.feed([1])
        assert one.poll(10)[0][1] == other.poll(10)[0][1]  # type: ignore[index]
        assert sum(thread.name == "headwater-async-io" for thread in threading.enumerate()) == 1
    assert not any(thread.name == "headwater-async-io" for thread in threading.enumerate())


def test_posts_from_many_threads_all_arrive() -> None:
    host = acquire_loop()
    seen = []
    done = threading.Event()

    def note(n: int) -> None:
        seen.append(n)
        if len(seen) == 4000:
            done.set()

    def post_all(numbers: Sequence[int]) -> None:
        for n in numbers:
            host.post(partial(note, n))

    threads = [
        threading.Thread(target=post_all, args=[range(base, base + 1000)]) for base in range(0, 4000, 1000)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done.wait(10)
    release_loop()
    assert sorted(seen) == list(range(4000))


class Counting(AsyncFunction):
    """Counts its openings in the process."""

    scope = Scope.TASK
    opened: ClassVar[list[OpenContext]] = []
    closed: ClassVar[list[int]] = []

    async def open(self, context: OpenContext) -> None:
        self.opened.append(context)

    async def close(self) -> None:
        self.closed.append(1)

    async def async_invoke(self, row: InputRow) -> Result:
        return row


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


VARIABLE: ContextVar[str] = ContextVar("VARIABLE", default="")


def sees_another(row: int) -> str:
    seen = VARIABLE.get()
    VARIABLE.set(f"row {row}")
    return seen


class SeesAnother(AsyncFunction):
    async def async_invoke(self, row: int) -> tuple[str, str]:
        seen = sees_another(row)
        await asyncio.sleep(0)
        return seen, VARIABLE.get()


class SeesAnotherInBulk(AsyncBatchFunction):
    async def async_invoke_batch(self, rows: Sequence[int]) -> Sequence[str]:
        return [sees_another(rows[0])] * len(rows)


class SeesAnotherInCallback(CallbackFunction):
    def async_invoke(self, row: int, result_future: ResultFuture) -> None:
        result_future.complete(sees_another(row))


@pytest.mark.parametrize(
    "function", [sees_another, SeesAnother(), SeesAnotherInBulk(), SeesAnotherInCallback()]
)
def test_no_call_sees_the_context_variables_of_another(function: Any) -> None:
    settings = AsyncSettings(
        capacity=2, batching=Batching(size=2) if isinstance(function, AsyncBatchFunction) else None
    )
    with AsyncWaitOperator(function, settings) as operator:
        operator.feed(range(50))
        results = results_of(drained(operator))
    own = [(("", f"row {row}")) for row in range(50)] if isinstance(function, SeesAnother) else [""] * 50
    assert sorted(results) == sorted(own)


def test_to_thread_has_as_many_threads_as_there_are_calls() -> None:
    together = threading.Barrier(40)

    async def function(row: int) -> int:
        await asyncio.to_thread(together.wait, PATIENCE_S)
        return row

    with AsyncWaitOperator(function, AsyncSettings(capacity=40)) as operator:
        operator.feed(range(40))
        assert len(drained(operator)) == 40


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


@pytest.mark.parametrize("form", ["def", "to_thread"])
def test_a_call_that_hangs_on_a_thread_costs_its_task_nothing_and_is_counted(form: str) -> None:
    release = threading.Event()

    def hangs(row: int) -> int:
        if row == 0:
            release.wait(PATIENCE_S)
        return row

    async def hangs_on_thread(row: int) -> int:
        return await asyncio.to_thread(hangs, row)

    function: Any = hangs if form == "def" else hangs_on_thread
    settings = AsyncSettings(timeout_ms=50, on_failure=OnFailure.NULL, close_timeout_ms=60_000)
    began = time.monotonic()
    with AsyncWaitOperator(function, settings) as operator:
        operator.feed(range(10))
        assert len(drained(operator)) == 10
    assert time.monotonic() - began < 30, "not the time that closing may take"
    assert operator.metrics.left_behind == 1
    release.set()


def test_the_watchdog_blames_no_function_for_many_calls() -> None:
    """The loop is busy with asyncio's own work or ours, on a machine that has other work too."""
    stack = traceback.extract_stack()[:1]
    ours = traceback.FrameSummary(event_loop.__file__, 1, "_run")
    theirs = traceback.FrameSummary(asyncio.base_events.__file__, 1, "run_forever")
    users = traceback.FrameSummary("/users/function.py", 7, "blocks")
    runner = traceback.FrameSummary(event_loop.__file__.replace("event_loop", "call_runner"), 1, "_attempt")
    assert where_blocked([*stack, ours, theirs]) is None
    assert where_blocked([*stack, ours, theirs, ours, theirs]) is None
    blamed = where_blocked([*stack, ours, theirs, runner, users])
    assert blamed == "in blocks (/users/function.py:7), now at blocks (/users/function.py:7)"


def test_a_lambda_that_makes_a_coroutine_is_awaited() -> None:
    async def answer(row: int) -> int:
        await asyncio.sleep(0)
        return row + 1

    as_lambda = lambda row: answer(row)  # noqa: E731, PLW0108 - a lambda is what is tested
    with AsyncWaitOperator(as_lambda) as operator:
        operator.feed([1, 2])
        assert sorted(results_of(drained(operator))) == [2, 3]


def test_what_is_no_exception_ends_a_call_too() -> None:
    class Texts(CallbackFunction):
        def async_invoke(self, row: int, result_future: Any) -> None:
            error = ValueError if row else "no such customer"
            threading.Thread(target=result_future.complete_exceptionally, args=[error]).start()

    with AsyncWaitOperator(Texts(), AsyncSettings(on_failure=OnFailure.NULL)) as operator:
        operator.feed([0, 1])
        failures = sorted(str(failure.error) for failure in results_of(drained(operator)))
    assert failures == ["", "complete_exceptionally was given a str: no such customer"]


@pytest.mark.parametrize("raises", [False, True])
def test_open_and_close_that_block_run_beside_the_loop(raises: bool) -> None:
    threads: list[int] = []

    class Blocking(BlockingFunction):
        def open(self, context: OpenContext) -> None:  # type: ignore[override]
            threads.append(threading.get_ident())
            if raises:
                raise ConnectionError("refused")

        def close(self) -> None:  # type: ignore[override]
            threads.append(threading.get_ident())

        def invoke(self, row: InputRow) -> Result:
            return row

    if raises:
        with pytest.raises(AsyncCallError, match=r"Blocking.open raised ConnectionError: refused"):
            AsyncWaitOperator(Blocking()).open()
    else:
        out, _ = ask(Blocking(), [1])
        assert out == [(1, 1)]
        assert len(threads) == 2
    assert threading.get_ident() not in threads


def test_an_open_that_ends_its_thread_fails_at_once_and_spares_the_loop() -> None:
    class Exits(BlockingFunction):
        def open(self, context: OpenContext) -> None:  # type: ignore[override]
            raise SystemExit(1)

        def invoke(self, row: InputRow) -> Result:
            return row

    with process_loop():
        with pytest.raises(AsyncCallError, match=r"Exits.open raised RuntimeError: it raised SystemExit"):
            AsyncWaitOperator(Exits()).open()
        out, _ = ask(Counting(), [1])
    assert out == [(1, 1)]


def test_a_close_that_raises_is_logged_and_spoils_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Raises(Counting):
        async def close(self) -> None:
            raise OSError("gone")

    out, _ = ask(Raises(), [1])
    assert out == [(1, 1)]
    assert "Raises.close failed" in caplog.text


def test_the_watchdog_names_a_function_that_blocks_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    named = threading.Event()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            named.set()

    async def reads_a_file(row: int) -> int:
        named.wait(20)  # blocks, as a client without await does
        return row

    log = logging.getLogger("headwater.readers.async_io.watchdog")
    log.addHandler(handler := Handler())
    try:
        out, operator = ask(reads_a_file, [1], block_warning_ms=20)
    finally:
        log.removeHandler(handler)
    assert out == [(1, 1)]
    assert operator.metrics.blocked >= 1
    assert "reads_a_file blocks the event loop" in caplog.text
    assert f"in reads_a_file ({__file__}:" in caplog.text
    assert "now at wait (" in caplog.text


def test_calls_that_wait_are_no_blockade(caplog: pytest.LogCaptureFixture) -> None:
    async def waits(row: int) -> int:
        await asyncio.sleep(1.5)
        return row

    # Long, since a busy machine may keep the loop from turning for a moment too.
    _, operator = ask(waits, [1], block_warning_ms=1_000)
    assert operator.metrics.blocked == 0
    assert not caplog.records


def test_closing_gives_up_calls_that_ignore_their_cancellation(caplog: pytest.LogCaptureFixture) -> None:
    release = threading.Event()
    begun = threading.Semaphore(0)
    returned: list[int] = []

    class Hangs(BlockingFunction):
        def invoke(self, row: int) -> int:
            begun.release()
            release.wait(60)
            returned.append(row)
            return row

    with AsyncWaitOperator(Hangs(), AsyncSettings(close_timeout_ms=50, capacity=2)) as operator:
        operator.feed([1, 2, 3])
        assert operator.poll(0.05) == []
        for _ in range(2):
            assert begun.acquire(timeout=30)
    assert returned == [], "closed while they hang"
    assert "Hangs: 2 threads are still inside calls that do not return" in caplog.text
    release.set()


def test_ctrl_c_while_waiting_cancels_and_closes_everything() -> None:
    ended: list[str] = []

    class Interrupted(AsyncFunction):
        async def async_invoke(self, row: int) -> int:
            os.kill(os.getpid(), signal.SIGINT)
            try:
                await asyncio.sleep(100)
            finally:
                ended.append("call")
            return row

        async def close(self) -> None:
            ended.append("function")

    def task() -> None:
        with AsyncWaitOperator(Interrupted()) as operator:
            operator.feed([1])
            operator.poll(20)

    with pytest.raises(KeyboardInterrupt):
        task()
    assert ended == ["call", "function"]


def test_a_child_process_has_a_loop_of_its_own() -> None:
    async def echo(row: int) -> int:
        return row

    with AsyncWaitOperator(echo) as operator:
        operator.feed([1])
        assert operator.poll(10) == [(1, 1)]
        child = os.fork()
        if not child:
            os._exit(_in_child(lambda: ask(echo, [2])[0]))
        assert os.waitpid(child, 0)[1] == 0


def _in_child(call: Callable[[], list[Any]]) -> int:
    try:
        return 0 if call() == [(2, 2)] else 1
    except BaseException:  # noqa: BLE001 - a child must not go on with the parent's tests
        return 2


def test_settings_and_functions_travel_to_the_tasks() -> None:
    settings = AsyncSettings(
        mode=OutputMode.KEYED,
        key=str,
        retry=RetryPolicy.exponential(3, 10),
        cache=CacheSettings(key=str),
        rate_limit=RateLimit(requests_per_s=5),
    )
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert isinstance(pickle.loads(pickle.dumps(Counting())), Counting)
    failure = pickle.loads(pickle.dumps(CallTimeoutError("late")))
    assert (type(failure), str(failure)) == (CallTimeoutError, "late")

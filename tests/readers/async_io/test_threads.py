"""What needs real threads.

Functions that block or call back, and the life of loop and functions.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from headwater.core.errors import AsyncCallError, CallTimeoutError
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
from tests.patience import PATIENCE_S
from tests.readers.async_io.counting import Counting, ask
from tests.readers.async_io.outputs import drained, results_of


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
        together.wait(PATIENCE_S)
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
                both.wait(PATIENCE_S)
            release.wait(PATIENCE_S)
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
    assert done.wait(PATIENCE_S)
    release_loop()
    assert sorted(seen) == list(range(4000))


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


def test_closing_gives_up_calls_that_ignore_their_cancellation(caplog: pytest.LogCaptureFixture) -> None:
    release = threading.Event()
    begun = threading.Semaphore(0)
    returned: list[int] = []

    class Hangs(BlockingFunction):
        def invoke(self, row: int) -> int:
            begun.release()
            release.wait(PATIENCE_S)
            returned.append(row)
            return row

    with AsyncWaitOperator(Hangs(), AsyncSettings(close_timeout_ms=50, capacity=2)) as operator:
        operator.feed([1, 2, 3])
        assert operator.poll(0.05) == []
        for _ in range(2):
            assert begun.acquire(timeout=PATIENCE_S)
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

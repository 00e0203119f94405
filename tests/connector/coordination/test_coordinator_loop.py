"""Two threads: what touches the enumerator runs on one, what is slow on the other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from headwater.connector.coordination.coordinator_loop import CoordinatorLoop
from headwater.core.clock import ManualClock
from headwater.core.errors import DeadlineError, NoConnectionError, TransientSourceError
from headwater.core.retry import Backoff
from tests.patience import PATIENCE_S


@pytest.fixture
def loop() -> Iterator[CoordinatorLoop]:
    made = CoordinatorLoop(Backoff(deadline_ms=1_000), ManualClock())
    yield made
    made.close()


def name() -> str:
    return threading.current_thread().name


def test_calls_and_handlers_run_on_their_threads(loop: CoordinatorLoop) -> None:
    seen = []

    def handle(worker: str) -> None:
        seen.append((worker, name()))

    loop.run(lambda: loop.call_async(name, handle, what="a question"))
    loop.wait_idle()
    assert loop.run(name) == "headwater-coordinator"
    assert seen == [("headwater-worker", "headwater-coordinator")]


def test_waiting_includes_what_handlers_start(loop: CoordinatorLoop) -> None:
    seen: list[int] = []

    def chain(depth: int) -> None:
        seen.append(depth)
        if depth < 3:
            loop.call_async(lambda: depth + 1, chain, what="the next question")

    loop.run(lambda: loop.call_async(lambda: 1, chain, what="a question"))
    loop.wait_idle()
    assert seen == [1, 2, 3]


def test_only_calls_that_are_made_again_count_as_retries(loop: CoordinatorLoop) -> None:
    failures = [TransientSourceError("away"), TransientSourceError("still away")]

    def call() -> int:
        if failures:
            raise failures.pop()
        return 1

    for _ in range(3):
        loop.run(lambda: loop.call_async(call, lambda _: None, what="a question"))
        loop.wait_idle()
    assert loop.retries == 2


def test_slow_calls_run_one_after_the_other_in_order(loop: CoordinatorLoop) -> None:
    seen: list[int] = []
    for number in range(20):
        loop.run(partial(loop.call_async, partial(int, number), seen.append, what="a question"))
    loop.wait_idle()
    assert seen == list(range(20))


def test_an_error_of_a_call_or_a_handler_reaches_the_waiting_thread_once(loop: CoordinatorLoop) -> None:
    def fail(_: object = None) -> None:
        raise ZeroDivisionError

    for call, handler in ((fail, lambda _: None), (lambda: None, fail)):
        loop.run(partial(loop.call_async, call, handler, what="a question"))
        with pytest.raises(ZeroDivisionError):
            loop.wait_idle()
    loop.wait_idle()
    with pytest.raises(ZeroDivisionError):
        loop.run(fail)


def test_the_coordinator_thread_is_free_while_a_slow_call_blocks(loop: CoordinatorLoop) -> None:
    release = threading.Event()
    loop.run(
        lambda: loop.call_async(lambda: release.wait(PATIENCE_S), lambda _: None, what="a slow question")
    )
    assert loop.run(lambda: "free") == "free"
    release.set()
    loop.wait_idle()


def test_close_ends_a_retry_and_runs_the_last_call_on_the_coordinator_thread() -> None:
    loop = CoordinatorLoop(Backoff(deadline_ms=10**15), ManualClock())
    asked = threading.Event()
    asking: list[threading.Thread] = []
    last: list[str] = []

    def ask() -> None:
        asking.append(threading.current_thread())
        asked.set()
        raise TransientSourceError("away")

    loop.run(lambda: loop.call_async(ask, lambda _: None, what="a question"))
    assert asked.wait(PATIENCE_S)
    loop.close(lambda: last.append(name()))
    assert last == ["headwater-coordinator"]
    asking[0].join(PATIENCE_S / 8)
    assert not asking[0].is_alive()
    loop.close()


def refused() -> None:
    raise NoConnectionError("nothing listens there")


def waited(loop: CoordinatorLoop, clock: ManualClock) -> tuple[int, str]:
    """Return for how long a server that is not there was asked, and the error."""
    began = clock.monotonic_ms()
    loop.call_async(refused, lambda _: None, what="q")
    with pytest.raises(DeadlineError) as caught:
        loop.wait_idle()
    return clock.monotonic_ms() - began, str(caught.value)


@pytest.mark.parametrize("known", ["nothing", "a checkpoint", "an answer"])
def test_a_server_that_never_answered_is_given_up_in_seconds_and_one_that_did_at_the_deadline(
    known: str,
) -> None:
    clock = ManualClock()
    loop = CoordinatorLoop(Backoff(deadline_ms=300_000), clock)
    try:
        if known == "a checkpoint":
            loop.expect_answers()
        if known == "an answer":
            loop.call_async(lambda: 1, lambda _: None, what="q")
            loop.wait_idle()
        waited_ms, error = waited(loop, clock)
    finally:
        loop.close()
    assert (waited_ms < 8_001) == (known == "nothing")
    assert ("nothing has ever answered there" in error) == (known == "nothing")

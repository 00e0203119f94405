"""One thread, one call after the other, and an end that is behind all calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from headwater.core.worker_thread import WorkerThread
from tests.patience import PATIENCE_S


@pytest.fixture
def worker() -> Iterator[WorkerThread]:
    made = WorkerThread("worker-of-a-test")
    yield made
    made.close(20_000)


def name() -> str:
    return threading.current_thread().name


def test_calls_run_in_order_on_one_thread_that_starts_with_the_first(worker: WorkerThread) -> None:
    assert not worker.has_started
    answers = [worker.submit(partial(lambda number: (number, name()), number)) for number in range(9)]
    assert [answer.result(PATIENCE_S) for answer in answers] == [
        (number, "worker-of-a-test") for number in range(9)
    ]
    assert worker.has_started


def test_what_a_call_raises_is_in_its_future_and_the_next_call_runs(worker: WorkerThread) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worker.submit(fail).result(PATIENCE_S)
    assert worker.submit(lambda: 1).result(PATIENCE_S) == 1


def test_closing_lets_run_what_was_submitted_and_nothing_later(worker: WorkerThread) -> None:
    go = threading.Event()
    first = worker.submit(lambda: go.wait(PATIENCE_S))
    second = worker.submit(lambda: 2)
    go.set()
    worker.close(20_000)
    assert first.done()
    assert second.result(0) == 2
    assert worker.submit(lambda: 3).cancelled()
    worker.close(20_000)


def test_a_call_may_submit_another_one_while_the_thread_is_closed(worker: WorkerThread) -> None:
    begun = threading.Event()
    closing = threading.Event()

    def call() -> bool:
        begun.set()
        closing.wait(PATIENCE_S)
        return worker.submit(lambda: None).cancelled()

    answer = worker.submit(call)
    assert begun.wait(PATIENCE_S)
    worker.close(0)
    closing.set()
    assert answer.result(PATIENCE_S)


def test_threads_that_submit_at_once_start_one_thread(worker: WorkerThread) -> None:
    together = threading.Barrier(8)
    idents: set[int] = set()

    def submit() -> None:
        together.wait(PATIENCE_S)
        worker.submit(lambda: idents.add(threading.get_ident())).result(PATIENCE_S)

    threads = [threading.Thread(target=submit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(idents) == 1

"""The threads of a coordinator.

One for every enumerator call, one for what is slow (Flink's ``ExecutorNotifier``).
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from headwater.core.clock import Clock
from headwater.core.errors import DeadlineError
from headwater.core.retry import Backoff, retrying

__all__ = ["CoordinatorLoop"]

T = TypeVar("T")
_GRACE_MS = 30_000


class CoordinatorLoop:
    """Two daemon threads with a queue each.

    The *coordinator thread* runs everything that touches the enumerator or the coordinator's state, one after
    the other. The *worker thread* runs slow calls with back-off and a deadline; their handlers go back to the
    coordinator thread. Threads start with the first call and end with `close`; as daemons they never keep a
    process alive.

    Args:
        backoff: how often a slow call that fails for a passing reason is repeated, and until when.
        clock: time.
    """

    def __init__(self, backoff: Backoff, clock: Clock) -> None:
        self._backoff, self._clock = backoff, clock
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._slow: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._pending = 0
        self._finished = 0
        self._failure: BaseException | None = None
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []

    def run(self, call: Callable[[], T]) -> T:
        """Run a call on the coordinator thread and return its result.

        From any thread but the coordinator's own.

        Raises:
            Exception: what the call raised.
        """
        self._start()
        done: Future[T] = Future()
        self._tasks.put(lambda: _settle(done, call))
        return done.result()

    def call_async(self, call: Callable[[], T], handler: Callable[[T], None], *, what: str) -> None:
        """Run ``call`` on the worker thread, repeating it after passing failures, then ``handler`` on the coordinator thread."""
        with self._changed:
            self._pending += 1

        def work() -> None:
            try:
                answer = retrying(
                    call, backoff=self._backoff, clock=self._clock, cancelled=self._closing, what=what
                )
            except BaseException as error:  # noqa: BLE001 - goes to the thread that waits
                self._finish(error)
            else:
                self._tasks.put(lambda: self._handle(handler, answer))

        self._slow.put(work)

    def wait_idle(self) -> None:
        """Block until every slow call has been handled, those included that handlers started.

        From any thread but the coordinator's own.

        Raises:
            DeadlineError: nothing came back for longer than the deadline allows; the call itself hangs.
            Exception: the first failure of a call or of its handler.
        """
        patience_s = (self._backoff.deadline_ms + _GRACE_MS) / 1000
        with self._changed:
            while self._pending and self._failure is None:
                finished = self._finished
                if not self._changed.wait(patience_s) and finished == self._finished:
                    raise DeadlineError(
                        f"a call to the source's system did not come back within {patience_s:.0f} s"
                    )
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def close(self, last: Callable[[], None] = lambda: None) -> None:
        """Run ``last`` on the coordinator thread after what is queued, then end both threads.

        Waits a moment, never for long.
        """
        self._closing.set()
        if self._threads:
            self._slow.put(None)
            self._tasks.put(last)
            self._tasks.put(None)
            for thread in self._threads:
                thread.join(timeout=2)
        self._threads = []

    def _start(self) -> None:
        if not self._threads:
            self._threads = [
                threading.Thread(target=_drain, args=(work,), name=f"headwater-{name}", daemon=True)
                for name, work in (("coordinator", self._tasks), ("worker", self._slow))
            ]
            for thread in self._threads:
                thread.start()

    def _handle(self, handler: Callable[[Any], None], answer: object) -> None:
        try:
            handler(answer)
        except BaseException as error:  # noqa: BLE001 - goes to the thread that waits
            self._finish(error)
        else:
            self._finish(None)

    def _finish(self, failure: BaseException | None) -> None:
        with self._changed:
            self._pending -= 1
            self._finished += 1
            self._failure = self._failure or failure
            self._changed.notify_all()


def _drain(work: queue.SimpleQueue[Callable[[], None] | None]) -> None:
    while (task := work.get()) is not None:
        task()


def _settle(done: Future[T], call: Callable[[], T]) -> None:
    try:
        done.set_result(call())
    except BaseException as error:  # noqa: BLE001 - goes to the thread that waits
        done.set_exception(error)

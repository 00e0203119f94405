"""The threads of a coordinator: one for every call of the enumerator, one for slow calls to the outside."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import Final, TypeVar

from headwater.core.clock import Clock
from headwater.core.errors import DeadlineError
from headwater.core.retry import Backoff, retrying
from headwater.core.worker_thread import WorkerThread

T = TypeVar("T")
_GRACE_MS: Final = 30_000
_CLOSE_MS: Final = 2_000


class CoordinatorLoop:
    """Two threads (Flink's coordinator thread and the worker of its ``ExecutorNotifier``).

    The *coordinator thread* runs everything that touches the enumerator or the coordinator's state, one call
    after the other, so that neither needs a lock. The *worker thread* runs slow calls with back-off and a
    deadline; their handlers go back to the coordinator thread. Spark's thread calls the public methods, and
    waits.

    Attributes:
        retries: how often slow calls were made again.

    Args:
        backoff: how often a slow call that fails for a passing reason is repeated, and until when.
        clock: time.
    """

    def __init__(self, backoff: Backoff, clock: Clock) -> None:
        self._backoff = backoff
        self._clock = clock
        self._coordinator = WorkerThread("headwater-coordinator")
        self._worker = WorkerThread("headwater-worker")
        self._closing = threading.Event()
        # Guards the three fields below, which all three threads use.
        self._changed = threading.Condition()
        self._pending = 0
        self._finished = 0
        self._failure: BaseException | None = None
        # Counted on the worker thread, read by Spark's.
        self.retries = 0
        self._has_answer = False

    def expect_answers(self) -> None:
        """Take a server that is away for one that comes back: a checkpoint tells of its answers."""
        self._has_answer = True

    def run(self, call: Callable[[], T]) -> T:
        """Run a call on the coordinator thread and return its result.

        From any thread but the coordinator's own, which would wait for itself.

        Raises:
            Exception: the error of the call.
        """
        return self._coordinator.submit(call).result()

    def call_async(self, call: Callable[[], T], handler: Callable[[T], None], *, what: str) -> None:
        """Run ``call`` on the worker thread, then ``handler`` with its result on the coordinator thread.

        The call is repeated after failures that pass. Does not block.

        Args:
            call: the slow call.
            handler: takes the result. If the call fails for good it is not called, and `wait_idle` raises.
            what: names the call in logs and in errors.
        """
        # Counted before it is submitted: the worker may be done before the next line runs.
        with self._changed:
            self._pending += 1
        self._worker.submit(lambda: self._work(call, handler, what))

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
                # The patience is for one call: while calls still finish, the waiting begins anew.
                if not self._changed.wait(patience_s) and finished == self._finished:
                    raise DeadlineError(
                        f"a call to the source's system did not come back within {patience_s:.0f} s"
                    )
            failure = self._failure
            self._failure = None
        if failure is not None:
            raise failure

    def close(self, last: Callable[[], None] = lambda: None) -> None:
        """Run ``last`` on the coordinator thread behind all queued calls, then end both threads.

        Waits for a moment, never for long. Idempotent.
        """
        # First, so that a slow call that waits for its next attempt gives up.
        self._closing.set()
        self._coordinator.submit(last)
        # The coordinator before the worker: a slow call that still comes back finds it closed, so that no
        # handler touches the enumerator after ``last`` has closed it.
        self._coordinator.close(_CLOSE_MS)
        self._worker.close(_CLOSE_MS)

    def _work(self, call: Callable[[], T], handler: Callable[[T], None], what: str) -> None:
        try:
            answer = retrying(
                self._counted(call),
                backoff=self._backoff,
                clock=self._clock,
                cancelled=self._closing,
                what=what,
                is_new=not self._has_answer,
            )
        except BaseException as error:  # noqa: BLE001 - goes to the thread that waits
            self._finish(error)
        else:
            self._has_answer = True
            self._coordinator.submit(lambda: self._handle(handler, answer))

    def _counted(self, call: Callable[[], T]) -> Callable[[], T]:
        """Return the call, which counts how often it is made after the first time."""
        attempts = count()

        def counted() -> T:
            self.retries += next(attempts) > 0
            return call()

        return counted

    def _handle(self, handler: Callable[[T], None], answer: T) -> None:
        try:
            handler(answer)
        except BaseException as error:  # noqa: BLE001 - goes to the thread that waits
            self._finish(error)
        else:
            # After the handler: calls that it started are counted by now, so `wait_idle` does not end in
            # between.
            self._finish(None)

    def _finish(self, failure: BaseException | None) -> None:
        with self._changed:
            self._pending -= 1
            self._finished += 1
            self._failure = self._failure or failure
            self._changed.notify_all()

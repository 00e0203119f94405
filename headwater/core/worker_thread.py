"""A thread of its own for calls that may be slow, or never return."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class WorkerThread:
    """Runs calls one after the other, in the order in which they were submitted, on one daemon thread.

    The thread starts with the first call and ends with `close`. A call that hangs holds up the calls behind
    it, and nothing else: a daemon thread keeps no process alive. Every method may be called from any thread;
    `submit` on the worker thread too.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    @property
    def has_started(self) -> bool:
        """Whether anything was submitted yet."""
        return self._thread is not None

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Run a call after all that were submitted before. Does not block.

        Returns:
            The result or the error of the call, even a ``BaseException``. Its callbacks run on the worker
            thread. It is cancelled, and the call does not run, if the thread is closed.
        """
        future: Future[T] = Future()
        # The lock holds two promises: two threads that submit the first call start one thread, and no call
        # comes into the queue behind the end that `close` puts there, where it would wait for ever.
        with self._lock:
            if self._is_closed:
                future.cancel()
                return future
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._calls.put(lambda: _settle(future, call))
        return future

    def close(self, timeout_ms: int) -> None:
        """End the thread after the submitted calls, and wait for that, at most this long. Idempotent."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._calls.put(None)
            thread = self._thread
        # Without the lock: a call that still runs may submit another one, and must not block on it.
        if thread is not None:
            thread.join(timeout_ms / 1000)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - goes to the thread that holds the Future
        future.set_exception(error)

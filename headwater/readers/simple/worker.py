"""A thread that calls what may hang."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

__all__ = ["Worker"]

T = TypeVar("T")


class Worker:
    """Runs calls one after the other on a daemon thread, which starts with the first.

    A call that never returns keeps no process alive.

    Args:
        name: of the thread.
        settled: called on the worker's thread after every call.
    """

    def __init__(self, name: str, settled: Callable[[], None]) -> None:
        self._name, self._settled = name, settled
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether anything was submitted yet."""
        return self._thread is not None

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Run a call after all that were submitted before."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        done: Future[T] = Future()
        self._calls.put(lambda: self._settle(done, call))
        return done

    def close(self, timeout_ms: int) -> None:
        """End the thread after what was submitted, and wait for that, but no longer than this."""
        if self._thread is not None:
            self._calls.put(None)
            self._thread.join(timeout_ms / 1000)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()

    def _settle(self, done: Future[T], call: Callable[[], T]) -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001 - whoever asked gets it
            done.set_exception(error)
        self._settled()

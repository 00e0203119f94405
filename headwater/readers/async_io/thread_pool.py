"""Threads for functions that block."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

log = logging.getLogger(__name__)


class ThreadPool:
    """Daemon threads that start as jobs come. `submit` and `finished` belong to one thread.

    Unlike those of ``concurrent.futures`` they are daemons: a call that hangs does not keep the process
    alive.

    Args:
        size: threads at most.
        name: what the threads are called.
    """

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._jobs: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._unfinished = 0

    def submit(self, job: Callable[[], Any]) -> None:
        """Run a job, which must not raise, on a thread that is free, or as soon as one is."""
        # A new thread only if all are busy. The count is of one thread, so it needs no lock.
        if len(self._threads) < self._size and self._unfinished >= len(self._threads):
            name = f"headwater-{self._name}-{len(self._threads)}"
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()
        self._unfinished += 1
        self._jobs.put(job)

    def finished(self) -> None:
        """A job is over. Called on the thread that submits."""
        self._unfinished -= 1

    def close(self, timeout_s: float) -> None:
        """End the threads, and wait for them. Not on the loop's thread, which their last jobs need.

        Those that hang are left behind; they end when their jobs return.
        """
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(timeout_s)
            if thread.is_alive():
                # The time is spent: the others are not waited for.
                timeout_s = 0.0
        left = sum(thread.is_alive() for thread in self._threads)
        if left:
            log.error("%s: %d threads are still inside calls that do not return", self._name, left)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

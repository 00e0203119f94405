"""Threads for functions that block, and for ``asyncio.to_thread``."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context
from functools import partial
from typing import Any, TypeVar

from headwater.core.redaction import logger_of

T = TypeVar("T")
log = logger_of(__name__)


class Job:
    """A call on a thread. Made by `ThreadPool.submit`.

    Attributes:
        given_up: whether its end is not waited for any longer: its row has its result.
    """

    __slots__ = ("_call", "given_up")

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self.given_up = False

    def run(self) -> None:
        """Make the call, in a context of its own: a thread makes many."""
        Context().run(self._call)


class ThreadPool:
    """Daemon threads that start as jobs come.

    Unlike those of ``concurrent.futures`` they are daemons: a call that hangs does not keep the process
    alive.

    Args:
        size: threads at most. May be changed.
        name: of the threads.
    """

    def __init__(self, size: int, name: str) -> None:
        self.size = size
        self._name = name
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._running: dict[threading.Thread, Job | None] = {}
        self._unfinished = 0
        # Jobs are submitted on one thread and finished on others, and both change the count.
        self._lock = threading.Lock()

    def submit(self, call: Callable[[], Any]) -> Job:
        """Make a call, which must not raise, on a thread that is free, or as soon as one is."""
        job = Job(call)
        with self._lock:
            # A new thread only if all are busy.
            if len(self._running) < self.size and self._unfinished >= len(self._running):
                name = f"headwater-{self._name}-{len(self._running)}"
                thread = threading.Thread(target=self._work, name=name, daemon=True)
                self._running[thread] = None
                thread.start()
            self._unfinished += 1
        self._jobs.put(job)
        return job

    def close(self, timeout_s: float) -> int:
        """End the threads, wait for them, and return how many are left behind.

        Those whose jobs were given up are not waited for. They, and others that hang, end when their jobs
        return. Not on the loop's thread, which their last jobs need.
        """
        for _ in self._running:
            self._jobs.put(None)
        deadline = time.monotonic() + timeout_s
        for thread, job in list(self._running.items()):
            if job is None or not job.given_up:
                thread.join(max(0.0, deadline - time.monotonic()))
        return sum(thread.is_alive() for thread in self._running if self._running[thread] is not None)

    def leave_behind(self) -> int:
        """Let others take the places of threads whose jobs were given up, and return how many there are.

        They end when their jobs return.
        """
        with self._lock:
            stuck = [thread for thread, job in self._running.items() if job is not None and job.given_up]
            for thread in stuck:
                del self._running[thread]
            self._unfinished -= len(stuck)
        return len(stuck)

    def _work(self) -> None:
        thread = threading.current_thread()
        while (job := self._jobs.get()) is not None:
            self._running[thread] = job
            job.run()
            with self._lock:
                if thread not in self._running:
                    return  # it was left behind
                self._running[thread] = None
                self._unfinished -= 1


class LoopExecutor(ThreadPoolExecutor):
    """The threads of ``asyncio.to_thread``, as many as there may be calls.

    Asyncio takes nothing but a `ThreadPoolExecutor`, whose threads would keep the process, and the end of the
    loop, waiting for a call that hangs. So this one starts none of its own.

    Args:
        threads: for work beside the calls, such as opening and closing.
    """

    def __init__(self, threads: int) -> None:
        super().__init__(max_workers=1)
        self._pool = ThreadPool(threads, "to-thread")

    def reserve(self, threads: int) -> None:
        """Allow more threads."""
        self._pool.size += threads

    def release(self, threads: int) -> int:
        """Allow fewer threads, and return how many are left behind, inside calls that were given up.

        Threads that run stay, for the next who reserves some.
        """
        self._pool.size -= threads
        return self._pool.leave_behind()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: _JobFuture[T] = _JobFuture()
        future.job = self._pool.submit(partial(_complete, future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads. Those inside calls are not waited for: all rows are out."""
        self._pool.close(0.0)
        super().shutdown(wait=False)


class _JobFuture(Future[T]):
    """Marks its job as given up when its awaiting task is cancelled: a thread cannot be cancelled."""

    job: Job | None = None

    def cancel(self) -> bool:
        if super().cancel():
            return True
        if self.job is not None:
            self.job.given_up = True
        return False


def _complete(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - raised where the future is awaited
        future.set_exception(error)
    else:
        future.set_result(result)

"""The event loop of the process: one loop on one thread for all its operators."""

from __future__ import annotations

import asyncio
import os
import select
import selectors
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from headwater.core.redaction import logger_of
from headwater.readers.async_io.thread_pool import LoopExecutor

_SHORT_S = 0.1
_SELECT_LIMIT = 1024  # file descriptors that select(2) can watch


def precise_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new loop whose short waits end when they should.

    Epoll counts in whole milliseconds, and Python rounds up: a timer of the usual loop is late by up to 1 ms,
    which is a tenth of a call of 10 ms. On systems without epoll the usual loop is precise.
    """
    if sys.platform == "linux":
        return asyncio.SelectorEventLoop(_PreciseEpollSelector())
    return asyncio.new_event_loop()


if sys.platform == "linux":

    class _PreciseEpollSelector(selectors.EpollSelector):
        """Waits for its own epoll descriptor with ``select``, then asks epoll for the events.

        Unlike epoll, ``select`` takes microseconds.
        """

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            if timeout is not None and 0 < timeout < _SHORT_S and self.fileno() < _SELECT_LIMIT:
                select.select([self.fileno()], [], [], timeout)
                timeout = 0
            return super().select(timeout)


T = TypeVar("T")
log = logger_of(__name__)
_GRACE_S = 10.0
_OWN_THREADS = 4  # for work of functions beside their calls, also between tasks


class LoopHost(ABC):
    """Where a loop runs, as other threads see it.

    Tests run one on their own thread, with time that they turn themselves.

    Attributes:
        loop: the loop itself, for code that runs on it.
    """

    loop: asyncio.AbstractEventLoop

    @abstractmethod
    def post(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` on the loop soon, after callbacks that were posted earlier.

        From any thread; many posts are one wake-up. Does nothing once the loop is closed.
        """

    @abstractmethod
    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float) -> T:
        """Run a coroutine on the loop and return its result. From any thread but the loop's.

        Raises:
            TimeoutError: it took longer; it is cancelled.
            Exception: its error.
        """

    @abstractmethod
    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Block until ``event`` is set or the time is over; return whether it is set."""

    @abstractmethod
    def reserve_threads(self, threads: int) -> None:
        """Allow ``asyncio.to_thread`` more threads."""

    @abstractmethod
    def release_threads(self, threads: int) -> int:
        """Allow fewer, and return how many are left behind inside calls that were given up."""

    @abstractmethod
    def on_loop(self) -> bool:
        """Return whether the caller runs on the loop's thread."""

    @abstractmethod
    def stack(self) -> list[traceback.FrameSummary]:
        """Return where the loop's thread is now, outermost frame first."""


class LoopThread(LoopHost):
    """A loop on a daemon thread, which starts with the object and ends with `stop`."""

    def __init__(self) -> None:
        self.loop = precise_event_loop()
        self._executor = LoopExecutor(_OWN_THREADS)
        self.loop.set_default_executor(self._executor)
        self._posted: deque[Callable[[], None]] = deque()
        self._signalled = False
        self._thread = threading.Thread(target=self._run, name="headwater-async-io", daemon=True)
        self._thread.start()

    def post(self, callback: Callable[[], None]) -> None:
        # Append first, then look at the flag: see `_run_posted`. There is no lock; if two threads see the
        # flag down, the loop is woken twice, which does no harm.
        self._posted.append(callback)
        if not self._signalled:
            self._signalled = True
            try:
                self.loop.call_soon_threadsafe(self._run_posted)
            except RuntimeError:
                log.debug("an answer came after the event loop was closed")

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result(timeout_s)
        except BaseException:
            future.cancel()
            raise

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        return event.wait(timeout_s)

    def reserve_threads(self, threads: int) -> None:
        self._executor.reserve(threads)

    def release_threads(self, threads: int) -> int:
        return self._executor.release(threads)

    def on_loop(self) -> bool:
        return threading.get_ident() == self._thread.ident

    def stack(self) -> list[traceback.FrameSummary]:
        # The documented way to see another thread's frames.
        frame = sys._current_frames().get(self._thread.ident or 0)  # noqa: SLF001
        return list(traceback.extract_stack(frame)) if frame else []

    def stop(self) -> None:
        """End the loop and its thread; its tasks are cancelled. Once, not on the loop's thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_GRACE_S)
        if self._thread.is_alive():
            log.error("the event loop does not end: it is at %s", self.stack()[-1:])

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(self._cancel_tasks())
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()

    async def _cancel_tasks(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            _, stubborn = await asyncio.wait(tasks, timeout=1)
            for task in stubborn:
                log.error("%r ignores its cancellation", task)

    def _run_posted(self) -> None:
        # The flag goes down before the callbacks run: a callback that is posted from here on either is among
        # them, or wakes the loop again.
        self._signalled = False
        while self._posted:
            self._posted.popleft()()


class _SharedLoop:
    """The loop that the operators of this process share, and how many of them use it."""

    def __init__(self) -> None:
        # Tasks of one process may open and close operators on several threads at once.
        self.lock = threading.Lock()
        self.host: LoopThread | None = None
        self.users = 0


_shared = _SharedLoop()


def _forget() -> None:
    # After a fork the child has the object but not the thread, and perhaps a lock that is never released.
    global _shared  # noqa: PLW0603 - state of the process, replaced where a process begins
    _shared = _SharedLoop()


os.register_at_fork(after_in_child=_forget)


def acquire_loop() -> LoopThread:
    """Return the loop of this process, started by its first user. Each call needs its `release_loop`."""
    with _shared.lock:
        if _shared.host is None:
            _shared.host = LoopThread()
        _shared.users += 1
        return _shared.host


def release_loop() -> None:
    """Give the loop back; the last user's release ends its thread."""
    with _shared.lock:
        _shared.users -= 1
        if _shared.users > 0 or _shared.host is None:
            return
        host = _shared.host
        _shared.host = None
    # Outside the lock: the thread may take seconds to end, and a new user meanwhile gets a new loop.
    host.stop()


@contextmanager
def process_loop() -> Iterator[LoopThread]:
    """Use the loop of this process for a while."""
    host = acquire_loop()
    try:
        yield host
    finally:
        release_loop()

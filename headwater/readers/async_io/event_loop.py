"""The event loop of the process: one loop, one thread, however many operators."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from headwater.readers.async_io.selector import new_event_loop

__all__ = ["LoopHost", "LoopThread", "acquire_loop", "release_loop"]

T = TypeVar("T")
log = logging.getLogger(__name__)
_GRACE_S = 10.0


class LoopHost(ABC):
    """Where a loop runs, as other threads see it.

    Tests run one on their own thread, with time that they turn themselves.

    Attributes:
        loop: the loop itself, for code that runs on it.
    """

    loop: asyncio.AbstractEventLoop

    @abstractmethod
    def post(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` on the loop soon.

        From any thread; many posts are one wake-up. Does nothing once the loop is closed.
        """

    @abstractmethod
    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float) -> T:
        """Run a coroutine on the loop and return its result. From any thread but the loop's.

        Raises:
            TimeoutError: it took longer; it is cancelled.
            Exception: what it raised.
        """

    @abstractmethod
    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Block until ``event`` is set or the time is over; return whether it is set."""

    @abstractmethod
    def on_loop(self) -> bool:
        """Return whether the caller runs on the loop's thread."""

    @abstractmethod
    def stack(self) -> list[traceback.FrameSummary]:
        """Return where the loop's thread is now, outermost frame first."""


class LoopThread(LoopHost):
    """A loop on a daemon thread, which starts with the object and ends with `stop`."""

    def __init__(self) -> None:
        self.loop = new_event_loop()
        self._posted: deque[Callable[[], None]] = deque()
        self._signalled = False
        self._thread = threading.Thread(target=self._run, name="headwater-async-io", daemon=True)
        self._thread.start()

    def post(self, callback: Callable[[], None]) -> None:
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

    def on_loop(self) -> bool:
        return threading.get_ident() == self._thread.ident

    def stack(self) -> list[traceback.FrameSummary]:
        # The documented way to see another thread's frames.
        frame = sys._current_frames().get(self._thread.ident or 0)  # noqa: SLF001
        return list(traceback.extract_stack(frame)) if frame else []

    def stop(self) -> None:
        """End the loop and its thread; what still runs on it is cancelled. Not on the loop's own thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_GRACE_S)
        if self._thread.is_alive():
            log.error("the event loop does not end: a call blocks it at %s", self.stack()[-1:])

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
        # The flag falls first: whoever posts from here on wakes the loop again.
        self._signalled = False
        while self._posted:
            self._posted.popleft()()


class _Process:
    """The loop that operators of this process share, and how many do."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.host: LoopThread | None = None
        self.users = 0


_process = _Process()


def _forget() -> None:
    # After a fork the child has the object but not the thread.
    global _process  # noqa: PLW0603 - state of the process, replaced where a process begins
    _process = _Process()


os.register_at_fork(after_in_child=_forget)


def acquire_loop() -> LoopThread:
    """Return the loop of this process, started if nobody uses it yet. Each call needs its `release_loop`."""
    with _process.lock:
        if _process.host is None:
            _process.host = LoopThread()
        _process.users += 1
        return _process.host


def release_loop() -> None:
    """Give the loop back; the last user's release ends its thread."""
    with _process.lock:
        _process.users -= 1
        if _process.users or _process.host is None:
            return
        host, _process.host = _process.host, None
    host.stop()

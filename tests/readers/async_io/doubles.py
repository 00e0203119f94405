"""A loop whose time the test turns, and a service that answers when the test says so."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import traceback
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from headwater.core.errors import CallTimeoutError
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.event_loop import LoopHost
from headwater.readers.async_io.function import AsyncFunction, InputRow, OpenContext, Result
from headwater.readers.async_io.settings import AsyncSettings

T = TypeVar("T")


class ManualLoop(asyncio.SelectorEventLoop):
    """Its time stands still until the test moves it."""

    now = 1000.0

    def time(self) -> float:
        return self.now

    def next_timer(self) -> float:
        timers = [timer.when() for timer in self.timers()]
        return min(timers, default=float("inf"))

    def timers(self) -> list[asyncio.TimerHandle]:
        # Asyncio has no public list of timers.
        scheduled: list[asyncio.TimerHandle] = getattr(self, "_scheduled")  # noqa: B009
        return [timer for timer in scheduled if not timer.cancelled()]

    def is_idle(self) -> bool:
        return not getattr(self, "_ready")  # noqa: B009 - as above


class ManualHost(LoopHost):
    """Everything on the test's own thread."""

    def __init__(self) -> None:
        self.loop: ManualLoop = ManualLoop()

    def post(self, callback: Callable[[], None]) -> None:
        self.loop.call_soon(callback)

    def reserve_threads(self, threads: int) -> None:
        """The loop's usual threads do."""

    def release_threads(self, threads: int) -> int:
        return 0

    def on_loop(self) -> bool:
        return self.loop.is_running()

    def stack(self) -> list[traceback.FrameSummary]:
        return []

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float) -> T:
        task = self.loop.create_task(coroutine)
        self._run_until(task.done, self.loop.now + timeout_s)
        if not task.done():
            task.cancel()
            self.settle()
            raise TimeoutError
        return task.result()

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        self._run_until(event.is_set, self.loop.now + timeout_s)
        return event.is_set()

    def turn(self) -> None:
        """Let the loop turn once."""
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def settle(self) -> None:
        """Let everything happen that happens without time going on."""
        self.turn()
        while not self.loop.is_idle():
            self.turn()

    def advance(self, seconds: float) -> None:
        """Let time pass, timer by timer."""
        self._run_until(lambda: False, self.loop.now + seconds)

    def close(self) -> None:
        self.settle()
        tasks = asyncio.all_tasks(self.loop)
        timers = self.loop.timers()
        self.loop.close()
        assert not tasks, "a task is left"
        assert not timers, "a timer is left"

    def _run_until(self, done: Callable[[], bool], deadline: float) -> None:
        self.settle()
        while not done() and (moment := self.loop.next_timer()) <= deadline:
            self.loop.now = max(moment, self.loop.now)
            self.settle()
        if not done():
            self.loop.now = deadline
            self.settle()


class Service(AsyncFunction):
    """Answers each call when the test says so.

    Attributes:
        calls: the row of each call, in the order of their starts.
        running: rows whose calls run now.
        peak: how many ran at once at most.
        cancelled: rows whose calls were cancelled.
        expired: rows for which `timeout` was called.
    """

    def __init__(self, substitute: Callable[[InputRow], Result] | None = None) -> None:
        self.calls: list[InputRow] = []
        self.running: list[InputRow] = []
        self.cancelled: list[InputRow] = []
        self.expired: list[InputRow] = []
        self.peak = 0
        self.log: list[str] = []
        self._substitute = substitute
        self._futures: dict[InputRow, list[asyncio.Future[Result]]] = defaultdict(list)

    async def open(self, context: OpenContext) -> None:
        self.log.append("open")

    async def close(self) -> None:
        self.log.append("close")

    async def async_invoke(self, row: InputRow) -> Result:
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._futures[row].append(future)
        self.calls.append(row)
        self.running.append(row)
        self.peak = max(self.peak, len(self.running))
        try:
            return await future
        except asyncio.CancelledError:
            self.cancelled.append(row)
            raise
        finally:
            self.running.remove(row)

    def timeout(self, row: InputRow) -> Result:
        self.expired.append(row)
        if self._substitute is None:
            raise CallTimeoutError("no result within the timeout")
        return self._substitute(row)

    def answer(self, *rows: InputRow, result: Callable[[InputRow], Result] = lambda row: f"{row}!") -> None:
        """Let the last call of each row return."""
        for row in rows:
            self._futures[row][-1].set_result(result(row))

    def fail(self, row: InputRow, error: Exception) -> None:
        """Let the last call of a row raise."""
        self._futures[row][-1].set_exception(error)


async def times_two(row: int) -> int:
    """Answer after a while, which depends on the row."""
    await asyncio.sleep(0.01 * (row % 3))
    return row * 2


@contextlib.contextmanager
def operator_of(function: Any, host: LoopHost, **settings: Any) -> Iterator[AsyncWaitOperator]:
    """An open operator, of a task that shares with others if there is a ``share_id``."""
    share_id = settings.pop("share_id", None)
    with AsyncWaitOperator(function, AsyncSettings(**settings), share_id=share_id, host=host) as operator:
        yield operator

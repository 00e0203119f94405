"""The tasks of the event loop that make calls, each one call after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from headwater.readers.async_io.call import Call, CallQueue

_CALLS_PER_TURN = 32


class Workers:
    """As many workers as there may be calls at the same time: there are never more calls than workers.

    There is no task for each call and no wake-up for each call. A call that answers without waiting costs no
    turn of the loop at all.

    Owned by the loop's thread.

    Args:
        loop: runs the workers.
        name: the function's; names the tasks.
        capacity: workers at most. They start as they are needed, and rest when there is nothing to do.
        queue: the calls that wait.
        needs_call: tells whether a call that was taken from the queue is to be made at all. None: all are.
        make: makes one attempt of a call, in the worker whose task it is given. Raises only if the project
            has a bug, or when it is cancelled by `close`.
        resting: called each time that a worker finds nothing to do.
        failed: called with the error that ended a worker.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        name: str,
        *,
        capacity: int,
        queue: CallQueue,
        needs_call: Callable[[Call], bool] | None,
        make: Callable[[Call, asyncio.Task[None]], Awaitable[None]],
        resting: Callable[[], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._loop = loop
        self._name = name
        self._capacity = capacity
        self._queue = queue
        self._needs_call = needs_call
        self._make = make
        self._resting = resting
        self._failed = failed
        self._workers: set[asyncio.Task[None]] = set()
        self._idle: list[asyncio.Future[None]] = []
        self.closing = False

    def wake(self) -> None:
        """Have as many workers at work as there are calls that could start, or as many as there may be."""
        for _ in range(len(self._queue)):
            if self._idle:
                idle = self._idle.pop()
                # Done already if its worker was cancelled while it rested.
                if not idle.done():
                    idle.set_result(None)
            elif len(self._workers) < self._capacity and not self.closing:
                worker = self._loop.create_task(self._work(), name=f"headwater {self._name}")
                self._workers.add(worker)
                worker.add_done_callback(self._ended)
            else:
                return

    async def close(self, timeout_s: float) -> int:
        """Cancel the workers and wait for them to end; return how many did not in that time."""
        # Before the cancellations: they tell `make` that they mean the worker, not its call's time-out.
        self.closing = True
        for worker in self._workers:
            worker.cancel()
        if not self._workers:
            return 0
        _, stubborn = await asyncio.wait(self._workers, timeout=timeout_s)
        return len(stubborn)

    async def _work(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        calls = 0
        while not self.closing:
            call = self._queue.take()
            if call is None:
                calls = 0
                self._resting()
                idle = self._loop.create_future()
                self._idle.append(idle)
                await idle
            elif call.settled:  # its time ran out while it waited
                continue
            elif self._needs_call is None or self._needs_call(call):
                await self._make(call, task)
                calls += 1
            if calls >= _CALLS_PER_TURN:
                # Calls that never wait give the loop no turn: without this one, no timer would fire and no
                # other worker would run until the queue is empty.
                calls = 0
                await asyncio.sleep(0)

    def _ended(self, worker: asyncio.Task[None]) -> None:
        self._workers.discard(worker)
        if not worker.cancelled() and (error := worker.exception()) is not None:
            self._failed(error)

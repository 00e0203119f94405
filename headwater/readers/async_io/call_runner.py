"""Runs the calls of one operator on the event loop.

As many *workers* as the capacity allows, each a task that makes one call after the other: no task per call,
no wake-up per call, and never more calls at once than there are workers. A call that answers without waiting
costs no turn of the loop at all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from headwater.core.errors import AsyncCallError, CircuitOpenError, ContractError
from headwater.readers.async_io.backlog import Backlog, KeyedBacklog
from headwater.readers.async_io.cache import MISSING, ResultCache
from headwater.readers.async_io.call import Call, Failure
from headwater.readers.async_io.completions import Completions
from headwater.readers.async_io.deadlines import Deadlines
from headwater.readers.async_io.event_loop import LoopHost
from headwater.readers.async_io.failure_policy import FailurePolicy
from headwater.readers.async_io.flights import Flights
from headwater.readers.async_io.function_calls import FunctionCalls
from headwater.readers.async_io.gate import Gate
from headwater.readers.async_io.metrics import Metrics
from headwater.readers.async_io.settings import AsyncSettings, OutputMode
from headwater.readers.async_io.stream_element_queue import StreamElement
from headwater.readers.async_io.stuck_calls import StuckCalls

__all__ = ["CallRunner", "hashable"]

log = logging.getLogger(__name__)
_CALLS_PER_TURN = 32  # a worker whose calls never wait lets the loop turn after so many


class CallRunner:
    """`submit` is called by the feeding thread; everything else runs on the loop's.

    Args:
        function: the opened function's calls.
        settings: all of them.
        host: the loop.
        completions: where results go.
        metrics: what is counted.
        results: what is known already; None if nothing is remembered.
    """

    def __init__(
        self,
        function: FunctionCalls,
        settings: AsyncSettings,
        host: LoopHost,
        completions: Completions,
        metrics: Metrics,
        *,
        results: ResultCache | None,
    ) -> None:
        self._function, self._settings = function, settings
        self._host, self._loop, self._completions, self._metrics = host, host.loop, completions, metrics
        self._name, self._invoke = function.name, function.invoke
        self._backlog = KeyedBacklog() if settings.mode is OutputMode.KEYED else Backlog()
        timeout_s = None if settings.timeout_ms is None else settings.timeout_ms / 1000
        self._deadlines = Deadlines(host.loop, timeout_s, self._expire)
        self._policy = FailurePolicy(function.name, settings, completions, metrics)
        self._gate = Gate(settings) if settings.rate_limit or settings.circuit_breaker else None
        self._flights: Flights[Any] | None = None if results is None else Flights(results)
        self._workers: set[asyncio.Task[None]] = set()
        self._idle: list[asyncio.Future[None]] = []
        self._retrying: set[Call] = set()
        self._stuck = StuckCalls(host.loop, settings.capacity, timeout_s, self._backlog, self._deadlines)
        self._closing = False

    def submit(self, elements: Iterable[StreamElement]) -> None:
        """Take elements whose calls are to be made.

        Keys are computed here, so that a key function that fails does so on the feeding thread.
        """
        calls = [self._call(element) for element in elements]
        self._host.post(lambda: self._accept(calls))

    async def close(self) -> None:
        """Cancel all calls and timers, and wait for the calls to end."""
        self._closing = True
        self._deadlines.close()
        self._stuck.close()
        for call in self._retrying:
            assert call.retry is not None
            call.retry.cancel()
        for worker in self._workers:
            worker.cancel()
        if self._workers:
            _, stubborn = await asyncio.wait(self._workers, timeout=self._settings.close_timeout_ms / 1000)
            if stubborn:
                log.error(
                    "%s: %d calls ignore their cancellation and are left behind", self._name, len(stubborn)
                )

    def _call(self, element: StreamElement) -> Call:
        settings, row = self._settings, element.value
        key = hashable(settings.key, row) if settings.key else None
        return Call(element, key, hashable(settings.cache.key, row) if settings.cache else None)

    def _accept(self, calls: list[Call]) -> None:
        self._backlog.put(calls)
        self._stuck.accepted(calls)
        self._wake()

    def _wake(self) -> None:
        """Have as many workers at work as there are calls, or as many as there may be."""
        for _ in range(len(self._backlog)):
            if self._idle:
                idle = self._idle.pop()
                if not idle.done():
                    idle.set_result(None)
            elif len(self._workers) < self._settings.capacity and not self._closing:
                worker = self._loop.create_task(self._work(), name=f"headwater {self._name}")
                self._workers.add(worker)
                worker.add_done_callback(self._worker_ended)
            else:
                return

    async def _work(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        calls = 0
        while not self._closing:
            call = self._backlog.take()
            if call is None:
                calls = 0
                await self._rest()
            elif not call.settled and (self._flights is None or call.attempts or self._admit(call)):
                if self._gate is None or await self._pass(call):
                    await self._attempt(call, task)
                calls += 1
            if calls >= _CALLS_PER_TURN:
                calls = 0
                await asyncio.sleep(0)

    async def _rest(self) -> None:
        self._deadlines.rest()
        idle = self._loop.create_future()
        self._idle.append(idle)
        await idle

    def _worker_ended(self, worker: asyncio.Task[None]) -> None:
        self._workers.discard(worker)
        if not worker.cancelled() and (error := worker.exception()) is not None:
            self._completions.fail(error)

    async def _pass(self, call: Call) -> bool:
        """Return whether the call may start, after waiting for its token."""
        assert self._gate is not None
        if await self._gate.enter(self._loop):
            if not call.settled:
                return True
            self._gate.left(succeeded=False, now=self._loop.time())
        elif not call.settled:
            self._metrics.rejected += 1
            call.attempts += 1
            self._deadlines.start(call, self._loop.time())
            self._failed(call, CircuitOpenError(f"{self._name} was not called: too many calls failed lately"))
        return False

    async def _attempt(self, call: Call, task: asyncio.Task[None]) -> None:
        began = self._loop.time()
        call.task = task
        call.attempts += 1
        if call.attempts == 1:
            self._deadlines.start(call, began)
        else:
            self._metrics.retries += 1
        self._metrics.call_began()
        try:
            result = await self._invoke(call.question)
        except asyncio.CancelledError:
            if self._closing:
                raise
            self._call_raised(call, AsyncCallError("the function cancelled its own call"))
        except BaseException as error:  # noqa: BLE001
            # Whatever a user's function raises, the loop goes on and the task hears of it.
            self._call_raised(call, error)
        else:
            self._call_returned(call, result)
        finally:
            self._end(call, task, began)

    def _end(self, call: Call, task: asyncio.Task[None], began: float) -> None:
        self._metrics.call_ended(self._loop.time() - began)
        call.task = None
        if call.expired:
            call.expired = False
            self._stuck.remove()
            task.uncancel()
        if call.settled:
            self._backlog.release(call)

    def _call_returned(self, call: Call, result: Any) -> None:
        if not call.settled:
            if self._gate is not None:
                self._gate.left(succeeded=True, now=self._loop.time())
            self._returned(call, result)

    def _call_raised(self, call: Call, error: BaseException) -> None:
        if not call.settled:
            if self._gate is not None:
                self._gate.left(succeeded=False, now=self._loop.time())
            self._failed(call, error)

    def _returned(self, call: Call, result: Any) -> None:
        if self._policy.is_not_believed(call.attempts, result):
            self._ask_again(call)
        else:
            self._settle(call, result)

    def _failed(self, call: Call, error: BaseException) -> None:
        if isinstance(error, ContractError):
            self._completions.fail(error)
        elif self._policy.is_worth_a_retry(call.attempts, error):
            self._ask_again(call)
        else:
            self._settle(call, Failure(error, call.attempts))

    def _ask_again(self, call: Call) -> None:
        wait_s = self._policy.wait_s(call.attempts)
        self._retrying.add(call)
        call.retry = self._loop.call_later(wait_s, self._again, call)

    def _again(self, call: Call) -> None:
        self._retrying.discard(call)
        call.retry = None
        self._backlog.put_first(call)
        self._wake()

    def _expire(self, call: Call) -> None:
        """The timeout came first: settle, then cancel, so that nothing that the call still does counts."""
        task = call.task
        self._settle_expired(call)
        if task is not None:
            if self._gate is not None:
                self._gate.left(succeeded=False, now=self._loop.time())
            self._stuck.add()
            call.expired = True
            task.cancel()

    def _settle_expired(self, call: Call) -> None:
        followers = self._land(call)
        self._settle(call, self._substitute(call.element.value, call.attempts))
        for follower in followers:
            self._settle_expired(follower)

    def _substitute(self, row: Any, attempts: int) -> Any:
        self._metrics.timeouts += 1
        try:
            result = self._function.timeout(row)
        except BaseException as raised:  # noqa: BLE001 - goes to the row that it concerns
            return Failure(raised, attempts)
        if asyncio.iscoroutine(result):
            result.close()
            error = ContractError(f"{self._name}.timeout must be a plain def function, not async def")
            self._completions.fail(error)
            return Failure(error, attempts)
        return result

    def _settle(self, call: Call, result: Any) -> None:
        """Give a call, and those that joined it, its result."""
        self._conclude(
            call, self._policy.outcome(call.element.value, result) if isinstance(result, Failure) else result
        )
        for follower in self._land(call, result):
            self._settle(follower, result)

    def _land(self, call: Call, result: Any = MISSING) -> Sequence[Call]:
        """End the flight that a call leads, if it leads one; return the calls that followed."""
        if not call.leads:
            return ()
        call.leads = False
        assert self._flights is not None
        return self._flights.land(call.cache_key, result, self._loop.time())

    def _conclude(self, call: Call, outcome: Any) -> None:
        """Hand a call's outcome over. Once per call."""
        call.settled = True
        self._deadlines.stop(call)
        if call.retry is not None:
            self._retrying.discard(call)
            call.retry.cancel()
            call.retry = None
        self._completions.put(call.element, outcome)
        if call.task is None and self._backlog.release(call):
            self._wake()

    def _admit(self, call: Call) -> bool:
        """Return whether a call has to be made.

        Its result is not known, and no call for an equal key is in flight.
        """
        assert self._flights is not None
        result = self._flights.known(call.cache_key, self._loop.time())
        if result is not MISSING:
            self._metrics.cache_hits += 1
            self._settle(call, result)
        elif self._flights.join(call.cache_key, call):
            self._metrics.joined += 1
        else:
            call.leads = True
        return call.leads


def hashable(key: Callable[[Any], Hashable], row: Any) -> Hashable:
    """Return the key of a row.

    Raises:
        TypeError: it cannot be a key; raised here, on the feeding thread, rather than on the loop.
    """
    value = key(row)
    hash(value)
    return value

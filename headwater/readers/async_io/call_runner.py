"""Runs the calls of one operator on the event loop: from a row that was taken in to its one result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headwater.core.errors import AsyncCallError, CircuitOpenError, ContractError
from headwater.core.redaction import logger_of
from headwater.readers.async_io.call import Call, CallQueue, Failure, KeyedCallQueue, hashable_key
from headwater.readers.async_io.completions import Completions
from headwater.readers.async_io.deadlines import Deadlines, StuckCalls
from headwater.readers.async_io.event_loop import LoopHost
from headwater.readers.async_io.failure_policy import FailurePolicy
from headwater.readers.async_io.function_calls import FunctionCalls
from headwater.readers.async_io.metrics import Metrics
from headwater.readers.async_io.permits import CallPermits, RateLimiter, positive_weight
from headwater.readers.async_io.result_cache import MISSING, ResultCache, SingleFlight
from headwater.readers.async_io.settings import AsyncSettings, OutputMode
from headwater.readers.async_io.stream_element_queue import StreamElement
from headwater.readers.async_io.workers import Workers

log = logger_of(__name__)


class CallRunner:
    """`submit` is called by the feeding thread; everything else runs on the loop's thread.

    A call has one result. It is *settled* by the first of these: the result or error of the last attempt, the
    timeout, or the result of a call for an equal key. The others are ignored. All of this happens on one
    thread, so no lock is needed: between two ``await`` nothing else runs.

    Args:
        function: the opened function's calls.
        settings: all of them.
        host: the loop.
        completions: where results go.
        metrics: counts.
        results: the results that are known already. None: nothing is remembered, and equal keys are not
            looked for.
        limiter: of the rate limit, if there is one.
    """

    def __init__(
        self,
        function: FunctionCalls,
        settings: AsyncSettings,
        host: LoopHost,
        *,
        completions: Completions,
        metrics: Metrics,
        results: ResultCache | None,
        limiter: RateLimiter | None,
    ) -> None:
        self._name = function.name
        self._invoke = function.invoke
        self._settings = settings
        self._host = host
        self._loop = host.loop
        self._completions = completions
        self._metrics = metrics
        self._policy = FailurePolicy(function, settings, completions, metrics)
        self._believes_all = self._policy.believes_all
        has_permits = limiter is not None or settings.circuit_breaker is not None
        self._permits = CallPermits(settings, limiter) if has_permits else None
        self._single_flight = None if results is None else SingleFlight(results)
        self._retrying: set[Call] = set()
        self._queue = KeyedCallQueue() if settings.mode is OutputMode.KEYED else CallQueue()
        self._deadlines = Deadlines(host.loop, settings.timeout_ms, self._expire)
        self._stuck = StuckCalls(settings.capacity, self._queue, self._deadlines)
        self._workers = Workers(
            host.loop,
            function.name,
            capacity=settings.capacity,
            queue=self._queue,
            needs_call=None if self._single_flight is None else self._needs_call,
            make=self._attempt if self._permits is None else self._attempt_with_permit,
            resting=self._deadlines.drop_idle_timer,
            failed=completions.fail,
        )

    def submit(self, elements: Iterable[StreamElement]) -> None:
        """Take elements whose calls are to be made.

        Keys are computed here, so that a key function that fails does so on the feeding thread.
        """
        calls = [self._new_call(element) for element in elements]
        weight = self._settings.rate_limit.weight if self._settings.rate_limit else None
        if weight is not None:
            for call in calls:
                self._weigh(call, weight)
        self._host.post(lambda: self._accept(calls))

    def _weigh(self, call: Call, weight: Callable[[Any], float]) -> None:
        """Note how many tokens a call takes."""
        call.weight = positive_weight(weight(call.element.value))

    async def close(self) -> None:
        """Cancel all calls and timers, and wait for the calls to end. Once."""
        # Timers first: none may start or settle a call while the workers end.
        self._deadlines.close()
        self._stuck.close()
        for call in self._retrying:
            assert call.retry is not None
            call.retry.cancel()
        running = await self._workers.close(self._settings.close_timeout_ms / 1000)
        if running:
            log.error("%s: %d calls ignore their cancellation and are left behind", self._name, running)

    # The way of a call: accepted, attempted, then settled or retried.

    def _new_call(self, element: StreamElement) -> Call:
        settings = self._settings
        row = element.value
        key = hashable_key(settings.key, row) if settings.key else None
        cache_key = hashable_key(settings.cache.key, row) if settings.cache else None
        return Call(element, key, cache_key)

    def _accept(self, calls: list[Call]) -> None:
        self._queue.put(calls)
        self._stuck.accepted(calls)
        self._workers.wake()

    def _needs_call(self, call: Call) -> bool:
        """Return whether a call is to be made. If its result is known, it is settled here."""
        assert self._single_flight is not None
        # A call that was attempted leads its flight already.
        return call.attempts > 0 or self._lead(call, self._single_flight)

    def _lead(self, call: Call, flight: SingleFlight) -> bool:
        """Return whether a call leads a flight now: its result is not known and not being asked for."""
        result = flight.cache.get(call.cache_key, self._loop.time())
        if result is not MISSING:
            self._metrics.cache_hits += 1
            self._settle(call, result)
        elif flight.join(call.cache_key, call):
            self._metrics.joined += 1
        else:
            call.leads = True
        return call.leads

    async def _attempt_with_permit(self, call: Call, task: asyncio.Task[None]) -> None:
        assert self._permits is not None
        if await self._permits.acquire(self._loop, call.weight):
            if call.settled:
                # Its time ran out while it waited for the permit.
                self._permits.release(succeeded=False, now=self._loop.time())
            else:
                await self._attempt(call, task)
        elif not call.settled:
            self._metrics.rejected += 1
            call.attempts += 1
            self._deadlines.start(call)
            self._failed(call, CircuitOpenError(f"{self._name} was not called: too many calls failed lately"))

    async def _attempt(self, call: Call, task: asyncio.Task[None]) -> None:
        began = self._loop.time()
        call.task = task
        call.attempts += 1
        if call.attempts == 1:
            # The time of a row runs from its first attempt, over all attempts and waits.
            self._deadlines.start(call)
        else:
            self._metrics.retries += 1
        self._metrics.call_began()
        try:
            result = await self._invoke(call.question)
        except asyncio.CancelledError:
            if self._workers.closing:
                raise
            # By its timeout, which has settled the call already; or the function raised this by itself.
            self._call_raised(call, AsyncCallError("the function cancelled its own call"))
        except BaseException as error:  # noqa: BLE001
            # An exception of any class ends the row's call, never the worker or the loop.
            self._call_raised(call, error)
        else:
            if not call.settled:
                if self._permits is not None:
                    self._permits.release(succeeded=True, now=self._loop.time())
                self._returned(call, result)
        finally:
            self._end_attempt(call, task, began)

    def _end_attempt(self, call: Call, task: asyncio.Task[None], began: float) -> None:
        self._metrics.call_ended(self._loop.time() - began)
        call.task = None
        if call.expired:
            call.expired = False
            self._stuck.remove()
            # The worker goes on. Without this, `asyncio.timeout` in a later call would take the old
            # cancellation for its own.
            task.uncancel()
        if call.settled:
            # Only now: with keys, the next call of the key must not start while this one still runs.
            self._queue.release(call)

    def _call_raised(self, call: Call, error: BaseException) -> None:
        if call.settled:
            return
        if self._permits is not None:
            self._permits.release(succeeded=False, now=self._loop.time())
        self._failed(call, error)

    def _returned(self, call: Call, result: Any) -> None:
        if not self._believes_all and self._policy.is_not_believed(call.attempts, result):
            self._retry_later(call)
        else:
            self._settle(call, result)

    def _failed(self, call: Call, error: BaseException) -> None:
        if isinstance(error, ContractError):
            self._completions.fail(error)
        elif self._policy.is_worth_a_retry(call.attempts, error):
            self._retry_later(call, error)
        else:
            self._settle(call, Failure(error, call.attempts))

    def _retry_later(self, call: Call, error: BaseException | None = None) -> None:
        self._retrying.add(call)
        wait_s = self._policy.wait_s(call.attempts, error)
        call.retry = self._loop.call_later(wait_s, self._retry_now, call)

    def _retry_now(self, call: Call) -> None:
        self._retrying.discard(call)
        call.retry = None
        self._queue.put_first(call)
        self._workers.wake()

    # Timeouts.

    def _expire(self, call: Call) -> None:
        """A call's time is over."""
        task = call.task
        # Settle first, then cancel: a later result or error of the call must not count.
        self._settle_expired(call)
        if task is not None:
            if self._permits is not None:
                self._permits.release(succeeded=False, now=self._loop.time())
            # The call keeps its worker until it ends, so it fills a slot that other rows wait for.
            self._stuck.add()
            call.expired = True
            task.cancel()

    def _settle_expired(self, call: Call) -> None:
        # Land the flight first, with no result: a substitute is for one row, and is not remembered.
        followers = self._land(call)
        self._settle(call, self._policy.substitute(call.element.value, call.attempts))
        for follower in followers:
            self._settle_expired(follower)

    # Results.

    def _settle(self, call: Call, result: Any) -> None:
        """Give a call, and the calls that follow it, its result."""
        is_failure = isinstance(result, Failure)
        self._conclude(call, self._policy.outcome(call.element.value, result) if is_failure else result)
        if call.leads:
            for follower in self._land(call, result):
                self._settle(follower, result)

    def _land(self, call: Call, result: Any = MISSING) -> Sequence[Call]:
        """End the flight that a call leads, if it leads one; return the calls that followed."""
        if not call.leads:
            return ()
        call.leads = False
        assert self._single_flight is not None
        return self._single_flight.land(call.cache_key, result, self._loop.time())

    def _conclude(self, call: Call, outcome: Any) -> None:
        """Hand a call's outcome over. Once per call."""
        call.settled = True
        self._deadlines.stop(call)
        if call.retry is not None:
            self._retrying.discard(call)
            call.retry.cancel()
            call.retry = None
        self._completions.put(call.element, outcome)
        # A call that still runs is released when it ends, in `_end_attempt`.
        if call.task is None and self._queue.release(call):
            self._workers.wake()

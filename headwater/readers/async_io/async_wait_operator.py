"""Flink's ``AsyncWaitOperator``: rows in, results out, many calls in between."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeAlias

from headwater.core.errors import OptionError
from headwater.readers.async_io.batch_call_runner import BatchCallRunner
from headwater.readers.async_io.cache import ResultCache, kept_cache
from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.call_runner import CallRunner
from headwater.readers.async_io.completions import Completions
from headwater.readers.async_io.event_loop import LoopHost, acquire_loop, release_loop
from headwater.readers.async_io.function import AsyncBatchFunction, Function, OpenContext, Result, Row, Scope
from headwater.readers.async_io.function_calls import FunctionCalls, as_function, function_name
from headwater.readers.async_io.intake import Intake
from headwater.readers.async_io.metrics import Metrics, MetricsSnapshot
from headwater.readers.async_io.opened_functions import (
    close_function,
    lease_function,
    open_function,
    return_function,
)
from headwater.readers.async_io.settings import AsyncSettings, Batching, OnFailure, OutputMode
from headwater.readers.async_io.stream_element_queue import (
    OrderedStreamElementQueue,
    StreamElement,
    StreamElementQueue,
    UnorderedStreamElementQueue,
    Watermark,
)
from headwater.readers.async_io.watchdog import Watchdog

__all__ = ["AsyncWaitOperator", "Output"]

Output: TypeAlias = "tuple[Row, Result] | Watermark"
log = logging.getLogger(__name__)
_BATCH_SIZE = 100


class AsyncWaitOperator:
    """Driven by one thread, the task's: it feeds, polls and closes.

    No method but `poll`, `drain` and `process` waits for a call.

    An output is a row that went in with its result, which is what the function returned for it (one row, a
    list of rows, None for none) or a `Failure`; or a `Watermark` that went in.

    Args:
        function: a `Function`, or a plain ``async def`` or ``def`` function of a row.
        settings: see there.
        share_id: tasks with an equal id share, in their process, the cache, and a function of scope PROCESS,
            which the first of them opens.
        task: names the task, for logs.
        host: the loop. None: the one of the process.
        on_wait: called by the driving thread after each wait, which is never longer than
            ``block_warning_ms``; ends the waiting by raising.

    Raises:
        OptionError: function and settings do not fit together.
    """

    def __init__(
        self,
        function: Any,
        settings: AsyncSettings | None = None,
        *,
        share_id: Hashable = None,
        task: str = "",
        host: LoopHost | None = None,
        on_wait: Callable[[], None] = lambda: None,
    ) -> None:
        self._function = as_function(function)
        self.name = function_name(self._function)
        self._settings = _with_batching(self._function, settings or AsyncSettings())
        self._batching = self._settings.batching
        if self._function.scope is Scope.PROCESS and share_id is None:
            raise OptionError(f"is needed for {self.name}, whose scope is PROCESS", option="share_id")
        self._share_id, self._task, self._given_host, self._on_wait = share_id, task, host, on_wait
        self._metrics = Metrics()
        self._queue = _queue_of(self._settings)
        self._completions = Completions()
        self._asked = 0
        self._resources = ExitStack()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """Return how many inputs, watermarks included, have not come out."""
        return len(self.values())

    @property
    def free(self) -> int:
        """How many rows `feed` would take now."""
        return self._intake.free

    @property
    def metrics(self) -> MetricsSnapshot:
        """The counts as they are now, also after `close`. From any thread."""
        return self._metrics.snapshot()

    def open(self) -> None:
        """Open the function. Once, before anything else.

        Raises:
            AsyncCallError: the function's `open` raised.
        """
        with ExitStack() as opening:
            self._host = self._given_host or self._acquire_loop(opening)
            self._calls = FunctionCalls(self._open_function(opening), self._host, self._settings.capacity)
            opening.callback(self._calls.close, self._settings.close_timeout_ms / 1000)
            self._open_shared_cache(opening)
            runner = BatchCallRunner if self._batching else CallRunner
            self._runner = runner(
                self._calls,
                self._settings,
                self._host,
                self._completions,
                self._metrics,
                results=self._results(),
            )
            opening.callback(self._end_calls)
            self._intake = Intake(self._queue, self._batching, self._host.loop.time, self._ask)
            self._watchdog = Watchdog(
                self.name, self._host, self._settings.block_warning_ms / 1000, self._metrics
            )
            self._resources = opening.pop_all()

    def close(self) -> None:
        """Cancel what still runs, close the function, leave no thread and no timer.

        Idempotent. What has not come out does not come out any more.
        """
        self._resources.close()

    def feed(self, rows: Sequence[Row]) -> int:
        """Take rows, as many of the first as there is room for (`free`), and return how many.

        The sequence may be reused, its rows not be changed.

        Raises:
            Exception: what a key function raised.
        """
        return self._intake.feed(rows)

    def put_watermark(self, watermark: Watermark) -> bool:
        """Take a watermark: it comes out after all rows before it and before all rows after it.

        Returns False if there is no room now.
        """
        return self._intake.put_watermark(watermark)

    def poll(self, timeout_s: float = 0.0, at_least: int = 1) -> list[Output]:
        """Return the outputs whose turn it is.

        Args:
            timeout_s: how long to wait while there are fewer than ``at_least``.
            at_least: more at a time mean fewer wake-ups.

        Raises:
            AsyncCallError: a call failed and the failure policy is to fail; raised as soon as the outputs
                that were due are out.
            ContractError: the function broke its contract, whatever the policy.
        """
        now = self._host.loop.time
        deadline = now() + timeout_s
        outputs = self._emit()
        while len(outputs) < at_least and self._is_busy() and (left_s := deadline - now()) > 0:
            self._wait(at_least - len(outputs), left_s)
            outputs += self._emit()
        if not outputs and self._completions.failure is not None:
            raise self._completions.failure
        return outputs

    def drain(
        self, timeout_s: float | None = None, *, linger_s: float = 0.05, at_least: int = 1000
    ) -> Generator[list[Output], None, None]:
        """Yield outputs until all are out, or the time is over; what is then left is in `values`.

        Args:
            timeout_s: None: until all are out.
            linger_s: no output that is due waits longer than this.
            at_least: outputs at a time, if they come within ``linger_s``.

        Raises:
            AsyncCallError, ContractError: as `poll`.
        """
        deadline = float("inf") if timeout_s is None else self._host.loop.time() + timeout_s
        self._intake.flush()
        while (len(self._queue) or self._intake.holds) and (left_s := deadline - self._host.loop.time()) > 0:
            if outputs := self.poll(min(linger_s, left_s), at_least):
                yield outputs
            self._intake.flush()
        if self._completions.failure is not None:  # it came with the last outputs
            raise self._completions.failure

    def process(
        self,
        batches: Iterable[Sequence[Row]],
        *,
        linger_s: float = 0.05,
        at_least: int = 1000,
        patience_s: float | None = None,
    ) -> Generator[list[Output], None, None]:
        """Feed all batches, each taken from the iterable only when there is room, and yield outputs as in `drain`, until all are out.

        Args:
            batches: rows in their order.
            linger_s: as in `drain`.
            at_least: as in `drain`.
            patience_s: how long to wait for room while nothing comes out, and at the end for results. When it
                is over all batches are taken in at once, whether there is room or not, and what is not out is
                in `values`. None: as long as it takes.
        """
        enough = max(1, min(at_least, self._settings.elements // 4))
        now, patience = self._host.loop.time, float("inf") if patience_s is None else patience_s
        for batch in batches:
            position, moved_at = self.feed(batch[: self.free]), now()
            while position < len(batch) and now() - moved_at < patience:
                if outputs := self.poll(linger_s, enough):
                    yield outputs
                taken = self.feed(batch[position : position + self.free])
                if outputs or taken:
                    position, moved_at = position + taken, now()
            if position < len(batch):
                self.restore(batch[position:])
                patience = 0
            if outputs := self.poll():
                yield outputs
        yield from self.drain(patience_s and patience, linger_s=linger_s, at_least=at_least)

    def values(self) -> list[Any]:
        """Return every row and watermark that went in and has not come out, done or not, in their order.

        What a snapshot stores.
        """
        queued = self._queue.values()
        if self._batching:
            queued = [row for value in queued for row in ([value] if isinstance(value, Watermark) else value)]
        return [*queued, *self._intake.values()]

    def restore(self, values: Iterable[Any]) -> None:
        """Take back what `values` returned: it is asked again, before anything that is fed later.

        May be more than there is room for.
        """
        self._intake.restore(values)

    def _acquire_loop(self, opening: ExitStack) -> LoopHost:
        host = acquire_loop()
        opening.callback(release_loop)
        return host

    def _open_function(self, opening: ExitStack) -> Function:
        settings = self._settings
        context = OpenContext(self.name, self._function.scope, settings.capacity, self._task)
        open_s, close_s = settings.open_timeout_ms / 1000, settings.close_timeout_ms / 1000
        if self._function.scope is Scope.PROCESS:
            function = lease_function(self._share_id, self._function, context, open_s)
            opening.callback(return_function, self._share_id)
            return function
        open_function(self._function, context, self._host, open_s)
        opening.callback(close_function, self._function, self._host, close_s)
        return self._function

    def _open_shared_cache(self, opening: ExitStack) -> None:
        cache = self._settings.cache
        if cache is None or cache.shared is None:
            return
        self._host.run(cache.shared.open(), self._settings.open_timeout_ms / 1000)
        opening.callback(
            lambda shared: self._host.run(shared.close(), self._settings.close_timeout_ms / 1000),
            cache.shared,
        )
        self._calls.look_up_first(cache.shared, cache.key, self._is_storable, self._count_hits)

    def _results(self) -> ResultCache | None:
        cache = self._settings.cache
        return (
            None
            if cache is None
            else kept_cache(self._share_id, cache)
            if self._share_id is not None
            else ResultCache(cache)
        )

    def _is_storable(self, result: Result) -> bool:
        retry = self._settings.retry
        return not isinstance(result, BaseException) and not (
            retry and retry.on_result and retry.on_result(result)
        )

    def _count_hits(self, hits: int, rows: int) -> None:
        self._metrics.requests -= hits == rows  # nobody was asked, though the call had begun
        self._metrics.cache_hits += hits

    def _end_calls(self) -> None:
        async def end() -> None:
            self._calls.abandon()
            await self._runner.close()

        # The runner gives up by itself; the time-out here is for a loop that is blocked.
        try:
            self._host.run(end(), self._settings.close_timeout_ms / 1000 + 1)
        except TimeoutError:
            # There is nothing in the traceback.
            log.error("%s: the event loop is blocked; its calls are left behind", self.name)  # noqa: TRY400

    def _ask(self, elements: list[StreamElement]) -> None:
        self._asked += len(elements)
        self._runner.submit(elements)

    def _is_busy(self) -> bool:
        """Return whether anything may come out without more being fed."""
        return self._completions.failure is None and bool(self._asked or self._intake.holds)

    def _wait(self, wanted: int, timeout_s: float) -> None:
        elements = max(1, wanted // self._batching.size) if self._batching else wanted
        lingers_s = max(0.0, self._intake.leave_at - self._host.loop.time())
        timeout_s = min(timeout_s, lingers_s, self._settings.block_warning_ms / 1000)
        self._completions.wait(min(elements, max(self._asked, 1)), timeout_s, self._host)
        self._watchdog.look()
        self._on_wait()

    def _emit(self) -> list[Output]:
        for element, result in self._completions.take():
            self._asked -= self._queue.complete(element, result)
        due = self._queue.pop_completed()
        self._intake.flush_due()
        self._intake.refill()
        outputs = (
            _rows_of(due)
            if self._batching
            else [each.value if type(each.value) is Watermark else (each.value, each.result) for each in due]
        )
        if self._completions.failure is not None and self._settings.on_failure is OnFailure.FAIL:
            return [
                output
                for output in outputs
                if isinstance(output, Watermark) or not isinstance(output[1], Failure)
            ]
        return outputs


def _rows_of(due: list[StreamElement]) -> list[Output]:
    outputs: list[Output] = []
    for element in due:
        if isinstance(element.value, Watermark):
            outputs.append(element.value)
        else:
            outputs.extend(zip(element.value, element.result, strict=True))
    return outputs


def _with_batching(function: Function, settings: AsyncSettings) -> AsyncSettings:
    """Return the settings with `batching` exactly where the function takes many rows."""
    if isinstance(function, AsyncBatchFunction):
        return settings if settings.batching else replace(settings, batching=Batching(size=_BATCH_SIZE))
    if settings.batching:
        raise OptionError(
            f"is for an AsyncBatchFunction, which {function_name(function)} is not", option="batching"
        )
    return settings


def _queue_of(settings: AsyncSettings) -> StreamElementQueue:
    capacity = max(1, settings.elements // settings.batching.size) if settings.batching else settings.elements
    return (
        OrderedStreamElementQueue(capacity)
        if settings.mode is OutputMode.ORDERED
        else UnorderedStreamElementQueue(capacity)
    )

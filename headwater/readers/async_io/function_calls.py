"""The user's function: its name, the settings that fit it, and its calls, all to be awaited."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import Any

from headwater.core.errors import AsyncCallError, ContractError, OptionError
from headwater.core.redaction import logger_of
from headwater.readers.async_io.call import InContext
from headwater.readers.async_io.event_loop import LoopHost
from headwater.readers.async_io.function import (
    AsyncArrowFunction,
    AsyncBatchFunction,
    AsyncFunction,
    BlockingFunction,
    CallbackFunction,
    Function,
    InputRow,
    Result,
)
from headwater.readers.async_io.metrics import Metrics
from headwater.readers.async_io.settings import AsyncSettings, Batching, OnFailure, OutputMode
from headwater.readers.async_io.shared_cache import Invoke
from headwater.readers.async_io.thread_pool import Job, ThreadPool

_FORMS = (AsyncFunction, AsyncBatchFunction, AsyncArrowFunction, CallbackFunction, BlockingFunction)
_BATCH_SIZE = 100
_ARROW_BATCH_SIZE = 10_000
log = logger_of(__name__)


class _PlainAsyncFunction(AsyncFunction):
    """An ``async def`` function."""

    def __init__(self, call: Callable[[InputRow], Awaitable[Result]]) -> None:
        self.call = call
        self.name = getattr(call, "__qualname__", type(call).__qualname__)

    async def async_invoke(self, row: InputRow) -> Result:
        return await self.call(row)


class _PlainBlockingFunction(BlockingFunction):
    """A ``def`` function."""

    def __init__(self, call: Callable[[InputRow], Result]) -> None:
        self.call = call
        self.name = getattr(call, "__qualname__", type(call).__qualname__)

    def invoke(self, row: InputRow) -> Result:
        return self.call(row)


def as_function(function: Any) -> Function:
    """Return a `Function` as it is, and a plain ``async def`` or ``def`` function of a row as one.

    Raises:
        OptionError: it is neither; a class instead of an instance, for example.
    """
    if isinstance(function, _FORMS):
        return function
    if isinstance(function, type):
        raise OptionError(f"is a class; pass an instance: {function.__name__}()", option="function")
    if not callable(function):
        raise OptionError(
            f"must be an AsyncFunction, or a function of a row, and is a {type(function).__name__}",
            option="function",
        )
    # A callable object counts as a coroutine function if its __call__ is one.
    call = getattr(function, "__call__", None)  # noqa: B004
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
        return _PlainAsyncFunction(function)
    return _PlainBlockingFunction(function)


def function_name(function: Function) -> str:
    """Return the name of a function in errors and logs."""
    return getattr(function, "name", None) or type(function).__qualname__


def fitted_settings(function: Function, settings: AsyncSettings) -> AsyncSettings:
    """Return the settings with `batching` exactly where the function takes many rows.

    Raises:
        OptionError: there is `batching`, and the function takes one row.
    """
    if isinstance(function, AsyncBatchFunction):
        return settings if settings.batching else replace(settings, batching=Batching(size=_BATCH_SIZE))
    if isinstance(function, AsyncArrowFunction):
        if settings.cache is not None or settings.mode is OutputMode.KEYED:
            raise OptionError("AsyncArrowFunction has no cache and no keys", option="function")
        if function.frames not in _FRAMES:
            raise OptionError(
                f"must have frames of {', '.join(_FRAMES)}, and has {function.frames!r}",
                option="function",
            )
        # The operator's rows are batches, which its driver has gathered. It drops none: answers that
        # do not fit go the same way as calls that fail, and None is such an answer.
        on_failure = OnFailure.NULL if settings.on_failure is OnFailure.DROP else settings.on_failure
        return replace(settings, batching=None, queue_size=_queued_calls(settings), on_failure=on_failure)
    if settings.batching:
        raise OptionError(
            f"is for an AsyncBatchFunction, which {function_name(function)} is not", option="batching"
        )
    return settings


def arrow_batching(settings: AsyncSettings) -> Batching:
    """Return how rows are gathered for the calls of an `AsyncArrowFunction`."""
    return settings.batching or Batching(size=_ARROW_BATCH_SIZE)


def _queued_calls(settings: AsyncSettings) -> int:
    """Return how many bulk calls may be queued: enough that the next one is there when one ends."""
    if settings.queue_size is None:
        return 2 * settings.capacity
    return max(1, settings.queue_size // arrow_batching(settings).size)


class FunctionCalls:
    """An opened function, its calls all of one form.

    Attributes:
        name: for errors.
        invoke: makes one attempt for a row (for a list of rows: `AsyncBatchFunction`). On the loop.
        timeout: returns the substitute for a row without result. On the loop.

    Args:
        function: opened already.
        host: the loop.
        capacity: threads at most, if the function blocks.
        metrics: counts threads that are left behind.
    """

    def __init__(self, function: Function, host: LoopHost, capacity: int, metrics: Metrics) -> None:
        self._metrics = metrics
        self.name = function_name(function)
        self.timeout = function.timeout
        self._host = host
        self._pool: ThreadPool | None = None
        self._closing = False
        self.invoke = self._invoke_of(function, capacity)

    def abandon(self) -> None:
        """Let calls on threads be cancelled like others: their ends are not waited for any more.

        On the loop, before the runner is closed.
        """
        self._closing = True

    def close(self, timeout_s: float) -> None:
        """End the threads of a blocking function. Not on the loop."""
        if self._pool is not None and (threads := self._pool.close(timeout_s)):
            self._metrics.left_behind += threads
            log.warning("%s: %d threads are still inside calls that do not return", self.name, threads)

    def _invoke_of(self, function: Function, capacity: int) -> Invoke:
        if isinstance(function, _PlainAsyncFunction) and inspect.iscoroutinefunction(function.call):
            # Without the coroutine around it.
            return self._awaiting("async_invoke", function.call)
        if isinstance(function, AsyncFunction):
            return self._awaiting("async_invoke", function.async_invoke)
        if isinstance(function, AsyncBatchFunction):
            return self._awaiting("async_invoke_batch", function.async_invoke_batch)
        if isinstance(function, AsyncArrowFunction):
            to_frame = _FRAMES[function.frames]()
            call = function.async_invoke_arrow
            return self._awaiting("async_invoke_arrow", lambda batch: call(to_frame(batch)))
        if isinstance(function, BlockingFunction):
            self._pool = ThreadPool(capacity, self.name)
            return partial(self._call_on_thread, self._pool, function.invoke)
        assert isinstance(function, CallbackFunction)
        return partial(self._call_back, function.async_invoke)

    def _awaiting(self, method: str, call: Callable[[Any], Awaitable[Any]]) -> Invoke:
        if inspect.iscoroutinefunction(call):
            return lambda row: InContext(call(row))
        return partial(self._await, method, call)

    async def _await(self, method: str, call: Callable[[Any], Any], row: Any) -> Any:
        async def awaited() -> Any:
            awaitable = call(row)
            if not inspect.isawaitable(awaitable):
                returned = type(awaitable).__name__
                raise ContractError(
                    f"{self.name}.{method} must be an async def function, and returned a {returned}"
                )
            return await awaitable

        return await InContext(awaited())

    async def _call_back(self, call: Callable[[InputRow, LoopFuture], None], row: InputRow) -> Result:
        result_future = LoopFuture(self._host)
        copy_context().run(call, row, result_future)
        return await result_future.future

    async def _call_on_thread(
        self, pool: ThreadPool, call: Callable[[InputRow], Result], row: InputRow
    ) -> Result:
        result_future = LoopFuture(self._host)
        job = pool.submit(partial(result_future.complete_with, call, row))
        result = await self._outlasting_cancellation(result_future.future, job)
        # A lambda, or a decorated function, that made a coroutine.
        return await InContext(_as_coroutine(result)) if inspect.isawaitable(result) else result

    async def _outlasting_cancellation(self, future: asyncio.Future[Any], job: Job) -> Any:
        """Wait for a call on a thread, which cannot be cancelled.

        Its worker waits with it beyond the timeout, so that there are never more calls than the capacity.
        """
        while True:
            try:
                return await asyncio.shield(future)
            except asyncio.CancelledError:
                # By the timeout, or by the end of the task: only the latter frees the worker.
                job.given_up = True
                if self._closing or future.cancelled():
                    future.cancel()
                    raise


def _to_pandas() -> Callable[[Any], Any]:
    _imported("pandas")
    return lambda batch: batch.to_pandas()


def _to_polars() -> Callable[[Any], Any]:
    from_arrow: Callable[[Any], Any] = _imported("polars").from_arrow
    return from_arrow


def _imported(library: str) -> Any:
    # Where a function asks for it: few do, and it is no dependency.
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise AsyncCallError(
            f"a function asks for frames of {library}, which is not installed in {sys.executable}"
        ) from error


_FRAMES: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "arrow": lambda: lambda batch: batch,
    "pandas": _to_pandas,
    "polars": _to_polars,
}


async def _as_coroutine(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


class LoopFuture:
    """The `ResultFuture` of one call. May be completed from any thread; its future belongs to the loop's."""

    __slots__ = ("_host", "future")

    def __init__(self, host: LoopHost) -> None:
        self._host = host
        self.future: asyncio.Future[Any] = host.loop.create_future()

    def complete(self, result: Result) -> None:
        self._on_loop(partial(self._set, result, None))

    def complete_exceptionally(self, error: BaseException) -> None:
        is_error = isinstance(error, BaseException) or (
            isinstance(error, type) and issubclass(error, BaseException)
        )
        if not is_error:
            # A client's own text of an error; here it would be lost, and the call never end.
            error = AsyncCallError(f"complete_exceptionally was given a {type(error).__name__}: {error}")
        self._on_loop(partial(self._set, None, error))

    def complete_with(self, call: Callable[..., Result], *args: Any) -> None:
        """Complete it with the result or the error of a call, on the thread that makes the call."""
        try:
            result = call(*args)
        except BaseException as error:  # noqa: BLE001 - raised where the future is awaited
            self.complete_exceptionally(error)
        else:
            self.complete(result)

    def cancelled(self) -> bool:
        return self.future.cancelled()

    def _on_loop(self, callback: Callable[[], None]) -> None:
        if self._host.on_loop():
            callback()
        else:
            self._host.post(callback)

    def _set(self, result: Result, error: BaseException | None) -> None:
        # On the loop's thread, so the first completion wins without a lock; a cancelled future is done too.
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        elif isinstance(error, StopIteration):
            # A future refuses it: it would end the coroutine that awaits.
            self.future.set_exception(RuntimeError("the function raised StopIteration"))
        else:
            self.future.set_exception(error)

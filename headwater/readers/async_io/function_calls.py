"""All forms of functions as one: something to await."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeAlias

from headwater.core.errors import ContractError, OptionError
from headwater.readers.async_io.event_loop import LoopHost
from headwater.readers.async_io.function import (
    AsyncBatchFunction,
    AsyncFunction,
    BlockingFunction,
    CallbackFunction,
    Function,
    Result,
    Row,
)
from headwater.readers.async_io.shared_cache import SharedCache, looking_up_first
from headwater.readers.async_io.thread_pool import ThreadPool

__all__ = ["FunctionCalls", "as_function", "function_name"]

Invoke: TypeAlias = Callable[[Any], Awaitable[Any]]


class _PlainAsyncFunction(AsyncFunction):
    """An ``async def`` function."""

    def __init__(self, call: Callable[[Row], Awaitable[Result]]) -> None:
        self.call = call
        self.name = getattr(call, "__qualname__", type(call).__qualname__)

    async def async_invoke(self, row: Row) -> Result:
        return await self.call(row)


class _PlainBlockingFunction(BlockingFunction):
    """A ``def`` function."""

    def __init__(self, call: Callable[[Row], Result]) -> None:
        self.call = call
        self.name = getattr(call, "__qualname__", type(call).__qualname__)

    def invoke(self, row: Row) -> Result:
        return self.call(row)


def as_function(function: Any) -> Function:
    """Return a `Function` as it is, and a plain ``async def`` or ``def`` function of a row as one.

    Raises:
        OptionError: it is neither; a class instead of an instance, for example.
    """
    if isinstance(function, AsyncFunction | AsyncBatchFunction | CallbackFunction | BlockingFunction):
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
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
    return _PlainAsyncFunction(function) if is_async else _PlainBlockingFunction(function)


def function_name(function: Function) -> str:
    """Return what errors and logs call a function."""
    return getattr(function, "name", None) or type(function).__qualname__


class FunctionCalls:
    """An opened function, its calls all of one form.

    Attributes:
        name: for errors.
        invoke: makes one attempt for a row (for a list of rows: `AsyncBatchFunction`). On the loop.
        timeout: the substitute for a row without result.

    Args:
        function: opened already.
        host: the loop.
        capacity: threads for functions that block.
    """

    def __init__(self, function: Function, host: LoopHost, capacity: int) -> None:
        self.name, self.timeout = function_name(function), function.timeout
        self._function, self._host, self._capacity = function, host, capacity
        self._pool: ThreadPool | None = None
        self._closing = False
        self.invoke = self._invoke_of(function)

    def look_up_first(
        self,
        cache: SharedCache,
        key: Callable[[Row], Hashable],
        storable: Callable[[Result], bool],
        hits: Callable[[int, int], None],
    ) -> None:
        """Ask a shared cache before the service; see `looking_up_first`."""
        invoke = self.invoke
        if isinstance(self._function, AsyncBatchFunction):
            self.invoke = looking_up_first(cache, key, invoke, storable, hits)
            return

        async def invoke_each(rows: Sequence[Row]) -> Sequence[Result]:
            return [await invoke(row) for row in rows]

        lookup = looking_up_first(cache, key, invoke_each, storable, hits)

        async def invoke_one(row: Row) -> Result:
            return (await lookup([row]))[0]

        self.invoke = invoke_one

    def abandon(self) -> None:
        """Let calls on threads be cancelled like others: nobody waits for their ends any more.

        On the loop, before the runner is closed.
        """
        self._closing = True

    def close(self, timeout_s: float) -> None:
        """End the threads of a blocking function. Not on the loop."""
        if self._pool is not None:
            self._pool.close(timeout_s)

    def _invoke_of(self, function: Function) -> Invoke:
        if isinstance(function, AsyncFunction):
            return self._awaiting("async_invoke", function.async_invoke)
        if isinstance(function, AsyncBatchFunction):
            return self._awaiting("async_invoke_batch", function.async_invoke_batch)
        if isinstance(function, BlockingFunction):
            self._pool = ThreadPool(self._capacity, self.name)
            return partial(self._call_on_thread, self._pool, function.invoke)
        assert isinstance(function, CallbackFunction)
        return partial(self._call_back, function.async_invoke)

    def _awaiting(self, method: str, call: Callable[[Any], Awaitable[Any]]) -> Invoke:
        if inspect.iscoroutinefunction(call):
            return call
        return partial(self._await, method, call)

    async def _await(self, method: str, call: Callable[[Any], Any], row: Any) -> Any:
        awaitable = call(row)
        if not inspect.isawaitable(awaitable):
            raise ContractError(
                f"{self.name}.{method} must be an async def function, and returned a {type(awaitable).__name__}"
            )
        return await awaitable

    async def _call_back(self, call: Callable[[Row, _ResultFuture], None], row: Row) -> Result:
        result_future = _ResultFuture(self._host)
        call(row, result_future)
        return await result_future.future

    async def _call_on_thread(self, pool: ThreadPool, call: Callable[[Row], Result], row: Row) -> Result:
        result_future = _ResultFuture(self._host)
        pool.submit(partial(_complete, call, row, result_future))
        try:
            return await self._outlasting_cancellation(result_future.future)
        finally:
            pool.finished()

    async def _outlasting_cancellation(self, future: asyncio.Future[Any]) -> Any:
        """Wait for a call that cannot be cancelled, since it fills its slot until it ends."""
        while True:
            try:
                return await asyncio.shield(future)
            except asyncio.CancelledError:
                if self._closing or future.cancelled():
                    future.cancel()
                    raise


class _ResultFuture:
    """`ResultFuture` for one call on the loop."""

    __slots__ = ("_host", "future")

    def __init__(self, host: LoopHost) -> None:
        self._host = host
        self.future: asyncio.Future[Any] = host.loop.create_future()

    def complete(self, result: Result) -> None:
        self._on_loop(partial(self._set, result, None))

    def complete_exceptionally(self, error: BaseException) -> None:
        self._on_loop(partial(self._set, None, error))

    def cancelled(self) -> bool:
        return self.future.cancelled()

    def _on_loop(self, callback: Callable[[], None]) -> None:
        if self._host.on_loop():
            callback()
        else:
            self._host.post(callback)

    def _set(self, result: Result, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(
                error
                if not isinstance(error, StopIteration)
                else RuntimeError("the function raised StopIteration")
            )


def _complete(call: Callable[[Row], Result], row: Row, result_future: _ResultFuture) -> None:
    try:
        result = call(row)
    except BaseException as error:  # noqa: BLE001 - goes to the row that it concerns
        result_future.complete_exceptionally(error)
    else:
        result_future.complete(result)

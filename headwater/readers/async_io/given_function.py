"""What a user gave as the function: as a `Function`, with its name and the settings that fit it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from headwater.core.errors import OptionError
from headwater.readers.async_io.function import (
    AsyncBatchFunction,
    AsyncFunction,
    BlockingFunction,
    CallbackFunction,
    Function,
    InputRow,
    Result,
)
from headwater.readers.async_io.settings import AsyncSettings, Batching

_BATCH_SIZE = 100


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
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
        return _PlainAsyncFunction(function)
    return _PlainBlockingFunction(function)


def function_name(function: Function) -> str:
    """Return what errors and logs call a function."""
    return getattr(function, "name", None) or type(function).__qualname__


def fitted_settings(function: Function, settings: AsyncSettings) -> AsyncSettings:
    """Return the settings with `batching` exactly where the function takes many rows.

    Raises:
        OptionError: there is `batching`, and the function takes one row.
    """
    if isinstance(function, AsyncBatchFunction):
        return settings if settings.batching else replace(settings, batching=Batching(size=_BATCH_SIZE))
    if settings.batching:
        raise OptionError(
            f"is for an AsyncBatchFunction, which {function_name(function)} is not", option="batching"
        )
    return settings

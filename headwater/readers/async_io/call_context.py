"""A context of its own for each call: what one sets for tracing or logging, no other sees."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Generator
from contextvars import Context, copy_context
from typing import Any, TypeVar

T = TypeVar("T")


class InContext(Awaitable[T]):
    """A coroutine that runs in a copy of the context in which it was made.

    Tasks have contexts of their own too; but the worker that awaits this makes many calls in one task.

    Args:
        coroutine: not started yet.
    """

    __slots__ = ("_context", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._context: Context = copy_context()

    def __await__(self) -> Generator[Any, Any, T]:
        run = self._context.run
        coroutine = self._coroutine
        step = coroutine.send
        sent: Any = None
        while True:
            try:
                waited_for = run(step, sent)
            except StopIteration as end:
                result: T = end.value
                return result
            try:
                sent = yield waited_for
                step = coroutine.send
            except BaseException as error:  # noqa: BLE001 - a cancellation, for example: the coroutine's
                sent = error
                step = coroutine.throw

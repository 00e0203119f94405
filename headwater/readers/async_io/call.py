"""A call: one row on its way to the service and back; its failure, its context, and the queue of calls."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Hashable, Iterable, Iterator
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any, TypeVar

from headwater.readers.async_io.stream_element_queue import StreamElement

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failure:
    """The result of a row whose call failed for good.

    Attributes:
        error: of the last attempt, or the timeout.
        attempts: calls that were made for the row; None if a call answered, and the answer does not fit.
    """

    error: BaseException
    attempts: int | None

    @property
    def error_class(self) -> str:
        """The name of the error's class."""
        return type(self.error).__name__

    @property
    def message(self) -> str:
        """The text of the error."""
        return str(self.error)


class Call:
    """The state of one element's call. Made by the feeding thread, then owned by the loop's thread.

    Attributes:
        element: the place in the queue that waits for the result.
        question: of the next attempt: the row, or the rows of a bulk call that have no result yet.
        key: rows of equal keys are called in sequence (keyed mode).
        cache_key: rows of equal keys have equal results (cache); for a bulk call one for each row.
        attempts: calls made so far.
        task: the worker in which an attempt runs now; None between attempts.
        leads: whether rows with an equal ``cache_key`` wait for its result.
        expired: whether its timeout cancelled ``task``.
        settled: whether it has its result; the first one wins.
        retry: the timer of the next attempt.
        weight: tokens of the rate limit that each attempt takes.
    """

    __slots__ = (
        "attempts",
        "cache_key",
        "element",
        "expired",
        "key",
        "leads",
        "question",
        "retry",
        "settled",
        "task",
        "weight",
    )

    def __init__(self, element: StreamElement, key: Hashable = None, cache_key: Any = None) -> None:
        self.element = element
        self.question: Any = element.value
        self.key = key
        self.cache_key = cache_key
        self.attempts = 0
        self.leads = False
        self.expired = False
        self.settled = False
        self.task: asyncio.Task[None] | None = None
        self.weight = 1.0
        self.retry: asyncio.TimerHandle | None = None


def hashable_key(key: Callable[[Any], Hashable], row: Any) -> Hashable:
    """Return the key of a row.

    Raises:
        TypeError: it cannot be a key; raised here, on the feeding thread, rather than on the loop.
    """
    value = key(row)
    hash(value)
    return value


class CallQueue:
    """First come, first served. Owned by the loop's thread."""

    def __init__(self) -> None:
        self._ready: deque[Call] = deque()

    def __len__(self) -> int:
        """Return how many calls could start now."""
        return len(self._ready)

    def __iter__(self) -> Iterator[Call]:
        """Yield all calls that wait, also if they could not start now."""
        return iter(self._ready)

    def put(self, calls: Iterable[Call]) -> None:
        """Append new calls."""
        self._ready.extend(calls)

    def put_first(self, call: Call) -> None:
        """Put a call that is asked again before calls that were never asked."""
        self._ready.appendleft(call)

    def take(self) -> Call | None:
        """Remove and return the next call that may start, or None."""
        return self._ready.popleft() if self._ready else None

    def release(self, call: Call) -> bool:
        """Note that a call has its result and does not run any longer. Once per call.

        Returns:
            Whether another call may start for that reason.
        """
        return False


class KeyedCallQueue(CallQueue):
    """At most one call of a key is anywhere between `take` and `release`.

    The other calls of its key are blocked and hold up no other key.
    """

    def __init__(self) -> None:
        super().__init__()
        # A key is here from its first call's `put` to its last call's `release`.
        self._blocked: dict[Hashable, deque[Call]] = {}

    def __iter__(self) -> Iterator[Call]:
        yield from self._ready
        for blocked in self._blocked.values():
            yield from blocked

    def put(self, calls: Iterable[Call]) -> None:
        for call in calls:
            blocked = self._blocked.get(call.key)
            if blocked is None:
                self._blocked[call.key] = deque()
                self._ready.append(call)
            else:
                blocked.append(call)

    def release(self, call: Call) -> bool:
        blocked = self._blocked[call.key]
        if not blocked:
            del self._blocked[call.key]
            return False
        self._ready.append(blocked.popleft())
        return True


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
        value: Any = None
        while True:
            try:
                waited_for = run(step, value)
            except StopIteration as end:
                result: T = end.value
                return result
            try:
                value = yield waited_for
                step = coroutine.send
            except BaseException as error:  # noqa: BLE001 - a cancellation, for example: the coroutine's
                value = error
                step = coroutine.throw

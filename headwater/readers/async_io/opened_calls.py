"""A function and its calls, from opening to closing: of one task, or of all tasks in the process."""

from __future__ import annotations

import atexit
import inspect
import logging
import os
import threading
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from headwater.core.errors import AsyncCallError, HeadwaterError
from headwater.readers.async_io.batch_call_runner import BatchCallRunner
from headwater.readers.async_io.call_runner import CallRunner
from headwater.readers.async_io.completions import Completions
from headwater.readers.async_io.event_loop import LoopHost, acquire_loop, release_loop
from headwater.readers.async_io.function import Function, OpenContext, Result, Scope
from headwater.readers.async_io.function_calls import FunctionCalls, LoopFuture, function_name
from headwater.readers.async_io.metrics import Metrics
from headwater.readers.async_io.result_cache import kept_cache
from headwater.readers.async_io.settings import AsyncSettings
from headwater.readers.async_io.shared_cache import looking_up_first

log = logging.getLogger(__name__)
_IDLE_S = 60.0  # as long as Spark keeps an idle Python worker


@contextmanager
def opened_calls(
    function: Function,
    settings: AsyncSettings,
    host: LoopHost,
    *,
    completions: Completions,
    metrics: Metrics,
    share_id: Hashable,
    task: str,
) -> Iterator[CallRunner]:
    """Open a function and yield what runs its calls; at the end leave no call, no thread and no client.

    The end takes the steps of the beginning in reverse. The order matters: calls end before anything that
    they use is closed. So the calls are cancelled, the shared cache is closed, the threads of a blocking
    function end, and the function is closed last.

    Args:
        function: of the user.
        settings: with ``batching`` if the function takes many rows.
        host: the loop.
        completions: where results go.
        metrics: what is counted.
        share_id: as in `AsyncWaitOperator`.
        task: as in `AsyncWaitOperator`.

    Raises:
        AsyncCallError: the function's `open` raised.
    """
    with ExitStack() as resources:
        host.reserve_threads(settings.capacity)
        resources.callback(host.reserve_threads, -settings.capacity)
        opened = _opened_function(resources, function, settings, host, share_id=share_id, task=task)
        calls = FunctionCalls(opened, host, settings.capacity, metrics)
        resources.callback(calls.close, settings.close_timeout_ms / 1000)
        # Before the runner is made: it takes the calls as they are then.
        _open_shared_cache(resources, calls, settings, host, metrics)
        make_runner = BatchCallRunner if settings.batching else CallRunner
        runner = make_runner(
            calls,
            settings,
            host,
            completions=completions,
            metrics=metrics,
            results=kept_cache(share_id, settings.cache) if settings.cache else None,
        )
        resources.callback(_end_calls, calls, runner, host, settings)
        yield runner


def _opened_function(
    resources: ExitStack,
    function: Function,
    settings: AsyncSettings,
    host: LoopHost,
    *,
    share_id: Hashable,
    task: str,
) -> Function:
    context = OpenContext(function_name(function), function.scope, settings.capacity, task)
    open_s = settings.open_timeout_ms / 1000
    close_s = settings.close_timeout_ms / 1000
    if function.scope is Scope.PROCESS and share_id is not None:
        # With the name: an id that was given to two functions must not give one of them the other's client.
        function_id = (share_id, context.function)
        leased = lease_function(function_id, function, context, open_s, close_s)
        resources.callback(return_function, function_id)
        return leased
    open_function(function, context, host, open_s)
    resources.callback(close_function, function, host, close_s)
    return function


def _open_shared_cache(
    resources: ExitStack, calls: FunctionCalls, settings: AsyncSettings, host: LoopHost, metrics: Metrics
) -> None:
    if settings.cache is None or settings.cache.shared is None:
        return
    shared = settings.cache.shared
    host.run(shared.open(), settings.open_timeout_ms / 1000)
    resources.callback(lambda: host.run(shared.close(), settings.close_timeout_ms / 1000))

    def is_storable(result: Result) -> bool:
        if isinstance(result, BaseException):
            return False
        asks_again = settings.retry.on_result if settings.retry else None
        return asks_again is None or not asks_again(result)

    calls.invoke = looking_up_first(
        shared,
        calls.invoke,
        is_bulk=settings.batching is not None,
        key=settings.cache.key,
        is_storable=is_storable,
        count_hits=metrics.count_shared_hits,
    )


def _end_calls(calls: FunctionCalls, runner: CallRunner, host: LoopHost, settings: AsyncSettings) -> None:
    async def end() -> None:
        # First: calls on threads cannot be cancelled, and closing the runner would wait for them.
        calls.abandon()
        await runner.close()

    try:
        # The runner gives up by itself; the time-out here, which is longer, is for a loop that is blocked.
        host.run(end(), settings.close_timeout_ms / 1000 + 1)
    except TimeoutError:
        # There is nothing in the traceback.
        log.error("%s: the event loop is blocked; its calls are left behind", calls.name)  # noqa: TRY400


def open_function(function: Function, context: OpenContext, host: LoopHost, timeout_s: float) -> None:
    """Open a function, on the loop, or on a thread if its `open` may block.

    Raises:
        AsyncCallError: its `open` raised, or took too long.
    """
    try:
        host.run(_run_method(partial(function.open, context), host), timeout_s)
    except HeadwaterError:
        raise
    except TimeoutError as error:
        raise AsyncCallError(f"{context.function}.open did not end within {timeout_s:.0f} s") from error
    except Exception as error:
        raise AsyncCallError(f"{context.function}.open raised {type(error).__name__}: {error}") from error


def close_function(function: Function, host: LoopHost, timeout_s: float) -> None:
    """Close a function. What its `close` raises is logged: its results are all out."""
    try:
        host.run(_run_method(function.close, host), timeout_s)
    except Exception:
        log.exception("%s.close failed", function_name(function))


async def _run_method(method: Any, host: LoopHost) -> None:
    if inspect.iscoroutinefunction(getattr(method, "func", method)):
        await method()
        return
    # A plain def may block: on a thread, so that the calls of other functions go on.
    done = LoopFuture(host)
    threading.Thread(
        target=done.complete_with, args=(method,), name="headwater-open-close", daemon=True
    ).start()
    try:
        result = await done.future
    except (SystemExit, KeyboardInterrupt) as error:
        # As they are they would end the loop.
        raise RuntimeError(f"it raised {type(error).__name__}") from error
    if inspect.isawaitable(result):
        await result


@dataclass(eq=False)
class _Shared:
    """A function of scope PROCESS: opened, with its users counted.

    It is a user of the loop by itself: between two tasks nothing else may keep the loop running.
    """

    function: Function
    resources: ExitStack
    users: int = 0
    idle: threading.Timer | None = None

    def close(self) -> None:
        if self.idle is not None:
            self.idle.cancel()
        self.resources.close()


_shared: dict[Hashable, _Shared] = {}
# Tasks open and close operators on several threads at once, and idle functions are closed on a timer's.
_lock = threading.Lock()


def _forget() -> None:
    # After a fork the child's copies have no loop that runs, and the lock may be held for ever.
    global _lock  # noqa: PLW0603 - state of the process, replaced where a process begins
    _lock = threading.Lock()
    _shared.clear()


os.register_at_fork(after_in_child=_forget)


def lease_function(
    share_id: Hashable, function: Function, context: OpenContext, open_s: float, close_s: float
) -> Function:
    """Return the function that was opened under an id, or open this one.

    Each call needs its `return_function`.

    Args:
        share_id: the id.
        function: opened only if none was.
        context: what it is told.
        open_s: how long its `open` may take.
        close_s: how long its `close` may take, when no task uses it any more.

    Raises:
        AsyncCallError: as `open_function`.
    """
    # Held while the function opens: a second task waits for the first one's function, and opens none.
    with _lock:
        shared = _shared.get(share_id)
        if shared is None:
            with ExitStack() as opening:
                host = acquire_loop()
                opening.callback(release_loop)
                open_function(function, context, host, open_s)
                opening.callback(close_function, function, host, close_s)
                shared = _Shared(function, opening.pop_all())
            _shared[share_id] = shared
        if shared.idle is not None:
            shared.idle.cancel()
            shared.idle = None
        shared.users += 1
        return shared.function


def return_function(share_id: Hashable) -> None:
    """Give a function back. It is closed when no task has asked for it for a minute."""
    with _lock:
        shared = _shared[share_id]
        shared.users -= 1
        if shared.users == 0:
            shared.idle = threading.Timer(_IDLE_S, _close_idle, [share_id, shared])
            shared.idle.daemon = True
            shared.idle.start()


def _close_idle(share_id: Hashable, shared: _Shared) -> None:
    with _lock:
        # A task may have come while the timer fired and this thread waited for the lock.
        if shared.users > 0 or _shared.get(share_id) is not shared:
            return
        del _shared[share_id]
    # Outside the lock: its `close` may take long, and other tasks need the lock to open theirs.
    shared.close()


@atexit.register
def close_shared_functions() -> None:
    """Close all functions of this process that no task uses, now."""
    with _lock:
        unused = [share_id for share_id, shared in _shared.items() if not shared.users]
        closing = [_shared.pop(share_id) for share_id in unused]
    for shared in closing:
        shared.close()

"""A function and its calls, from opening to closing, for one task."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager

from headwater.core.redaction import logger_of
from headwater.readers.async_io.batch_call_runner import BatchCallRunner
from headwater.readers.async_io.call_runner import CallRunner
from headwater.readers.async_io.completions import Completions
from headwater.readers.async_io.event_loop import LoopHost
from headwater.readers.async_io.function import Function, OpenContext, Result, Scope
from headwater.readers.async_io.function_calls import FunctionCalls, function_name
from headwater.readers.async_io.metrics import Metrics
from headwater.readers.async_io.permits import kept_limiter
from headwater.readers.async_io.result_cache import kept_cache
from headwater.readers.async_io.settings import AsyncSettings
from headwater.readers.async_io.shared_cache import looking_up_first
from headwater.readers.async_io.shared_functions import (
    close_function,
    lease_function,
    open_function,
    return_function,
)

log = logger_of(__name__)


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
    """Open a function and yield the runner of its calls; at the end leave no call, no thread and no client.

    The end takes the steps of the beginning in reverse. The order matters: calls end before anything that
    they use is closed. So the calls are cancelled, the shared cache is closed, the threads of a blocking
    function end, and the function is closed last.

    Args:
        function: of the user.
        settings: with ``batching`` if the function takes many rows.
        host: the loop.
        completions: where results go.
        metrics: counts.
        share_id: as in `AsyncWaitOperator`.
        task: as in `AsyncWaitOperator`.

    Raises:
        AsyncCallError: the function's `open` raised.
    """
    with ExitStack() as resources:
        host.reserve_threads(settings.capacity)
        resources.callback(_release_threads, host, settings.capacity, metrics, function_name(function))
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
            limiter=kept_limiter(share_id, settings.rate_limit) if settings.rate_limit else None,
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
        shared = lease_function(function_id, function, context, open_s, close_s)
        resources.callback(return_function, function_id, shared)
        return shared.function
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


def _release_threads(host: LoopHost, threads: int, metrics: Metrics, name: str) -> None:
    if count := host.release_threads(threads):
        metrics.left_behind += count
        log.warning("%s: %d threads are still inside calls that do not return", name, count)


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

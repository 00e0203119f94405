"""The life of a function in a process: opened once, for one task or for all tasks, and closed once."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import logging
import os
import threading
from collections.abc import Hashable
from functools import partial
from typing import Any

from headwater.core.errors import AsyncCallError, HeadwaterError
from headwater.readers.async_io.event_loop import LoopHost, acquire_loop, release_loop
from headwater.readers.async_io.function import Function, OpenContext
from headwater.readers.async_io.given_function import function_name

log = logging.getLogger(__name__)
IDLE_S = 60.0  # as long as Spark keeps an idle Python worker


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
    done: asyncio.Future[Any] = host.loop.create_future()
    threading.Thread(
        target=_call, args=(method, host, done), name="headwater-open-close", daemon=True
    ).start()
    if inspect.isawaitable(result := await done):
        await result


def _call(method: Any, host: LoopHost, done: asyncio.Future[Any]) -> None:
    try:
        result = method()
    except Exception as error:  # noqa: BLE001 - raised where the future is awaited
        host.post(partial(_set, done, done.set_exception, error))
    else:
        host.post(partial(_set, done, done.set_result, result))


def _set(done: asyncio.Future[Any], setter: Any, value: Any) -> None:
    # On the loop's thread. Done already if the time to open or close was over first.
    if not done.done():
        setter(value)


class _Shared:
    """A function of scope PROCESS: opened, with its users counted.

    It is a user of the loop by itself: between two tasks nothing else may keep the loop running.
    """

    def __init__(self, function: Function, host: LoopHost, timeout_s: float) -> None:
        self.function = function
        self.host = host
        self.timeout_s = timeout_s
        self.users = 0
        self.idle: threading.Timer | None = None

    def close(self) -> None:
        if self.idle is not None:
            self.idle.cancel()
        close_function(self.function, self.host, self.timeout_s)
        release_loop()


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
    share_id: Hashable, function: Function, context: OpenContext, timeout_s: float
) -> Function:
    """Return the function that was opened under an id, or open this one.

    Each call needs its `return_function`.

    Raises:
        AsyncCallError: as `open_function`.
    """
    # Held while the function opens: a second task waits for the first one's function, and opens none.
    with _lock:
        shared = _shared.get(share_id)
        if shared is None:
            host = acquire_loop()
            try:
                open_function(function, context, host, timeout_s)
            except BaseException:
                release_loop()
                raise
            shared = _Shared(function, host, timeout_s)
            _shared[share_id] = shared
        if shared.idle is not None:
            shared.idle.cancel()
            shared.idle = None
        shared.users += 1
        return shared.function


def return_function(share_id: Hashable, idle_s: float = IDLE_S) -> None:
    """Give a function back. It is closed when no task has asked for it for ``idle_s`` seconds."""
    with _lock:
        shared = _shared[share_id]
        shared.users -= 1
        if shared.users == 0:
            shared.idle = threading.Timer(idle_s, _close_idle, [share_id, shared])
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

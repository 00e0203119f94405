"""Shared by the tasks of a process: functions of scope PROCESS, opened once, and objects of a job."""

from __future__ import annotations

import atexit
import inspect
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from headwater.core.errors import AsyncCallError, HeadwaterError
from headwater.core.redaction import logger_of
from headwater.readers.async_io.event_loop import LoopHost, acquire_loop, release_loop
from headwater.readers.async_io.function import Function, OpenContext
from headwater.readers.async_io.function_calls import LoopFuture, function_name

log = logger_of(__name__)
T = TypeVar("T")
_MOST = 8

_IDLE_S = 60.0  # as long as Spark keeps an idle Python worker


@dataclass(eq=False)
class SharedFunction:
    """A function of scope PROCESS: opened, with its users counted. Made by `lease_function`.

    It is a user of the loop by itself: between two tasks nothing else may keep the loop running.

    Attributes:
        function: the opened one.
        capacity: as it was opened with.
    """

    function: Function
    capacity: int
    resources: ExitStack
    users: int = 0
    idle: threading.Timer | None = None

    def close(self) -> None:
        """Close the function, when it has no users."""
        self.stop_waiting()
        self.resources.close()

    def stop_waiting(self) -> None:
        """Leave it open, though it is idle."""
        if self.idle is not None:
            self.idle.cancel()
            self.idle = None


_shared: dict[Hashable, SharedFunction] = {}
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
) -> SharedFunction:
    """Return the function that was opened under an id, or open this one.

    It is opened too, in place of the other, if that one was opened with a smaller capacity: its pools of
    connections would be too small. Each call needs its `return_function`.

    Args:
        share_id: the id.
        function: opened only if none was.
        context: given to `open`.
        open_s: how long its `open` may take.
        close_s: how long its `close` may take, when no task uses it any more.

    Raises:
        AsyncCallError: as `open_function`.
    """
    replaced: SharedFunction | None = None
    # Held while the function opens: a second task waits for the first one's function, and opens none.
    with _lock:
        shared = _shared.get(share_id)
        if shared is None or shared.capacity < context.capacity:
            replaced = shared
            shared = _opened(function, context, open_s, close_s)
            _shared[share_id] = shared
        shared.stop_waiting()
        shared.users += 1
        is_unused = replaced is not None and not replaced.users
    if replaced is not None and is_unused:
        replaced.close()
    return shared


def _opened(function: Function, context: OpenContext, open_s: float, close_s: float) -> SharedFunction:
    with ExitStack() as opening:
        host = acquire_loop()
        opening.callback(release_loop)
        open_function(function, context, host, open_s)
        opening.callback(close_function, function, host, close_s)
        return SharedFunction(function, context.capacity, opening.pop_all())


def return_function(share_id: Hashable, shared: SharedFunction) -> None:
    """Give a function back.

    It is closed when no task has asked for it for a minute; at once, if another has taken its place.
    """
    with _lock:
        shared.users -= 1
        is_replaced = _shared.get(share_id) is not shared
        is_unused = not shared.users
        if is_unused and not is_replaced:
            shared.idle = threading.Timer(_IDLE_S, _close_idle, [share_id, shared])
            shared.idle.daemon = True
            shared.idle.start()
    if is_unused and is_replaced:
        shared.close()


def _close_idle(share_id: Hashable, shared: SharedFunction) -> None:
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
    """Close a function. Errors of its `close` are logged: its results are all out."""
    try:
        host.run(_run_method(function.close, host), timeout_s)
    except Exception:
        log.exception("%s.close failed", function_name(function))


async def _run_method(method: Any, host: LoopHost) -> None:
    if inspect.iscoroutinefunction(getattr(method, "func", method)):
        await method()
        return
    # A plain def may block: on a thread, so that the calls of other functions go on.
    loop_future = LoopFuture(host)
    threading.Thread(
        target=loop_future.complete_with, args=(method,), name="headwater-open-close", daemon=True
    ).start()
    try:
        result = await loop_future.future
    except (SystemExit, KeyboardInterrupt) as error:
        # As they are they would end the loop.
        raise RuntimeError(f"it raised {type(error).__name__}") from error
    if inspect.isawaitable(result):
        await result


class KeptByJob(Generic[T]):
    """One object for each job. From any thread.

    It lives until ``_MOST`` other jobs have asked for theirs since.
    """

    def __init__(self) -> None:
        self._made: OrderedDict[Hashable, T] = OrderedDict()
        # Tasks of one process may open operators on several threads at once.
        self._lock = threading.Lock()

    def of(self, job: Hashable, make: Callable[[], T]) -> T:
        """Return the object of a job, or make it. None is no job: its object is new each time."""
        if job is None:
            return make()
        with self._lock:
            if job not in self._made:
                self._made[job] = make()
            self._made.move_to_end(job)
            while len(self._made) > _MOST:
                self._made.popitem(last=False)
            return self._made[job]

"""A function's `open` and `close`, which may block: on the loop, or on threads beside it."""

from __future__ import annotations

import inspect
import logging
import threading
from functools import partial
from typing import Any

from headwater.core.errors import AsyncCallError, HeadwaterError
from headwater.readers.async_io.event_loop import LoopHost
from headwater.readers.async_io.function import Function, OpenContext
from headwater.readers.async_io.function_calls import LoopFuture, function_name

log = logging.getLogger(__name__)


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

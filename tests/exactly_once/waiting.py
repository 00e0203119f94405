"""Waits for what another process does: asks repeatedly until a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.patience import PATIENCE_S

__all__ = ["repeating", "until"]


def until(condition: Callable[[], object], what: str, timeout_s: float = PATIENCE_S) -> None:
    """Return as soon as the condition holds.

    Raises:
        AssertionError: the condition does not hold in time. ``what`` says in the message what was awaited.
    """
    start = time.monotonic()
    deadline = start + timeout_s
    never = threading.Event()
    while not condition():
        now = time.monotonic()
        assert now < deadline, f"waited {timeout_s:.0f} s in vain for {what}"
        # A condition that is expensive to look at leaves the processor to what it waits for.
        never.wait(max(0.01, 4 * (now - start)))
        start = time.monotonic()


@contextmanager
def repeating(call: Callable[[], object], pause_s: float) -> Iterator[None]:
    """Call something again and again on a thread, until the end of the block."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(pause_s):
            call()

    thread = threading.Thread(target=work, name="repeating")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()

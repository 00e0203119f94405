"""Waits for what another process does: asks repeatedly until a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tests.patience import PATIENCE_S

__all__ = ["until"]


def until(condition: Callable[[], object], what: str, timeout_s: float = PATIENCE_S) -> None:
    """Return as soon as the condition holds.

    Raises:
        AssertionError: the condition does not hold in time. ``what`` says in the message what was awaited.
    """
    deadline = time.monotonic() + timeout_s
    never = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s:.0f} s in vain for {what}"
        never.wait(0.01)

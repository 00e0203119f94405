"""A coordinator's side of the conversation, for the test of an enumerator."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from headwater.core.clock import ManualClock
from headwater.core.enumerator import BarrierSplitEnumeratorContext
from headwater.core.jsons import JsonValue
from headwater.core.retry import Backoff, retrying
from headwater.core.split import Split, SplitPath

T = TypeVar("T")
_BACKOFF = Backoff(deadline_ms=30_000)


class RecordingContext(BarrierSplitEnumeratorContext[Any, Any]):
    """Runs calls at once, on the caller's thread, and remembers what the enumerator said.

    Failures that pass are repeated a few times.

    It serves enumerators of both modes: that of barrier mode is the wider contract.

    Attributes:
        assigned: the splits that are assigned, with their first positions.
        retired: the paths that left.
        events: what was sent to readers.
    """

    def __init__(self) -> None:
        self.assigned: dict[SplitPath, tuple[Split, Any]] = {}
        self.retired: set[SplitPath] = set()
        self.events: list[tuple[SplitPath, JsonValue]] = []

    def call_async(self, call: Callable[[], T], handler: Callable[[T], None], *, what: str) -> None:
        # By a clock that only counts: no test waits.
        answer = retrying(call, backoff=_BACKOFF, clock=ManualClock(), cancelled=threading.Event(), what=what)
        handler(answer)

    def assign_splits(self, starts: Mapping[SplitPath, tuple[Any, Any]]) -> None:
        self.assigned.update(starts)

    def send_event_to_source_reader(self, path: SplitPath, event: JsonValue) -> None:
        self.events.append((path, event))

    def retire_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        self.retired.update(paths)
        for path in paths:
            self.assigned.pop(path, None)

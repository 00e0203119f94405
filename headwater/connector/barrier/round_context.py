"""What an enumerator of barrier mode has said in the present round: events for readers too."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.connector.coordination.coordinator_loop import CoordinatorLoop
from headwater.connector.coordination.round_context import RoundContext
from headwater.core.barrier_enumerator import BarrierSplitEnumeratorContext
from headwater.core.jsons import JsonValue
from headwater.core.split import PositionT, SplitPath, SplitT


class BarrierRoundContext(RoundContext[SplitT, PositionT], BarrierSplitEnumeratorContext[SplitT, PositionT]):
    """Collects events too. On the coordinator thread."""

    def __init__(self, loop: CoordinatorLoop) -> None:
        super().__init__(loop)
        self._events: dict[SplitPath, list[JsonValue]] = {}

    def begin_round(self) -> None:
        super().begin_round()
        self._events = {}

    def send_event_to_source_reader(self, path: SplitPath, event: JsonValue) -> None:
        self._events.setdefault(path, []).append(event)

    def events_for(self, paths: Iterable[SplitPath]) -> tuple[JsonValue, ...]:
        """Return what was sent to the reader of these splits."""
        return tuple(event for path in paths for event in self._events.get(path, ()))

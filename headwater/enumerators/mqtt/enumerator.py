"""Which sessions at an MQTT broker a query has, and how that changes when the options do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from headwater.core.enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.errors import OptionError
from headwater.core.jsons import JsonValue
from headwater.core.losses import LOSSES, NO_LOSSES, Losses, QueueLoss
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.enumerators.mqtt.sessions import MqttSessions, MqttSessionSplit, SubscriptionNote

log = logger_of(__name__)

_NEXT = "next"


class MqttSplitEnumerator(BarrierSplitEnumerator[MqttSessionSplit, int]):
    """Brings the sessions of a checkpoint to what the options say, one step a round.

    No message may be lost on the way, and none may go to two sessions: second deliveries are told within one
    session only. Two sessions whose filters differ may both get a message. So filters change only in a
    session that is alone, which has the old and the new ones for a moment:

    1. If filters change, all sessions but the first leave: each is unsubscribed, read to its end, and deleted
       at the broker by its receiver. What is published goes to those that stay.
    2. Once they have left, the first one changes its filters.
    3. Once it is noted that it has, the others join, under names that were never used.

    If filters stay, sessions that are too many leave, or those that are too few join, at once.

    Args:
        context: the coordinator.
        sessions: what the options say.
        note: of a session, where the query has a state location.
        state: what `snapshot_state` returned; None in a new query, and where earlier versions began.
    """

    def __init__(
        self,
        context: BarrierSplitEnumeratorContext[MqttSessionSplit, int],
        sessions: MqttSessions,
        note: Callable[[str], SubscriptionNote],
        state: JsonValue = None,
    ) -> None:
        self._context = context
        self._sessions = sessions
        self._note = note
        fields = cast("dict[str, Any]", state or {})
        self._next = fields.get(_NEXT, 0)
        self._losses = Losses.from_json(fields[LOSSES]) if LOSSES in fields else NO_LOSSES

    def start(self) -> None:
        """Nothing to begin with."""

    def snapshot_state(self) -> JsonValue:
        return {_NEXT: self._next} | ({} if self._losses == NO_LOSSES else {LOSSES: self._losses.to_json()})

    def handle_source_event(self, event: JsonValue) -> None:
        """Count a session that the broker has forgotten."""
        loss = QueueLoss.from_json(event)
        self._losses = self._losses.plus_splits([loss.split], loss.time_ms)

    def refresh(self, checkpoint: Checkpoint[MqttSessionSplit, int] | None) -> None:
        if checkpoint is None or not checkpoint.splits:
            self._join(self._sessions.first_ids)
            return
        numbers = self._numbers(checkpoint.splits)
        self._next = max(self._next, *(number + 1 for number in numbers.values()))
        in_order = sorted(checkpoint.splits.values(), key=lambda split: numbers[split.path])
        staying = [split for split in in_order if not split.is_leaving]
        filters = self._sessions.filters
        count = self._sessions.count
        if all(frozenset(split.topics) == frozenset(filters) for split in staying):
            if len(staying) > count:
                self._change(checkpoint, staying[count:], is_leaving=True)
            elif len(staying) < count:
                self._join_once_changed(staying[0], count - len(staying))
        elif len(in_order) > 1:
            self._change(checkpoint, staying[1:], is_leaving=True)
        else:
            self._change(checkpoint, staying, topics=filters)

    def _numbers(self, splits: Mapping[SplitPath, MqttSessionSplit]) -> dict[SplitPath, int]:
        """Return the number in the name of each session.

        Raises:
            OptionError: a session has the name of another client id.
        """
        numbers: dict[SplitPath, int] = {}
        for path, split in splits.items():
            number = self._sessions.number_of(split.client_id)
            if number is None:
                raise OptionError(
                    f"this checkpoint reads the session {split.client_id!r} of the broker: go on with its "
                    "client id, or use a new checkpointLocation, which begins with a new session",
                    option="clientId",
                )
            numbers[path] = number
        return numbers

    def _join(self, client_ids: tuple[str, ...]) -> None:
        splits = [MqttSessionSplit(client_id, self._sessions.filters) for client_id in client_ids]
        self._context.assign_splits({split.path: (split, 0) for split in splits})
        numbers = [self._sessions.number_of(client_id) for client_id in client_ids]
        self._next = max(self._next, *(0 if number is None else number + 1 for number in numbers))

    def _join_once_changed(self, first: MqttSessionSplit, count: int) -> None:
        def join(is_changed: bool) -> None:
            if is_changed:
                numbers = range(self._next, self._next + count)
                self._join(tuple(f"{self._sessions.client_id}-{number}" for number in numbers))

        def is_changed() -> bool:
            note = self._note(first.client_id).read()
            return note is not None and note.is_exactly(first.topics)

        self._context.call_async(is_changed, join, what=f"subscriptions of {first.client_id}")

    def _change(
        self,
        checkpoint: Checkpoint[MqttSessionSplit, int],
        splits: list[MqttSessionSplit],
        *,
        topics: tuple[str, ...] | None = None,
        is_leaving: bool = False,
    ) -> None:
        """Let sessions go on where they are, with other filters, or to their end."""
        changed = [
            MqttSessionSplit(split.client_id, split.topics if topics is None else topics, is_leaving)
            for split in splits
        ]
        self._context.assign_splits(
            {split.path: (split, checkpoint.positions[split.path]) for split in changed}
        )

"""Sessions at an MQTT broker as splits, and their enumerator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.core.enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.split import Split, SplitPath


@dataclass(frozen=True, slots=True)
class MqttSessionSplit(Split):
    """The messages that the broker keeps for one client while it is away.

    Attributes:
        client_id: names the session at the broker.
    """

    client_id: str

    @property
    def path(self) -> SplitPath:
        return (self.client_id,)


class MqttSplitEnumerator(BarrierSplitEnumerator[MqttSessionSplit, int]):
    """Assigns the sessions that the options name; asks the broker nothing.

    A session that the options no longer name stays in the query: its staged messages are still to be read.

    Args:
        context: the coordinator.
        client_ids: of the sessions.
    """

    def __init__(
        self, context: BarrierSplitEnumeratorContext[MqttSessionSplit, int], client_ids: Sequence[str]
    ) -> None:
        self._context = context
        self._client_ids = client_ids

    def start(self) -> None:
        """Nothing to begin with."""

    def refresh(self, checkpoint: Checkpoint[MqttSessionSplit, int] | None) -> None:
        known = checkpoint.splits if checkpoint else {}
        splits = [MqttSessionSplit(client_id) for client_id in self._client_ids]
        self._context.assign_splits({split.path: (split, 0) for split in splits if split.path not in known})

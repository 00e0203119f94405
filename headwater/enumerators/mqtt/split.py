"""A session at an MQTT broker as a split."""

from __future__ import annotations

from dataclasses import dataclass

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

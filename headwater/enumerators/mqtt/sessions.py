"""The sessions of a query at an MQTT broker: their names, and what each is subscribed to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headwater.core.split import Split, SplitPath

_SHARED: Final = "$share/"


@dataclass(frozen=True, slots=True)
class MqttSessionSplit(Split):
    """The messages that the broker keeps for one client while it is away.

    What the session is to be subscribed to may change; its name tells it from others.

    Attributes:
        client_id: names the session at the broker.
        topics: the topic filters that it is to be subscribed to; of a session that leaves, those that it was.
        is_leaving: whether it is to take nothing new, and to end once all that it holds is read.
    """

    client_id: str
    topics: tuple[str, ...] = field(default=(), compare=False)
    is_leaving: bool = field(default=False, compare=False)

    @property
    def path(self) -> SplitPath:
        return (self.client_id,)


@dataclass(frozen=True)
class MqttSessions:
    """What the options say of sessions.

    A session that is alone subscribes to the topics as they are; several share them.

    Attributes:
        client_id: the option ``clientId``: begins the names of all sessions.
        count: how many there are to be.
        topics: topic filters, as the user wrote them.
    """

    client_id: str
    count: int
    topics: tuple[str, ...]

    @property
    def filters(self) -> tuple[str, ...]:
        """What each session is to be subscribed to."""
        return self._shared() if self.count > 1 else self.topics

    @property
    def first_ids(self) -> tuple[str, ...]:
        """The names of the sessions that a query begins with."""
        if self.count == 1:
            return (self.client_id,)
        return tuple(f"{self.client_id}-{number}" for number in range(self.count))

    def number_of(self, client_id: str) -> int | None:
        """Return the number in a session's name; -1 if it has none, None if another client id's."""
        if client_id == self.client_id:
            return -1
        number = client_id.removeprefix(f"{self.client_id}-")
        return int(number) if number.isdecimal() and number != client_id else None

    def logged(self, client_id: str) -> MqttSessionSplit:
        """Return a session of a checkpoint from the time before filters were logged.

        It was subscribed to what the options say, as far as one can know.
        """
        is_alone = client_id == self.client_id
        return MqttSessionSplit(client_id, self.topics if is_alone else self._shared())

    def _shared(self) -> tuple[str, ...]:
        return tuple(f"{_SHARED}{self.client_id}/{topic}" for topic in self.topics)

"""The sessions of a query at an MQTT broker: their names, and durable notes of their subscriptions.

MQTT has no way to ask a broker for the subscriptions of a session.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Final

from headwater.core.errors import StateLocationError
from headwater.core.jsons import JsonObject, dumps
from headwater.core.split import Split, SplitPath
from headwater.core.state_store import StateStore


@dataclass(frozen=True, slots=True)
class Subscribed:
    """What a session is subscribed to.

    Attributes:
        topics: topic filters.
        coming: filters that it may be subscribed to as well: a change has begun and is not known to be over.
        query: the folder of the query that reads it; None in notes of earlier versions.
        is_lost: whether the broker has forgotten the session, and no query has counted that yet.
    """

    topics: tuple[str, ...] = ()
    coming: tuple[str, ...] = ()
    query: str | None = None
    is_lost: bool = False

    def is_exactly(self, topics: tuple[str, ...]) -> bool:
        """Whether it is subscribed to these filters, and to no other."""
        return not self.coming and frozenset(self.topics) == frozenset(topics)


@dataclass(frozen=True)
class SubscriptionNote:
    """The note of one session.

    It belongs to the session, not to a query: a new checkpoint with the same client id finds it. Written by
    the one receiver that has the session's connection, before a change begins and after it; read by the
    driver too.

    Attributes:
        store: the state location.
        queue: names the session among those of all brokers.
        query: the folder of the query that reads the session now.
    """

    store: StateStore
    queue: str
    query: str = ""

    def read(self) -> Subscribed | None:
        """Return the note; None if there is none."""
        data = self.store.get(self._name)
        if data is None:
            return None
        try:
            fields = json.loads(data)
            topics, coming = tuple(fields["topics"]), tuple(fields["coming"])
            return Subscribed(topics, coming, fields.get("query"), fields.get("lost", False))
        except (ValueError, KeyError, TypeError) as error:
            raise StateLocationError(f"{self._name} is not a note that headwater wrote") from error

    def write(self, subscribed: Subscribed) -> None:
        """Replace the note, now of this query; durable when this returns."""
        fields: JsonObject = {
            "topics": list(subscribed.topics),
            "coming": list(subscribed.coming),
            "query": self.query,
        }
        if subscribed.is_lost:
            fields["lost"] = True
        self.store.put(self._name, dumps(fields).encode())

    def delete(self) -> None:
        """Forget a session that has ended."""
        self.store.delete(self._name)

    @property
    def _name(self) -> str:
        return f"subscriptions/{hashlib.sha256(self.queue.encode()).hexdigest()[:24]}"


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
    """The sessions by the options.

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

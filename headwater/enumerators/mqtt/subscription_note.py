"""A durable note of what a session at the broker is subscribed to: MQTT has no way to ask."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from headwater.core.errors import StateLocationError
from headwater.core.jsons import JsonObject, dumps
from headwater.core.state_store import StateStore


@dataclass(frozen=True, slots=True)
class Subscribed:
    """What a session is subscribed to.

    Attributes:
        topics: topic filters.
        coming: filters that it may be subscribed to as well: a change has begun and is not known to be over.
    """

    topics: tuple[str, ...] = ()
    coming: tuple[str, ...] = ()

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
    """

    store: StateStore
    queue: str

    def read(self) -> Subscribed | None:
        """Return what is noted; None if nothing is."""
        data = self.store.get(self._name)
        if data is None:
            return None
        try:
            noted = json.loads(data)
            return Subscribed(tuple(noted["topics"]), tuple(noted["coming"]))
        except (ValueError, KeyError, TypeError) as error:
            raise StateLocationError(f"{self._name} is not a note that headwater wrote") from error

    def write(self, subscribed: Subscribed) -> None:
        """Replace the note; durable when this returns."""
        noted: JsonObject = {"topics": list(subscribed.topics), "coming": list(subscribed.coming)}
        self.store.put(self._name, dumps(noted).encode())

    def delete(self) -> None:
        """Forget a session that has ended."""
        self.store.delete(self._name)

    @property
    def _name(self) -> str:
        return f"subscriptions/{hashlib.sha256(self.queue.encode()).hexdigest()[:24]}"

"""All the brokers that one task fetches from."""

from __future__ import annotations

import select
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from headwater.core.clock import Clock
from headwater.core.errors import TransientSourceError
from headwater.enumerators.kafka.client.client_config import BrokerAddress, ClientConfig
from headwater.enumerators.kafka.client.pool import ConnectionPool
from headwater.readers.kafka.fetch_session import Cursor, FetchedPartition, FetchSession

__all__ = ["FetchSessions"]


class FetchSessions:
    """One session a broker, one request in flight in each; answers are taken as they come. One thread.

    A broker that fails is dropped with what it had in flight: it is not contained any more, and may be opened
    again.

    Args:
        config: of the connections.
        pool: lends them.
        clock: time.
    """

    def __init__(self, config: ClientConfig, pool: ConnectionPool, clock: Clock) -> None:
        self._config, self._pool, self._clock = config, pool, clock
        self._sessions: dict[int, FetchSession] = {}

    def __contains__(self, node: int | None) -> bool:
        """Whether there is a session with this broker."""
        return node in self._sessions

    def open(self, node: int, address: BrokerAddress) -> None:
        """Begin a session, unless there is one. Connects with the first request."""
        if node not in self._sessions:
            self._sessions[node] = FetchSession(
                self._pool.borrow(self._config, address), self._config, self._clock
            )

    def idle(self) -> list[int]:
        """Return the brokers that no request is under way to."""
        return [node for node, session in self._sessions.items() if not session.in_flight]

    def send(self, node: int, cursors: Sequence[Cursor]) -> None:
        """Ask an idle broker for the records of some partitions.

        Raises:
            TransientSourceError: it does not take the request; it has been dropped.
            SourceError: see `BrokerConnection`.
        """
        with self._dropping(node):
            self._sessions[node].send(cursors)

    def receive(self, timeout_ms: int) -> list[FetchedPartition]:
        """Return one answer, the first that comes; nothing if none is due or comes in time.

        Raises:
            TransientSourceError: a broker's answer is overdue, or breaks off; it has been dropped.
            SourceError: see `FetchSession.receive`.
        """
        waiting = {node: session for node, session in self._sessions.items() if session.in_flight}
        if not waiting:
            return []
        node = _first_readable(waiting, min(timeout_ms, *(session.left_ms for session in waiting.values())))
        if node is not None:
            self._sessions[node] = self._sessions.pop(node)  # the others first, next time
            with self._dropping(node):
                return self._sessions[node].receive()
        for overdue in [node for node, session in waiting.items() if not session.left_ms]:
            with self._dropping(overdue):
                address = waiting[overdue].connection.address
                raise TransientSourceError(
                    f"the Kafka broker {address} has not answered within kafka.request.timeout.ms",
                    source="kafka",
                )
        return []

    def close(self) -> None:
        """Give all connections back; the pool closes those with an answer in flight."""
        for node in list(self._sessions):
            self._drop(node)

    @contextmanager
    def _dropping(self, node: int) -> Iterator[None]:
        try:
            yield
        except TransientSourceError:
            self._drop(node)
            raise

    def _drop(self, node: int) -> None:
        self._pool.give_back(self._sessions.pop(node).connection)


def _first_readable(waiting: dict[int, FetchSession], timeout_ms: int) -> int | None:
    """Return the broker that begins to answer first; of several, the one that has waited longest."""
    for node, session in waiting.items():
        # TLS may have read ahead what the system does not know of any more.
        if session.connection.is_readable():
            return node
    poll = select.poll()
    for session in waiting.values():
        poll.register(session.connection.fileno(), select.POLLIN)
    ready = {descriptor for descriptor, _ in poll.poll(timeout_ms)}
    return next((node for node, session in waiting.items() if session.connection.fileno() in ready), None)

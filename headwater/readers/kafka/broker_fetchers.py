"""All the brokers that one task fetches from."""

from __future__ import annotations

import select
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager

from headwater.core.clock import Clock
from headwater.core.errors import TransientSourceError
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.metadata import BrokerAddress
from headwater.enumerators.kafka.client.pool import ConnectionPool
from headwater.readers.kafka.broker_fetcher import BrokerFetcher, Cursor, FetchedPartition


class BrokerFetchers:
    """One fetcher per broker, with one request in flight in each. Answers are taken as they come. One thread.

    A broker that fails is dropped together with its request in flight. It is not contained any more, and may
    be opened again.

    Args:
        config: of the connections.
        pool: lends the connections.
        clock: time.
    """

    def __init__(self, config: ClientConfig, pool: ConnectionPool, clock: Clock) -> None:
        self._config = config
        self._pool = pool
        self._clock = clock
        self._fetchers: dict[int, BrokerFetcher] = {}

    def nodes(self) -> AbstractSet[int]:
        """Return the brokers that are open."""
        return self._fetchers.keys()

    def open(self, node: int, address: BrokerAddress) -> None:
        """Begin to fetch from a broker, unless it is open. Connects with the first request."""
        if node not in self._fetchers:
            self._fetchers[node] = BrokerFetcher(
                self._pool.borrow(self._config, address), self._config, self._clock
            )

    def idle(self) -> list[int]:
        """Return the open brokers that have no request in flight."""
        return [node for node, fetcher in self._fetchers.items() if not fetcher.in_flight]

    def send(self, node: int, cursors: Sequence[Cursor]) -> None:
        """Ask an idle broker for the records of some partitions.

        Raises:
            TransientSourceError: it does not take the request; it has been dropped.
            SourceError: see `BrokerConnection`.
        """
        with self._dropping(node):
            self._fetchers[node].send(cursors)

    def receive(self, timeout_ms: int) -> list[FetchedPartition]:
        """Return one answer, the first that comes; nothing if none is due, or none comes in time.

        Raises:
            TransientSourceError: a broker's answer is overdue, or breaks off; it has been dropped.
            SourceError: see `BrokerFetcher.receive`.
        """
        waiting = {node: fetcher for node, fetcher in self._fetchers.items() if fetcher.in_flight}
        if not waiting:
            return []
        node = _first_readable(waiting, min(timeout_ms, *(fetcher.left_ms for fetcher in waiting.values())))
        if node is not None:
            self._fetchers[node] = self._fetchers.pop(node)  # to the end: next time the others come first
            with self._dropping(node):
                return self._fetchers[node].receive()
        for overdue in [node for node, fetcher in waiting.items() if not fetcher.left_ms]:
            with self._dropping(overdue):
                address = waiting[overdue].connection.address
                raise TransientSourceError(
                    f"the Kafka broker {address} has not answered within kafka.request.timeout.ms",
                    source="kafka",
                )
        return []

    def close(self) -> None:
        """Give all connections back. The pool closes those with an answer in flight."""
        for node in list(self._fetchers):
            self._drop(node)

    @contextmanager
    def _dropping(self, node: int) -> Iterator[None]:
        try:
            yield
        except TransientSourceError:
            self._drop(node)
            raise

    def _drop(self, node: int) -> None:
        self._pool.give_back(self._fetchers.pop(node).connection)


def _first_readable(waiting: dict[int, BrokerFetcher], timeout_ms: int) -> int | None:
    """Return the broker that begins to answer first; of several, the one that has waited longest."""
    for node, fetcher in waiting.items():
        # First without the system: OpenSSL may have read bytes ahead, which poll does not see any more.
        if fetcher.connection.is_readable():
            return node
    poll = select.poll()
    for fetcher in waiting.values():
        poll.register(fetcher.connection.fileno(), select.POLLIN)
    ready = {descriptor for descriptor, _ in poll.poll(timeout_ms)}
    return next((node for node, fetcher in waiting.items() if fetcher.connection.fileno() in ready), None)

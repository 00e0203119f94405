"""The Fetch requests of one task: one in flight to each broker, and answers as they come."""

from __future__ import annotations

import select
import uuid
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kafka.protocol.consumer.fetch import FetchRequest

from headwater.core.clock import Clock
from headwater.core.errors import TransientSourceError
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.connection import BrokerConnection
from headwater.enumerators.kafka.client.errors import from_code, of_answer
from headwater.enumerators.kafka.client.frames import ReceiveBuffer
from headwater.enumerators.kafka.client.metadata import BrokerAddress
from headwater.enumerators.kafka.client.pool import ConnectionPool
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.kafka.cursor import Cursor

_RESPONSE_BYTES = 4 << 20
"""No response is asked to be larger, unless a single record batch is.

Two responses, and the rows of both, stay in memory.
"""

_PARTITIONS_PER_REQUEST = 200
_LAST_VERSION_WITH_NAMES = 12


@dataclass(frozen=True, slots=True)
class FetchedPartition:
    """One partition's part of a Fetch response.

    Attributes:
        cursor: the partition's.
        position: the offset that was asked for. If the cursor has moved since, another broker has served it.
        error_code: Kafka's; 0 for none.
        end: how far a consumer of this isolation level may read now: the high watermark, or the last stable
            offset.
        preferred_replica: the node to ask instead (KIP-392), or -1.
        aborted: producer id and first offset of each aborted transaction that reaches into the records.
        records: the record set: a view that is valid until the next `BrokerFetcher.receive`.
    """

    cursor: Cursor
    position: int
    error_code: int
    end: int
    preferred_replica: int
    aborted: tuple[tuple[int, int], ...]
    records: memoryview | bytes


class BrokerFetcher:
    """Asks one broker for the records of some partitions. One thread.

    The next request is in flight while the last response is decoded. Kafka's incremental fetch sessions
    (KIP-227) are not used: every request names all of its partitions.

    `send` and `receive` raise the errors of the connection as they are (`BrokerConnection`). Answers in
    flight are lost then. No record is: cursors move with answers only, so they say where to go on.

    Args:
        connection: to the broker. The caller returns it to its pool.
        config: how much to ask for.
        clock: time.
    """

    def __init__(self, connection: BrokerConnection, config: ClientConfig, clock: Clock) -> None:
        self.connection = connection
        self._config = config
        self._clock = clock
        self._in_flight: list[tuple[Cursor, int]] = []
        self._due_ms = 0
        self._buffer = ReceiveBuffer()

    @property
    def in_flight(self) -> bool:
        """Whether a request has not been answered yet."""
        return bool(self._in_flight)

    @property
    def left_ms(self) -> int:
        """How much longer the answer in flight may take, at least 0."""
        return max(0, self._due_ms - self._clock.monotonic_ms())

    def send(self, cursors: Sequence[Cursor]) -> None:
        """Ask for the records of these partitions from their positions on.

        The broker fills its response in the order of the cursors, and may leave out the last ones.
        """
        cursors = cursors[:_PARTITIONS_PER_REQUEST]
        config = self._config
        largest = max(cursor.max_bytes for cursor in cursors)
        have_ids = all(cursor.split.topic_id for cursor in cursors)
        self.connection.send(
            FetchRequest(
                max_version=None if have_ids else _LAST_VERSION_WITH_NAMES,
                max_wait_ms=config.fetch_max_wait_ms,
                min_bytes=config.fetch_min_bytes,
                max_bytes=min(config.fetch_max_bytes, max(_RESPONSE_BYTES, largest)),
                isolation_level=int(config.read_committed),
                session_id=0,
                session_epoch=-1,
                rack_id=config.client_rack,
                topics=list(_topics(cursors)),
                forgotten_topics_data=[],
            )
        )
        self._in_flight = [(cursor, cursor.position) for cursor in cursors]
        self._due_ms = self._clock.monotonic_ms() + config.request_timeout_ms + config.fetch_max_wait_ms

    @of_answer
    def receive(self) -> list[FetchedPartition]:
        """Take the answer to the request in flight and return each partition's part of it.

        Raises:
            SourceError: the request as a whole was refused.
        """
        # Before anything can fail: after an error nothing is in flight any more.
        requested = self._in_flight
        self._in_flight = []
        reply = self.connection.receive(self._buffer)
        response = reply.decode_views()
        if getattr(response, "error_code", 0):
            raise from_code(
                response.error_code, what=f"fetching from the Kafka broker {self.connection.address}"
            )
        return list(self._partitions(response, requested, by_id=reply.version > _LAST_VERSION_WITH_NAMES))

    def _partitions(
        self, response: Any, requested: Sequence[tuple[Cursor, int]], *, by_id: bool
    ) -> Iterator[FetchedPartition]:
        cursors = {
            (cursor.split.topic_id if by_id else cursor.split.topic, cursor.split.partition): (
                cursor,
                position,
            )
            for cursor, position in requested
        }
        committed = self._config.read_committed
        for topic in response.responses:
            name = str(topic.topic_id) if by_id else topic.topic
            for part in topic.partitions:
                if (name, part.partition_index) not in cursors:
                    continue
                cursor, position = cursors[name, part.partition_index]
                aborted = part.aborted_transactions or () if committed else ()
                yield FetchedPartition(
                    cursor,
                    position,
                    part.error_code,
                    part.last_stable_offset if committed else part.high_watermark,
                    getattr(part, "preferred_read_replica", -1),
                    tuple((transaction.producer_id, transaction.first_offset) for transaction in aborted),
                    part.records or b"",
                )


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


def _key(split: KafkaPartitionSplit, *, by_id: bool) -> tuple[str | None, int]:
    return (split.topic_id if by_id else split.topic, split.partition)


def _topics(cursors: Sequence[Cursor]) -> Iterator[Any]:
    kind = FetchRequest.FetchTopic
    by_topic: dict[tuple[str, str | None], list[Any]] = {}
    for cursor in cursors:
        partition = kind.FetchPartition(
            partition=cursor.split.partition,
            current_leader_epoch=-1,
            fetch_offset=cursor.position,
            last_fetched_epoch=-1,
            log_start_offset=-1,
            partition_max_bytes=cursor.max_bytes,
        )
        by_topic.setdefault((cursor.split.topic, cursor.split.topic_id), []).append(partition)
    for (topic, topic_id), partitions in by_topic.items():
        yield kind(topic=topic, topic_id=uuid.UUID(topic_id) if topic_id else None, partitions=partitions)

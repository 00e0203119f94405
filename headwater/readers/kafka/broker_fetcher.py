"""Fetch requests to one broker, at most one of them in flight."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafka.protocol.consumer.fetch import FetchRequest

from headwater.core.clock import Clock
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.connection import BrokerConnection
from headwater.enumerators.kafka.client.errors import from_code
from headwater.enumerators.kafka.client.frames import ReceiveBuffer
from headwater.enumerators.kafka.open_range import OpenRange
from headwater.enumerators.kafka.split import KafkaPartitionSplit

_RESPONSE_BYTES = 4 << 20
"""No response is asked to be larger, unless a single record batch is.

Two responses, and what they are decoded into, stay in memory.
"""

_PARTITIONS_PER_REQUEST = 200
_LAST_VERSION_WITH_NAMES = 12


@dataclass(slots=True, eq=False)
class Cursor:
    """How far the fetching of one partition has come. Mutable; owned by the split reader, on its thread.

    Attributes:
        split: the partition.
        position: the next offset to fetch. It is ahead of what has been emitted.
        stop: the first offset not to read.
        open: the range as it was planned, while its open ends are not bound; None otherwise. ``position`` and
            ``stop`` mean nothing until then.
        max_bytes: how much to ask for; grows when a batch does not fit.
        broker: the node that serves it; None if that has to be found out.
        replica_until_ms: while the nearest replica serves it instead of the leader (KIP-392), until when;
            None for the leader.
        doubt: what the brokers say that would mean loss, and when it is believed; else None.
        end: how far it could be read according to the last answer; -1 before the first one.
    """

    split: KafkaPartitionSplit
    position: int
    stop: int
    max_bytes: int
    broker: int | None = None
    replica_until_ms: int | None = None
    open: OpenRange | None = None
    doubt: tuple[str, int] | None = None
    end: int = -1


@dataclass(frozen=True, slots=True)
class FetchedPartition:
    """One partition's part of a Fetch response.

    Attributes:
        cursor: the partition's.
        position: what was asked for. If the cursor has moved since, another broker has served it.
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

    `send` and `receive` raise the errors of the connection as they are (`BrokerConnection`). What was in
    flight is lost then. No record is: cursors move with answers only, so they say where to go on.

    Args:
        connection: to the broker. The caller returns it to its pool.
        config: how much to ask for.
        clock: time.
    """

    def __init__(self, connection: BrokerConnection, config: ClientConfig, clock: Clock) -> None:
        self.connection = connection
        self._config = config
        self._clock = clock
        self._asked: list[tuple[Cursor, int]] = []
        self._due_ms = 0
        self._buffer = ReceiveBuffer()

    @property
    def in_flight(self) -> bool:
        """Whether a request has not been answered yet."""
        return bool(self._asked)

    @property
    def left_ms(self) -> int:
        """How much longer the answer in flight may take, at least 0."""
        return max(0, self._due_ms - self._clock.monotonic_ms())

    def send(self, cursors: Sequence[Cursor]) -> None:
        """Ask for the records of these partitions from their positions on.

        The broker fills its response in the order of the cursors, and may leave out the last ones.
        """
        asked = cursors[:_PARTITIONS_PER_REQUEST]
        config = self._config
        largest = max(cursor.max_bytes for cursor in asked)
        have_ids = all(cursor.split.topic_id for cursor in asked)
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
                topics=list(_topics(asked)),
                forgotten_topics_data=[],
            )
        )
        self._asked = [(cursor, cursor.position) for cursor in asked]
        self._due_ms = self._clock.monotonic_ms() + config.request_timeout_ms + config.fetch_max_wait_ms

    def receive(self) -> list[FetchedPartition]:
        """Take the answer to the request in flight and return each partition's part of it.

        Raises:
            SourceError: the request as a whole was refused.
        """
        # Before anything can fail: after an error nothing is in flight any more.
        asked = self._asked
        self._asked = []
        reply = self.connection.receive(self._buffer)
        response = reply.decode_views()
        if getattr(response, "error_code", 0):
            raise from_code(
                response.error_code, what=f"fetching from the Kafka broker {self.connection.address}"
            )
        return list(self._partitions(response, asked, by_id=reply.version > _LAST_VERSION_WITH_NAMES))

    def _partitions(
        self, response: Any, asked: Sequence[tuple[Cursor, int]], *, by_id: bool
    ) -> Iterator[FetchedPartition]:
        cursors = {
            (cursor.split.topic_id if by_id else cursor.split.topic, cursor.split.partition): (cursor, at)
            for cursor, at in asked
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

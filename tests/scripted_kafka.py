"""Brokers that say what a test tells them to.

Real sockets and Kafka's own protocol, and nothing left to chance.
"""

from __future__ import annotations

import queue
import socket
import uuid
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from kafka.protocol.consumer import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka.record.default_records import DefaultRecordBatchBuilder

from headwater.core.split import SplitRange
from headwater.enumerators.kafka.client.metadata import BrokerAddress
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from tests.enumerators.kafka.client.listeners import Listen
from tests.patience import PATIENCE_S
from tests.scripted_groups import ScriptedGroups

FETCH = 1
LIST_OFFSETS = 2
METADATA = 3
API_VERSIONS = 18
VERSIONS = {
    FETCH: (4, 16),
    LIST_OFFSETS: (1, 9),
    METADATA: (1, 12),
    API_VERSIONS: (0, 3),
    **ScriptedGroups.VERSIONS,
}
REQUESTS = {
    request.API_KEY: request
    for request in (FetchRequest, ListOffsetsRequest, MetadataRequest, ApiVersionsRequest)
} | ScriptedGroups.REQUESTS

UNKNOWN_TOPIC = 3
NOT_LEADER = 6
OUT_OF_RANGE = 1
NOT_AUTHORIZED = 29
UNKNOWN_TOPIC_ID = 100


class Wanted(NamedTuple):
    """One partition of a Fetch request."""

    topic: str
    partition: int
    offset: int
    max_bytes: int


class Part(NamedTuple):
    """One partition of a Fetch response; ``end`` is both high watermark and last stable offset."""

    records: bytes = b""
    error: int = 0
    end: int = 0
    replica: int = -1


class Fetch(NamedTuple):
    """What a broker was asked."""

    node: int
    wanted: list[Wanted]
    rack: str = ""


class HangUp(Exception):  # noqa: N818 - not an error
    """The broker ends the connection after some bytes of the answer."""

    def __init__(self, after_bytes: int = 0) -> None:
        self.after_bytes = after_bytes


Surprise = Callable[[Fetch], Mapping[int, Part] | None]
"""Decides the answer to one Fetch request.

Parts by partition, the broker's own for those not named, no partition at all for None. Or HangUp.
"""


@dataclass
class Log:
    """One partition: batches with their first and last offset."""

    batches: list[tuple[int, int, bytes]] = field(default_factory=list)
    start: int = 0
    end: int = 0
    local_start: int = 0
    leader: int = 1

    def append(self, *values: bytes, gap: int = 0) -> None:
        """Add one batch, ``gap`` offsets after the last."""
        first = self.end + gap
        self.end = first + len(values)
        self.batches.append((first, self.end - 1, batch(first, *values)))

    def read(self, offset: int, max_bytes: int) -> Part:
        if not self.start <= offset <= self.end:
            return Part(error=OUT_OF_RANGE, end=self.end)
        found = b""
        for _, last, data in self.batches:
            if last >= offset and (not found or len(found) + len(data) <= max_bytes):
                found += data
        return Part(found, end=self.end)


@dataclass
class Topic:
    """A topic by its partitions; a new id makes it another incarnation."""

    logs: dict[int, Log]
    topic_id: uuid.UUID = field(default_factory=uuid.uuid4)


class ScriptedKafka:
    """A small cluster in this process.

    A test changes `topics` at will, between requests or, in a surprise, at a very moment.

    Attributes:
        surprises: what becomes of the next Fetch requests, one each; afterwards the brokers do their best.
        fetches: every Fetch request, as it arrived.
        offset_errors: by partition, error codes for the next ListOffsets.
        metadata_asked: how often.
        groups: the coordinator of consumer groups.
    """

    def __init__(self, listen: Listen, nodes: Collection[int] = (1,)) -> None:
        self.topics: dict[str, Topic] = {}
        self.surprises: deque[Surprise] = deque()
        self.fetches: queue.Queue[Fetch] = queue.Queue()
        self.offset_errors: dict[int, list[int]] = {}
        self.metadata_asked = 0
        self.nodes: dict[int, BrokerAddress] = {node: listen(partial(self._serve, node)) for node in nodes}
        self.groups = ScriptedGroups(self.nodes)

    @property
    def bootstrap(self) -> BrokerAddress:
        return self.nodes[min(self.nodes)]

    def topic(self, name: str, partitions: int = 1, batches: Sequence[int] = ()) -> Topic:
        """Create a topic; each partition has batches of so many records."""
        made = Topic({partition: Log() for partition in range(partitions)})
        for partition, log in made.logs.items():
            for size in batches:
                log.append(*(b"%d/%d" % (partition, log.end + i) for i in range(size)))
        self.topics[name] = made
        return made

    def range(
        self, name: str, partition: int = 0, start: int = 0, stop: int | None = None
    ) -> SplitRange[KafkaPartitionSplit, int]:
        """What a task would be told to read: by default all."""
        topic = self.topics[name]
        split = KafkaPartitionSplit(name, partition, str(topic.topic_id))
        return SplitRange(split, start, topic.logs[partition].end if stop is None else stop)

    def asked(self, count: int) -> list[Fetch]:
        """Return the next Fetch requests, waiting for them."""
        return [self.fetches.get(timeout=PATIENCE_S) for _ in range(count)]

    def _serve(self, node: int, connection: socket.socket) -> None:
        while head := connection.recv(4, socket.MSG_WAITALL):
            frame = connection.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
            key, version = (int.from_bytes(frame[at : at + 2], "big") for at in (0, 2))
            request = REQUESTS[key].decode(frame, version=version, header=True)
            cut: int | None = None
            try:
                response = self._answer(node, key, version, request)
            except HangUp as asked_to:
                response = self._fetch(request, lambda _: {}, node)
                cut = asked_to.after_bytes
            response.API_VERSION = version
            response.with_header(correlation_id=request.header.correlation_id)
            answer = response.encode(header=True, framed=True)
            connection.sendall(answer if cut is None else answer[:cut])
            if cut is not None:
                return

    def _answer(self, node: int, key: int, version: int, request: Any) -> Any:
        if key == API_VERSIONS:
            kind = ApiVersionsResponse.ApiVersion
            keys = [
                kind(version=version, api_key=api, min_version=low, max_version=high)
                for api, (low, high) in VERSIONS.items()
            ]
            return ApiVersionsResponse(api_keys=keys)
        if key == METADATA:
            return self._metadata(request)
        if key == LIST_OFFSETS:
            return self._list_offsets(request)
        if key in ScriptedGroups.REQUESTS:
            return self.groups.answer(node, key, request)
        return self._fetch(request, self.surprises.popleft() if self.surprises else lambda _: {}, node)

    def _metadata(self, request: Any) -> Any:
        self.metadata_asked += 1
        topic_kind = MetadataResponse.MetadataResponseTopic
        partition_kind = topic_kind.MetadataResponsePartition
        names = list(self.topics) if request.topics is None else [topic.name for topic in request.topics]
        topics = [
            topic_kind(
                name=name,
                error_code=0 if name in self.topics else UNKNOWN_TOPIC,
                topic_id=self.topics[name].topic_id if name in self.topics else None,
                partitions=[
                    partition_kind(partition_index=index, leader_id=log.leader, leader_epoch=1)
                    for index, log in (self.topics[name].logs.items() if name in self.topics else ())
                ],
            )
            for name in names
        ]
        brokers = [
            MetadataResponse.MetadataResponseBroker(
                node_id=node, host=address.host, port=address.port, rack=None
            )
            for node, address in self.nodes.items()
        ]
        return MetadataResponse(brokers=brokers, cluster_id="scripted", controller_id=1, topics=topics)

    def _list_offsets(self, request: Any) -> Any:
        kind = ListOffsetsResponse.ListOffsetsTopicResponse
        return ListOffsetsResponse(
            topics=[
                kind(
                    name=topic.name, partitions=[self._offset(topic.name, part) for part in topic.partitions]
                )
                for topic in request.topics
            ]
        )

    def _offset(self, topic: str, part: Any) -> Any:
        kind = ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse
        error = UNKNOWN_TOPIC if topic not in self.topics else 0
        if self.offset_errors.get(part.partition_index):
            error = self.offset_errors[part.partition_index].pop(0)
        log = self.topics[topic].logs[part.partition_index] if not error else Log()
        offset = {-1: log.end, -2: log.start, -4: log.local_start}.get(part.timestamp, -1)
        return kind(partition_index=part.partition_index, error_code=error, offset=offset, timestamp=-1)

    def _fetch(self, request: Any, surprise: Surprise, node: int) -> Any:
        names = {topic.topic_id: name for name, topic in list(self.topics.items())}
        asked = [(topic, part) for topic in request.topics for part in topic.partitions]
        wanted = [
            Wanted(names.get(topic.topic_id, ""), part.partition, part.fetch_offset, part.partition_max_bytes)
            for topic, part in asked
        ]
        fetch = Fetch(node, wanted, request.rack_id)
        self.fetches.put(fetch)
        decided = surprise(fetch)
        if decided is None:
            return FetchResponse(responses=[])
        topic_kind = FetchResponse.FetchableTopicResponse
        return FetchResponse(
            responses=[
                topic_kind(
                    topic_id=topic.topic_id,
                    partitions=[
                        _part(
                            each.partition,
                            decided.get(each.partition) or self._read(node, topic.topic_id, each),
                        )
                    ],
                )
                for (topic, _), each in zip(asked, wanted, strict=True)
            ]
        )

    def _read(self, node: int, topic_id: uuid.UUID, wanted: Wanted) -> Part:
        if wanted.topic not in self.topics or self.topics[wanted.topic].topic_id != topic_id:
            return Part(error=UNKNOWN_TOPIC_ID)
        log = self.topics[wanted.topic].logs[wanted.partition]
        return log.read(wanted.offset, wanted.max_bytes) if log.leader == node else Part(error=NOT_LEADER)


def batch(first: int, *values: bytes, timestamp_ms: int = 1_700_000_000_000) -> bytes:
    """Return a record batch (v2) that begins at this offset."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 30)
    for delta, value in enumerate(values):
        builder.append(delta, timestamp_ms, None, value, [])
    return first.to_bytes(8, "big") + bytes(builder.build())[8:]


def _part(partition: int, part: Part) -> Any:
    return FetchResponse.FetchableTopicResponse.PartitionData(
        partition_index=partition,
        error_code=part.error,
        high_watermark=part.end,
        last_stable_offset=part.end,
        preferred_read_replica=part.replica,
        records=part.records,
    )

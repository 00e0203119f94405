"""The parts of a Kafka cluster and their names: brokers, topics, partitions, ends of a log.

Immutable values. They need no library, because the driver checks options before kafka-python is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

EARLIEST = -2
"""Stands for the offset of the first record that is still in the log."""

LATEST = -1
"""Stands for the end of the log: the offset that the next record will get.

With ``read_committed`` it is the last stable offset instead: that of the first record of the oldest open
transaction, if there is one.
"""

MAX_TIMESTAMP = -3
"""Stands for the record with the largest time (Kafka 3.0, KIP-734)."""


@dataclass(frozen=True, slots=True, order=True)
class BrokerAddress:
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class TopicPartition(NamedTuple):
    """A partition of a topic, by name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Broker(NamedTuple):
    """A broker of the cluster, and the address at which it says it can be reached."""

    broker_id: int
    address: BrokerAddress


class PartitionMetadata(NamedTuple):
    """Which broker leads a partition.

    Attributes:
        leader: the broker's id; -1 if no broker leads the partition at the moment.
        leader_epoch: how often the leader has changed (KIP-320); -1 if the brokers do not say.
    """

    leader: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """A topic that exists.

    Attributes:
        name: the topic's name.
        topic_id: the id of this incarnation of the topic (KIP-516), a UUID in its usual text form; None if
            the brokers are older than Kafka 2.8.
        is_internal: whether it is one of Kafka's own topics, such as ``__consumer_offsets``.
        partitions: by number, in order.
    """

    name: str
    topic_id: str | None
    is_internal: bool
    partitions: Mapping[int, PartitionMetadata]


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """The content of one Metadata response.

    Attributes:
        brokers: those that are alive, by id.
        topics: those that were asked for and exist, by name.
        cluster_id: of the cluster (KIP-78); None if it does not say.
    """

    brokers: Mapping[int, Broker]
    topics: Mapping[str, TopicMetadata]
    cluster_id: str | None = None

    def partition(self, tp: TopicPartition) -> PartitionMetadata | None:
        """Return which broker leads a partition; None if the snapshot has no such partition."""
        topic = self.topics.get(tp.topic)
        return topic.partitions.get(tp.partition) if topic else None

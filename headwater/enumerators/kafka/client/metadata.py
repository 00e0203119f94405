"""A snapshot of the cluster: brokers, topics, partitions and their leaders."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka import errors as kafka_errors
from kafka.protocol.metadata import MetadataRequest

from headwater.enumerators.kafka.client.errors import Permission, from_code
from headwater.enumerators.kafka.client.property_values import BrokerAddress
from headwater.enumerators.kafka.client.topic_partition import TopicPartition

__all__ = [
    "Broker",
    "ClusterMetadata",
    "PartitionMetadata",
    "TopicMetadata",
    "metadata_request",
    "read_metadata",
]


class Broker(NamedTuple):
    """A broker of the cluster, where it says it can be reached."""

    broker_id: int
    address: BrokerAddress
    rack: str | None


class PartitionMetadata(NamedTuple):
    """Who leads a partition.

    Attributes:
        leader: a broker's id, -1 if nobody leads it now.
        leader_epoch: how often the leader has changed (KIP-320); -1 if the brokers do not say.
    """

    leader: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """A topic that exists.

    Attributes:
        name: the topic's.
        topic_id: of this incarnation (KIP-516), a UUID in its usual text form; None where the brokers are
            older than Kafka 2.8.
        is_internal: whether it is Kafka's own, such as ``__consumer_offsets``.
        partitions: by number, in order.
    """

    name: str
    topic_id: str | None
    is_internal: bool
    partitions: Mapping[int, PartitionMetadata]


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """What one Metadata response says. Immutable.

    Attributes:
        cluster_id: the cluster's own name for itself; None if the brokers are too old to say.
        brokers: by id. Those that are alive.
        topics: by name. Of those that were asked for, the ones that exist.
    """

    cluster_id: str | None
    brokers: Mapping[int, Broker]
    topics: Mapping[str, TopicMetadata]

    def partition(self, tp: TopicPartition) -> PartitionMetadata | None:
        """Return who leads a partition; None if there is no such partition here."""
        topic = self.topics.get(tp.topic)
        return topic.partitions.get(tp.partition) if topic else None


def metadata_request(topics: Collection[str] | None) -> Any:
    """Return a request for some topics, or for all if None. It creates none."""
    if topics is None:
        return MetadataRequest(topics=MetadataRequest.ALL_TOPICS, allow_auto_topic_creation=False)
    named = [MetadataRequest.MetadataRequestTopic(name=topic) for topic in sorted(topics)]
    # An empty list meant "all topics" in the first version.
    return MetadataRequest(topics=named, allow_auto_topic_creation=False, min_version=1)


def read_metadata(response: Any) -> ClusterMetadata:
    """Return a Metadata response as a snapshot.

    Raises:
        AuthorizationError: a topic that was asked for may not be described.
        UnknownSplitError: a name that was asked for cannot be a topic's.
        TransientSourceError: a topic has no leader yet, or the broker wants to be asked again.
    """
    if response.error_code:
        raise from_code(response.error_code, what="metadata of the Kafka cluster")
    brokers = {
        broker.node_id: Broker(broker.node_id, BrokerAddress(broker.host, broker.port), broker.rack)
        for broker in response.brokers
    }
    topics = {topic.name: _topic(topic) for topic in response.topics if _exists(topic)}
    return ClusterMetadata(response.cluster_id, brokers, topics)


def _exists(topic: Any) -> bool:
    if topic.error_code in (
        kafka_errors.UnknownTopicOrPartitionError.errno,
        kafka_errors.UnknownTopicIdError.errno,
    ):
        return False
    if topic.error_code:
        raise from_code(
            topic.error_code,
            what=f"metadata of topic {topic.name!r}",
            needs=Permission("Describe", "topic", topic.name),
        )
    return True


def _topic(topic: Any) -> TopicMetadata:
    found = sorted((p.partition_index, p.leader_id, p.leader_epoch) for p in topic.partitions)
    partitions = {index: PartitionMetadata(leader, epoch) for index, leader, epoch in found}
    return TopicMetadata(
        topic.name, str(topic.topic_id) if topic.topic_id else None, topic.is_internal, partitions
    )

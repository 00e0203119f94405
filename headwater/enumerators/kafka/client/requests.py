"""The three requests of a look at the cluster: Metadata, ListOffsets and DescribeLogDirs.

Each has a function that makes the request, and one that reads the response.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from kafka import errors as kafka_errors
from kafka.protocol.admin import DescribeLogDirsRequest
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from headwater.enumerators.kafka.client.errors import Permission, from_code, of_answer
from headwater.enumerators.kafka.client.metadata import (
    MAX_TIMESTAMP,
    Broker,
    BrokerAddress,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)

_NO_OFFSET = -1
_CONSUMER = -1
_VERSION_WITH_TIMESTAMPS = 1
_VERSION_WITH_ISOLATION = 2
_VERSION_WITH_MAX_TIMESTAMP = 7
_MAY_DESCRIBE_CLUSTER = Permission("Describe", "cluster")


def metadata_request(topics: Collection[str] | None) -> Any:
    """Return a request for some topics, or for all topics if None. It never creates a topic."""
    if topics is None:
        return MetadataRequest(topics=MetadataRequest.ALL_TOPICS, allow_auto_topic_creation=False)
    requested = [MetadataRequest.MetadataRequestTopic(name=topic) for topic in sorted(topics)]
    # Not version 0: there an empty list means all topics.
    return MetadataRequest(topics=requested, allow_auto_topic_creation=False, min_version=1)


@of_answer
def read_metadata(response: Any) -> ClusterMetadata:
    """Return a Metadata response as a snapshot.

    Raises:
        AuthorizationError: a topic that was asked for may not be described.
        UnknownSplitError: a name that was asked for cannot be the name of a topic.
        TransientSourceError: a topic has no leader yet, or the broker wants to be asked again.
    """
    if response.error_code:
        raise from_code(response.error_code, what="metadata of the Kafka cluster")
    brokers = {
        broker.node_id: Broker(broker.node_id, broker_address(broker.host, broker.port))
        for broker in response.brokers
    }
    topics = {topic.name: _topic(topic) for topic in response.topics if _exists(topic)}
    # Metadata has it from version 2 on.
    return ClusterMetadata(brokers, topics, response.cluster_id or None)


def broker_address(host: object, port: int) -> BrokerAddress:
    """Return the address that an answer names.

    Raises:
        ValueError: nothing can listen there.
    """
    if not isinstance(host, str) or not 0 < port < 65_536:
        raise ValueError(f"a broker at {host!r}, port {port}")
    return BrokerAddress(host, port)


def _exists(topic: Any) -> bool:
    if not isinstance(topic.name, str):
        raise TypeError("a topic without a name")
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
    leaders = sorted((part.partition_index, part.leader_id, part.leader_epoch) for part in topic.partitions)
    partitions = {index: PartitionMetadata(leader, epoch) for index, leader, epoch in leaders}
    topic_id = str(topic.topic_id) if topic.topic_id else None
    return TopicMetadata(topic.name, topic_id, topic.is_internal, partitions)


class PartitionOffset(NamedTuple):
    """One partition's part of a ListOffsets response.

    Attributes:
        partition: the partition.
        error_code: Kafka's; 0 for none.
        offset: None after an error, and if no record is at or after the timestamp.
        timestamp_ms: of the record there, if a timestamp was asked for; else -1.
    """

    partition: TopicPartition
    error_code: int
    offset: int | None
    timestamp_ms: int = -1


def list_offsets_request(
    specs: Mapping[TopicPartition, int],
    epochs: Mapping[TopicPartition, int],
    *,
    read_committed: bool,
    timeout_ms: int,
) -> Any:
    """Return a request for partitions that one broker leads.

    Args:
        specs: `EARLIEST`, `LATEST`, or a timestamp in milliseconds since 1970.
        epochs: the leader epochs that we know. A broker that has lost the leadership refuses them (KIP-320).
        read_committed: whether `LATEST` is the last stable offset.
        timeout_ms: how long the broker may search in tiered storage.
    """
    kind = ListOffsetsRequest.ListOffsetsTopic
    topics = [
        kind(
            name=topic,
            partitions=[
                kind.ListOffsetsPartition(
                    partition_index=tp.partition, current_leader_epoch=epochs[tp], timestamp=specs[tp]
                )
                for tp in tps
            ],
        )
        for topic, tps in by_topic(specs)
    ]
    return ListOffsetsRequest(
        # Some kafka-python say 0 by themselves: a follower, for whom a log ends behind open transactions.
        replica_id=_CONSUMER,
        isolation_level=int(read_committed),
        topics=topics,
        timeout_ms=timeout_ms,
        min_version=_version_for(specs, read_committed=read_committed),
    )


def _version_for(specs: Mapping[TopicPartition, int], *, read_committed: bool) -> int:
    if MAX_TIMESTAMP in specs.values():
        return _VERSION_WITH_MAX_TIMESTAMP
    return _VERSION_WITH_ISOLATION if read_committed else _VERSION_WITH_TIMESTAMPS


@of_answer
def read_offsets(response: Any) -> list[PartitionOffset]:
    """Return each partition's part of a ListOffsets response."""
    return [
        PartitionOffset(
            TopicPartition(topic.name, part.partition_index),
            part.error_code,
            None if part.offset == _NO_OFFSET else part.offset,
            part.timestamp,
        )
        for topic in response.topics
        for part in topic.partitions
    ]


def log_dirs_request(partitions: Collection[TopicPartition]) -> Any:
    """Return a request for partitions that one broker hosts (DescribeLogDirs, KIP-113)."""
    kind = DescribeLogDirsRequest.DescribableLogDirTopic
    topics = [
        kind(topic=topic, partitions=[tp.partition for tp in tps]) for topic, tps in by_topic(partitions)
    ]
    return DescribeLogDirsRequest(topics=topics)


@of_answer
def read_log_sizes(response: Any) -> dict[TopicPartition, int]:
    """Return how many bytes the log of each partition has on the broker's disks.

    Segments in tiered storage do not count, nor do copies that are being moved from one disk to another.

    Raises:
        AuthorizationError: this user may not describe the cluster.
        TransientSourceError: a disk of the broker is offline.
    """
    codes = [response.error_code, *(result.error_code for result in response.results)]
    if not response.results:
        # To a user without the permission older brokers show an empty list of disks, without an error code.
        codes.append(kafka_errors.ClusterAuthorizationFailedError.errno)
    for code in codes:
        if code:
            raise from_code(code, what="sizes of the logs", needs=_MAY_DESCRIBE_CLUSTER)
    return {
        TopicPartition(topic.name, partition.partition_index): partition.partition_size
        for result in response.results
        for topic in result.topics
        for partition in topic.partitions
        if not partition.is_future_key
    }


def by_topic(partitions: Iterable[TopicPartition]) -> Iterator[tuple[str, Iterator[TopicPartition]]]:
    """Group partitions, in order."""
    return groupby(sorted(partitions), key=lambda tp: tp.topic)

"""DescribeLogDirs (KIP-113): how many bytes the partitions weigh on their leaders' disks."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby
from typing import Any

from kafka import errors as kafka_errors
from kafka.protocol.admin import DescribeLogDirsRequest

from headwater.enumerators.kafka.client.errors import Permission, from_code
from headwater.enumerators.kafka.client.topic_partition import TopicPartition

__all__ = ["log_dirs_request", "read_log_sizes"]

_NEEDS = Permission("Describe", "cluster")


def log_dirs_request(partitions: Collection[TopicPartition]) -> Any:
    """Return the request for partitions that one broker hosts."""
    topics = [
        DescribeLogDirsRequest.DescribableLogDirTopic(topic=topic, partitions=[tp.partition for tp in tps])
        for topic, tps in groupby(sorted(partitions), key=lambda tp: tp.topic)
    ]
    return DescribeLogDirsRequest(topics=topics)


def read_log_sizes(response: Any) -> dict[TopicPartition, int]:
    """Return the bytes of each partition.

    Segments in tiered storage do not count, nor do logs that are being moved between disks.

    Raises:
        AuthorizationError: this user may not describe the cluster.
        TransientSourceError: a disk of the broker is offline.
    """
    for code in (response.error_code, *(result.error_code for result in response.results)):
        if code:
            raise from_code(code, what="sizes of the logs", needs=_NEEDS)
    if not response.results:
        # Older brokers show a user who may not see them no disks at all.
        raise from_code(
            kafka_errors.ClusterAuthorizationFailedError.errno, what="sizes of the logs", needs=_NEEDS
        )
    return {
        TopicPartition(topic.name, partition.partition_index): partition.partition_size
        for result in response.results
        for topic in result.topics
        for partition in topic.partitions
        if not partition.is_future_key
    }

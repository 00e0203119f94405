"""The three requests about a consumer group's offsets: FindCoordinator, OffsetFetch and OffsetCommit.

Each has a function that makes the request, and one that reads the response. The versions are the newest in
which a request names one group, and its topics by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from kafka.protocol.consumer import OffsetCommitRequest, OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from headwater.enumerators.kafka.client.errors import Permission, from_code
from headwater.enumerators.kafka.client.metadata import BrokerAddress, TopicPartition

_NO_OFFSET = -1
_NO_EPOCH = -1
_OF_ONE_GROUP = 3
_ONE_GROUP_AT_ONCE = 7
_TOPICS_BY_NAME = 9


def find_coordinator_request(group: str) -> Any:
    """Return a request for the broker that keeps a group's offsets."""
    return FindCoordinatorRequest(key=group, max_version=_OF_ONE_GROUP)


def read_coordinator(response: Any, group: str, operation: str) -> BrokerAddress:
    """Return where that broker listens.

    Args:
        response: to `find_coordinator_request`.
        group: that was asked for.
        operation: what is to be done there, Read or Describe; the permission for it contains this one's.

    Raises:
        AuthorizationError: this user may not describe the group.
        TransientSourceError: there is no coordinator at the moment.
    """
    if response.error_code:
        raise from_code(
            response.error_code,
            what=f"coordinator of the consumer group {group!r}",
            needs=Permission(operation, "group", group),
        )
    return BrokerAddress(response.host, response.port)


def offset_fetch_request(group: str, partitions: Collection[TopicPartition]) -> Any:
    """Return a request for a group's committed offsets.

    A commit that is part of an open transaction is waited for: until it ends, the offset before it may be one
    that the group has passed.
    """
    kind = OffsetFetchRequest.OffsetFetchRequestTopic
    topics = [
        kind(name=topic, partition_indexes=[tp.partition for tp in tps])
        for topic, tps in _by_topic(partitions)
    ]
    return OffsetFetchRequest(
        group_id=group, topics=topics, require_stable=True, max_version=_ONE_GROUP_AT_ONCE
    )


def read_committed(response: Any, group: str) -> dict[TopicPartition, int | None]:
    """Return the committed offset of each partition; None where the group has none.

    Raises:
        AuthorizationError: this user may not describe the group or a topic.
        TransientSourceError: the coordinator has moved or is loading, or a transaction is open.
    """
    if response.error_code:
        raise from_code(
            response.error_code,
            what=f"offsets of the consumer group {group!r}",
            needs=Permission("Describe", "group", group),
        )
    committed = {}
    for topic in response.topics:
        for part in topic.partitions:
            tp = TopicPartition(topic.name, part.partition_index)
            if part.error_code:
                raise from_code(
                    part.error_code,
                    what=f"consumer group {group!r}, topic {tp.topic!r}, partition {tp.partition}",
                    needs=Permission("Describe", "topic", tp.topic),
                    split=str(tp),
                )
            committed[tp] = None if part.committed_offset == _NO_OFFSET else part.committed_offset
    return committed


def offset_commit_request(group: str, offsets: Mapping[TopicPartition, int]) -> Any:
    """Return a request that sets offsets of a group that nobody has joined (as Kafka's admin client does).

    It names no member, so the coordinator takes it only while the group has none.
    """
    kind = OffsetCommitRequest.OffsetCommitRequestTopic
    topics = [
        kind(
            name=topic,
            partitions=[
                kind.OffsetCommitRequestPartition(
                    partition_index=tp.partition,
                    committed_offset=offsets[tp],
                    # That of the last record before the offset, which the driver does not see.
                    committed_leader_epoch=_NO_EPOCH,
                    committed_metadata="",
                )
                for tp in tps
            ],
        )
        for topic, tps in _by_topic(offsets)
    ]
    return OffsetCommitRequest(group_id=group, member_id="", topics=topics, max_version=_TOPICS_BY_NAME)


def read_commit_errors(response: Any) -> dict[TopicPartition, int]:
    """Return the error codes of an OffsetCommit response, by partition; empty if all offsets are set."""
    return {
        TopicPartition(topic.name, part.partition_index): part.error_code
        for topic in response.topics
        for part in topic.partitions
        if part.error_code
    }


def _by_topic(partitions: Iterable[TopicPartition]) -> Iterator[tuple[str, Iterator[TopicPartition]]]:
    return groupby(sorted(partitions), key=lambda tp: tp.topic)

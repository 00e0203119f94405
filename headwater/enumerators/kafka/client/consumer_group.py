"""The committed offsets of a consumer group, read and written without joining it.

The three requests (FindCoordinator, OffsetFetch, OffsetCommit) have a function that makes the request, and
one that reads the response. The versions are the newest in which a request names one group, and its topics
by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from kafka import errors as kafka_errors
from kafka.protocol.consumer import OffsetCommitRequest, OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from headwater.core.errors import SourceError
from headwater.enumerators.kafka.client.cluster import Cluster
from headwater.enumerators.kafka.client.errors import Permission, from_code, of_answer
from headwater.enumerators.kafka.client.metadata import BrokerAddress, TopicPartition
from headwater.enumerators.kafka.client.requests import broker_address, by_topic

_NO_OFFSET = -1
_NO_EPOCH = -1
_OF_ONE_GROUP = 3
_ONE_GROUP_AT_ONCE = 7
_TOPICS_BY_NAME = 9


def find_coordinator_request(group: str) -> Any:
    """Return a request for the broker that keeps a group's offsets."""
    return FindCoordinatorRequest(key=group, max_version=_OF_ONE_GROUP)


@of_answer
def read_coordinator(response: Any, group: str, operation: str) -> BrokerAddress:
    """Return where that broker listens.

    Args:
        response: to `find_coordinator_request`.
        group: that was asked for.
        operation: Read or Describe; the permission for it contains this one's.

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
    return broker_address(response.host, response.port)


def offset_fetch_request(group: str, partitions: Collection[TopicPartition]) -> Any:
    """Return a request for a group's committed offsets.

    A commit that is part of an open transaction is waited for: until it ends, the offset before it may be one
    that the group has passed.
    """
    kind = OffsetFetchRequest.OffsetFetchRequestTopic
    topics = [
        kind(name=topic, partition_indexes=[tp.partition for tp in tps])
        for topic, tps in by_topic(partitions)
    ]
    return OffsetFetchRequest(
        group_id=group, topics=topics, require_stable=True, max_version=_ONE_GROUP_AT_ONCE
    )


@of_answer
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
        for topic, tps in by_topic(offsets)
    ]
    return OffsetCommitRequest(group_id=group, member_id="", topics=topics, max_version=_TOPICS_BY_NAME)


@of_answer
def read_commit_errors(response: Any) -> dict[TopicPartition, int]:
    """Return the error codes of an OffsetCommit response, by partition; empty if all offsets are set."""
    return {
        TopicPartition(topic.name, part.partition_index): part.error_code
        for topic in response.topics
        for part in topic.partitions
        if part.error_code
    }


T = TypeVar("T")

_PARTITIONS_PER_COMMIT = 1_000
"""The coordinator writes a commit as one batch of records, and message.max.bytes (1 MB) limits a batch."""

_HAS_MEMBERS = {
    error.errno
    for error in (
        kafka_errors.UnknownMemberIdError,
        kafka_errors.IllegalGenerationError,
        kafka_errors.RebalanceInProgressError,
        kafka_errors.FencedMemberEpochError,
        kafka_errors.StaleMemberEpochError,
    )
}
_OF_ONE_PARTITION = {
    error.errno
    for error in (
        kafka_errors.TopicAuthorizationFailedError,
        kafka_errors.UnknownTopicOrPartitionError,
        kafka_errors.OffsetMetadataTooLargeError,
    )
}


class ConsumerGroup:
    """Asks the group's coordinator, the broker that keeps its offsets.

    Not thread-safe: it shares the thread of its `Cluster`. Every method blocks, for
    ``default.api.timeout.ms`` a request at the most. There are no waits and no further attempts: after a
    `TransientSourceError` the caller asks again, and the coordinator is looked up anew.

    Every method raises:
        TransientSourceError: the coordinator is away, has moved, or is loading.
        AuthorizationError: a permission is missing; the message names it and the command that grants it.
        SourceError: see `Cluster`.

    Args:
        cluster: whose connections are used; the caller closes it.
        name: of the group (``group.id``).
    """

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.name = name
        self._cluster = cluster
        self._coordinator: BrokerAddress | None = None

    def committed(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int | None]:
        """Return the committed offset of each partition; None where the group has none.

        A group that does not exist has none anywhere: Kafka does not tell the two apart.
        """
        if not partitions:
            return {}
        request = offset_fetch_request(self.name, partitions)
        return self._ask("Describe", request, lambda response: read_committed(response, self.name))

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Set the offset of each partition.

        If that fails for some partitions alone, the others are set before it raises. May be repeated.

        Raises:
            SourceError: the group has live members; it takes offsets from them alone.
            UnknownSplitError: a partition does not exist any more.
        """
        refused: dict[TopicPartition, int] = {}
        for part in _parts(offsets, _PARTITIONS_PER_COMMIT):
            refused |= self._ask("Read", offset_commit_request(self.name, part), self._refused)
        for tp, code in sorted(refused.items()):
            raise from_code(
                code,
                what=f"consumer group {self.name!r}, topic {tp.topic!r}, partition {tp.partition}",
                needs=Permission("Read", "topic", tp.topic),
                split=str(tp),
            )

    def _refused(self, response: Any) -> dict[TopicPartition, int]:
        """Return the error codes of single partitions; raise those of the whole group."""
        errors = read_commit_errors(response)
        for code in errors.values():
            if code in _HAS_MEMBERS:
                raise SourceError(
                    f"the consumer group {self.name!r} has live members, and Kafka takes offsets from them "
                    "alone: stop them, or name another group",
                    source="kafka",
                )
            if code not in _OF_ONE_PARTITION:
                raise from_code(
                    code, what=f"consumer group {self.name!r}", needs=Permission("Read", "group", self.name)
                )
        return errors

    def _ask(self, operation: str, request: Any, read: Callable[[Any], T]) -> T:
        try:
            if self._coordinator is None:
                response = self._cluster.ask_any(lambda: find_coordinator_request(self.name))
                self._coordinator = read_coordinator(response, self.name, operation)
            return read(self._cluster.ask(self._coordinator, request))
        except SourceError:
            # It may have moved to another broker.
            self._coordinator = None
            raise


def _parts(offsets: Mapping[TopicPartition, int], size: int) -> Iterator[dict[TopicPartition, int]]:
    rest = iter(offsets.items())
    while part := dict(islice(rest, size)):
        yield part

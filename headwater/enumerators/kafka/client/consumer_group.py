"""The committed offsets of a consumer group, read and written without joining it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from kafka import errors as kafka_errors

from headwater.core.errors import SourceError
from headwater.enumerators.kafka.client.cluster import Cluster
from headwater.enumerators.kafka.client.errors import Permission, from_code
from headwater.enumerators.kafka.client.group_requests import (
    find_coordinator_request,
    offset_commit_request,
    offset_fetch_request,
    read_commit_errors,
    read_committed,
    read_coordinator,
)
from headwater.enumerators.kafka.client.metadata import BrokerAddress, TopicPartition

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
                found = self._cluster.ask_any(lambda: find_coordinator_request(self.name))
                self._coordinator = read_coordinator(found, self.name, operation)
            return read(self._cluster.ask(self._coordinator, request))
        except SourceError:
            # It may have moved to another broker.
            self._coordinator = None
            raise


def _parts(offsets: Mapping[TopicPartition, int], size: int) -> Iterator[dict[TopicPartition, int]]:
    rest = iter(offsets.items())
    while part := dict(islice(rest, size)):
        yield part

"""The settings of a lookup: the cluster, the topics and partitions that a query reads, and their ends.

Needs no library: the driver checks options before anything is connected.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from headwater.core.options import Spec, boolean, duration_ms, integer, option, text
from headwater.core.source import Boundedness
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.metadata import ClusterMetadata
from headwater.enumerators.kafka.offsets_initializer import OffsetsInitializer
from headwater.enumerators.kafka.pattern import topic_pattern
from headwater.enumerators.kafka.split import KafkaPartitionSplit


class Subscription(ABC):
    """Selects some of the cluster's partitions. Immutable; sends no requests."""

    __slots__ = ()

    @property
    @abstractmethod
    def topics(self) -> Collection[str] | None:
        """The names of the topics that are wanted, all of which must exist; None if there is a pattern."""

    @abstractmethod
    def selects(self, topic: str, partition: int) -> bool:
        """Whether this partition is read, if it exists."""

    def required(self, topic: str) -> Collection[int]:
        """Return the partitions of a topic that must exist; empty if none must."""
        return ()

    def select(self, metadata: ClusterMetadata) -> dict[SplitPath, KafkaPartitionSplit]:
        """Return the partitions that are selected and exist."""
        by_pattern = self.topics is None  # a pattern never selects Kafka's internal topics
        return {
            (name, str(partition)): KafkaPartitionSplit(name, partition, topic.topic_id)
            for name, topic in metadata.topics.items()
            if not (by_pattern and topic.is_internal)
            for partition in topic.partitions
            if self.selects(name, partition)
        }


@dataclass(frozen=True, slots=True)
class TopicNames(Subscription):
    """All partitions of the named topics."""

    names: frozenset[str]

    @property
    def topics(self) -> Collection[str]:
        return sorted(self.names)

    def selects(self, topic: str, partition: int) -> bool:
        return topic in self.names


@dataclass(frozen=True, slots=True)
class TopicPattern(Subscription):
    """All partitions of all topics in whose name the pattern is found, also of those that are created later.

    Found anywhere in the name, as Spark's ``SubscribePatternStrategy.assignedTopicPartitions`` does with
    ``findFirstIn``. (``KafkaConsumer.subscribe(Pattern)``, which wants the whole name to match, is the way of
    Spark up to 3.3, and still does with ``spark.sql.streaming.kafka.useDeprecatedOffsetFetching=true``.)
    Kafka's internal topics are left out, as in Spark.

    Attributes:
        pattern: a regular expression of Java, that `topic_pattern` takes.
    """

    pattern: str

    @property
    def topics(self) -> None:
        return None

    def selects(self, topic: str, partition: int) -> bool:
        return _is_found(self.pattern, topic)


@lru_cache(maxsize=1 << 14)
def _is_found(pattern: str, topic: str) -> bool:
    # It is asked of each partition, whenever they are listed.
    return topic_pattern(pattern).search(topic) is not None


@dataclass(frozen=True, slots=True)
class AssignedPartitions(Subscription):
    """Exactly these partitions."""

    partitions: frozenset[tuple[str, int]]

    @property
    def topics(self) -> Collection[str]:
        return sorted({topic for topic, _ in self.partitions})

    def selects(self, topic: str, partition: int) -> bool:
        return (topic, partition) in self.partitions

    def required(self, topic: str) -> Collection[int]:
        return sorted(partition for name, partition in self.partitions if name == topic)


class LookupSettings(Spec):
    """The settings of a lookup.

    Attributes:
        client: how to reach the cluster.
        subscription: selects partitions.
        starting: where the first partitions begin.
        ending: where a batch read ends; None in a stream.
        discovery_interval_ms: how old the list of partitions may be.
    """

    client: ClientConfig
    subscription: Subscription
    starting: OffsetsInitializer
    ending: OffsetsInitializer | None
    discovery_interval_ms: int = 1_000
    accept_new_topic_ids: bool = option(
        "acceptNewTopicIds",
        "For one start, after a move to a mirrored cluster that keeps the offsets of records: a topic that "
        "has another id than in the checkpoint is the same one, and goes on at its positions.",
        default=False,
        parse=boolean,
        only=Boundedness.CONTINUOUS_UNBOUNDED,
    )
    commit_to_group: str | None = option(
        "commitOffsetsToGroup",
        "Commit the positions of committed batches to this consumer group, for tools that show lag: see "
        "[consumer-groups.md](consumer-groups.md). The group must have no members.",
        default=None,
        parse=text,
        only=Boundedness.CONTINUOUS_UNBOUNDED,
        after="maxInflatedBatchBytes",
    )
    num_retries: int = option(
        "fetchOffset.numRetries",
        "How often an odd answer about offsets is asked for again before it is believed.",
        default=3,
        parse=integer(),
        after="kafkaConsumer.pollTimeoutMs",
    )
    retry_interval_ms: int = option(
        "fetchOffset.retryIntervalMs",
        "How long to wait in between.",
        default=1_000,
        parse=duration_ms,
        after="fetchOffset.numRetries",
    )

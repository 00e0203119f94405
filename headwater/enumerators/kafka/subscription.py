"""Which topics and partitions a query reads: Spark's ``subscribe``, ``subscribePattern`` and ``assign``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from headwater.core.split import SplitPath
from headwater.enumerators.kafka.client.metadata import ClusterMetadata
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
    ``findFirstIn``. (``KafkaConsumer.subscribe(Pattern)``, which wants the whole name to match, is what Spark
    used up to 3.3, and still does with ``spark.sql.streaming.kafka.useDeprecatedOffsetFetching=true``.)
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

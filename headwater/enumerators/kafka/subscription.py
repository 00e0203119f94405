"""Which topics and partitions a query reads: Spark's ``subscribe``, ``subscribePattern`` and ``assign``."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass

__all__ = ["AssignedPartitions", "Subscription", "TopicNames", "TopicPattern"]


class Subscription(ABC):
    """Selects partitions of what the cluster has. Immutable; asks nobody."""

    __slots__ = ()

    @property
    @abstractmethod
    def topics(self) -> Collection[str] | None:
        """The names of the topics that are wanted, all of which must exist.

        None if only looking at all topics tells.
        """

    @abstractmethod
    def selects(self, topic: str, partition: int) -> bool:
        """Whether this partition is read, if it exists."""

    def required(self, topic: str) -> Collection[int]:
        """Return the partitions of a topic that must exist; empty where whatever exists is right."""
        return ()


@dataclass(frozen=True, slots=True)
class TopicNames(Subscription):
    """All partitions of the topics named."""

    names: frozenset[str]

    @property
    def topics(self) -> Collection[str]:
        return sorted(self.names)

    def selects(self, topic: str, partition: int) -> bool:
        return topic in self.names


@dataclass(frozen=True, slots=True)
class TopicPattern(Subscription):
    """All partitions of all topics whose whole name matches; also of those that come later.

    Kafka's internal topics are left out, as Spark does.
    """

    pattern: str

    @property
    def topics(self) -> None:
        return None

    def selects(self, topic: str, partition: int) -> bool:
        return re.fullmatch(self.pattern, topic) is not None


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

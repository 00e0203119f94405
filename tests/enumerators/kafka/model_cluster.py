"""A Kafka cluster in memory, in the place of `Cluster`: logs without records, which vanish and age."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from headwater.core.errors import AuthorizationError
from headwater.enumerators.kafka.client.metadata import (
    EARLIEST,
    Broker,
    BrokerAddress,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)


@dataclass
class ModelLog:
    """Offsets from ``start`` to before ``end`` are there; those before ``start`` were."""

    start: int = 0
    end: int = 0


@dataclass
class ModelTopic:
    """One incarnation of a topic."""

    topic_id: str
    logs: dict[int, ModelLog]
    is_hidden: bool = False


@dataclass
class ModelCluster:
    """Answers as a broker does whose ACLs hide topics. A test changes it at will."""

    cluster_id: str = "one"
    topics: dict[str, ModelTopic] = field(default_factory=dict)

    _ids: ClassVar[Iterator[int]] = itertools.count(1)

    def create(self, name: str, partitions: int) -> ModelTopic:
        """Create a topic, or create it anew: with another id."""
        self.topics[name] = ModelTopic(f"id-{next(self._ids)}", {p: ModelLog() for p in range(partitions)})
        return self.topics[name]

    def metadata(self, topics: Collection[str] | None) -> ClusterMetadata:
        found = {
            name: TopicMetadata(
                name, topic.topic_id, False, {index: PartitionMetadata(1, 0) for index in topic.logs}
            )
            for name, topic in self.topics.items()
            if not topic.is_hidden and (topics is None or name in topics)
        }
        return ClusterMetadata({1: Broker(1, BrokerAddress("model", 9092))}, found, self.cluster_id)

    def list_offsets(
        self, specs: Mapping[TopicPartition, int], *, read_committed: bool | None = None
    ) -> dict[TopicPartition, int | None]:
        return {tp: self._offset(tp, spec) for tp, spec in specs.items()}

    def log_sizes(self, topics: Collection[str]) -> dict[TopicPartition, int]:
        raise AuthorizationError("a model has no disks", source="kafka")

    def close(self) -> None:
        """Nothing is open."""

    def _offset(self, tp: TopicPartition, spec: int) -> int:
        log = self.topics[tp.topic].logs[tp.partition]
        return log.start if spec == EARLIEST else log.end

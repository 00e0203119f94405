"""Which broker serves which partition.

Known to the whole process, asked anew when a broker says otherwise.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from headwater.core.clock import Clock
from headwater.core.errors import TransientSourceError, UnknownSplitError
from headwater.enumerators.kafka.client.client_config import BrokerAddress, ClientConfig
from headwater.enumerators.kafka.client.cluster import Broker, Cluster, TopicMetadata
from headwater.enumerators.kafka.client.topic_partition import TopicPartition
from headwater.enumerators.kafka.split import KafkaPartitionSplit

__all__ = ["Leaders", "Nowhere"]


class Nowhere(Enum):
    """Why no broker serves a partition."""

    ELECTING = "no broker leads it at the moment"
    GONE = "the topic or partition was deleted"
    REPLACED = "the topic was deleted and created anew"


@dataclass(slots=True)
class _Known:
    """What this process knows of one cluster: brokers, and topics with the time of asking."""

    brokers: Mapping[int, Broker] = field(default_factory=dict)
    topics: dict[str, tuple[int, TopicMetadata]] = field(default_factory=dict)


_lock = threading.Lock()
_clusters: dict[tuple[object, ...], _Known] = {}


class Leaders:
    """Looks up leaders for one task.

    Shares what it learns with later tasks in the same worker process, for ``metadata.max.age.ms``.

    Args:
        config: how to reach the cluster.
        clock: time.
    """

    def __init__(self, config: ClientConfig, clock: Clock) -> None:
        self._config, self._clock = config, clock
        self._cluster: Cluster | None = None
        with _lock:
            self._known = _clusters.setdefault((config.bootstrap_servers, config.credentials_key), _Known())

    def locate(self, splits: Collection[KafkaPartitionSplit]) -> dict[KafkaPartitionSplit, int | Nowhere]:
        """Return the id of the broker that leads each partition.

        Asks the cluster about topics that this process does not know.

        Raises:
            TransientSourceError: the cluster is away.
            SourceError: it refuses.
        """
        topics = {split.topic for split in splits}
        found = self._remembered(topics)
        if unknown := topics - found.keys():
            found |= self._ask(unknown)
        return {split: _whereabouts(found.get(split.topic), split) for split in splits}

    def forget(self, topics: Iterable[str]) -> None:
        """Ask anew the next time: somebody said that what is known of these topics is stale."""
        with _lock:
            for topic in topics:
                self._known.topics.pop(topic, None)

    def address(self, node: int) -> BrokerAddress | None:
        """Return a node's address, None if the cluster named no such node."""
        broker = self._known.brokers.get(node)
        return broker.address if broker else None

    def offset(self, split: KafkaPartitionSplit, spec: int) -> int:
        """Return an offset of a partition, for example the latest, from its leader.

        Open transactions do not hold back the latest.

        Raises:
            TransientSourceError: the cluster is away, or the partition is gone just now: `locate` tells.
            SourceError: the leader refuses.
        """
        tp = TopicPartition(split.topic, split.partition)
        try:
            found = self._connected().list_offsets({tp: spec}, read_committed=False)[tp]
        except UnknownSplitError as error:
            self.forget([split.topic])
            raise TransientSourceError(error.message, source="kafka", split=split.split_id) from error
        if found is None:
            raise TransientSourceError("the partition has no offsets", source="kafka", split=split.split_id)
        return found

    def close(self) -> None:
        """Close the connections that questions needed."""
        if self._cluster is not None:
            self._cluster.close()
        self._cluster = None

    def _remembered(self, topics: Iterable[str]) -> dict[str, TopicMetadata]:
        oldest_ms = self._clock.monotonic_ms() - self._config.metadata_max_age_ms
        with _lock:
            known = {topic: self._known.topics[topic] for topic in topics if topic in self._known.topics}
        return {topic: metadata for topic, (asked_ms, metadata) in known.items() if asked_ms >= oldest_ms}

    def _ask(self, topics: Collection[str]) -> dict[str, TopicMetadata]:
        answer = self._connected().metadata(topics)
        now_ms = self._clock.monotonic_ms()
        with _lock:
            self._known.brokers = answer.brokers
            self._known.topics.update(
                (topic, (now_ms, metadata)) for topic, metadata in answer.topics.items()
            )
        return dict(answer.topics)

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self._config, self._clock)
        return self._cluster


def _whereabouts(topic: TopicMetadata | None, split: KafkaPartitionSplit) -> int | Nowhere:
    if topic is None or split.partition not in topic.partitions:
        return Nowhere.GONE
    if split.topic_id is not None and topic.topic_id is not None and split.topic_id != topic.topic_id:
        return Nowhere.REPLACED
    leader = topic.partitions[split.partition].leader
    return Nowhere.ELECTING if leader < 0 else leader

"""Which broker leads which partition: remembered for the whole process, until a broker says otherwise."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from headwater.core.clock import Clock
from headwater.core.errors import TransientSourceError, UnknownSplitError
from headwater.core.split import SplitRange
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.cluster import Cluster
from headwater.enumerators.kafka.client.metadata import (
    EARLIEST,
    LATEST,
    Broker,
    BrokerAddress,
    ClusterMetadata,
    TopicMetadata,
    TopicPartition,
)
from headwater.enumerators.kafka.client.pool import ConnectionPool
from headwater.enumerators.kafka.split import KafkaPartitionSplit, OpenRange


class NoLeader(Enum):
    """Why no broker serves a partition."""

    ELECTING = "no broker leads it at the moment"
    GONE = "the topic or partition was deleted"
    REPLACED = "the topic was deleted and created anew"


@dataclass(slots=True)
class _CachedMetadata:
    """The metadata of one cluster that this process has.

    Attributes:
        brokers: by id.
        topics: by name, each with the time at which the cluster was asked.
    """

    brokers: Mapping[int, Broker] = field(default_factory=dict)
    topics: dict[str, tuple[int, TopicMetadata]] = field(default_factory=dict)


# A process may read on several threads. The lock is held for look-ups in memory only, never while the cluster
# is asked.
_lock = threading.Lock()
_clusters: dict[tuple[object, ...], _CachedMetadata] = {}


class Leaders:
    """Looks up leaders for one task.

    Its answers are used by later tasks in the same worker process too, for ``metadata.max.age.ms``.

    Args:
        config: how to reach the cluster.
        clock: time.
        pool: lends connections; None to open its own.
    """

    def __init__(self, config: ClientConfig, clock: Clock, pool: ConnectionPool | None = None) -> None:
        self._config = config
        self._clock = clock
        self._pool = pool
        self._cluster: Cluster | None = None
        with _lock:
            self._known = _clusters.setdefault(
                (config.bootstrap_servers, config.credentials_key), _CachedMetadata()
            )

    def locate(self, splits: Collection[KafkaPartitionSplit]) -> dict[KafkaPartitionSplit, int | NoLeader]:
        """Return the id of the broker that leads each partition.

        Asks the cluster about the topics that this process does not know yet.

        Raises:
            TransientSourceError: the cluster is away.
            SourceError: the cluster refuses.
        """
        topics = {split.topic for split in splits}
        metadata = self._remembered(topics)
        if unknown := topics - metadata.keys():
            metadata |= self._ask(unknown)
        return {split: _leader_of(metadata.get(split.topic), split) for split in splits}

    def forget(self, topics: Iterable[str], *, older_than_ms: int = 0) -> None:
        """Ask the cluster about these topics next time: the cached metadata may be stale.

        Args:
            topics: by name.
            older_than_ms: keep metadata that is not older; 0 to keep none.
        """
        now_ms = self._clock.monotonic_ms()
        with _lock:
            for topic in topics:
                asked_ms, _ = self._known.topics.get(topic, (now_ms, None))
                # One that seems to come from the future was asked for by another clock: it may be old.
                if not 0 <= now_ms - asked_ms < older_than_ms:
                    self._known.topics.pop(topic, None)

    def address(self, node: int) -> BrokerAddress | None:
        """Return a node's address; None if the cluster has named no such node."""
        broker = self._known.brokers.get(node)
        return broker.address if broker else None

    def offset(self, split: KafkaPartitionSplit, spec: int) -> int:
        """Return an offset of a partition, for example the latest, from its leader.

        Open transactions do not hold back the latest.

        Raises:
            TransientSourceError: the cluster is away, or does not know the partition now: ask `locate`.
            SourceError: the leader refuses.
        """
        tp = TopicPartition(split.topic, split.partition)
        try:
            offset = self._connected().list_offsets({tp: spec}, read_committed=False)[tp]
        except UnknownSplitError as error:
            self.forget([split.topic])
            raise TransientSourceError(error.message, source="kafka", split=split.split_id) from error
        if offset is None:
            raise TransientSourceError("the partition has no offsets", source="kafka", split=split.split_id)
        return offset

    def bind(self, ranges: Sequence[OpenRange]) -> list[SplitRange[KafkaPartitionSplit, int]]:
        """Return ranges with the ends that the logs have now, in the same order; `locate` must know all.

        As in Spark's source, records of an open transaction lie beyond the latest under
        ``isolation.level=read_committed``.

        Raises:
            TransientSourceError: the cluster is away, or does not know a partition now: ask `locate`.
            SourceError: a leader refuses.
        """
        # The ends are asked for last, so that no range ends before it begins.
        earliest = self._offsets([each.split for each in ranges if each.from_earliest], EARLIEST)
        latest = self._offsets([each.split for each in ranges if each.to_latest], LATEST)
        return [
            SplitRange(
                self._present(each.split), *each.bounds(earliest.get(each.split), latest.get(each.split))
            )
            for each in ranges
        ]

    def close(self) -> None:
        """Close the connections that were opened to ask."""
        if self._cluster is not None:
            self._cluster.close()
        self._cluster = None

    def _offsets(self, splits: Collection[KafkaPartitionSplit], spec: int) -> dict[KafkaPartitionSplit, int]:
        by_tp = {TopicPartition(split.topic, split.partition): split for split in splits}
        if not by_tp:
            return {}
        cluster = self._connected()
        cluster.begin_with(
            ClusterMetadata(self._known.brokers, self._remembered({split.topic for split in splits}))
        )
        try:
            offsets = cluster.list_offsets(dict.fromkeys(by_tp, spec))
        except UnknownSplitError as error:
            self.forget({split.topic for split in splits})
            raise TransientSourceError(error.message, source="kafka") from error
        except TransientSourceError:
            # A leader that does not answer may have been replaced: the next attempt has to ask who leads now.
            self.forget({split.topic for split in splits})
            raise
        return {by_tp[tp]: offset for tp, offset in offsets.items() if offset is not None}

    def _present(self, split: KafkaPartitionSplit) -> KafkaPartitionSplit:
        """Return the partition of the topic's present incarnation, where the split names none."""
        if split.topic_id is not None:
            return split
        metadata = self._remembered([split.topic])
        return replace(split, topic_id=metadata[split.topic].topic_id) if split.topic in metadata else split

    def _remembered(self, topics: Iterable[str]) -> dict[str, TopicMetadata]:
        oldest_ms = self._clock.monotonic_ms() - self._config.metadata_max_age_ms
        with _lock:
            entries = {topic: self._known.topics[topic] for topic in topics if topic in self._known.topics}
        return {topic: metadata for topic, (asked_ms, metadata) in entries.items() if asked_ms >= oldest_ms}

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
            self._cluster = Cluster(self._config, self._clock, self._pool)
        return self._cluster


def _leader_of(topic: TopicMetadata | None, split: KafkaPartitionSplit) -> int | NoLeader:
    if topic is None or split.partition not in topic.partitions:
        return NoLeader.GONE
    if split.topic_id is not None and topic.topic_id is not None and split.topic_id != topic.topic_id:
        return NoLeader.REPLACED
    leader = topic.partitions[split.partition].leader
    return NoLeader.ELECTING if leader < 0 else leader

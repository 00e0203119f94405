"""Where Kafka's partitions end: how far a checkpoint is behind."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from headwater.core.imports import importing


def kafka_ends(broker: str, splits: Iterable[str]) -> dict[str, int]:
    """Ask a broker where partitions end; those that it does not have are left out.

    Args:
        broker: ``HOST:PORT``.
        splits: ids of splits of the kafka source: ``TOPIC-PARTITION``.

    Raises:
        HeadwaterError: the broker does not answer, or the extra ``kafka`` is not installed.
    """
    with importing("the kafka source", extra="kafka", everywhere=False):
        from headwater.enumerators.kafka.client.client_config import ClientConfig
        from headwater.enumerators.kafka.client.cluster import Cluster
        from headwater.enumerators.kafka.client.metadata import LATEST, TopicPartition
    wanted = {split: TopicPartition(*_topic_and_partition(split)) for split in splits}
    with closing(Cluster(ClientConfig.from_options({"kafka.bootstrap.servers": broker}))) as cluster:
        there = cluster.metadata({tp.topic for tp in wanted.values()})
        known = {
            TopicPartition(name, number)
            for name, topic in there.topics.items()
            for number in topic.partitions
        }
        ends = cluster.list_offsets(dict.fromkeys(known.intersection(wanted.values()), LATEST))
    return {split: end for split, tp in wanted.items() if (end := ends.get(tp)) is not None}


def _topic_and_partition(split: str) -> tuple[str, int]:
    topic, _, partition = split.rpartition("-")
    return topic, int(partition)

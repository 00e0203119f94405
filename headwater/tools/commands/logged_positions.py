"""The positions of an entry of an offset log, for every source."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field

from headwater.connector.sources.kafka.split_serializer import from_spark
from headwater.core.imports import importing
from headwater.core.jsons import JsonValue
from headwater.tools.commands.offset_log import VOID, OffsetLogEntry


@dataclass(frozen=True)
class LoggedPositions:
    """The positions of one source in one entry.

    Attributes:
        source: the source that logged them, as a person names it.
        positions: of each split, the next record to read, by the split's id; empty if the entry has none.
        kept: the ids of those among them that are out of sight.
        raw: the logged text, where positions are not known from it.
    """

    source: str
    positions: Mapping[str, JsonValue]
    kept: frozenset[str] = field(default_factory=frozenset)
    raw: str = ""

    def moved_since(self, earlier: LoggedPositions | None) -> int | None:
        """Return by how much all positions together have moved since an entry before this one.

        None where they are no numbers, or one of them was not there before.
        """
        if earlier is None or not self.positions:
            return None
        moved = 0
        for split, position in self.positions.items():
            start = earlier.positions.get(split)
            if not isinstance(position, int) or not isinstance(start, int):
                return None
            moved += position - start
        return moved


def positions_by_source(entry: OffsetLogEntry) -> dict[str, LoggedPositions]:
    """Return the positions of each source of a query, by the source's id."""
    return {name: logged_positions(text) for name, text in entry.offsets.items()}


def logged_positions(logged: str) -> LoggedPositions:
    """Return the positions in a logged text."""
    if logged == VOID:
        return LoggedPositions("nothing yet", {})
    try:
        value: JsonValue = json.loads(logged)
    except ValueError:
        return LoggedPositions("another source", {}, raw=logged)
    if isinstance(value, dict) and isinstance(value.get("source"), str) and "version" in value:
        return _of_headwater(value, logged)
    spark = from_spark(value)
    if spark is None:
        return LoggedPositions("another source", {}, raw=logged)
    return LoggedPositions("Spark's kafka", {split.split_id: position for split, position in spark.items()})


def _of_headwater(value: Mapping[str, JsonValue], logged: str) -> LoggedPositions:
    source = f"headwater's {value['source']}"
    # In barrier mode positions lie in manifests, and an offset has those before its epoch.
    if "positions" not in value:
        return LoggedPositions(source, {}, raw=logged)
    unavailable = dict(_leaves(value.get("kept", {}), is_kept=True))
    return LoggedPositions(
        source, {**dict(_leaves(value["positions"])), **unavailable}, frozenset(unavailable)
    )


def _leaves(
    node: JsonValue, path: tuple[str, ...] = (), *, is_kept: bool = False
) -> Iterator[tuple[str, JsonValue]]:
    """Yield the positions in a tree of names, each by its names, joined as `Split.split_id` is."""
    if is_kept and isinstance(node, dict) and "since_ms" in node:
        yield "-".join(path), node["position"]
    elif isinstance(node, dict):
        for name, below in node.items():
            yield from _leaves(below, (*path, name), is_kept=is_kept)
    else:
        yield "-".join(path), node


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
    partitions = {split: TopicPartition(*_topic_and_partition(split)) for split in splits}
    with closing(Cluster(ClientConfig.from_options({"kafka.bootstrap.servers": broker}))) as cluster:
        there = cluster.metadata({tp.topic for tp in partitions.values()})
        known_partitions = {
            TopicPartition(name, number)
            for name, topic in there.topics.items()
            for number in topic.partitions
        }
        ends = cluster.list_offsets(dict.fromkeys(known_partitions.intersection(partitions.values()), LATEST))
    return {split: end for split, tp in partitions.items() if (end := ends.get(tp)) is not None}


def _topic_and_partition(split: str) -> tuple[str, int]:
    topic, _, partition = split.rpartition("-")
    return topic, int(partition)

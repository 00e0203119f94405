"""One look at the cluster: which partitions are there, where they begin and end.

Blocks; lives on the worker thread.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headwater.core.clock import Clock
from headwater.core.errors import OptionError, SourceError, TransientSourceError, UnknownSplitError
from headwater.core.split import Path
from headwater.enumerators.kafka.client.cluster import Cluster, ClusterMetadata
from headwater.enumerators.kafka.client.topic_partition import EARLIEST, LATEST, TopicPartition
from headwater.enumerators.kafka.lookup_settings import LookupSettings
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.enumerators.kafka.subscription import Subscription

__all__ = ["ClusterView", "KafkaLookup"]

log = logging.getLogger(__name__)
_SIZES_AGE_MS = 60_000


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What one look found.

    Attributes:
        splits: every partition that is selected and exists, by path.
        starts: first positions of those that the checkpoint does not know.
        heads: the end of each.
        short: partitions whose log ends before the position that was reached, or that was to be the first,
            with that end.
        row_bytes: average bytes of a record, by topic.
    """

    splits: Mapping[Path, KafkaPartitionSplit]
    starts: Mapping[Path, int]
    heads: Mapping[Path, int]
    short: Mapping[Path, int] = field(default_factory=dict)
    row_bytes: Mapping[str, int] = field(default_factory=dict)


class KafkaLookup:
    """Asks the cluster on behalf of one enumerator.

    Remembers what may be a little old (the list of partitions, sizes), and the first position of every
    partition that it has resolved: a partition that was found but not logged yet keeps its beginning.
    """

    def __init__(self, settings: LookupSettings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self._cluster = Cluster(settings.client)
        self._never = threading.Event()
        self._known_starts: dict[KafkaPartitionSplit, int] = {}
        self._splits: dict[Path, KafkaPartitionSplit] = {}
        self._listed_ms: int | None = None
        self._opened = False
        self._row_bytes: dict[str, int] = {}
        self._sized_ms: int | None = None
        self._first_asked_ms: int | None = None
        self._reached = False

    def look(
        self, known: Mapping[Path, KafkaPartitionSplit], positions: Mapping[Path, int], *, first: bool
    ) -> ClusterView:
        """Return what is there now.

        Args:
            known: what the checkpoint holds.
            positions: how far it has come.
            first: nothing is logged yet: partitions begin where the user says. Later ones begin at their
                earliest record.

        Raises:
            TransientSourceError: the cluster is away, or electing a leader; ask again.
            UnknownSplitError: a topic or partition that the user named does not exist.
            SourceError: anything else, for good.
        """
        try:
            return self._look(known, positions, first=first)
        except TransientSourceError as error:
            if final := self._unreachable(error):
                raise final from None
            raise

    def close(self) -> None:
        """Close all connections."""
        self._cluster.close()

    def _look(
        self, known: Mapping[Path, KafkaPartitionSplit], positions: Mapping[Path, int], *, first: bool
    ) -> ClusterView:
        splits = self._partitions(known, first=first)
        try:
            return self._measure(splits, known, positions, first=first)
        except UnknownSplitError as error:
            self._listed_ms = None
            raise TransientSourceError(
                f"a partition has just gone: {error.message}", source="kafka"
            ) from error

    def _measure(
        self,
        splits: Mapping[Path, KafkaPartitionSplit],
        known: Mapping[Path, KafkaPartitionSplit],
        positions: Mapping[Path, int],
        *,
        first: bool,
    ) -> ClusterView:
        if not splits:
            self._reached = True
            return ClusterView({}, {}, {})
        by_tp = {TopicPartition(split.topic, split.partition): path for path, split in splits.items()}
        # The starts come first: "latest" must not be after the end, whatever is written between the two
        # questions.
        starts = self._starts(
            {path: split for path, split in splits.items() if not _same(known.get(path), split)}, first=first
        )
        heads = self._heads(by_tp)
        self._reached = True
        if self._settings.ending is not None:
            _check_order(splits, starts, heads, self._settings)
            return ClusterView(splits, starts, heads, row_bytes=self._sizes(heads, by_tp))
        reached = {path: position for path, position in positions.items() if path in splits} | starts
        return ClusterView(
            splits, starts, heads, self._short(splits, reached, heads), self._sizes(heads, by_tp)
        )

    def _partitions(
        self, known: Mapping[Path, KafkaPartitionSplit], *, first: bool
    ) -> dict[Path, KafkaPartitionSplit]:
        """Return the partitions that are selected and exist.

        What should be there and is not is looked for again before that is believed.
        """
        if not first and not self._is_old() and known.keys() <= self._splits.keys():
            return self._splits
        opening, selects = not self._opened, self._settings.subscription.selects
        wanted = [split for split in known.values() if selects(split.topic, split.partition)]
        for attempt in range(self._settings.num_retries + 1):
            if attempt:
                self._clock.wait(self._never, self._settings.retry_interval_ms)
            splits, unknown = self._list(wanted)
            gone = any(split.path not in splits for split in wanted)
            if not gone and not (unknown and opening):
                break
        if unknown and opening:
            raise UnknownSplitError(
                f"{unknown[0]} does not exist in the Kafka cluster, or this user may not see it: create it, or mend subscribe or assign",
                source="kafka",
            )
        self._splits, self._listed_ms, self._opened = splits, self._clock.monotonic_ms(), True
        return splits

    def _is_old(self) -> bool:
        return (
            self._listed_ms is None
            or self._clock.monotonic_ms() - self._listed_ms >= self._settings.discovery_interval_ms
        )

    def _list(
        self, wanted: Sequence[KafkaPartitionSplit]
    ) -> tuple[dict[Path, KafkaPartitionSplit], list[str]]:
        """Return what is selected and exists, and the names of what the user named, does not exist, and never did as far as we know."""
        subscription = self._settings.subscription
        metadata = self._cluster.metadata(subscription.topics)
        if wanted and not metadata.topics and subscription.topics is None:
            # Asked for all topics, a cluster that has just come up may know of none for a moment: that is no
            # answer at all.
            raise TransientSourceError(
                "the Kafka cluster answered with an empty list of topics", source="kafka"
            )
        splits = _select(metadata, subscription)
        known = {split.topic for split in wanted} | {split.path for split in wanted}
        unknown = [
            f"topic {topic!r}"
            for topic in subscription.topics or ()
            if topic not in metadata.topics and topic not in known
        ]
        unknown += [
            f"partition {partition} of topic {topic!r}"
            for topic in metadata.topics
            for partition in subscription.required(topic)
            if (path := (topic, str(partition))) not in splits and path not in known
        ]
        return splits, unknown

    def _heads(self, by_tp: Mapping[TopicPartition, Path]) -> dict[Path, int]:
        settings = self._settings
        if settings.ending is not None:
            found: Mapping[TopicPartition, int | None] = settings.ending.resolve(self._cluster, list(by_tp))
        else:
            found = self._cluster.list_offsets(dict.fromkeys(by_tp, LATEST))
        return {by_tp[tp]: offset for tp, offset in found.items() if offset is not None}

    def _starts(self, new: Mapping[Path, KafkaPartitionSplit], *, first: bool) -> dict[Path, int]:
        self._known_starts = {
            split: start for split, start in self._known_starts.items() if new.get(split.path) == split
        }
        unresolved = {
            TopicPartition(s.topic, s.partition): s for s in new.values() if s not in self._known_starts
        }
        if unresolved:
            if first:
                found: Mapping[TopicPartition, int | None] = self._settings.starting.resolve(
                    self._cluster, list(unresolved)
                )
            else:
                found = self._cluster.list_offsets(dict.fromkeys(unresolved, EARLIEST))
            self._known_starts.update(
                (unresolved[tp], offset) for tp, offset in found.items() if offset is not None
            )
        return {path: self._known_starts[split] for path, split in new.items()}

    def _short(
        self,
        splits: Mapping[Path, KafkaPartitionSplit],
        reached: Mapping[Path, int],
        heads: Mapping[Path, int],
    ) -> dict[Path, int]:
        """Return the partitions whose log ends before our position, once they have said so several times.

        One stale answer is no loss.
        """
        ends = {
            path: heads[path]
            for path, position in reached.items()
            if path in heads and heads[path] < position
        }
        for attempt in range(self._settings.num_retries + 1):
            if not ends:
                break
            if attempt:
                self._clock.wait(self._never, self._settings.retry_interval_ms)
            tps = {path: TopicPartition(splits[path].topic, splits[path].partition) for path in ends}
            # Also under read_committed the end of the log counts here: an open transaction is no loss.
            again = self._cluster.list_offsets(dict.fromkeys(tps.values(), LATEST), read_committed=False)
            ends = {
                path: end
                for path, tp in tps.items()
                if (end := again[tp]) is not None and end < reached[path]
            }
        return ends

    def _sizes(self, heads: Mapping[Path, int], by_tp: Mapping[TopicPartition, Path]) -> dict[str, int]:
        """Return the average bytes of a record of each topic.

        The size of its logs on disk over their span of offsets, asked once a minute.
        """
        now_ms = self._clock.monotonic_ms()
        if self._sized_ms is not None and now_ms - self._sized_ms < _SIZES_AGE_MS:
            return self._row_bytes
        self._sized_ms = now_ms
        try:
            sizes = self._cluster.log_sizes({tp.topic for tp in by_tp})
            earliest = self._cluster.list_offsets(
                dict.fromkeys((tp for tp in by_tp if tp in sizes), EARLIEST)
            )
        except SourceError as error:  # an estimate is not worth failing for
            log.info("record sizes are as before, or taken to be 1,000 bytes: %s", error)
            return self._row_bytes
        self._row_bytes = _average(
            sizes, {tp: (earliest[tp] or 0, heads.get(by_tp[tp], 0)) for tp in earliest}
        )
        return self._row_bytes

    def _unreachable(self, error: TransientSourceError) -> SourceError | None:
        """Return a final error if the cluster has never answered.

        More likely the address is wrong than the cluster away.
        """
        now_ms = self._clock.monotonic_ms()
        self._first_asked_ms = now_ms if self._first_asked_ms is None else self._first_asked_ms
        if self._reached or now_ms - self._first_asked_ms < self._settings.client.default_api_timeout_ms:
            return None
        return SourceError(
            f"the Kafka cluster has not answered since the query started: {error.message}", source="kafka"
        )


def _select(metadata: ClusterMetadata, subscription: Subscription) -> dict[Path, KafkaPartitionSplit]:
    pattern = subscription.topics is None
    return {
        (name, str(partition)): KafkaPartitionSplit(name, partition, topic.topic_id)
        for name, topic in metadata.topics.items()
        if not (pattern and topic.is_internal)
        for partition in topic.partitions
        if subscription.selects(name, partition)
    }


def _same(known: KafkaPartitionSplit | None, found: KafkaPartitionSplit) -> bool:
    """Whether a found partition is the one that the checkpoint knows.

    Brokers older than 2.8 name no topic ids.
    """
    if known is None:
        return False
    return known.topic_id == found.topic_id or known.topic_id is None or found.topic_id is None


def _check_order(
    splits: Mapping[Path, KafkaPartitionSplit],
    starts: Mapping[Path, int],
    ends: Mapping[Path, int],
    settings: LookupSettings,
) -> None:
    """Refuse a batch that ends before it begins."""
    assert settings.ending is not None
    for path, start in starts.items():
        if start > ends.get(path, start):
            split = splits[path]
            raise OptionError(
                f"topic {split.topic!r}, partition {split.partition} begins at offset {start}, but {settings.ending.option} ends it at {ends[path]}",
                option=settings.starting.option,
            )


def _average(
    sizes: Mapping[TopicPartition, int], spans: Mapping[TopicPartition, tuple[int, int]]
) -> dict[str, int]:
    total_bytes: dict[str, int] = {}
    rows: dict[str, int] = {}
    for tp, (first, end) in spans.items():
        total_bytes[tp.topic] = total_bytes.get(tp.topic, 0) + sizes[tp]
        rows[tp.topic] = rows.get(tp.topic, 0) + max(0, end - first)
    return {topic: max(1, total_bytes[topic] // count) for topic, count in rows.items() if count}

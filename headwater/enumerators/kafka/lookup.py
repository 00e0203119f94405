"""Looks at the cluster: which partitions are there, and where they begin and end.

It blocks, so it runs on the worker thread.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headwater.core.clock import Clock
from headwater.core.errors import OptionError, SourceError, TransientSourceError, UnknownSplitError
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.client.cluster import Cluster
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST, TopicPartition
from headwater.enumerators.kafka.empty_selection import EmptySelection
from headwater.enumerators.kafka.lookup_settings import LookupSettings
from headwater.enumerators.kafka.record_sizes import RecordSizes
from headwater.enumerators.kafka.split import KafkaPartitionSplit


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What one look found.

    Attributes:
        splits: the partitions that are selected and exist, by path.
        starts: the first position of each partition that the checkpoint does not know.
        heads: the end of each partition.
        short: the ends of the partitions whose log ends before the position that was reached, or before the
            one at which reading was to begin.
        row_bytes: the average bytes of a record, by topic.
    """

    splits: Mapping[SplitPath, KafkaPartitionSplit]
    starts: Mapping[SplitPath, int]
    heads: Mapping[SplitPath, int]
    short: Mapping[SplitPath, int] = field(default_factory=dict)
    row_bytes: Mapping[str, int] = field(default_factory=dict)


class KafkaLookup:
    """Asks the cluster for one enumerator.

    It remembers the list of partitions and the sizes for a while. It also remembers each first position that
    it has resolved: a partition that was found, but is not logged yet, must begin at the same offset the next
    time.

    Args:
        settings: what to look for.
        clock: time.
    """

    def __init__(self, settings: LookupSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._cluster = Cluster(settings.client)
        self._record_sizes = RecordSizes(self._cluster, clock)
        self._empty_selection = EmptySelection(settings.subscription, clock)
        self._never = threading.Event()
        self._known_starts: dict[KafkaPartitionSplit, int] = {}
        self._splits: dict[SplitPath, KafkaPartitionSplit] = {}
        self._listed_ms: int | None = None
        self._opened = False
        self._first_asked_ms: int | None = None
        self._reached = False

    def look(
        self,
        known: Mapping[SplitPath, KafkaPartitionSplit],
        positions: Mapping[SplitPath, int],
        *,
        first: bool,
    ) -> ClusterView:
        """Return what is there now.

        Args:
            known: what the checkpoint holds.
            positions: how far each of these partitions has been read.
            first: whether nothing is logged yet. Then partitions begin where the options say; otherwise new
                ones begin at their earliest record.

        Raises:
            TransientSourceError: the cluster is away, or electing a leader; ask again.
            UnknownSplitError: a topic or partition that the user named does not exist.
            SourceError: any other error; asking again does not help.
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
        self,
        known: Mapping[SplitPath, KafkaPartitionSplit],
        positions: Mapping[SplitPath, int],
        *,
        first: bool,
    ) -> ClusterView:
        splits = self._partitions(known, first=first)
        try:
            return self._measure(splits, known, positions, first=first)
        except UnknownSplitError as error:
            self._listed_ms = None  # the list of partitions is stale: ask for it next time
            raise TransientSourceError(
                f"a partition has just gone: {error.message}", source="kafka"
            ) from error

    def _measure(
        self,
        splits: Mapping[SplitPath, KafkaPartitionSplit],
        known: Mapping[SplitPath, KafkaPartitionSplit],
        positions: Mapping[SplitPath, int],
        *,
        first: bool,
    ) -> ClusterView:
        if not splits:
            self._reached = True
            return ClusterView({}, {}, {})
        by_tp = {TopicPartition(split.topic, split.partition): path for path, split in splits.items()}
        # The starts are asked for before the heads: records may be written between the two requests, and a
        # start at "latest" must not lie after the head.
        new = {path: split for path, split in splits.items() if not _same(known.get(path), split)}
        starts = self._starts(new, first=first)
        heads = self._heads(by_tp)
        self._reached = True
        row_bytes = self._record_sizes.row_bytes({tp: heads.get(path, 0) for tp, path in by_tp.items()})
        if self._settings.ending is not None:
            _check_order(splits, starts, heads, self._settings)
            return ClusterView(splits, starts, heads, row_bytes=row_bytes)
        reached = {path: position for path, position in positions.items() if path in splits} | starts
        return ClusterView(splits, starts, heads, self._short(splits, reached, heads), row_bytes)

    def _partitions(
        self, known: Mapping[SplitPath, KafkaPartitionSplit], *, first: bool
    ) -> dict[SplitPath, KafkaPartitionSplit]:
        """Return the partitions that are selected and exist.

        If one is missing that was there, or that the user named, the cluster is asked several times before
        the answer is believed.
        """
        if not first and not self._is_old() and known.keys() <= self._splits.keys():
            return self._splits
        opening = not self._opened
        selects = self._settings.subscription.selects
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
                f"{unknown[0]} does not exist in the Kafka cluster, or this user may not see it: "
                "create it, or mend subscribe or assign",
                source="kafka",
            )
        self._empty_selection.note(is_empty=not splits)
        self._splits = splits
        self._listed_ms = self._clock.monotonic_ms()
        self._opened = True
        return splits

    def _is_old(self) -> bool:
        return (
            self._listed_ms is None
            or self._clock.monotonic_ms() - self._listed_ms >= self._settings.discovery_interval_ms
        )

    def _list(
        self, wanted: Sequence[KafkaPartitionSplit]
    ) -> tuple[dict[SplitPath, KafkaPartitionSplit], list[str]]:
        """Return the partitions that are selected and exist, and what the user named but the cluster lacks.

        A topic or partition in the checkpoint is left out of the latter: it did exist.
        """
        subscription = self._settings.subscription
        metadata = self._cluster.metadata(subscription.topics)
        if wanted and not metadata.topics and subscription.topics is None:
            # A cluster that has just started may know no topics for a moment, so an empty list of all topics
            # says nothing.
            self._empty_selection.note(is_empty=True)
            raise TransientSourceError(
                "the Kafka cluster answered with an empty list of topics", source="kafka"
            )
        splits = subscription.select(metadata)
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

    def _heads(self, by_tp: Mapping[TopicPartition, SplitPath]) -> dict[SplitPath, int]:
        ending = self._settings.ending
        if ending is not None:
            ending.check(by_tp)
            found: Mapping[TopicPartition, int | None] = ending.resolve(self._cluster, list(by_tp))
        else:
            found = self._cluster.list_offsets(dict.fromkeys(by_tp, LATEST))
        return {by_tp[tp]: offset for tp, offset in found.items() if offset is not None}

    def _starts(self, new: Mapping[SplitPath, KafkaPartitionSplit], *, first: bool) -> dict[SplitPath, int]:
        self._known_starts = {
            split: start for split, start in self._known_starts.items() if new.get(split.path) == split
        }
        unresolved = {
            TopicPartition(split.topic, split.partition): split
            for split in new.values()
            if split not in self._known_starts
        }
        if unresolved:
            if first:
                self._settings.starting.check(
                    [TopicPartition(split.topic, split.partition) for split in new.values()]
                )
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
        splits: Mapping[SplitPath, KafkaPartitionSplit],
        reached: Mapping[SplitPath, int],
        heads: Mapping[SplitPath, int],
    ) -> dict[SplitPath, int]:
        """Return the ends of the logs that end before our position.

        One such answer may be stale. It counts only after the leaders have repeated it several times.
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
            # With read_committed too it is the end of the log that counts: an open transaction is no loss.
            again = self._cluster.list_offsets(dict.fromkeys(tps.values(), LATEST), read_committed=False)
            ends = {
                path: end
                for path, tp in tps.items()
                if (end := again[tp]) is not None and end < reached[path]
            }
        return ends

    def _unreachable(self, error: TransientSourceError) -> SourceError | None:
        """Return a final error if the cluster has not answered since the query started; None otherwise.

        In that case the address is more likely to be wrong than the cluster to be away.
        """
        now_ms = self._clock.monotonic_ms()
        if self._first_asked_ms is None:
            self._first_asked_ms = now_ms
        if self._reached or now_ms - self._first_asked_ms < self._settings.client.default_api_timeout_ms:
            return None
        return SourceError(
            f"the Kafka cluster has not answered since the query started: {error.message}", source="kafka"
        )


def _same(known: KafkaPartitionSplit | None, found: KafkaPartitionSplit) -> bool:
    """Whether a found partition is the one that the checkpoint knows.

    Without topic ids (brokers older than Kafka 2.8) any partition of the same name is.
    """
    if known is None:
        return False
    return known.topic_id == found.topic_id or known.topic_id is None or found.topic_id is None


def _check_order(
    splits: Mapping[SplitPath, KafkaPartitionSplit],
    starts: Mapping[SplitPath, int],
    ends: Mapping[SplitPath, int],
    settings: LookupSettings,
) -> None:
    """Refuse a batch that ends before it begins."""
    assert settings.ending is not None
    for path, start in starts.items():
        if start > ends.get(path, start):
            split = splits[path]
            raise OptionError(
                f"topic {split.topic!r}, partition {split.partition} begins at offset {start}, "
                f"but {settings.ending.option} ends it at {ends[path]}",
                option=settings.starting.option,
            )

"""Looks at the cluster: which partitions are in sight, and where their logs begin and end.

It blocks, so it runs on the worker thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from headwater.core.clock import Clock
from headwater.core.errors import (
    AuthorizationError,
    OptionError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.core.identity_cache import IdentityCache
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.client.cluster import Cluster
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST, TopicPartition
from headwater.enumerators.kafka.lookup_settings import LookupSettings
from headwater.enumerators.kafka.lost_records import NewTopicIds
from headwater.enumerators.kafka.partition_list import PartitionList, RecordSizes
from headwater.enumerators.kafka.split import ClusterView, KafkaPartitionSplit
from headwater.enumerators.kafka.time_index import KafkaTimeIndex


class KafkaLookup:
    """Asks the cluster for one enumerator.

    It remembers the list of partitions and the sizes for a while. It also remembers each first position that
    it has resolved: a partition that was found, but is not logged yet, must begin at the same offset the next
    time.

    Args:
        settings: of the lookup.
        clock: time.
    """

    def __init__(self, settings: LookupSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._cluster = Cluster(settings.client)
        self._list = PartitionList(self._cluster, settings, clock)
        self._record_sizes = RecordSizes(self._cluster, clock)
        self._new_topic_ids = NewTopicIds(accept=settings.accept_new_topic_ids)
        self._never = threading.Event()
        # They are many, and stay the same from look to look.
        self._tps_of = IdentityCache(_tps_of)
        self._new_among = IdentityCache(_new_among)
        self._known_starts: dict[KafkaPartitionSplit, int] = {}
        self._refused = False
        self._first_asked_ms: int | None = None
        self._reached = False

    def look(
        self,
        logged: Mapping[SplitPath, KafkaPartitionSplit],
        positions: Mapping[SplitPath, int],
        *,
        first: bool,
    ) -> ClusterView:
        """Return the partitions that are in sight now.

        Args:
            logged: the partitions of the checkpoint, those included that were out of sight.
            positions: how far each of these partitions has been read.
            first: whether nothing is logged yet. Then partitions begin where the options say; otherwise new
                ones begin at their earliest record.

        Raises:
            TransientSourceError: the cluster is away, or electing a leader; ask again.
            UnknownSplitError: a topic or partition that the user named does not exist.
            SourceError: any other error; asking again does not help.
        """
        try:
            return self._look(logged, positions, first=first)
        except TransientSourceError as error:
            if final := self._unreachable(error):
                raise final from None
            raise

    def time_index(self, *, needs_spans: bool) -> KafkaTimeIndex:
        """Return the index of times of this cluster; see `KafkaTimeIndex`."""
        return KafkaTimeIndex(self._cluster, needs_spans=needs_spans)

    def close(self) -> None:
        """Close all connections."""
        self._cluster.close()

    def _look(
        self,
        logged: Mapping[SplitPath, KafkaPartitionSplit],
        positions: Mapping[SplitPath, int],
        *,
        first: bool,
    ) -> ClusterView:
        splits = self._list.partitions(logged, first=first)
        self._reached = True
        if not splits:
            self._refused = False
            return ClusterView({}, {}, {}, cluster_id=self._list.cluster_id)
        try:
            view = self._measure(splits, logged, positions, first=first)
        except UnknownSplitError as error:
            self._list.expire()
            raise TransientSourceError(
                f"a partition has just gone: {error.message}", source="kafka"
            ) from error
        except AuthorizationError as error:
            # A topic that a pattern selects goes out of sight when the permission goes, and the list may be
            # older than that. So the first refusal asks for the list again.
            if self._refused or self._settings.subscription.topics is not None:
                raise
            self._refused = True
            self._list.expire()
            raise TransientSourceError(
                f"a permission has just gone: {error.message}", source="kafka"
            ) from error
        self._refused = False
        return view

    def _measure(
        self,
        splits: Mapping[SplitPath, KafkaPartitionSplit],
        logged: Mapping[SplitPath, KafkaPartitionSplit],
        positions: Mapping[SplitPath, int],
        *,
        first: bool,
    ) -> ClusterView:
        tps = self._tps_of(splits)
        accepted = self._new_topic_ids.accepted(logged, splits)
        # The starts are asked for before the heads: records may be written between the two requests, and a
        # start at "latest" must not lie after the head.
        new = self._new_among(splits, logged)
        if accepted:
            new = {path: split for path, split in new.items() if path not in accepted}
        starts = self._starts(new, first=first)
        heads = self._heads(tps)
        row_bytes = self._record_sizes.row_bytes(lambda: {tp: heads.get(path, 0) for path, tp in tps.items()})
        if self._settings.ending is not None:
            _check_order(splits, starts, heads, self._settings)
            return ClusterView(splits, starts, heads, row_bytes=row_bytes)
        reached = {**positions, **starts} if starts else positions
        # What is out of sight has no head.
        short = self._short(splits, reached, heads)
        # Only what is still to be read can be lost: a log that was read to its end is not asked.
        unread = {
            path: tps[path]
            for path, position in reached.items()
            if heads.get(path, 0) > position or path in accepted
        }
        earliest = {
            path: begins
            for path, begins in self._earliest(unread).items()
            if begins > reached[path] or path in accepted
        }
        lost = [path for path, begins in earliest.items() if begins > reached[path]]
        self._check_incarnations(logged, splits, [*short, *lost], first=first)
        return ClusterView(
            splits, starts, heads, short, row_bytes, earliest, self._list.cluster_id, frozenset(accepted)
        )

    def _heads(self, tps: Mapping[SplitPath, TopicPartition]) -> dict[SplitPath, int]:
        ending = self._settings.ending
        partitions = list(tps.values())
        if ending is not None:
            ending.check(partitions)
            offsets: Mapping[TopicPartition, int | None] = ending.resolve(self._cluster, partitions)
        else:
            offsets = self._cluster.list_offsets(dict.fromkeys(partitions, LATEST))
        return {path: offset for path, tp in tps.items() if (offset := offsets.get(tp)) is not None}

    def _earliest(self, tps: Mapping[SplitPath, TopicPartition]) -> dict[SplitPath, int]:
        """Return where the logs of these partitions begin.

        Asked after the ends: records removed meanwhile count.
        """
        offsets = self._cluster.list_offsets(dict.fromkeys(tps.values(), EARLIEST)) if tps else {}
        return {path: offset for path, tp in tps.items() if (offset := offsets.get(tp)) is not None}

    def _starts(self, new: Mapping[SplitPath, KafkaPartitionSplit], *, first: bool) -> dict[SplitPath, int]:
        self._known_starts = {
            split: start for split, start in self._known_starts.items() if new.get(split.path) == split
        }
        unresolved = {_tp(split): split for split in new.values() if split not in self._known_starts}
        if unresolved:
            if first:
                self._settings.starting.check([_tp(split) for split in new.values()])
                offsets: Mapping[TopicPartition, int | None] = self._settings.starting.resolve(
                    self._cluster, list(unresolved)
                )
            else:
                offsets = self._cluster.list_offsets(dict.fromkeys(unresolved, EARLIEST))
            self._known_starts.update(
                (unresolved[tp], offset) for tp, offset in offsets.items() if offset is not None
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
            path: head for path, position in reached.items() if (head := heads.get(path, position)) < position
        }
        for attempt in range(self._settings.num_retries + 1):
            if not ends:
                break
            if attempt:
                self._clock.wait(self._never, self._settings.retry_interval_ms)
            tps = {path: _tp(splits[path]) for path in ends}
            # With read_committed too it is the end of the log that counts: an open transaction is no loss.
            again = self._cluster.list_offsets(dict.fromkeys(tps.values(), LATEST), read_committed=False)
            ends = {
                path: end
                for path, tp in tps.items()
                if (end := again[tp]) is not None and end < reached[path]
            }
        return ends

    def _check_incarnations(
        self,
        logged: Mapping[SplitPath, KafkaPartitionSplit],
        splits: Mapping[SplitPath, KafkaPartitionSplit],
        suspects: Iterable[SplitPath],
        *,
        first: bool,
    ) -> None:
        """Look again if a topic that seems to have lost records has just been created anew.

        Offsets are asked for by name: those of the new incarnation must not be taken for the old one's, which
        is another loss, and counts once.
        """
        paths = set(suspects)
        if not paths or first:
            return
        self._list.expire()
        again = self._list.partitions(logged, first=first)
        if moved := sorted(path for path in paths if again.get(path) != splits[path]):
            raise TransientSourceError(
                f"topic {moved[0][0]!r} has just been deleted or created anew", source="kafka"
            )

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


def _tp(split: KafkaPartitionSplit) -> TopicPartition:
    return TopicPartition(split.topic, split.partition)


def _tps_of(splits: Mapping[SplitPath, KafkaPartitionSplit]) -> Mapping[SplitPath, TopicPartition]:
    """Return how the client names these partitions."""
    return {path: _tp(split) for path, split in splits.items()}


def _new_among(
    splits: Mapping[SplitPath, KafkaPartitionSplit], logged: Mapping[SplitPath, KafkaPartitionSplit]
) -> Mapping[SplitPath, KafkaPartitionSplit]:
    """Return the partitions that a checkpoint does not know, or knows of another incarnation of the topic."""
    return {path: split for path, split in splits.items() if not split.is_incarnation_of(logged.get(path))}


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

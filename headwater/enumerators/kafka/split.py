"""Partitions of one incarnation of a topic, ranges of them with open ends, and the result of a lookup."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TypeVar

from headwater.core.split import Split, SplitPath, SplitRange
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KafkaPartitionSplit(Split):
    """A partition as a split; its positions are Kafka offsets (ints).

    Attributes:
        topic: the topic's name.
        partition: the partition's number.
        topic_id: which incarnation of the topic is meant (KIP-516, a UUID in its usual text form); None if
            the brokers know no ids. A topic that was deleted and created anew has another id, and its offsets
            stand for other records.
    """

    topic: str
    partition: int
    topic_id: str | None = None

    @property
    def path(self) -> SplitPath:
        return (self.topic, str(self.partition))

    def is_incarnation_of(self, logged: KafkaPartitionSplit | None) -> bool:
        """Whether a partition that is found is the one that a checkpoint knows, if it knows one.

        Without topic ids (brokers older than Kafka 2.8) any partition of the same name is.
        """
        return logged is not None and (
            logged.topic_id == self.topic_id or logged.topic_id is None or self.topic_id is None
        )


@dataclass(frozen=True, slots=True)
class OpenRange(SplitRange[KafkaPartitionSplit, int]):
    """A range of a batch read, or a piece of one, which the user left open at its beginning, its end or both.

    An open end is bound when a task opens the range, as in Spark's own source
    (``KafkaBatchPartitionReader.resolveRange``): a DataFrame that is read again shows new records.
    Borders between pieces stay as they were planned. Of a range with an open beginning the split names no
    topic id: a topic that was created anew is read as it is.

    Attributes:
        from_earliest: whether the whole range begins at the earliest record; ``start`` is `EARLIEST` in its
            first piece.
        to_latest: whether the whole range ends at the latest record; ``stop`` is `LATEST` in its last piece.
    """

    from_earliest: bool
    to_latest: bool

    @property
    def shown_ends(self) -> tuple[str, str]:
        return (
            "earliest" if self.start == EARLIEST else str(self.start),
            "latest" if self.stop == LATEST else str(self.stop),
        )

    def bounds(self, earliest: int | None, latest: int | None) -> tuple[int, int]:
        """Return where to start and to stop, given where the log begins and ends now.

        A border between two pieces moves where the log now begins after it, or ends before it. So together
        the pieces of a range read the same as a single one would. The first is not before the second where
        nothing is left.

        Args:
            earliest: needed if ``from_earliest``.
            latest: needed if ``to_latest``.
        """
        start = self.start
        stop = self.stop
        if self.from_earliest:
            assert earliest is not None
            start = max(start, earliest)
        if self.to_latest:
            assert latest is not None
            stop = latest if stop == LATEST else min(stop, latest)
        return start, stop


@dataclass(frozen=True, slots=True)
class ClusterView:
    """Partitions and the borders of their logs, by path. Immutable.

    Attributes:
        splits: the partitions that are selected and in sight. Empty: all are out of sight, or none matches.
        starts: the first position of each partition that the checkpoint does not know.
        heads: the end of each partition.
        earliest: where the log begins, of each partition of which that is after the position that was
            reached, or the one at which reading was to begin; and of each in ``accepted``.
        short: the ends of the partitions whose log ends before the position that was reached, or before the
            one at which reading was to begin.
        row_bytes: the average bytes of a record, by topic.
        cluster_id: of the cluster that answered; None if it does not say.
        accepted: the partitions that go on at their positions though their topic has another id than in the
            checkpoint (``acceptNewTopicIds``).
    """

    splits: Mapping[SplitPath, KafkaPartitionSplit]
    starts: Mapping[SplitPath, int]
    heads: Mapping[SplitPath, int]
    short: Mapping[SplitPath, int] = field(default_factory=dict)
    row_bytes: Mapping[str, int] = field(default_factory=dict)
    earliest: Mapping[SplitPath, int] = field(default_factory=dict)
    cluster_id: str | None = None
    accepted: AbstractSet[SplitPath] = frozenset()

    def without(self, paths: AbstractSet[SplitPath]) -> ClusterView:
        """Return the same without some partitions: it does not call them new, lost or short either."""
        if not paths:
            return self

        def rest(of: Mapping[SplitPath, T]) -> dict[SplitPath, T]:
            return {path: value for path, value in of.items() if path not in paths}

        return replace(
            self,
            splits=rest(self.splits),
            starts=rest(self.starts),
            heads=rest(self.heads),
            short=rest(self.short),
            earliest=rest(self.earliest),
            accepted=self.accepted - paths,
        )

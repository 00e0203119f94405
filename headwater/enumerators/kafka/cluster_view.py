"""What one look at the cluster found."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from headwater.core.split import SplitPath
from headwater.enumerators.kafka.split import KafkaPartitionSplit


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

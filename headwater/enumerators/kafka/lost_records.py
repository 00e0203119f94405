"""Compares discovered partitions with the checkpoint: lost records, and topics of a mirrored cluster.

A mirrored cluster has topics with other ids than the checkpoint, which hold the same records.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.core.enumerator import Checkpoint
from headwater.core.errors import DataLossError
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.split import ClusterView, KafkaPartitionSplit

log = logger_of(__name__)


@dataclass(frozen=True, slots=True)
class LostRecords:
    """Records of one partition that are gone, or may be.

    Attributes:
        split: the partition.
        position: the next record that was to be read, or where reading was to begin.
        what: the event.
        first: the first offset that is gone.
        until: the first offset after those. The same as ``first`` where it is not known how many are gone.
    """

    split: KafkaPartitionSplit
    position: int
    what: str
    first: int
    until: int


@dataclass(frozen=True, slots=True)
class LoggedPartitions:
    """The partitions of a checkpoint, those included that it keeps while they are out of sight.

    Attributes:
        splits: the partitions, by path.
        positions: how far each has been read.
    """

    splits: Mapping[SplitPath, KafkaPartitionSplit]
    positions: Mapping[SplitPath, int]

    @staticmethod
    def of(checkpoint: Checkpoint[KafkaPartitionSplit, int] | None) -> LoggedPartitions:
        """Return the partitions of a checkpoint; none, as long as nothing is logged."""
        if checkpoint is None:
            return LoggedPartitions({}, {})
        kept_splits = checkpoint.kept
        if not kept_splits:
            return LoggedPartitions(checkpoint.splits, checkpoint.positions)
        return LoggedPartitions(
            {**checkpoint.splits, **{path: each.split for path, each in kept_splits.items()}},
            {**checkpoint.positions, **{path: each.position for path, each in kept_splits.items()}},
        )

    def without(self, paths: Collection[SplitPath]) -> LoggedPartitions:
        """Return the same without some partitions."""
        if not paths:
            return self
        left_out = set(paths)
        splits = {path: split for path, split in self.splits.items() if path not in left_out}
        return LoggedPartitions(splits, {path: self.positions[path] for path in splits})


def lost_records(
    view: ClusterView, logged: LoggedPartitions, last: ClusterView, topics: Collection[str]
) -> Iterator[LostRecords]:
    """Yield lost records, by path.

    Args:
        view: the result of the lookup.
        logged: the partitions of the checkpoint that the options select.
        last: the result of the lookup before: how long the log of a topic was that does not exist any more.
        topics: those that were read already, if there are partitions to begin with.
    """
    changed = {
        path
        for path, split in logged.splits.items()
        if (current := view.splits.get(path)) is not split and current != split
    }
    removed = {path for path, begins in view.earliest.items() if begins > logged.positions.get(path, begins)}
    incarnations = incarnations_of(view) if changed else {}
    for path in sorted(changed | removed | view.starts.keys() | view.short.keys()):
        split = logged.splits.get(path)
        if split is not None and path in changed and is_created_anew(split, incarnations):
            yield _created_anew(split, logged.positions[path], incarnations[split.topic], last)
        if path in view.short:
            yield _short(view, logged, path, last)
        elif path in view.starts:
            yield from _lost_beginning(view, path, is_due=path[0] in topics)
        elif path in removed:
            yield _removed(view.splits[path], logged.positions[path], view.earliest[path])


def incarnations_of(view: ClusterView) -> dict[str, KafkaPartitionSplit]:
    """Return for each topic in sight one of its partitions, which names the topic's present id."""
    return {split.topic: split for split in view.splits.values() if split.path not in view.accepted}


def is_created_anew(split: KafkaPartitionSplit, incarnations: Mapping[str, KafkaPartitionSplit]) -> bool:
    """Whether a partition's topic is in sight under another id, with this partition or without it.

    A mirror that was accepted is no other topic.
    """
    current = incarnations.get(split.topic)
    return current is not None and not current.is_incarnation_of(split)


def _created_anew(
    split: KafkaPartitionSplit, position: int, incarnation: KafkaPartitionSplit, last: ClusterView
) -> LostRecords:
    return LostRecords(
        split,
        position,
        f"the topic was deleted and created anew (its id is now {incarnation.topic_id})",
        position,
        _last_end(split, position, last),
    )


def _short(view: ClusterView, logged: LoggedPartitions, path: SplitPath, last: ClusterView) -> LostRecords:
    split = view.splits[path]
    position = view.starts.get(path, logged.positions.get(path, 0))
    what = (
        f"the log ends at offset {view.short[path]}: it was truncated, or created anew, "
        "or never reached where reading was to begin"
    )
    return LostRecords(split, position, what, position, _last_end(split, position, last))


def _lost_beginning(view: ClusterView, path: SplitPath, *, is_due: bool) -> Iterator[LostRecords]:
    """Yield the records that a partition without a position has lost before it was read.

    Args:
        view: the result of the lookup.
        path: the partition.
        is_due: whether its topic was read already: then all records of the partition were to be read. Of a
            topic that is new to the query only those are due that are there when it is found.
    """
    split = view.splits[path]
    start = view.starts[path]
    earliest = max(start, view.earliest.get(path, start))
    if is_due and earliest > 0:
        what = f"the partition was added, and its log begins at offset {earliest} instead of 0"
        yield LostRecords(split, 0, what, 0, earliest)
    elif earliest > start:
        yield _removed(split, start, earliest)


def _removed(split: KafkaPartitionSplit, position: int, earliest: int) -> LostRecords:
    what = f"the log now begins at offset {earliest}: retention or an administrator removed them"
    return LostRecords(split, position, what, position, earliest)


def _last_end(split: KafkaPartitionSplit, position: int, last: ClusterView) -> int:
    """Return where the log of a partition ended when it was seen last, in this run; else the position."""
    if last.splits.get(split.path) != split:
        return position
    return max(position, last.heads.get(split.path, position))


class NewTopicIds:
    """Accepts other topic ids (``acceptNewTopicIds``) for the partitions of a checkpoint, after one start.

    Each partition is judged when it is first seen after the start; topics deleted and created anew later in
    the same run are losses, as ever. One thread.

    Args:
        accept: whether the user set the option.
    """

    def __init__(self, *, accept: bool) -> None:
        self._accept = accept
        self._judged: dict[SplitPath, tuple[str | None, str | None]] = {}
        self._is_first = True

    def accepted(
        self,
        logged: Mapping[SplitPath, KafkaPartitionSplit],
        splits: Mapping[SplitPath, KafkaPartitionSplit],
    ) -> set[SplitPath]:
        """Return the partitions that go on at their positions, though their topic has another id.

        Args:
            logged: the partitions of the checkpoint.
            splits: those in sight.
        """
        if not self._accept:
            return set()
        for path in splits.keys() & logged.keys():
            # The checkpoint's id and the cluster's, as they were at the start: a plan that is not logged asks
            # the same question again.
            self._judged.setdefault(path, (logged[path].topic_id, splits[path].topic_id))
        accepted = {
            path
            for path in splits.keys() & logged.keys()
            if (ids := (logged[path].topic_id, splits[path].topic_id)) == self._judged[path]
            and None not in ids
            and ids[0] != ids[1]
        }
        if self._is_first and not accepted:
            log.warning(
                "acceptNewTopicIds is set, and no topic has another id than in the checkpoint: nothing had "
                "to be accepted. The option is for one start: remove it"
            )
        self._is_first = False
        return accepted


def accepted_topics(view: ClusterView, logged: LoggedPartitions) -> Iterator[str]:
    """Yield for each topic that was accepted that it goes on, with both ids.

    Raises:
        DataLossError: a position does not lie in the log. So the topic is no mirror that keeps offsets, and
            that is an error also with ``failOnDataLoss=false``.
    """
    topics = {}
    for path in sorted(view.accepted):
        split = view.splits[path]
        position = logged.positions[path]
        begins = view.earliest.get(path, 0)
        if path in view.short or position < begins:
            ends = view.short.get(path, view.heads.get(path))
            raise DataLossError(
                f"topic {split.topic!r}, partition {split.partition}: acceptNewTopicIds cannot go on at "
                f"offset {position}: the log begins at offset {begins} and ends at {ends}. Only a mirror "
                "that keeps the offsets of records can be gone over to",
                source="kafka",
                split=split.split_id,
                position=position,
            )
        topics[split.topic] = (
            f"acceptNewTopicIds: topic {split.topic!r} goes on at its positions; its id was "
            f"{logged.splits[path].topic_id} and is now {split.topic_id}"
        )
    yield from topics.values()


def logged_cluster_id(checkpoint: Checkpoint[Any, Any] | None) -> str | None:
    """Return which cluster the checkpoint was written on; None if it does not say."""
    state = checkpoint.state if checkpoint else None
    cluster_id = state.get("cluster_id") if isinstance(state, dict) else None
    return cluster_id if isinstance(cluster_id, str) else None


def other_cluster(logged: str | None, now: str | None) -> str | None:
    """Return that this is another cluster, if it is, in words."""
    if logged is None or now is None or logged == now:
        return None
    return f"this is another cluster than the checkpoint's ({logged} -> {now})"


def ways_out(lost: LostRecords, moved: str | None, view: ClusterView) -> str:
    """Return the ways out for a user who does not want a loss to be an error.

    Args:
        lost: the loss.
        moved: the result of `other_cluster`.
        view: the result of the lookup.
    """
    ways = "Set failOnDataLoss=false to go on with what is there, or start with a new checkpointLocation"
    current = view.splits.get(lost.split.path)
    if current is not None and current.topic_id == lost.split.topic_id:
        return ways
    mirror = moved[0].upper() + moved[1:] if moved else "If this is another cluster"
    return (
        f"{mirror}: a mirror that keeps offsets can be gone over to with acceptNewTopicIds=true, for one "
        f"start. {ways}"
    )

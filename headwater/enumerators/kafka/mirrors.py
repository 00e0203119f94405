"""Mirrored clusters: topics with other ids than in the checkpoint, which hold the same records."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from headwater.core.enumerator import Checkpoint
from headwater.core.errors import DataLossError
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.cluster_view import ClusterView
from headwater.enumerators.kafka.lost_records import Known, LostRecords
from headwater.enumerators.kafka.split import KafkaPartitionSplit

log = logging.getLogger(__name__)


class NewTopicIds:
    """Accepts other topic ids (``acceptNewTopicIds``) for the partitions of a checkpoint, after one start.

    Each partition is judged when it is first seen after the start; what is deleted and created anew later in
    the same run is a loss, as ever. One thread.

    Args:
        accept: whether the user set the option.
    """

    def __init__(self, *, accept: bool) -> None:
        self._accept = accept
        self._judged: dict[SplitPath, tuple[str | None, str | None]] = {}
        self._is_first = True

    def accepted(
        self,
        known: Mapping[SplitPath, KafkaPartitionSplit],
        splits: Mapping[SplitPath, KafkaPartitionSplit],
    ) -> set[SplitPath]:
        """Return the partitions that go on at their positions, though their topic has another id.

        Args:
            known: what the checkpoint holds.
            splits: what is in sight.
        """
        if not self._accept:
            return set()
        for path in splits.keys() & known.keys():
            # The checkpoint's id and the cluster's, as they were at the start: a plan that is not logged asks
            # the same question again.
            self._judged.setdefault(path, (known[path].topic_id, splits[path].topic_id))
        accepted = {
            path
            for path in splits.keys() & known.keys()
            if (ids := (known[path].topic_id, splits[path].topic_id)) == self._judged[path]
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


def accepted_topics(view: ClusterView, known: Known) -> Iterator[str]:
    """Yield for each topic that was accepted that it goes on, with both ids.

    Raises:
        DataLossError: a position does not lie in the log. So the topic is no mirror that keeps offsets, and
            that is an error also with ``failOnDataLoss=false``.
    """
    topics = {}
    for path in sorted(view.accepted):
        split = view.splits[path]
        position = known.positions[path]
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
            f"{known.splits[path].topic_id} and is now {split.topic_id}"
        )
    yield from topics.values()


def logged_cluster_id(checkpoint: Checkpoint[Any, Any] | None) -> str | None:
    """Return which cluster the checkpoint was written on; None if it does not say."""
    state = checkpoint.state if checkpoint else None
    found = state.get("cluster_id") if isinstance(state, dict) else None
    return found if isinstance(found, str) else None


def other_cluster(before: str | None, now: str | None) -> str | None:
    """Return that this is another cluster, if it is, in words."""
    if before is None or now is None or before == now:
        return None
    return f"this is another cluster than the checkpoint's ({before} -> {now})"


def ways_out(lost: LostRecords, moved: str | None, view: ClusterView) -> str:
    """Return what a user can do who does not want a loss to be an error.

    Args:
        lost: what is lost.
        moved: what `other_cluster` said.
        view: what is in sight.
    """
    ways = "Set failOnDataLoss=false to go on with what is there, or start with a new checkpointLocation"
    found = view.splits.get(lost.split.path)
    if found is not None and found.topic_id == lost.split.topic_id:
        return ways
    mirror = moved[0].upper() + moved[1:] if moved else "If this is another cluster"
    return (
        f"{mirror}: a mirror that keeps offsets can be gone over to with acceptNewTopicIds=true, for one "
        f"start. {ways}"
    )

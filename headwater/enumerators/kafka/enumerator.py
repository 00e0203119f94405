"""Kafka's split enumerator: a partition is a split, its offsets are the positions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headwater.core.clock import SystemClock
from headwater.core.enumerator import (
    Checkpoint,
    PlannedSplitEnumerator,
    PlannedSplitEnumeratorContext,
    SplitRequest,
)
from headwater.core.errors import DataLossError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.planned_source import DEFAULT_ROW_BYTES
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.enumerators.event_time.time_index import AlignmentSettings
from headwater.enumerators.kafka.group_committer import GroupCommitter
from headwater.enumerators.kafka.lookup import KafkaLookup
from headwater.enumerators.kafka.lookup_settings import LookupSettings
from headwater.enumerators.kafka.lost_records import (
    LoggedPartitions,
    LostRecords,
    accepted_topics,
    incarnations_of,
    is_created_anew,
    logged_cluster_id,
    lost_records,
    other_cluster,
    ways_out,
)
from headwater.enumerators.kafka.split import ClusterView, KafkaPartitionSplit

if TYPE_CHECKING:
    # It needs NumPy, which takes a while to load.
    from headwater.enumerators.event_time.alignment import EventTimeAlignment

log = logger_of(__name__)
_MOST_WARNINGS: Final = 1_000


class KafkaSplitEnumerator(PlannedSplitEnumerator[KafkaPartitionSplit, int]):
    """Finds partitions and their ends.

    It works as Flink's ``KafkaSourceEnumerator``; data loss is defined as in Spark's
    ``KafkaMicroBatchStream``.

    The life of a partition:

    1. As long as nothing is logged, a partition begins where ``startingOffsets`` and the options like it say.
       The first offset logs these positions, even if the batch is empty.
    2. A partition that is found later begins at its earliest record, also if the options say something else:
       nothing that was written to it may be missed. If its topic was read already, all its records are
       due: that its log begins above 0 is data loss. That of a topic that is new to the query may begin
       anywhere, with a warning.
    3. A partition that is not seen any more is out of sight: it was deleted, or the user lost a permission,
       or a broker knows only a part of the cluster. Its position stays.

       * All are out of sight: nothing changes, and a warning comes once a minute.
       * Some are: an error with ``failOnDataLoss``; a restart goes on when they are back. Otherwise a
         warning, and the offset keeps their positions (`PlannedSplitEnumeratorContext.keep_splits`).
       * It is back with the same topic id: it goes on at its position, however long it was away.
    4. A partition that is no longer subscribed, because the options changed, leaves. If it is subscribed
       again, it counts as found later.
    5. It is data loss if the topic was created anew (another topic id), if the log begins after the position
       that was reached, or if it ends before. That is an error with ``failOnDataLoss``. Otherwise there is a
       warning, the offset counts the records that are known to be gone, and the partition begins anew, or
       goes on where the log begins or ends.
    6. With ``acceptNewTopicIds`` another topic id at the start of a run is a mirror of the topic: the
       partition goes on at its position, which must lie in the log.

    Args:
        context: the coordinator's; splits are assigned and retired through it.
        settings: of the lookup.
        fail_on_data_loss: whether data loss is an error.
        alignment: by event time (``maxEventTimeSkew``); None for none.
        state: the result of `snapshot_state` when the checkpoint was planned; None for none.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[KafkaPartitionSplit, int],
        settings: LookupSettings,
        *,
        fail_on_data_loss: bool,
        alignment: AlignmentSettings | None = None,
        state: JsonValue = None,
    ) -> None:
        self._context = context
        self._settings = settings
        self._fail_on_data_loss = fail_on_data_loss
        self._lookup = KafkaLookup(settings, SystemClock())
        self._view = ClusterView({}, {}, {})
        self._found: Collection[SplitPath] = ()
        self._warned: set[str] = set()
        self._alignment = self._aligned(alignment, state) if alignment is not None else None
        group = settings.commit_to_group
        self._committer = GroupCommitter(settings.client, group) if group is not None else None

    def start(self) -> None:
        """Nothing to do: the first look opens the connections."""

    def refresh(self, checkpoint: Checkpoint[KafkaPartitionSplit, int] | None) -> None:
        logged = LoggedPartitions.of(checkpoint)
        ended = checkpoint.ended if checkpoint is not None else frozenset[SplitPath]()
        # Those that ended at a record are known, and nothing of them can be lost any more.
        unended = logged.without(ended)
        if self._alignment is not None:
            self._alignment.begin_round(checkpoint.state if checkpoint is not None else None)
        self._context.call_async(
            lambda: self._lookup.look(logged.splits, unended.positions, first=checkpoint is None),
            lambda view: self._handle(view, unended, checkpoint),
            what="partitions and offsets of Kafka",
        )

    def handle_split_request(self, request: SplitRequest) -> None:
        if self._alignment is not None:
            self._alignment.handle_split_request(request, self._view.heads, self._found)

    def heads(self) -> Mapping[SplitPath, int]:
        return self._view.heads

    def bounds(self) -> Mapping[SplitPath, int] | None:
        return None if self._alignment is None else self._alignment.bounds

    def fronts_ms(self) -> Mapping[SplitPath, int]:
        return {} if self._alignment is None else self._alignment.fronts_ms

    def snapshot_state(self) -> JsonValue:
        """Return the id of the cluster and the sizes of records, as far as known, and the alignment's."""
        state: JsonObject = {} if self._alignment is None else self._alignment.snapshot()
        if self._view.cluster_id is not None:
            state["cluster_id"] = self._view.cluster_id
        if self._view.row_bytes:
            state["row_bytes"] = dict(self._view.row_bytes)
        return state or None

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[KafkaPartitionSplit, int]) -> None:
        if self._committer is not None:
            self._committer.commit(checkpoint.positions)

    def notify_end_of_input(self) -> None:
        if self._committer is not None:
            # The process is about to end, and the thread that commits with it.
            self._context.call_async(
                self._committer.flush, lambda _: None, what="last positions of the consumer group"
            )

    def close(self) -> None:
        if self._committer is not None:
            self._committer.close()
        self._lookup.close()

    def _aligned(self, settings: AlignmentSettings, state: JsonValue) -> EventTimeAlignment:
        from headwater.enumerators.event_time.alignment import EventTimeAlignment

        return EventTimeAlignment(
            self._context,
            settings,
            self._lookup.time_index(needs_spans=settings.idle_timeout_ms is not None),
            lambda path: self._view.row_bytes.get(path[0], DEFAULT_ROW_BYTES),
            source="kafka",
            state=state,
        )

    def _handle(
        self,
        view: ClusterView,
        logged: LoggedPartitions,
        checkpoint: Checkpoint[KafkaPartitionSplit, int] | None,
    ) -> None:
        last = self._view
        self._found = ()
        # Those that ended at a record count here: where one is in sight, others that are not are missing.
        sees_some = bool(view.splits)
        if checkpoint is not None:
            view = view.without(checkpoint.ended)
        logged_cluster = logged_cluster_id(checkpoint)
        selects = self._settings.subscription.selects
        missing = sorted(logged.splits.keys() - view.splits.keys())
        deselected = [path for path in missing if not selects(path[0], int(path[1]))]
        self._context.retire_splits(deselected, "it is no longer subscribed")
        if not sees_some:
            # All are out of sight: no change. What the look before measured stays, too.
            cluster_id = view.cluster_id if logged_cluster is None else logged_cluster
            self._view = replace(view, row_bytes=last.row_bytes, cluster_id=cluster_id)
            return
        self._view = view
        moved = other_cluster(logged_cluster, view.cluster_id)
        self._warn_once(moved)
        for accepted in accepted_topics(view, logged):
            self._warn_once(f"{accepted}; {moved or f'the cluster is {view.cluster_id}'}")
        logged = logged.without(deselected)
        topics = self._known_topics(logged, checkpoint) if view.starts else set[str]()
        for lost in lost_records(view, logged, last, topics):
            self._lost(lost, ways_out(lost, moved, view))
        if checkpoint is not None:
            self._note_aged_topics(view, topics)
        live = checkpoint.splits if checkpoint else {}
        self._assign(view, logged, live)
        self._settle_missing([path for path in missing if path in logged.splits], view, logged, live)

    def _assign(
        self, view: ClusterView, logged: LoggedPartitions, live: Mapping[SplitPath, KafkaPartitionSplit]
    ) -> None:
        """Hand over splits that are new, back, defined anew, or go on elsewhere."""
        # Back from being out of sight, or mirrored, or known without a topic id (from Spark's own source, or
        # from brokers that had none): the position is as it was, and the definition is that of now.
        resumed = {
            path: (split, logged.positions[path])
            for path, split in view.splits.items()
            if (alive := live.get(path)) is not split
            and path in logged.splits
            and (alive is None or (split.topic_id is not None and alive != split))
        }
        starts = {path: (view.splits[path], start) for path, start in view.starts.items()}
        if live:
            self._found = [*starts, *(path for path in resumed if path not in live)]
        begins = {
            path: (view.splits[path], earliest)
            for path, earliest in view.earliest.items()
            if earliest > view.starts.get(path, logged.positions.get(path, earliest))
        }
        short = {path: (view.splits[path], end) for path, end in view.short.items()}
        self._context.assign_splits(resumed | starts | begins | short)

    def _settle_missing(
        self,
        missing: Sequence[SplitPath],
        view: ClusterView,
        logged: LoggedPartitions,
        live: Mapping[SplitPath, KafkaPartitionSplit],
    ) -> None:
        """Retire splits that cannot come back. Set aside those out of sight, or fail for them."""
        if not missing:
            return
        incarnations = incarnations_of(view)
        recreated = {path for path in missing if is_created_anew(logged.splits[path], incarnations)}
        self._context.retire_splits(sorted(recreated), "the topic was created anew without it")
        away = [path for path in missing if path not in recreated]
        lost_sight = [path for path in away if path in live]
        if lost_sight and self._fail_on_data_loss:
            first = logged.splits[lost_sight[0]]
            raise DataLossError(
                f"{_not_in_sight(lost_sight)}. A restart goes on at their positions when they are back. "
                "Set failOnDataLoss=false to go on without them meanwhile, deselect them by option, "
                "or start with a new checkpointLocation",
                source="kafka",
                split=first.split_id,
                position=logged.positions[first.path],
            )
        if away:
            self._warn_once(f"{_not_in_sight(away)}; going on without them, their positions are kept")
        self._context.keep_splits(lost_sight, "it is not in sight")

    def _known_topics(
        self, logged: LoggedPartitions, checkpoint: Checkpoint[KafkaPartitionSplit, int] | None
    ) -> set[str]:
        """Return the topics that were read already, those included whose partitions have all ended."""
        selects = self._settings.subscription.selects
        ended = checkpoint.ended if checkpoint is not None else ()
        topics = {split.topic for split in logged.splits.values()}
        return topics | {topic for topic, partition in ended if selects(topic, int(partition))}

    def _note_aged_topics(self, view: ClusterView, topics: Collection[str]) -> None:
        """Say of topics that are new to a running query that their first records were gone already."""
        for path, start in sorted(view.starts.items()):
            if path[0] not in topics and start > 0:
                self._warn_once(
                    f"topic {path[0]!r}, partition {path[1]}: the topic is new to this query, and its log "
                    f"begins at offset {start} instead of 0: reading begins there"
                )

    def _lost(self, lost: LostRecords, ways_out: str) -> None:
        """Fail, or warn and count, as ``failOnDataLoss`` says."""
        split = lost.split
        what = f"topic {split.topic!r}, partition {split.partition}"
        if lost.first < lost.until:
            what += f", offsets {lost.first} to {lost.until - 1} were lost: {lost.what}"
        else:
            what += f", offset {lost.position}: {lost.what}; records may have been lost"
        if self._fail_on_data_loss:
            raise DataLossError(
                f"{what}. {ways_out}", source="kafka", split=split.split_id, position=lost.position
            )
        self._warn_once(f"{what}; going on")
        self._context.report_losses({split.path: (lost.first, lost.until)})

    def _warn_once(self, what: str | None) -> None:
        """Warn, and not again for as long as this process looks and says the same."""
        if what is None or what in self._warned:
            return
        if len(self._warned) >= _MOST_WARNINGS:
            self._warned.clear()
        self._warned.add(what)
        log.warning("%s", what)


def _not_in_sight(paths: Sequence[SplitPath]) -> str:
    examples = ", ".join("-".join(path) for path in paths[:5]) + (", ..." if len(paths) > 5 else "")
    return (
        f"partitions that this query reads are not in sight ({len(paths)}: {examples}): they were deleted, "
        "or this user may not see them"
    )

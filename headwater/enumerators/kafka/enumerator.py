"""Kafka's split enumerator: a partition is a split, its offsets are the positions."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from headwater.core.clock import Clock, SystemClock
from headwater.core.enumerator import Checkpoint, PlannedSplitEnumerator, PlannedSplitEnumeratorContext
from headwater.core.errors import DataLossError
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.lookup import ClusterView, KafkaLookup
from headwater.enumerators.kafka.lookup_settings import LookupSettings
from headwater.enumerators.kafka.split import KafkaPartitionSplit

log = logging.getLogger(__name__)


class KafkaSplitEnumerator(PlannedSplitEnumerator[KafkaPartitionSplit, int]):
    """Finds partitions and their ends.

    It does what Flink's ``KafkaSourceEnumerator`` does; what counts as data loss is that of Spark's
    ``KafkaMicroBatchStream``.

    The life of a partition:

    1. As long as nothing is logged, a partition begins where ``startingOffsets`` and the options like it say.
       The first offset logs these positions, even if the batch is empty.
    2. A partition that is found later begins at its earliest record, also if the options say something else:
       nothing that was written to it may be missed.
    3. A partition that is no longer subscribed, because the options changed, leaves. If it is subscribed
       again, it counts as found later.
    4. It is data loss if the topic was deleted, or deleted and created anew (another topic id), or if the log
       ends before the position that was reached. That is an error with ``failOnDataLoss``. Otherwise there is
       a warning, and the partition leaves, begins anew, or goes on at its end.

    Args:
        context: the coordinator's; splits are assigned and retired through it.
        settings: what to look for.
        fail_on_data_loss: whether data loss is an error.
        clock: time.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[KafkaPartitionSplit, int],
        settings: LookupSettings,
        *,
        fail_on_data_loss: bool,
        clock: Clock | None = None,
    ) -> None:
        self._context = context
        self._settings = settings
        self._fail_on_data_loss = fail_on_data_loss
        self._lookup = KafkaLookup(settings, clock or SystemClock())
        self._view = ClusterView({}, {}, {})

    def start(self) -> None:
        """Nothing to do: the first look opens the connections."""

    def refresh(self, checkpoint: Checkpoint[KafkaPartitionSplit, int] | None) -> None:
        known = dict(checkpoint.splits) if checkpoint else {}
        positions = dict(checkpoint.positions) if checkpoint else {}
        self._context.call_async(
            lambda: self._lookup.look(known, positions, first=checkpoint is None),
            lambda view: self._handle(view, known, positions),
            what="partitions and offsets of Kafka",
        )

    def heads(self) -> Mapping[SplitPath, int]:
        return self._view.heads

    def snapshot_state(self) -> JsonValue:
        return {"row_bytes": dict(self._view.row_bytes)} if self._view.row_bytes else None

    def close(self) -> None:
        self._lookup.close()

    def _handle(
        self,
        view: ClusterView,
        known: Mapping[SplitPath, KafkaPartitionSplit],
        positions: Mapping[SplitPath, int],
    ) -> None:
        self._view = view
        for path in sorted(view.starts.keys() & known.keys()):
            self._lost(
                known[path],
                positions[path],
                f"the topic was deleted and created anew (its id is now {view.splits[path].topic_id})",
            )
        for path, end in view.short.items():
            what = (
                f"the log ends at offset {end}: it was truncated, or created anew, "
                "or never reached where reading was to begin"
            )
            self._lost(view.splits[path], view.starts.get(path, positions.get(path)), what)
        self._retire(known.keys() - view.splits.keys(), known, positions)
        # A checkpoint without topic ids (of Spark's own source, or from brokers that had none) learns them.
        learned = {
            path: (view.splits[path], positions[path])
            for path, split in known.items()
            if split.topic_id is None and path in view.splits and view.splits[path].topic_id is not None
        }
        starts = {path: (view.splits[path], start) for path, start in view.starts.items()}
        short = {path: (view.splits[path], end) for path, end in view.short.items()}
        self._context.assign_splits(learned | starts | short)

    def _retire(
        self,
        gone: set[SplitPath],
        known: Mapping[SplitPath, KafkaPartitionSplit],
        positions: Mapping[SplitPath, int],
    ) -> None:
        selects = self._settings.subscription.selects
        deleted = [path for path in sorted(gone) if selects(known[path].topic, known[path].partition)]
        for path in deleted:
            self._lost(known[path], positions[path], "the topic or partition was deleted")
        self._context.retire_splits(deleted, "the topic or partition was deleted")
        self._context.retire_splits(sorted(gone.difference(deleted)), "it is no longer subscribed")

    def _lost(self, split: KafkaPartitionSplit, position: int | None, what: str) -> None:
        """Fail or warn, as ``failOnDataLoss`` says."""
        if self._fail_on_data_loss:
            raise DataLossError(
                f"topic {split.topic!r}, partition {split.partition}: {what}; records may have been lost. "
                "Set failOnDataLoss=false to go on with what is there, "
                "or start with a new checkpointLocation",
                source="kafka",
                split=split.split_id,
                position=position,
            )
        log.warning(
            "topic %r, partition %d, offset %s: %s; going on, records may have been lost",
            split.topic,
            split.partition,
            position,
            what,
        )

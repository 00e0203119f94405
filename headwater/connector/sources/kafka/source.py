"""The Kafka source: joins the enumerator, the reader and the emitter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from headwater.connector.formats.session_settings import with_session_zone
from headwater.connector.sources.kafka.split_serializer import KafkaSplitSerializer, spark_starts
from headwater.connector.sources.shipped import ShippedSource
from headwater.core.emitter import RecordEmitter
from headwater.core.end_condition import end_condition
from headwater.core.enumerator import Checkpoint, PlannedSplitEnumerator, PlannedSplitEnumeratorContext
from headwater.core.errors import OptionError
from headwater.core.imports import importing
from headwater.core.jsons import JsonValue, dumps
from headwater.core.planned_source import DEFAULT_ROW_BYTES, PartEnd, PlannedSource
from headwater.core.reader import SplitReader
from headwater.core.source import Boundedness
from headwater.core.split import SplitPath, SplitRange
from headwater.enumerators.event_time.time_index import AlignmentSettings
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST, TopicPartition
from headwater.enumerators.kafka.lookup_settings import LookupSettings, TopicPattern
from headwater.enumerators.kafka.offsets_initializer import AtTimestamp, OffsetsInitializer
from headwater.enumerators.kafka.split import KafkaPartitionSplit, OpenRange
from headwater.readers.formats.bad_records import BadRecordsLocation, block_start
from headwater.readers.formats.format import DecodedPart
from headwater.readers.kafka.settings import KafkaReadSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.kafka.record_set import RecordSet

_NEEDED_FOR = "the kafka source"


@dataclass(frozen=True, kw_only=True)
class KafkaSource(ShippedSource, KafkaSplitSerializer, PlannedSource["RecordSet", KafkaPartitionSplit, int]):
    """Partitions as splits, offsets as positions, Spark's Kafka schema as rows.

    Attributes:
        lookup: how to reach the cluster, which topics, from where to where.
        columns: which columns, in which order.
        parts: ``key``, ``value`` or both, if a format decodes them.
        fields: of these, as in the checkpoint (`logged_schema`).
        bad_records: where records go that cannot be decoded.
        schema_evolution: whether a query may go on with other fields than its checkpoint says.
        reading: how tasks read.
        alignment: of batches by event time; None for none.
        mode: a batch or a stream.
    """

    shipped: ClassVar[str] = "kafka"

    lookup: LookupSettings
    columns: tuple[str, ...]
    parts: Mapping[str, DecodedPart]
    fields: JsonValue
    bad_records: BadRecordsLocation | None
    schema_evolution: bool
    reading: KafkaReadSettings
    alignment: AlignmentSettings | None
    mode: Boundedness

    @property
    def boundedness(self) -> Boundedness:
        return self.mode

    def schema(self) -> pa.Schema:
        from headwater.readers.kafka.columns import row_schema

        return row_schema(self.columns, self.parts)

    @property
    def logged_schema(self) -> JsonValue:
        return self.fields

    @property
    def reads(self) -> str:
        subscription = self.lookup.subscription
        if isinstance(subscription, TopicPattern):
            return f"topics like {subscription.pattern}"
        return ", ".join(subscription.topics or ())

    @property
    def time_column(self) -> str | None:
        return "timestamp" if "timestamp" in self.columns else None

    @property
    def takes_other_schemas(self) -> bool:
        return self.schema_evolution

    @property
    def forgets_kept_splits(self) -> bool:
        return not self.reading.fail_on_data_loss

    def begin_after(self, end: PartEnd) -> KafkaSource:
        if end.positions is not None:
            starting = OffsetsInitializer(
                end.option,
                partitions={
                    TopicPartition(topic or self._only_topic(end.option), int(partition)): offset
                    for topic, offsets in end.positions.items()
                    for partition, offset in offsets.items()
                },
                # A partition without history is read whole.
                everywhere=EARLIEST,
                is_seam=True,
            )
        elif end.time_ms is not None:
            starting = OffsetsInitializer(
                end.option, AtTimestamp(end.time_ms), no_match="latest", is_seam=True
            )
        else:
            return self
        return replace(self, lookup=replace(self.lookup, starting=starting))

    def _only_topic(self, option: str) -> str:
        topics = self.lookup.subscription.topics
        if topics is None or len(topics) != 1:
            raise OptionError(
                "the part before has no column `topic`, and several topics are read: say where each begins, "
                "as JSON",
                option=option,
            )
        return next(iter(topics))

    def create_enumerator(
        self, context: PlannedSplitEnumeratorContext[KafkaPartitionSplit, int]
    ) -> PlannedSplitEnumerator[KafkaPartitionSplit, int]:
        return self._enumerator(context, None)

    def restore_enumerator(
        self,
        context: PlannedSplitEnumeratorContext[KafkaPartitionSplit, int],
        checkpoint: Checkpoint[KafkaPartitionSplit, int],
    ) -> PlannedSplitEnumerator[KafkaPartitionSplit, int]:
        """All but the alignment by event time is in the positions."""
        return self._enumerator(context, checkpoint.state)

    def create_reader(self) -> SplitReader[RecordSet, KafkaPartitionSplit, int]:
        with importing(_NEEDED_FOR, extra="kafka"):
            from headwater.readers.kafka.split_reader import KafkaSplitReader
        return KafkaSplitReader(self.lookup.client, self.reading)

    def create_emitter(self) -> RecordEmitter[RecordSet, KafkaPartitionSplit, int]:
        with importing(_NEEDED_FOR, extra="kafka"):
            from headwater.readers.kafka.emitter import KafkaRecordEmitter
        parts = {name: with_session_zone(part) for name, part in self.parts.items()}
        condition = self.reading.stop_at
        check_crcs = self.lookup.client.check_crcs
        rows = KafkaRecordEmitter(
            self.columns,
            parts=parts,
            bad_records=self.bad_records,
            # Once: bytes that are damaged must not look like an end either.
            check_crcs=check_crcs and condition is None,
            settings=self.reading,
        )
        if condition is None:
            return rows
        from headwater.readers.kafka.ending_emitter import EndingEmitter, parts_to_look_at

        columns, seen = parts_to_look_at(condition, parts)
        finder = KafkaRecordEmitter(
            columns, parts=seen, check_crcs=check_crcs, settings=self.reading, counts_bad=False
        )
        return EndingEmitter(rows, finder, condition)

    @property
    def end_condition(self) -> JsonValue:
        return self.reading.stop_at.to_json() if self.reading.stop_at is not None else None

    def ending_at(self, condition: JsonValue) -> KafkaSource:
        if condition == self.end_condition:
            return self
        stop_at = None if condition is None else end_condition(dumps(condition))
        return replace(self, reading=replace(self.reading, stop_at=stop_at))

    def _enumerator(
        self, context: PlannedSplitEnumeratorContext[KafkaPartitionSplit, int], state: JsonValue
    ) -> PlannedSplitEnumerator[KafkaPartitionSplit, int]:
        with importing(_NEEDED_FOR, extra="kafka"):
            from headwater.enumerators.kafka.enumerator import KafkaSplitEnumerator
        return KafkaSplitEnumerator(
            context,
            self.lookup,
            fail_on_data_loss=self.reading.fail_on_data_loss,
            alignment=self.alignment,
            state=state,
        )

    def adopted_starts(
        self, before: Mapping[SplitPath, int], after: Mapping[SplitPath, int]
    ) -> Mapping[SplitPath, int]:
        return spark_starts(before, after, fail_on_data_loss=self.reading.fail_on_data_loss)

    def row_bytes(self, split: KafkaPartitionSplit, state: JsonValue) -> int:
        sizes = state.get("row_bytes", {}) if isinstance(state, dict) else {}
        size = sizes.get(split.topic) if isinstance(sizes, dict) else None
        return size if isinstance(size, int) else DEFAULT_ROW_BYTES

    def leave_open(
        self, piece: SplitRange[KafkaPartitionSplit, int], whole: SplitRange[KafkaPartitionSplit, int]
    ) -> SplitRange[KafkaPartitionSplit, int]:
        """The beginning is open where it is earliest, the end where it is latest, as in Spark's source.

        Only offsets and timestamps that the user gave are fixed when a batch is planned.
        """
        split = whole.split
        tp = TopicPartition(split.topic, split.partition)
        from_earliest = self.lookup.starting.leaves_open(tp, EARLIEST)
        to_latest = self.lookup.ending is not None and self.lookup.ending.leaves_open(tp, LATEST)
        if not from_earliest and not to_latest:
            return piece
        return OpenRange(
            replace(split, topic_id=None) if from_earliest else split,
            EARLIEST if from_earliest and piece.start == whole.start else piece.start,
            LATEST if to_latest and piece.stop == whole.stop else piece.stop,
            from_earliest,
            to_latest,
        )

    def rows_between(self, start: int, stop: int) -> int:
        return max(0, stop - start)

    def position_after(self, start: int, rows: int, stop: int) -> int:
        return min(start + rows, stop)

    def cut(
        self, whole: SplitRange[KafkaPartitionSplit, int], pieces: int
    ) -> Sequence[SplitRange[KafkaPartitionSplit, int]]:
        """Where bad records go to files, cut between the blocks of these only: see `BadRecordFiles`."""
        cut = super().cut(whole, pieces)
        if self.bad_records is None or len(cut) == 1:
            return cut
        inner = {block_start(piece.start) for piece in cut}
        borders = sorted({whole.start, whole.stop, *(at for at in inner if at > whole.start)})
        return [SplitRange(whole.split, start, stop) for start, stop in pairwise(borders)]

"""The Kafka source: joins the enumerator, the reader and the emitter, made from Spark's own Kafka options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from pyspark.sql.types import StructType

from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.planning import PlanningHints, default_parallelism
from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.connector.sources.kafka.columns import KAFKA_TYPE
from headwater.connector.sources.kafka.options import (
    KAFKA_OPTIONS,
    ending_offsets,
    starting_offsets,
    subscription,
)
from headwater.core.emitter import RecordEmitter
from headwater.core.enumerator import Checkpoint, SplitEnumeratorContext
from headwater.core.errors import OffsetError, OptionError
from headwater.core.imports import importing, require
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.planned_enumerator import PlannedSplitEnumerator
from headwater.core.planned_source import DEFAULT_ROW_BYTES, PlannedSource
from headwater.core.reader import SplitReader
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.split import Path
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.lookup_settings import LookupSettings
from headwater.enumerators.kafka.split import KafkaPartitionSplit

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.kafka.record_set import RecordSet

__all__ = ["KafkaSource", "configure_kafka"]

_NEEDED_FOR = "the kafka source"


@dataclass(frozen=True)
class KafkaSource(PlannedSource["RecordSet", KafkaPartitionSplit, int]):
    """Partitions as splits, offsets as positions, Spark's Kafka schema as rows.

    Attributes:
        lookup: how to reach the cluster, what to read, from where to where.
        columns: which columns, in which order.
        fail_on_data_loss: whether records that are gone are an error.
        poll_timeout_ms: how long a task waits without progress.
        mode: a batch or a stream.
    """

    name: ClassVar[str] = "kafka"
    path_depth: ClassVar[int] = 2

    lookup: LookupSettings
    columns: tuple[str, ...]
    fail_on_data_loss: bool
    poll_timeout_ms: int
    mode: Boundedness

    @property
    def boundedness(self) -> Boundedness:
        return self.mode

    def schema(self) -> pa.Schema:
        from headwater.readers.kafka.columns import kafka_schema

        return kafka_schema(self.columns)

    def create_enumerator(
        self, context: SplitEnumeratorContext[KafkaPartitionSplit, int]
    ) -> PlannedSplitEnumerator[KafkaPartitionSplit, int]:
        with importing(_NEEDED_FOR, extra="kafka"):
            from headwater.enumerators.kafka.enumerator import KafkaSplitEnumerator
        return KafkaSplitEnumerator(context, self.lookup, fail_on_data_loss=self.fail_on_data_loss)

    def restore_enumerator(
        self,
        context: SplitEnumeratorContext[KafkaPartitionSplit, int],
        checkpoint: Checkpoint[KafkaPartitionSplit, int],
    ) -> PlannedSplitEnumerator[KafkaPartitionSplit, int]:
        """Everything that counts is in the positions.

        A restored enumerator is a new one that is shown a checkpoint.
        """
        return self.create_enumerator(context)

    def create_reader(self) -> SplitReader[RecordSet, KafkaPartitionSplit, int]:
        with importing(_NEEDED_FOR, extra="kafka"):
            from headwater.readers.kafka.split_reader import KafkaSplitReader
        return KafkaSplitReader(
            self.lookup.client, poll_timeout_ms=self.poll_timeout_ms, fail_on_data_loss=self.fail_on_data_loss
        )

    def create_emitter(self) -> RecordEmitter[RecordSet, KafkaPartitionSplit, int]:
        with importing(_NEEDED_FOR, extra="kafka"):
            from headwater.readers.kafka.emitter import KafkaRecordEmitter
        return KafkaRecordEmitter(self.columns, check_crcs=self.lookup.client.check_crcs)

    def serialize_splits(self, splits: Iterable[KafkaPartitionSplit]) -> JsonValue:
        """The topic ids, once a topic: ``{"orders": "5nhXWqzYQlaLqVKmQZcaTA"}``.

        Topic and partition stand in the path.
        """
        return {split.topic: split.topic_id for split in splits}

    def deserialize_splits(
        self, paths: Iterable[Path], definitions: JsonValue
    ) -> Mapping[Path, KafkaPartitionSplit]:
        topic_ids = cast("JsonObject", definitions)
        try:
            return {
                (topic, partition): KafkaPartitionSplit(
                    topic, int(partition), cast("str | None", topic_ids[topic])
                )
                for topic, partition in paths
            }
        except (KeyError, ValueError, TypeError) as error:
            raise OffsetError(f"the checkpoint's offset is not one of the kafka source: {error!r}") from error

    def row_bytes(self, split: KafkaPartitionSplit, state: JsonValue) -> int:
        sizes = state.get("row_bytes", {}) if isinstance(state, dict) else {}
        found = sizes.get(split.topic) if isinstance(sizes, dict) else None
        return found if isinstance(found, int) else DEFAULT_ROW_BYTES

    def rows_between(self, start: int, stop: int) -> int:
        return max(0, stop - start)

    def position_after(self, start: int, rows: int, stop: int) -> int:
        return min(start + rows, stop)


def configure_kafka(options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredPlannedSource:
    """Make the Kafka source from the user's options. Opens nothing.

    Args:
        options: as Spark delivers them, keys lower-cased.
        boundedness: a batch or a stream; None if only the schema will be asked for.

    Raises:
        OptionError: an option is unknown, malformed, missing or of the other mode.
        MissingDependencyError: kafka-python is not installed.
    """
    require("kafka", needed_for=_NEEDED_FOR, extra="kafka")
    values = KAFKA_OPTIONS.parse(options, boundedness)
    mode = boundedness or Boundedness.BOUNDED
    client = ClientConfig.from_options(options)
    if (
        values["minOffsetsPerTrigger"]
        and values["maxOffsetsPerTrigger"]
        and values["minOffsetsPerTrigger"] > values["maxOffsetsPerTrigger"]
    ):
        raise OptionError("must not be larger than maxOffsetsPerTrigger", option="minOffsetsPerTrigger")
    lookup = LookupSettings(
        client,
        subscription(values),
        starting_offsets(values, boundedness or Boundedness.CONTINUOUS_UNBOUNDED),
        ending_offsets(values) if mode is Boundedness.BOUNDED else None,
        num_retries=values["fetchOffset.numRetries"],
        retry_interval_ms=values["fetchOffset.retryIntervalMs"],
    )
    source = KafkaSource(
        lookup, _columns(values), values["failOnDataLoss"], values["kafkaConsumer.pollTimeoutMs"], mode
    )
    return ConfiguredPlannedSource(
        source=source,
        limits=ReadLimits(
            values["maxOffsetsPerTrigger"],
            values["maxBytesPerTrigger"],
            values["minOffsetsPerTrigger"],
            values["maxTriggerDelay"],
        ),
        hints=PlanningHints(
            values["parallelism"] or default_parallelism(),
            values["minPartitions"] or 1,
            values["maxRecordsPerPartition"],
        ),
        backoff=Backoff(
            deadline_ms=(client.default_api_timeout_ms + values["fetchOffset.retryIntervalMs"])
            * (1 + values["fetchOffset.numRetries"]),
            most_ms=max(50, values["fetchOffset.retryIntervalMs"]),
        ),
        spark_schema=StructType([KAFKA_TYPE[name] for name in source.columns]),
    )


def _columns(values: Mapping[str, object]) -> tuple[str, ...]:
    every = KAFKA_TYPE.names
    if values["columns"] is None:
        return tuple(every if values["includeHeaders"] else every[:-1])
    columns = cast("tuple[str, ...]", values["columns"])
    by_lower = {name.lower(): name for name in every}
    if unknown := [name for name in columns if name.lower() not in by_lower]:
        raise OptionError(
            f"{unknown[0]!r} is not a column of the kafka source; there are {', '.join(every)}",
            option="columns",
        )
    found = tuple(by_lower[name.lower()] for name in columns)
    if twice := [name for at, name in enumerate(found) if name in found[:at]]:
        raise OptionError(f"{twice[0]!r} comes twice", option="columns")
    return found

"""How Kafka's partitions stand in an offset (FLIP-27 ``Source.getSplitSerializer``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, cast

from headwater.connector.sources.kafka.spark_offsets import from_spark
from headwater.core.errors import OffsetError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.split import KafkaPartitionSplit


class KafkaSplitSerializer:
    """What the Kafka source's offsets need of it: no option and no library.

    The source is one. A command that rewrites offsets, and reads no record, uses it alone.
    """

    name: ClassVar[str] = "kafka"
    path_depth: ClassVar[int] = 2

    def path_of(self, logged: SplitPath) -> SplitPath:
        return logged

    def serialize_splits(self, splits: Iterable[KafkaPartitionSplit]) -> JsonValue:
        """The topic ids, once a topic: ``{"orders": "5nhXWqzYQlaLqVKmQZcaTA"}``.

        Topic and partition stand in the path.
        """
        return {split.topic: split.topic_id for split in splits}

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, KafkaPartitionSplit]:
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

    def adopt_offset(self, logged: JsonValue) -> Mapping[KafkaPartitionSplit, int] | None:
        """The positions of Spark's own Kafka source. It logs no topic ids, so the splits have none yet."""
        return from_spark(logged)

"""How Kafka's partitions stand in an offset (FLIP-27 ``Source.getSplitSerializer``).

Also in offsets that Spark's own Kafka source has logged, from which a query may go on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import ClassVar, cast

from headwater.core.errors import DataLossError, OffsetError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.split import KafkaPartitionSplit

log = logger_of(__name__)


class KafkaSplitSerializer:
    """Reads and writes the Kafka source's offsets; needs no option and no library.

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


def from_spark(logged: JsonValue) -> dict[KafkaPartitionSplit, int] | None:
    """Return the positions in an offset of Spark's Kafka source; None if this is not one.

    An object without a topic is not one: Spark logs no such offset, and other sources do.
    """
    if not isinstance(logged, dict) or not logged:
        return None
    positions = {}
    for topic, partitions in logged.items():
        if not isinstance(partitions, dict) or not partitions:
            return None
        for partition, position in partitions.items():
            # bool is an int in Python, and no offset.
            if (
                not partition.isascii()
                or not partition.isdigit()
                or type(position) is not int
                or position < 0
            ):
                return None
            positions[KafkaPartitionSplit(topic, int(partition))] = position
    return positions


def to_spark(positions: Mapping[SplitPath, int]) -> str:
    """Return the text that Spark's Kafka source logs for these positions, by topic and partition."""
    nested: dict[str, dict[str, int]] = {}
    for topic, partition in sorted(positions, key=lambda path: (path[0], int(path[1]))):
        nested.setdefault(topic, {})[partition] = positions[topic, partition]
    return json.dumps(nested, separators=(",", ":"))


def spark_starts(
    logged: Mapping[SplitPath, int], replayed: Mapping[SplitPath, int], *, fail_on_data_loss: bool
) -> dict[SplitPath, int]:
    """Return where a batch of Spark's Kafka source begins, for each partition that it reads.

    As Spark does with two of its offsets (``KafkaOffsetReader.getOffsetRangesFromResolvedOffsets``):

    * a partition that the first one does not name was added meanwhile. It begins at 0, where every partition
      begins. Spark begins at its earliest record, and takes it for data loss if that is not 0; here the task
      finds that loss, when it asks for offset 0;
    * a partition that the second one does not name was gone, and one that ends before it begins had been
      created anew: data loss.

    Raises:
        DataLossError: the batch lost data, and ``fail_on_data_loss``.
    """
    for path in sorted(logged.keys() - replayed.keys()):
        _lost(path, logged[path], "it was gone when the batch was planned", fail=fail_on_data_loss)
    starts = {path: logged.get(path, 0) for path in replayed}
    for path in sorted(replayed):
        if starts[path] > replayed[path]:
            what = (
                f"it ended at offset {replayed[path]} when the batch was planned: truncated, or created anew"
            )
            _lost(path, starts[path], what, fail=fail_on_data_loss)
            starts[path] = replayed[path]
    return starts


def _lost(path: SplitPath, position: int, what: str, *, fail: bool) -> None:
    topic, partition = path
    if fail:
        raise DataLossError(
            f"topic {topic!r}, partition {partition}: {what}; records may have been lost. Spark's Kafka "
            "source logged this batch and did not commit it. Set failOnDataLoss=false to read the rest of it",
            source="kafka",
            split="-".join(path),
            position=position,
        )
    log.warning(
        "topic %r, partition %s, offset %d: %s; going on, records may have been lost",
        topic,
        partition,
        position,
        what,
    )

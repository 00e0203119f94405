"""The two forms in which positions in Kafka stand in an offset log, and the way from each to the other."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass

from headwater.connector.planned.offsets import PlannedOffset, PlannedOffsetCodec
from headwater.connector.sources.kafka.split_serializer import KafkaSplitSerializer, from_spark, to_spark
from headwater.core.jsons import JsonValue
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.tools.commands.offset_log import VOID


class OffsetForm(enum.Enum):
    """Who logged an offset. The values are those of ``--to``."""

    HEADWATER = "headwater"
    SPARK_KAFKA = "spark-kafka"
    OTHER = "another source"


class Kept(enum.Enum):
    """The treatment of positions of unavailable partitions. The values are those of ``--kept``."""

    INCLUDE = "include"
    DROP = "drop"


class KeptPositionsError(ValueError):
    """An offset keeps positions of unavailable partitions, and ``--kept`` is missing.

    Args:
        splits: which partitions.
    """

    def __init__(self, splits: list[str]) -> None:
        super().__init__(", ".join(splits))
        self.splits = splits


@dataclass(frozen=True)
class Conversion:
    """An offset in its new form.

    Attributes:
        text: the offset to log.
        notes: remarks for the user, one sentence each.
    """

    text: str
    notes: tuple[str, ...] = ()


def form_of(logged: str) -> OffsetForm:
    """Return whose offset a logged text is."""
    value = None if logged == VOID else json_of(logged)
    if isinstance(value, dict) and value.get("source") == KafkaSplitSerializer.name and "version" in value:
        return OffsetForm.HEADWATER
    return OffsetForm.OTHER if from_spark(value) is None else OffsetForm.SPARK_KAFKA


def to_headwater(logged: str) -> Conversion:
    """Return an offset of Spark's Kafka source as headwater logs it. Topic ids are not known yet."""
    positions = from_spark(json_of(logged)) or {}
    offset: PlannedOffset[KafkaPartitionSplit, int] = PlannedOffset(
        {split.path: split for split in positions},
        {split.path: position for split, position in positions.items()},
    )
    # As PySpark writes what a source returns: Spark compares offsets as texts.
    return Conversion(json.dumps(_codec().encode(offset)), (_counted(len(positions)),))


def to_spark_kafka(logged: str, unavailable: Kept | None) -> Conversion:
    """Return an offset of headwater's Kafka source as Spark's own logs it.

    Args:
        logged: the offset.
        unavailable: the treatment of positions of unavailable partitions.

    Raises:
        KeptPositionsError: there are some, and ``unavailable`` is None.
        OffsetError: a later version of headwater wrote the offset, or it was changed by hand.
    """
    value = json_of(logged)
    assert isinstance(value, dict)
    offset = _codec().decode(value)
    if offset is None:
        return Conversion(VOID, ("no batch has looked at Kafka yet",))
    positions = dict(offset.positions)
    notes = [_counted(len(positions))]
    if offset.kept:
        splits = [entry.split.split_id for _, entry in sorted(offset.kept.items())]
        if unavailable is None:
            raise KeptPositionsError(splits)
        if unavailable is Kept.INCLUDE:
            positions |= {path: entry.position for path, entry in offset.kept.items()}
        notes.append(
            f"{'with' if unavailable is Kept.INCLUDE else 'without'} those out of sight: {', '.join(splits)}"
        )
    lost = offset.losses.rows + offset.losses.at_least_rows
    if lost:
        notes.append(
            f"the count of lost records ({lost}) stays in the backup: Spark's source has no place for it"
        )
    return Conversion(to_spark(positions), tuple(notes))


def _codec() -> PlannedOffsetCodec[KafkaPartitionSplit, int]:
    return PlannedOffsetCodec(KafkaSplitSerializer())


def _counted(partitions: int) -> str:
    return f"the positions of {partitions} partition{'s' if partitions != 1 else ''}"


def json_of(logged: str) -> JsonValue:
    """Return the content of an offset; None if it is no JSON."""
    try:
        value: JsonValue = json.loads(logged)
    except ValueError:
        return None
    return value

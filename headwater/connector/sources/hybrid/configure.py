"""From the options of a chain to its source, and the columns that all of its parts have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from headwater.connector.options import ParsedOptions
from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.options import DURATION_OPTIONS, planning_hints, read_limits
from headwater.connector.sources.configured import ConfiguredPlannedSource, ConfiguredSource
from headwater.connector.sources.hybrid.options import (
    HYBRID_OPTIONS,
    SEAM_COLUMN,
    SEAM_DISORDER,
    SEAM_OFFSETS,
    SEAM_TIME,
    SOURCES,
)
from headwater.connector.sources.hybrid.source import HybridSource
from headwater.connector.sources.registry import source_factory
from headwater.core.errors import OptionError, nearest
from headwater.core.source import Boundedness
from headwater.enumerators.hybrid.part import HybridPart
from headwater.enumerators.hybrid.split import PositionSwitchPoint, SwitchPoint, TimeSwitchPoint

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


_OF_THE_CHAIN: Final = {
    "minRowsPerTrigger": "minRowsPerTrigger",
    "minOffsetsPerTrigger": "minRowsPerTrigger",
    "maxTriggerDelay": "maxTriggerDelay",
    "minPartitions": "minPartitions",
    "maxRowsPerPartition": "maxRowsPerPartition",
    "maxRecordsPerPartition": "maxRowsPerPartition",
    "parallelism": "parallelism",
    **{option.name: option.name for option in DURATION_OPTIONS},
}
"""By options of parts: those that the chain has instead, since batches are planned for all parts."""

_STARTS: Final = ("startingTimestamp", "startingOffsets", "startingOffsetsByTimestamp")


class _Named(NamedTuple):
    """A part of the chain, by the name that the user gave it."""

    name: str
    configured: ConfiguredPlannedSource


def configure_hybrid(options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredPlannedSource:
    """Make the hybrid source from the user's options. Opens no more than its parts do.

    Args:
        options: as Spark delivers them, keys lower-cased.
        boundedness: a batch or a stream; None if only the schema will be asked for.

    Raises:
        OptionError: an option is unknown, malformed or missing, a part is in barrier mode, or the parts do
            not have the same columns.
    """
    sources = {key: value for key, value in options.items() if key == SOURCES.name}
    names = HYBRID_OPTIONS.parse(sources, None)[SOURCES]
    own = {key: value for key, value in options.items() if not _is_of_part(key, names)}
    _check_parts(own, names)
    _check_of_the_chain(names, options)
    parsed = HYBRID_OPTIONS.parse(own, boundedness)
    limits = read_limits(parsed)
    seam = _seam(parsed)
    parts = [
        _Named(name, _part(name, {**_passed_on(name, options), **options}, boundedness)) for name in names
    ]
    _check_last(parts[-1].name, options, seam)
    if SEAM_DISORDER.name.lower() in own and not isinstance(seam, TimeSwitchPoint):
        raise OptionError(f"requires option {SEAM_TIME.name!r}", option=SEAM_DISORDER.name)
    history = [HybridPart(name, part.source.fixed_at_first_look()) for name, part in parts[:-1]]
    return ConfiguredPlannedSource(
        source=HybridSource(
            parts=(*history, HybridPart(parts[-1].name, parts[-1].configured.source)),
            seam=seam,
            mode=boundedness or Boundedness.BOUNDED,
        ),
        limits=_limits(limits, parts),
        hints=planning_hints(parsed),
        watched=parts[-1].configured.watched,
        backoff=max((part.backoff for _, part in parts), key=lambda backoff: backoff.deadline_ms),
        # The schema is asked for before the mode is known; readers compare it again as Arrow.
        spark_schema=common_schema(parts, seam) if boundedness is None else None,
    )


def _is_of_part(key: str, names: Sequence[str]) -> bool:
    part, dot, _ = key.partition(".")
    return bool(dot) and part in names


def _check_parts(own: Iterable[str], names: Sequence[str]) -> None:
    """Return if no option begins with the name of a part that there is not."""
    for key in own:
        part, dot, rest = key.partition(".")
        if dot:
            near = nearest(part, names)
            hint = f"; did you mean {f'{near}.{rest}'!r}?" if near else ""
            raise OptionError(
                f"{part!r} is no part: option {SOURCES.name!r} names {', '.join(names)}{hint}", option=key
            )


def _limits(own: ReadLimits, parts: Sequence[_Named]) -> ReadLimits:
    """Return the limits of a batch: those of the chain, or of its last part.

    Raises:
        OptionError: another part has some, or both have; or batches of files are to wait for rows.
    """
    if own.min_rows is not None and parts[-1].configured.source.bounded_splits:
        raise OptionError(
            f"how many rows there are is not known of {parts[-1].name!r}, whose splits are read whole: leave "
            "it out, and use a trigger with a longer interval",
            option="minRowsPerTrigger",
        )
    hard = replace(own, target=None)
    last = replace(parts[-1].configured.limits, target=None)
    for name, part in parts:
        theirs = replace(part.limits, target=None)
        if theirs.limits_batches and (name != parts[-1].name or hard.limits_batches):
            raise OptionError(
                f"part {name!r} has a limit of its own: a batch has one limit in all parts. Give "
                "maxRowsPerTrigger and maxBytesPerTrigger without the name of a part, or a limit of "
                f"{parts[-1].name!r} alone",
                option=f"{name}.source",
            )
    # Parts of files keep their limits themselves. Here they tell Once apart, which knows no limits.
    max_files = [part.limits.max_files for _, part in parts if part.limits.max_files is not None]
    return replace(
        last if last.limits_batches else own,
        target=own.target,
        weights=last.weights,
        max_files=next(iter(max_files), None),
        min_rows=own.min_rows,
        max_delay_ms=own.max_delay_ms,
    )


def _check_of_the_chain(names: Sequence[str], options: Mapping[str, str]) -> None:
    """Refuse options of parts that the chain has for all parts."""
    for part, (option, instead) in product(names, _OF_THE_CHAIN.items()):
        if f"{part}.{option}".lower() in options:
            raise OptionError(
                f"a batch is planned for all parts: give {instead} without the name of a part",
                option=f"{part}.{option}",
            )


def _passed_on(name: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of the chain that a part has too: Kafka's maxEventTimeSkew asks for a limit."""
    if options.get(f"{name}.source", "").lower() != "kafka":
        return {}
    keys = (option.name.lower() for option in DURATION_OPTIONS)
    return {f"{name}.{key}": options[key] for key in keys if key in options}


def _seam(parsed: ParsedOptions) -> SwitchPoint | None:
    column = parsed[SEAM_COLUMN]
    time_us = parsed[SEAM_TIME]
    by_position = parsed[SEAM_OFFSETS]
    if by_position is not None and (column is not None or time_us is not None):
        raise OptionError("a seam is by time or by position, not both", option=SEAM_OFFSETS.name)
    if by_position is not None:
        return by_position
    if (column is None) != (time_us is None):
        missing = SEAM_COLUMN if column is None else SEAM_TIME
        raise OptionError("is required: a seam by time is a column and a time", option=missing.name)
    return (
        None if column is None or time_us is None else TimeSwitchPoint(column, time_us, parsed[SEAM_DISORDER])
    )


def _check_last(name: str, options: Mapping[str, str], seam: SwitchPoint | None) -> None:
    """Return if it is clear where the last part begins.

    Raises:
        OptionError: nobody says it, or two do.
    """
    is_kafka = options.get(f"{name}.source", "").lower() == "kafka"
    starts = [start for start in _STARTS if f"{name}.{start.lower()}" in options]
    if seam is None and is_kafka:
        raise OptionError(
            f"is required, with seamColumn; or seamOffsets: nothing says where {name!r} begins, so rows "
            "could be missing or come twice",
            option=SEAM_TIME.name,
        )
    if seam is not None and starts:
        which = SEAM_TIME if isinstance(seam, TimeSwitchPoint) else SEAM_OFFSETS
        raise OptionError(
            f"contradicts {which.name}, which says where {name!r} begins", option=f"{name}.{starts[0]}"
        )
    if isinstance(seam, PositionSwitchPoint) and not is_kafka:
        raise OptionError(
            f"says where a part of Kafka begins, and {name!r} is not one: use seamColumn and seamTime",
            option=SEAM_OFFSETS.name,
        )


def _part(name: str, options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredPlannedSource:
    prefix = f"{name}."
    own = {key[len(prefix) :]: value for key, value in options.items() if key.startswith(prefix)}
    kind = own.pop("source", None)
    if not kind:
        raise OptionError(f"is required: the source of part {name!r}, such as files", option=f"{name}.source")
    try:
        configured: ConfiguredSource = source_factory(kind)(own, boundedness)
    except OptionError as error:
        message = str(error).removeprefix(f"option {error.option!r}: ")
        raise OptionError(message, option=f"{name}.{error.option or 'source'}") from error
    if not isinstance(configured, ConfiguredPlannedSource):
        raise OptionError(
            f"{kind!r} is in barrier mode: where it ends is known only when it is read, so nothing can begin "
            "there. A chain has sources of planned mode, such as files and kafka",
            option=f"{name}.source",
        )
    if isinstance(configured.source, HybridSource):
        raise OptionError("is a chain itself: name all parts in one", option=f"{name}.source")
    if configured.source.end_condition is not None:
        raise OptionError(
            "ends splits at records (stopAtRecord, is_end), which parts of a chain cannot: read it by itself",
            option=f"{name}.source",
        )
    if configured.source.note_store is not None:
        raise OptionError(
            "has splits whose first reading counts (note_store), which parts of a chain cannot: read it by "
            "itself",
            option=f"{name}.source",
        )
    return configured


_TIMES = ("timestamp", "timestamp_ntz")


def common_schema(
    parts: Sequence[tuple[str, ConfiguredPlannedSource]], seam: SwitchPoint | None
) -> StructType:
    """Return the columns that all parts have: by name, type and order. On the driver; a part may open files.

    Args:
        parts: the parts, by their names.
        seam: between them.

    Raises:
        OptionError: they differ; or the column of the seam is not one of them, or is not a timestamp.
    """
    from headwater.connector.sources.spark_schema import spark_schema

    schemas = [
        (name, part.spark_schema or spark_schema(part.schema(), f"{part.source.name}, part {name}"))
        for name, part in parts
    ]
    first, schema = schemas[0]
    columns = _columns(schema)
    for name, other in schemas[1:]:
        theirs = _columns(other)
        if theirs != columns:
            raise OptionError(
                f"the parts must have the same columns in the same order: {first!r} has {_text(columns)}; "
                f"{name!r} has {_text(theirs)}. What the rows of a part are is said by its options, such as "
                f"{name}.columns, {name}.valueFormat and {name}.valueSchema",
                option=SOURCES.name,
            )
    if isinstance(seam, TimeSwitchPoint) and dict(columns).get(seam.column) not in _TIMES:
        raise OptionError(
            f"{seam.column!r} is no column of the type timestamp; there are {_text(columns)}",
            option=SEAM_COLUMN.name,
        )
    return schema


def _columns(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in schema.fields]


def _text(columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(" ".join(column) for column in columns)

"""From the options of a chain to its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from headwater.connector.options import ParsedOptions
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
from headwater.connector.sources.hybrid.schemas import common_schema
from headwater.connector.sources.hybrid.source import HybridSource
from headwater.connector.sources.registry import source_factory
from headwater.core.errors import OptionError
from headwater.core.source import Boundedness
from headwater.enumerators.hybrid.part import HybridPart
from headwater.enumerators.hybrid.seam import PositionSeam, Seam, TimeSeam

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
    _check_no_duration(own)
    parsed = HYBRID_OPTIONS.parse(own, boundedness)
    seam = _seam(parsed)
    named = [_Named(name, _part(name, options, boundedness)) for name in names]
    _check_last(named[-1].name, options, seam)
    history = [HybridPart(name, part.source.fixed_at_first_look()) for name, part in named[:-1]]
    limits = read_limits(parsed)
    return ConfiguredPlannedSource(
        source=HybridSource(
            parts=(*history, HybridPart(named[-1].name, named[-1].configured.source)),
            seam=seam,
            mode=boundedness or Boundedness.BOUNDED,
        ),
        # A part of files keeps limits of its own. So Once, which knows no limits, is told apart.
        limits=replace(limits, max_files=next((m for m in map(_max_files, named) if m is not None), None)),
        hints=planning_hints(parsed),
        backoff=max((part.backoff for _, part in named), key=lambda backoff: backoff.deadline_ms),
        # The schema is asked for before the mode is known; readers compare it again as Arrow.
        spark_schema=common_schema(named, seam) if boundedness is None else None,
    )


def _is_of_part(key: str, names: Sequence[str]) -> bool:
    part, dot, _ = key.partition(".")
    return bool(dot) and part in names


def _max_files(part: _Named) -> int | None:
    return part.configured.limits.max_files


def _check_no_duration(own: Mapping[str, str]) -> None:
    for option in DURATION_OPTIONS:
        if option.name.lower() in own:
            raise OptionError(
                "counts rows, and the parts of a chain count different things (bytes of files, records of "
                "Kafka): limit batches with maxRowsPerTrigger and maxBytesPerTrigger",
                option=option.name,
            )


def _seam(parsed: ParsedOptions) -> Seam | None:
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
    return None if column is None or time_us is None else TimeSeam(column, time_us, parsed[SEAM_DISORDER])


def _check_last(name: str, options: Mapping[str, str], seam: Seam | None) -> None:
    """Return if it is clear where the last part begins.

    Raises:
        OptionError: nobody says it, or two do.
    """
    is_kafka = options.get(f"{name}.source", "").lower() == "kafka"
    given = [start for start in _STARTS if f"{name}.{start.lower()}" in options]
    if seam is None and is_kafka:
        raise OptionError(
            f"is required, with seamColumn; or seamOffsets: nothing says where {name!r} begins, so rows "
            "could be missing or come twice",
            option=SEAM_TIME.name,
        )
    if seam is not None and given:
        which = SEAM_TIME if isinstance(seam, TimeSeam) else SEAM_OFFSETS
        raise OptionError(
            f"contradicts {which.name}, which says where {name!r} begins", option=f"{name}.{given[0]}"
        )
    if isinstance(seam, PositionSeam) and not is_kafka:
        raise OptionError(
            f"says where a part of Kafka begins, and {name!r} is none: use seamColumn and seamTime",
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
        said = str(error).removeprefix(f"option {error.option!r}: ")
        raise OptionError(said, option=f"{name}.{error.option or 'source'}") from error
    if not isinstance(configured, ConfiguredPlannedSource):
        raise OptionError(
            f"{kind!r} is in barrier mode: where it ends is known only when it is read, so nothing can begin "
            "there. A chain has sources of planned mode, such as files and kafka",
            option=f"{name}.source",
        )
    if isinstance(configured.source, HybridSource):
        raise OptionError("is a chain itself: name all parts in one", option=f"{name}.source")
    if configured.limits.limits_batches:
        raise OptionError(
            f"part {name!r} has a limit of its own: a batch has one limit in all parts, so give "
            "maxRowsPerTrigger and maxBytesPerTrigger without the name of a part",
            option=f"{name}.source",
        )
    return configured

"""From the options of a chain to its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from headwater.connector.options import ParsedOptions
from headwater.connector.planned.options import planning_hints, read_limits
from headwater.connector.sources.configured import ConfiguredPlannedSource, ConfiguredSource
from headwater.connector.sources.hybrid.options import (
    HYBRID_OPTIONS,
    SEAM_COLUMN,
    SEAM_DISORDER,
    SEAM_TIME,
    SOURCES,
)
from headwater.connector.sources.hybrid.source import HybridSource
from headwater.connector.sources.registry import source_factory
from headwater.core.errors import OptionError
from headwater.core.source import Boundedness
from headwater.enumerators.hybrid.part import HybridPart
from headwater.enumerators.hybrid.seam import Seam

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_STARTS: Final = ("startingtimestamp", "startingoffsets", "startingoffsetsbytimestamp")


def configure_hybrid(options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredPlannedSource:
    """Make the hybrid source from the user's options. Opens no more than its parts do.

    Args:
        options: as Spark delivers them, keys lower-cased.
        boundedness: a batch or a stream; None if only the schema will be asked for.

    Raises:
        OptionError: an option is unknown, malformed or missing, a part is in barrier mode, or the parts do
            not have the same columns.
    """
    names = HYBRID_OPTIONS.parse(_own({"sources": options.get("sources", "")}), None)[SOURCES]
    parsed = HYBRID_OPTIONS.parse(
        {
            key: value
            for key, value in options.items()
            if key.partition(".")[0] not in names or "." not in key
        },
        boundedness,
    )
    seam = _seam(parsed)
    configured = [
        _part(name, _options_of(name, options, parsed, is_last=name == names[-1]), boundedness)
        for name in names
    ]
    sources = [each.source for each in configured]
    parts = [
        HybridPart(name, source if name == names[-1] else source.fixed_at_first_look())
        for name, source in zip(names, sources, strict=True)
    ]
    return ConfiguredPlannedSource(
        source=HybridSource(parts=tuple(parts), seam=seam, mode=boundedness or Boundedness.BOUNDED),
        limits=read_limits(parsed),
        hints=planning_hints(parsed),
        backoff=max((each.backoff for each in configured), key=lambda backoff: backoff.deadline_ms),
        # The schema is asked for before the mode is known; readers compare it again as Arrow.
        spark_schema=_common_schema(names, configured, seam) if boundedness is None else None,
    )


def _own(given: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in given.items() if value}


def _seam(parsed: ParsedOptions) -> Seam | None:
    column = parsed[SEAM_COLUMN]
    time_us = parsed[SEAM_TIME]
    if (column is None) != (time_us is None):
        missing = SEAM_COLUMN if column is None else SEAM_TIME
        raise OptionError("is required: a seam by time is a column and a time", option=missing.name)
    return None if column is None or time_us is None else Seam(column, time_us)


def _options_of(
    name: str, options: Mapping[str, str], parsed: ParsedOptions, *, is_last: bool
) -> dict[str, str]:
    """Return the options of a part; the last one begins at the seam.

    Raises:
        OptionError: nothing says where the last part begins.
    """
    prefix = f"{name}."
    own = {key[len(prefix) :]: value for key, value in options.items() if key.startswith(prefix)}
    starts = [key for key in _STARTS if key in own]
    if not is_last or own.get("source", "").lower() != "kafka":
        return own
    time_us = parsed[SEAM_TIME]
    if time_us is None:
        if own.get("startingoffsets", "").startswith("{"):
            return own
        raise OptionError(
            f"nothing says where the part before ends in {name!r}: give seamColumn and seamTime, or the seam "
            f"by position as JSON in {name}.startingOffsets",
            option="seamTime",
        )
    if starts:
        raise OptionError(
            "contradicts seamTime, which says where this part begins", option=prefix + starts[0]
        )
    first_ms = max(0, time_us // 1000 - parsed[SEAM_DISORDER])
    return {
        **own,
        "startingtimestamp": str(first_ms),
        "startingoffsetsbytimestampstrategy": "latest",
    }


def _part(name: str, options: dict[str, str], boundedness: Boundedness | None) -> ConfiguredPlannedSource:
    kind = options.pop("source", None)
    if not kind:
        raise OptionError(f"is required: the source of part {name!r}, such as files", option=f"{name}.source")
    try:
        configured: ConfiguredSource = source_factory(kind)(options, boundedness)
    except OptionError as error:
        raise OptionError(f"part {name!r}: {error}", option=f"{name}.{error.option or 'source'}") from error
    if not isinstance(configured, ConfiguredPlannedSource):
        raise OptionError(
            f"{kind!r} is in barrier mode: where it ends is known only when it is read, so nothing can begin "
            "there. A chain has sources of planned mode, such as files and kafka",
            option=f"{name}.source",
        )
    if configured.limits.limits_batches:
        raise OptionError(
            f"limits of part {name!r}: a batch has one limit in all parts, so give maxRowsPerTrigger and "
            "maxBytesPerTrigger without the name of a part",
            option=f"{name}.source",
        )
    return configured


def _common_schema(
    names: tuple[str, ...], configured: list[ConfiguredPlannedSource], seam: Seam | None
) -> StructType:
    """Return the columns that all parts have.

    Raises:
        OptionError: they differ, or the column of the seam is none of them, or is no timestamp.
    """
    from headwater.connector.spark.schemas import spark_schema

    found = [each.spark_schema or spark_schema(each.schema()) for each in configured]
    columns = [[(field.name, field.dataType.simpleString()) for field in each.fields] for each in found]
    for name, theirs in zip(names[1:], columns[1:], strict=True):
        if theirs != columns[0]:
            only_first = ", ".join(" ".join(each) for each in columns[0] if each not in theirs)
            only_this = ", ".join(" ".join(each) for each in theirs if each not in columns[0])
            raise OptionError(
                f"the parts must have the same columns in the same order. Only {names[0]!r} has "
                f"{only_first or 'nothing'}; only {name!r} has {only_this or 'nothing'}. {name}.columns and "
                f"{name}.valueFormat say what the rows of a topic are",
                option=SOURCES.name,
            )
    if seam is not None and (seam.column, "timestamp") not in columns[0]:
        raise OptionError(
            f"{seam.column!r} is no column of the type timestamp; there are "
            + ", ".join(" ".join(each) for each in columns[0]),
            option=SEAM_COLUMN.name,
        )
    return found[0]

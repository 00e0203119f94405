"""The options that every source in planned mode has, and the settings made of them.

A source whose option is known by another name, such as Kafka's ``maxOffsetsPerTrigger``, has a subclass of
the spec and passes that here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from headwater.connector.cpus import known_parallelism
from headwater.connector.options import ParsedOptions
from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.batch_duration import TargetDuration
from headwater.connector.planned.planning import PlanningHints
from headwater.core.options import Spec, duration_ms, integer, option, positive_duration_ms
from headwater.core.source import Boundedness

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED
_MAX_BYTES: Final = "maxBytesPerTrigger"


class LimitOptions(Spec):
    """The limits of a batch, as the user says."""

    max_rows: int | Mapping[str, int] | None = option(
        "maxRowsPerTrigger",
        "No batch is planned for more rows than this.",
        default=None,
        parse=integer(1),
        only=_STREAM,
    )
    max_bytes: int | None = option(
        _MAX_BYTES,
        "Nor for more bytes, as far as they can be estimated.",
        default=None,
        parse=integer(1),
        only=_STREAM,
    )
    min_rows: int | None = option(
        "minRowsPerTrigger",
        "A batch waits until this many rows are there ...",
        default=None,
        parse=integer(1),
        only=_STREAM,
    )
    max_delay_ms: int = option(
        "maxTriggerDelay",
        "... or until this much time has passed since the last one.",
        default=900_000,
        parse=duration_ms,
        only=_STREAM,
        shown_default="`15m`",
    )

    def __post_init__(self) -> None:
        if isinstance(self.max_rows, int) and self.min_rows is not None and self.min_rows > self.max_rows:
            raise self.refusal("min_rows", f"must not be larger than {self.OPTIONS['max_rows'].name}")


class DurationOptions(Spec):
    """How long batches should take, and how that is measured."""

    target_ms: int | None = option(
        "targetBatchDuration",
        "How long a batch should take: batches become as large as the query manages in this time, within the "
        "other limits; needs one of the next two: see [batch-duration.md](batch-duration.md).",
        default=None,
        parse=positive_duration_ms,
        only=_STREAM,
        after=_MAX_BYTES,
    )
    checkpoint: str | None = option(
        "checkpointLocation",
        "The same as that of the query: Spark's log there shows how long a batch took, without the wait for"
        " a trigger.",
        default=None,
        only=_STREAM,
        after="targetBatchDuration",
    )
    trigger_interval_ms: int | None = option(
        "triggerInterval",
        "Instead of that: the interval of the query's trigger, `0s` if it has none.",
        default=None,
        parse=duration_ms,
        only=_STREAM,
        after="checkpointLocation",
    )

    def __post_init__(self) -> None:
        target = self.OPTIONS["target_ms"].name
        if self.target_ms is None:
            for name in ("checkpoint", "trigger_interval_ms"):
                if getattr(self, name) is not None:
                    raise self.refusal(name, f"requires option {target!r}")
        elif self.checkpoint is None and self.trigger_interval_ms is None:
            raise self.refusal(
                "target_ms",
                "needs option 'checkpointLocation', the same as that of the query, or 'triggerInterval' (0s"
                " if it has none, and in Declarative Pipelines): the wait for a trigger must not count as "
                "work",
            )
        elif self.checkpoint is None and (self.trigger_interval_ms or 0) > self.target_ms:
            raise self.refusal(
                "trigger_interval_ms",
                f"is longer than {target}, so that the wait would hide how long batches take: give option "
                "'checkpointLocation' instead, the same as that of the query",
            )


DURATION_OPTIONS: Final = DurationOptions.options()

PLANNED_OPTIONS: Final = (*LimitOptions.options(), *DURATION_OPTIONS, *PlanningHints.options())


def read_limits(options: ParsedOptions, spec: type[LimitOptions] = LimitOptions) -> ReadLimits:
    """Return the limits of a batch.

    Args:
        options: of a table with those of the spec; mostly with `DURATION_OPTIONS`.
        spec: how the source calls them.

    Raises:
        OptionError: a minimum above the maximum.
    """
    limits = options.of(spec)
    return ReadLimits(
        max_rows=limits.max_rows if isinstance(limits.max_rows, int) else None,
        max_rows_of=limits.max_rows if isinstance(limits.max_rows, Mapping) else {},
        max_bytes=limits.max_bytes,
        min_rows=limits.min_rows,
        max_delay_ms=limits.max_delay_ms,
        target=target_duration(options),
    )


def target_duration(options: ParsedOptions) -> TargetDuration | None:
    """Return how long batches should take; None if the user does not say.

    Args:
        options: of a table, mostly one with `DURATION_OPTIONS`.

    Raises:
        OptionError: the time that a batch takes could not be told from the wait for a trigger, or an option
            says how to measure what was not asked for.
    """
    duration = options.of(DurationOptions)
    if duration.target_ms is None:
        return None
    return TargetDuration(
        target_ms=duration.target_ms,
        checkpoint=duration.checkpoint,
        trigger_interval_ms=duration.trigger_interval_ms,
    )


def planning_hints(
    options: ParsedOptions, spec: type[PlanningHints] = PlanningHints, *, may_end: bool = False
) -> PlanningHints:
    """Return how a batch is cut into tasks.

    Args:
        options: of a table with those of the spec.
        spec: how the source calls them.
        may_end: whether a record may end its split (`PlannedSource.end_condition`).

    Raises:
        OptionError: the user asks for pieces of splits that a record may end.
    """
    hints = options.of(spec)
    cuts = {"min_tasks": hints.min_tasks > 1, "max_rows_per_task": hints.max_rows_per_task is not None}
    for name, is_asked in cuts.items():
        if may_end and is_asked:
            raise spec.refusal(
                name,
                "cuts splits, and those of this query end at records (stopAtRecord, is_end): a piece does "
                "not see the end in the piece before. Leave it out",
            )
    return replace(hints, parallelism=hints.parallelism or known_parallelism())

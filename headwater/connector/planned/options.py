"""The options that every source in planned mode has, and the settings made of them.

A source whose option is known by another name, such as Kafka's ``maxOffsetsPerTrigger``, has its own row in
its table and passes that here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from headwater.connector.cpus import known_parallelism
from headwater.connector.options import ParsedOptions
from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.batch_duration import TargetDuration
from headwater.connector.planned.planning import PlanningHints
from headwater.core.errors import OptionError
from headwater.core.options import Option, Spec, duration_ms, integer, option, positive_duration_ms
from headwater.core.source import Boundedness

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED

_MAX_ROWS: Final = Option(
    "maxRowsPerTrigger", integer(1), None, "No batch is planned for more rows than this.", only=_STREAM
)
MAX_BYTES: Final = Option(
    "maxBytesPerTrigger",
    integer(1),
    None,
    "Nor for more bytes, as far as they can be estimated.",
    only=_STREAM,
)
_MIN_ROWS: Final = Option(
    "minRowsPerTrigger",
    integer(1),
    None,
    "A batch waits until this many rows are there ...",
    only=_STREAM,
)
MAX_DELAY: Final = Option(
    "maxTriggerDelay",
    duration_ms,
    900_000,
    "... or until this much time has passed since the last one.",
    only=_STREAM,
    shown_default="`15m`",
)
MIN_PARTITIONS: Final = Option(
    "minPartitions", integer(1), None, "Cut large splits until a batch has about so many tasks."
)
_MAX_ROWS_PER_PARTITION: Final = Option(
    "maxRowsPerPartition", integer(1), None, "No task is planned for more rows than this."
)
PARALLELISM: Final = Option(
    "parallelism",
    integer(1),
    None,
    "How many tasks the cluster runs at once: a batch has no more, unless its bytes or `minPartitions` ask "
    "for more. Where it is not known there may be one for each split.",
    shown_default="`HEADWATER_PARALLELISM`",
)


class DurationOptions(Spec):
    """How long batches should take, and how that is measured."""

    target_ms: int | None = option(
        "targetBatchDuration",
        "How long a batch should take: batches become as large as the query manages in this time, within the "
        "other limits; needs one of the next two: see [batch-duration.md](batch-duration.md).",
        default=None,
        parse=positive_duration_ms,
        only=_STREAM,
    )
    checkpoint: str | None = option(
        "checkpointLocation",
        "The same as that of the query: Spark's log there shows how long a batch took, without the wait for"
        " a trigger.",
        default=None,
        only=_STREAM,
    )
    trigger_interval_ms: int | None = option(
        "triggerInterval",
        "Instead of that: the interval of the query's trigger, `0s` if it has none.",
        default=None,
        parse=duration_ms,
        only=_STREAM,
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
                " if it has none): the wait for a trigger must not count as work",
            )
        elif self.checkpoint is None and (self.trigger_interval_ms or 0) > self.target_ms:
            raise self.refusal(
                "trigger_interval_ms",
                f"is longer than {target}, so that the wait would hide how long batches take: give option "
                "'checkpointLocation' instead, the same as that of the query",
            )


DURATION_OPTIONS: Final = DurationOptions.options()

PLANNED_OPTIONS: Final = (
    _MAX_ROWS,
    MAX_BYTES,
    *DURATION_OPTIONS,
    _MIN_ROWS,
    MAX_DELAY,
    MIN_PARTITIONS,
    _MAX_ROWS_PER_PARTITION,
    PARALLELISM,
)
"""In the order in which the docs list them."""


def read_limits(
    options: ParsedOptions,
    *,
    max_rows: Option[int | None] | Option[int | Mapping[str, int] | None] = _MAX_ROWS,
    min_rows: Option[int | None] = _MIN_ROWS,
) -> ReadLimits:
    """Return the limits of a batch.

    Args:
        options: of a table with `MAX_BYTES`, `MAX_DELAY` and the next two; mostly with `DURATION_OPTIONS`.
        max_rows: the source's option for the most rows of a batch, or of each group of splits.
        min_rows: the source's option for the rows that a batch waits for.

    Raises:
        OptionError: a minimum above the maximum.
    """
    rows = options[cast("Option[int | Mapping[str, int] | None]", max_rows)]
    most = rows if isinstance(rows, int) else None
    least = options[min_rows]
    if most is not None and least is not None and least > most:
        raise OptionError(f"must not be larger than {max_rows.name}", option=min_rows.name)
    return ReadLimits(
        max_rows=most,
        max_rows_of=rows if isinstance(rows, Mapping) else {},
        max_bytes=options[MAX_BYTES],
        min_rows=least,
        max_delay_ms=options[MAX_DELAY],
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
    given = options.of(DurationOptions)
    if given.target_ms is None:
        return None
    return TargetDuration(
        target_ms=given.target_ms,
        checkpoint=given.checkpoint,
        trigger_interval_ms=given.trigger_interval_ms,
    )


def planning_hints(
    options: ParsedOptions, *, max_rows_per_task: Option[int | None] = _MAX_ROWS_PER_PARTITION
) -> PlanningHints:
    """Return how a batch is cut into tasks.

    Args:
        options: of a table with `PARALLELISM`, `MIN_PARTITIONS` and the next one.
        max_rows_per_task: the source's option for the most rows of a task.
    """
    return PlanningHints(
        parallelism=options[PARALLELISM] or known_parallelism(),
        min_tasks=options[MIN_PARTITIONS] or 1,
        max_rows_per_task=options[max_rows_per_task],
    )

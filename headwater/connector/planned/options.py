"""The options that every source in planned mode has, and what they come to.

A source whose option is known by another name, such as Kafka's ``maxOffsetsPerTrigger``, has its own row in
its table and passes that here.
"""

from __future__ import annotations

from typing import Final

from headwater.connector.cpus import known_parallelism
from headwater.connector.options import Option, ParsedOptions, duration_ms, integer
from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.planning import PlanningHints
from headwater.core.errors import OptionError
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

PLANNED_OPTIONS: Final = (
    _MAX_ROWS,
    MAX_BYTES,
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
    max_rows: Option[int | None] = _MAX_ROWS,
    min_rows: Option[int | None] = _MIN_ROWS,
) -> ReadLimits:
    """Return the limits of a batch.

    Args:
        options: of a table with `MAX_BYTES`, `MAX_DELAY` and the next two.
        max_rows: the source's option for the most rows of a batch.
        min_rows: the source's option for the rows that a batch waits for.

    Raises:
        OptionError: a minimum above the maximum.
    """
    most = options[max_rows]
    least = options[min_rows]
    if most is not None and least is not None and least > most:
        raise OptionError(f"must not be larger than {max_rows.name}", option=min_rows.name)
    return ReadLimits(
        max_rows=most, max_bytes=options[MAX_BYTES], min_rows=least, max_delay_ms=options[MAX_DELAY]
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

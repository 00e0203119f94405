"""The options that sources of users have beside their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from headwater.connector.barrier.options import BARRIER_OPTIONS
from headwater.connector.options import Option, OptionTable, boolean, duration_ms, integer
from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.planning import PlanningHints, default_parallelism
from headwater.core.errors import ContractError, OptionError
from headwater.core.source import Boundedness

__all__ = ["limits_of", "option_table", "planning_hints_of"]

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED


def _timestamp_ms(raw: str) -> int:
    if raw.strip().isdigit():
        return int(raw)
    try:
        moment = datetime.fromisoformat(raw.strip())
    except ValueError:
        raise ValueError(
            f"must be a time such as 2024-05-01T12:00:00Z, or ms since 1970, not {raw!r}"
        ) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


_PLANNED: Final = (
    Option(
        "maxRowsPerTrigger", integer(1), None, "No batch is planned for more rows than this.", only=_STREAM
    ),
    Option(
        "maxBytesPerTrigger",
        integer(1),
        None,
        "Nor for more bytes, as far as they can be estimated.",
        only=_STREAM,
    ),
    Option(
        "minRowsPerTrigger",
        integer(1),
        None,
        "A batch waits until this many rows are there ...",
        only=_STREAM,
    ),
    Option(
        "maxTriggerDelay",
        duration_ms,
        900_000,
        "... or until this much time has passed since the last one.",
        _STREAM,
        "`15m`",
    ),
    Option("minPartitions", integer(1), None, "Cut large splits until a batch has about so many tasks."),
    Option("maxRowsPerPartition", integer(1), None, "No task is planned for more rows than this."),
    Option(
        "parallelism",
        integer(1),
        None,
        "How many tasks the cluster runs at once.",
        shown_default="the driver's CPUs",
    ),
)
_RETRY: Final = (
    Option(
        "retryDeadline",
        duration_ms,
        120_000,
        "How long to go on asking an outside that is away or overloaded.",
        shown_default="`2m`",
    ),
)
_SIMPLE: Final = (
    Option(
        "readTimeout",
        duration_ms,
        300_000,
        "How long the source may take for a page before it counts as hung.",
        shown_default="`5m`",
    ),
)
_CONNECTIONS: Final = (Option("connections", integer(1), 1, "How many splits a task reads at once."),)
_TIMESTAMP: Final = (
    Option(
        "startingTimestamp",
        _timestamp_ms,
        None,
        "Where a new query begins: a time such as `2024-05-01T12:00:00Z`, or ms since 1970.",
    ),
)
_FILTERS: Final = (
    Option(
        "pushFilters",
        boolean,
        False,
        "Let the source apply filters of a batch read.",
        only=Boundedness.BOUNDED,
    ),
)


def option_table(
    own: Sequence[Option[Any]],
    source: str,
    *,
    is_planned: bool,
    is_simple: bool = False,
    timestamps: bool = False,
    filters: bool = False,
) -> OptionTable:
    """Return all options of a user's source.

    Args:
        own: those that the source declares.
        source: its class, for messages.
        is_planned: its mode.
        is_simple: whether it is in the small form.
        timestamps: whether it finds positions of times.
        filters: whether it takes filters.

    Raises:
        ContractError: something declared is no option, or has the name of another one.
    """
    rows: list[Option[Any]] = [*own]
    if wrong := [row for row in rows if not isinstance(row, Option)]:
        raise ContractError(f"{source}.OPTIONS must be hw.options.Option, not {wrong[0]!r}")
    rows += (
        _TIMESTAMP * timestamps
        + _FILTERS * filters
        + _SIMPLE * is_simple
        + _CONNECTIONS * (is_simple and not is_planned)
    )
    rows += _RETRY + (_PLANNED if is_planned else BARRIER_OPTIONS)
    names = [row.name.lower() for row in rows]
    if twice := [
        row.name
        for at, row in enumerate(rows)
        if names.index(row.name.lower()) != at or row.name.lower() in {"source", "path"}
    ]:
        raise ContractError(
            f"{source}.OPTIONS: {twice[0]!r} is an option of every source, or comes twice: choose another name"
        )
    return OptionTable(rows)


def limits_of(values: Mapping[str, Any]) -> ReadLimits:
    """Return the limits of a batch in planned mode.

    Raises:
        OptionError: a minimum above the maximum.
    """
    if (
        values["minRowsPerTrigger"]
        and values["maxRowsPerTrigger"]
        and values["minRowsPerTrigger"] > values["maxRowsPerTrigger"]
    ):
        raise OptionError("must not be larger than maxRowsPerTrigger", option="minRowsPerTrigger")
    return ReadLimits(
        values["maxRowsPerTrigger"],
        values["maxBytesPerTrigger"],
        values["minRowsPerTrigger"],
        values["maxTriggerDelay"],
    )


def planning_hints_of(values: Mapping[str, Any]) -> PlanningHints:
    """Return how a batch in planned mode is cut into tasks."""
    return PlanningHints(
        values["parallelism"] or default_parallelism(),
        values["minPartitions"] or 1,
        values["maxRowsPerPartition"],
    )

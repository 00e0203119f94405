"""The options that sources of users have beside their own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from headwater.connector.barrier.options import BARRIER_OPTIONS
from headwater.connector.formats.options import SCHEMA_EVOLUTION
from headwater.connector.formats.row_decoding import row_format_options
from headwater.connector.options import OptionTable
from headwater.connector.planned.event_time_options import EVENT_TIME_OPTIONS
from headwater.connector.planned.options import PLANNED_OPTIONS
from headwater.core.errors import ContractError
from headwater.core.options import Option, boolean, duration_ms, integer
from headwater.core.source import Boundedness
from headwater.enumerators.simple.starting_position import FirstPosition, positions_of

_TAKEN: Final = frozenset({"source", "path"})
"""Options of Spark and of the data source itself."""
_LEAST_RECEIVER_IDLE_MS: Final = 1_000


def _timestamp_ms(raw: str) -> int:
    if raw.strip().isdigit():
        return int(raw)
    try:
        moment = datetime.fromisoformat(raw.strip())
    except ValueError:
        raise ValueError(
            f"must be a time such as 2024-05-01T12:00:00Z, or ms since 1970, not {raw!r}"
        ) from None
    # A time without a zone is UTC: driver and executors may stand in different ones.
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


STARTING_TIMESTAMP: Final = Option(
    "startingTimestamp",
    _timestamp_ms,
    None,
    "Where a new query begins: a time such as `2024-05-01T12:00:00Z`, in UTC if it has no zone, or ms since "
    "1970.",
    kind="moment",
)


def _starting_position(raw: str) -> FirstPosition:
    word = raw.strip().lower()
    if word == "earliest":
        return FirstPosition("earliest")
    if word == "latest":
        return FirstPosition("latest")
    try:
        return FirstPosition(timestamp_ms=_timestamp_ms(raw))
    except ValueError:
        return FirstPosition("positions", positions=positions_of(raw))


STARTING_POSITION: Final = Option(
    "startingPosition",
    _starting_position,
    None,
    "Where a new query begins: `earliest`, `latest` (streams only), a time such as `2024-05-01T12:00:00Z` or "
    "ms since 1970, or positions by split as JSON; what is not named begins with its first record. What is "
    "found later does, too.",
    shown_default="`latest` in a stream, `earliest` in a batch",
    kind="moment",
)
FAIL_ON_DATA_LOSS: Final = Option(
    "failOnDataLoss",
    boolean,
    True,
    "Whether records that were dropped before they were read are an error; `false`: they are counted.",
)
PUSH_FILTERS: Final = Option(
    "pushFilters",
    boolean,
    False,
    "Let the source apply filters of a batch read.",
    only=Boundedness.BOUNDED,
)
READ_TIMEOUT: Final = Option(
    "readTimeout",
    duration_ms,
    300_000,
    "How long the source may take for a page before it counts as hung.",
    shown_default="`5m`",
)
CONNECTIONS: Final = Option("connections", integer(1), 1, "How many splits a task reads at once.")
RETRY_DEADLINE: Final = Option(
    "retryDeadline",
    duration_ms,
    120_000,
    "How long to go on asking an outside that is away or overloaded; for 8 s only, if nothing has ever "
    "answered at its address.",
    shown_default="`2m`",
)

IDLE_TIMEOUT: Final = Option(
    "idleTimeout",
    duration_ms,
    500,
    "A queue that brings nothing for so long is caught up.",
    shown_default="`500ms`",
)


def _receiver_idle_ms(raw: str) -> int:
    found_ms = duration_ms(raw)
    if found_ms < _LEAST_RECEIVER_IDLE_MS:
        raise ValueError("must be 1s at least: before a task has asked a new receiver, it would end")
    return found_ms


RECEIVER_IDLE_TIMEOUT: Final = Option(
    "receiverIdleTimeout",
    _receiver_idle_ms,
    600_000,
    "How long a receiver stays connected when no task asks for what it received: longer than the trigger's "
    "interval and than a restart of the query.",
    shown_default="`10m`",
    kind="duration",
)


def option_table(
    own: Sequence[Option[Any]],
    source: str,
    *,
    is_planned: bool,
    is_simple: bool = False,
    is_staged: bool = False,
    timestamps: bool = False,
    filters: bool = False,
    forgets: bool = False,
    reads_ahead: bool = False,
    decodes: bool = False,
    formats: str | None = None,
) -> OptionTable:
    """Return all options of a user's source: first its own, then those that it has by its form and abilities.

    Args:
        own: those that the source declares.
        source: its class, for messages.
        is_planned: its mode.
        is_simple: whether it is in the small form.
        is_staged: whether it is a `StagedSource`.
        timestamps: whether it finds positions of times.
        filters: whether it takes filters.
        forgets: whether its outside drops old records.
        reads_ahead: whether its positions do not count.
        decodes: whether it decodes a column of its rows.
        formats: the column that users may have decoded.

    Raises:
        ContractError: something declared is no option, or has the name of another one.
    """
    rows: list[Option[Any]] = []
    if forgets:
        rows += STARTING_POSITION, FAIL_ON_DATA_LOSS
    elif timestamps:
        rows.append(STARTING_TIMESTAMP)
    if filters:
        rows.append(PUSH_FILTERS)
    if formats is not None:
        rows += row_format_options(formats)
    elif decodes:
        rows.append(SCHEMA_EVOLUTION)
    if is_simple:
        rows.append(READ_TIMEOUT)
    if is_simple and not is_planned:
        rows.append(CONNECTIONS)
    if is_staged:
        rows += IDLE_TIMEOUT, RECEIVER_IDLE_TIMEOUT
    rows.append(RETRY_DEADLINE)
    rows.extend(PLANNED_OPTIONS if is_planned else BARRIER_OPTIONS)
    if timestamps and is_planned and not reads_ahead:
        rows.extend(EVENT_TIME_OPTIONS)
    _check_own(own, rows, source)
    return OptionTable((*own, *rows))


def with_own(own: Sequence[Option[Any]], shipped: OptionTable, source: str) -> OptionTable:
    """Return the options of a shipped source, behind those of a user's that goes on from it.

    Raises:
        ContractError: something declared is no option, or has the name of another one.
    """
    _check_own(own, shipped.rows, source)
    return OptionTable((*own, *shipped.rows))


def _check_own(own: Sequence[Any], others: Sequence[Option[Any]], source: str) -> None:
    names = _TAKEN | {row.name.lower() for row in others}
    for row in own:
        if not isinstance(row, Option):
            raise ContractError(f"{source}.OPTIONS must be hw.options.Option, not {row!r}")
        if row.name.lower() in names:
            raise ContractError(
                f"{source}.OPTIONS: {row.name!r} is an option of every source, or comes twice: "
                "choose another name"
            )
        names |= {row.name.lower()}

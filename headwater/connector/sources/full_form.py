"""A source in the small form becomes one in the full form, in the mode that its abilities ask for."""

from __future__ import annotations

from headwater.connector.formats.options import SCHEMA_EVOLUTION
from headwater.connector.formats.row_decoding import row_decoding
from headwater.connector.options import ParsedOptions
from headwater.connector.planned.event_time_options import AlignmentOptions, alignment_settings
from headwater.connector.planned.options import read_limits
from headwater.connector.sources.simple import BarrierSimpleSource, PlannedSimpleSource
from headwater.connector.sources.source_options import (
    CONNECTIONS,
    FAIL_ON_DATA_LOSS,
    READ_TIMEOUT,
    RETRY_DEADLINE,
    STARTING_POSITION,
    STARTING_TIMESTAMP,
)
from headwater.core.abilities import (
    EndsAtRecords,
    FindsTimestamps,
    Forgets,
    Heads,
    InfersSchema,
    OrdersSplits,
)
from headwater.core.decoding import Decoding
from headwater.core.errors import ContractError, OptionError
from headwater.core.outside import outside
from headwater.core.simple_source import SimpleSource
from headwater.core.source import Boundedness
from headwater.enumerators.simple.starting_position import FirstPosition
from headwater.readers.simple.settings import SimpleReadSettings


def full_form(
    user: SimpleSource, parsed: ParsedOptions, mode: Boundedness
) -> PlannedSimpleSource | BarrierSimpleSource:
    """Return a simple source in its full form: in planned mode if it knows its heads, else in barrier mode.

    Args:
        user: the source.
        parsed: the options of a simple source of its mode.
        mode: a batch or a stream.
    """
    is_planned = isinstance(user, Heads)
    if is_planned and isinstance(user, OrdersSplits):
        raise ContractError(
            f"source {user.name!r}: {type(user).__name__} has head and parents; splits wait for others "
            "in barrier mode only, which is that of a source without head"
        )
    settings = SimpleReadSettings(
        is_planned=is_planned,
        follows_growth=mode is Boundedness.CONTINUOUS_UNBOUNDED and not is_planned,
        ends_at_records=isinstance(user, EndsAtRecords),
        read_timeout_ms=parsed[READ_TIMEOUT],
        retry_deadline_ms=parsed[RETRY_DEADLINE],
        fail_on_data_loss=parsed[FAIL_ON_DATA_LOSS] if isinstance(user, Forgets) else None,
    )
    # A source that finds no timestamps does not have this option.
    timestamp_ms = parsed.get(STARTING_TIMESTAMP)
    starting = _starting(user, parsed, mode) if isinstance(user, Forgets) else None
    if starting is not None:
        timestamp_ms = starting.timestamp_ms
    decoding = _decoding(user) if user.decodes is None else row_decoding(parsed, user.decodes)
    # Nor does a source that decodes nothing have this one.
    evolution = parsed.get(SCHEMA_EVOLUTION)
    if is_planned:
        alignment = alignment_settings(parsed, read_limits(parsed))
        if alignment is not None and settings.ends_at_records:
            raise AlignmentOptions.refusal(
                "max_skew_ms",
                f"source {user.name!r} ends splits at records (is_end): the others would wait for the time "
                "of one that has ended",
            )
        return PlannedSimpleSource(
            user, settings, mode, timestamp_ms, decoding, evolution, alignment=alignment, starting=starting
        )
    return BarrierSimpleSource(
        user, settings, mode, timestamp_ms, decoding, evolution, connections=parsed[CONNECTIONS]
    )


def _starting(user: SimpleSource, parsed: ParsedOptions, mode: Boundedness) -> FirstPosition:
    position = parsed[STARTING_POSITION]
    if position is not None and position.timestamp_ms is not None and not isinstance(user, FindsTimestamps):
        raise OptionError(
            f"source {user.name!r} finds no times: use earliest, latest, or positions",
            option=STARTING_POSITION.name,
        )
    if mode is Boundedness.CONTINUOUS_UNBOUNDED:
        return position or FirstPosition("latest")
    if position is not None and position.at == "latest":
        raise OptionError(
            "latest is the end, where a batch read has nothing: use earliest, a time, or positions",
            option=STARTING_POSITION.name,
        )
    return position or FirstPosition("earliest")


def _decoding(user: SimpleSource) -> Decoding | None:
    name = type(user).__name__
    with outside(f"{name}.decoding", source=user.name):
        decoding: object = user.decoding()
    if not isinstance(decoding, Decoding | None):
        raise ContractError(
            f"source {user.name!r}: {name}.decoding must return what hw.decode returns, or None, not "
            f"{decoding!r}"
        )
    if decoding is not None and isinstance(user, InfersSchema):
        raise ContractError(
            f"source {user.name!r}: {name} has decoding and infer_schema; a source that decodes has a fixed "
            "schema of pages, as its attribute schema"
        )
    return decoding

"""The options of lists that change: the field that shows changes, and how rounds overlap."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Final, Literal, TypeAlias

from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.options import Option, duration_ms, names, one_of, text
from headwater.readers.http.incremental.values import (
    IncrementalSettings,
    NumberOrder,
    TextOrder,
    TimeOrder,
    ValueOrder,
)
from headwater.readers.http.settings import PagingSettings

_Kind: TypeAlias = Literal["time", "number", "text"]
_OVERLAP: Final = {"time": "1m", "number": "0"}

_FIELD: Final = Option(
    "incrementalField",
    text,
    None,
    "Where an item has what grows with each change of it, such as `updated_at`. The list is then read in "
    "rounds, and an item comes again when it changed. See [lists that change](#lists-that-change).",
)
_PARAM: Final = Option(
    "incrementalParam", text, None, "With it required: the query parameter that says from which value on."
)
_KEY: Final[Option[tuple[str, ...]]] = Option(
    "keyField", names, ("id",), "With it: what names an item; several with commas.", shown_default="`id`"
)
_TYPE: Final[Option[_Kind]] = Option(
    "incrementalType",
    one_of("time", "number", "text"),
    "time",
    "With it: how its values compare: as ISO 8601 moments, as numbers, or as texts by code points.",
)
_OVERLAP_OPTION: Final = Option(
    "incrementalOverlap",
    text,
    None,
    "With it: how far rounds reach back: a duration (`5m`) for times, a number for numbers; texts have none. "
    "As much as changes become visible late.",
    shown_default="`1m`, 0",
)
_STARTING_VALUE: Final = Option(
    "startingValue",
    text,
    None,
    "With it: the value from which on the first round reads.",
    shown_default="all",
)
INCREMENTAL_OPTIONS: Final = (_FIELD, _PARAM, _KEY, _TYPE, _OVERLAP_OPTION, _STARTING_VALUE)


def incremental_settings(parsed: ParsedOptions, paging: PagingSettings) -> IncrementalSettings | None:
    """Return how lists are read in rounds; None if they are read as they are.

    Raises:
        OptionError: options do not go together, or are no values of the field.
    """
    value_field = parsed[_FIELD]
    if value_field is None:
        for option in (_PARAM, _OVERLAP_OPTION, _STARTING_VALUE):
            if parsed[option] is not None:
                raise OptionError(f"requires option {_FIELD.name}", option=option.name)
        return None
    if paging.has_children:
        raise OptionError("does not go with lists that items name", option=_FIELD.name)
    order = _order(parsed)
    start = parsed[_STARTING_VALUE]
    try:
        starting_value = None if start is None else order.value(start)
    except ValueError as error:
        raise OptionError(f"{error}; see option {_TYPE.name}", option=_STARTING_VALUE.name) from error
    return IncrementalSettings(
        parameter=parsed.require(_PARAM, f" with option {_FIELD.name}"),
        value_field=value_field,
        key_fields=parsed[_KEY],
        order=order,
        starting_value=starting_value,
    )


def _order(parsed: ParsedOptions) -> ValueOrder:
    kind = parsed[_TYPE]
    raw = parsed[_OVERLAP_OPTION]
    if kind == "text":
        if raw is not None:
            raise OptionError("texts have no overlap", option=_OVERLAP_OPTION.name)
        return TextOrder()
    written = raw or _OVERLAP[kind]
    try:
        if kind == "time":
            return TimeOrder(duration_ms(written))
        overlap = Decimal(written)
    except (ValueError, InvalidOperation) as error:
        expected = "a duration such as 5m" if kind == "time" else "a number"
        raise OptionError(f"must be {expected}, not {written!r}", option=_OVERLAP_OPTION.name) from error
    if not overlap.is_finite() or overlap < 0:
        raise OptionError(f"must be a number of at least 0, not {written!r}", option=_OVERLAP_OPTION.name)
    return NumberOrder(overlap)

"""The options of lists that change: the field that shows changes, and how rounds overlap."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Final, Literal, TypeAlias

from headwater.connector.options import ParsedOptions
from headwater.core.options import Spec, duration_ms, names, one_of, option
from headwater.readers.http.incremental.values import (
    IncrementalSettings,
    NumberOrder,
    TextOrder,
    TimeOrder,
    ValueOrder,
)
from headwater.readers.http.settings import PagingSettings

Kind: TypeAlias = Literal["time", "number", "text"]
_OVERLAP: Final = {"time": "1m", "number": "0"}


class IncrementalOptions(Spec):
    """How lists that change are read, as the user says; in rounds if there is a field."""

    value_field: str | None = option(
        "incrementalField",
        "Where an item has what grows with each change of it, such as `updated_at`. The list is then read in "
        "rounds, and an item comes again when it changed. See [lists that change](#lists-that-change).",
        default=None,
    )
    parameter: str | None = option(
        "incrementalParam",
        "With it required: the query parameter that says from which value on.",
        default=None,
    )
    key_fields: tuple[str, ...] = option(
        "keyField",
        "With it: what names an item; several with commas.",
        default=("id",),
        parse=names,
        shown_default="`id`",
    )
    kind: Kind = option(
        "incrementalType",
        "With it: how its values compare: as ISO 8601 moments, as numbers, or as texts by code points.",
        default="time",
        parse=one_of("time", "number", "text"),
    )
    overlap: str | None = option(
        "incrementalOverlap",
        "With it: how far rounds reach back: a duration (`5m`) for times, a number for numbers; texts have "
        "none. As much as changes become visible late.",
        default=None,
        shown_default="`1m`, 0",
    )
    starting_value: str | None = option(
        "startingValue",
        "With it: the value from which on the first round reads.",
        default=None,
        shown_default="all",
    )

    def __post_init__(self) -> None:
        if self.value_field is not None:
            return
        for name in ("parameter", "overlap", "starting_value"):
            if getattr(self, name) is not None:
                raise self.refusal(name, f"requires option {self.OPTIONS['value_field'].name}")

    def order(self) -> ValueOrder:
        """Return how the values of the field compare, and how far rounds reach back.

        Raises:
            OptionError: the overlap is none for such values.
        """
        if self.kind == "text":
            if self.overlap is not None:
                raise self.refusal("overlap", "texts have no overlap")
            return TextOrder()
        written = self.overlap or _OVERLAP[self.kind]
        try:
            if self.kind == "time":
                return TimeOrder(duration_ms(written))
            overlap = Decimal(written)
        except (ValueError, InvalidOperation) as error:
            expected = "a duration such as 5m" if self.kind == "time" else "a number"
            raise self.refusal("overlap", f"must be {expected}, not {written!r}") from error
        if not overlap.is_finite() or overlap < 0:
            raise self.refusal("overlap", f"must be a number of at least 0, not {written!r}")
        return NumberOrder(overlap)


INCREMENTAL_OPTIONS: Final = IncrementalOptions.options()


def incremental_settings(parsed: ParsedOptions, paging: PagingSettings) -> IncrementalSettings | None:
    """Return how lists are read in rounds; None if they are read as they are.

    Raises:
        OptionError: options do not go together, or are no values of the field.
    """
    incremental = parsed.of(IncrementalOptions)
    if incremental.value_field is None:
        return None
    if paging.has_children:
        raise incremental.refusal("value_field", "does not go with lists that items name")
    order = incremental.order()
    start = incremental.starting_value
    try:
        starting_value = None if start is None else order.value(start)
    except ValueError as error:
        kind = incremental.OPTIONS["kind"].name
        raise incremental.refusal("starting_value", f"{error}; see option {kind}") from error
    return IncrementalSettings(
        parameter=incremental.require("parameter", f" with option {incremental.OPTIONS['value_field'].name}"),
        value_field=incremental.value_field,
        key_fields=incremental.key_fields,
        order=order,
        starting_value=starting_value,
    )

"""How a list is read in rounds."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.readers.http.incremental.values import FieldValue, ValueOrder


@dataclass(frozen=True, kw_only=True)
class IncrementalSettings:
    """What tells changes. Picklable; opens nothing. Names have dots between them.

    Attributes:
        parameter: of the query; takes the value from which on a round reads.
        value_field: where an item has the value that grows with each change.
        key_fields: what names an item.
        order: how values compare, and how far rounds overlap.
        starting_value: where the first round begins; None for everything there is.
    """

    parameter: str
    value_field: str
    key_fields: tuple[str, ...]
    order: ValueOrder
    starting_value: FieldValue | None = None

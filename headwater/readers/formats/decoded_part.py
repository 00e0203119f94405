"""What is to be done with keys or values that a format decodes. Loads no Arrow: the driver makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from headwater.readers.formats.format import Format

OnBadValue: TypeAlias = Literal["keep", "drop", "fail"]


@dataclass(frozen=True, kw_only=True)
class DecodedPart:
    """A key or value that a format decodes.

    Attributes:
        format: makes its columns.
        prefix: comes before their names where each is a column of the row.
        on_bad: what becomes of a row whose key or value the format cannot decode.
        zone_option: the option that names the time zone, if the format needs one and the user gave none;
            else empty.
        names_schemas: whether each value has the id of its schema in front.
    """

    format: Format
    prefix: str = ""
    on_bad: OnBadValue = "keep"
    zone_option: str = ""
    names_schemas: bool = False


def part_of(column: str) -> str:
    """Return ``value`` for ``value.*``, and the name of any other column as it is."""
    return column.removesuffix(".*")


def is_spread(column: str) -> bool:
    """Whether a name stands for all columns of a decoded part, each as one of the row."""
    return column.endswith(".*")

"""From what a user says about a format to the format with its schema."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.connector.formats.part_options import PartOptions
from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.options import Option
from headwater.readers.formats.format_options import FormatOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from headwater.readers.formats.format import Format


@dataclass(frozen=True, kw_only=True)
class FormatRequest:
    """What a user says about the format of one part.

    Attributes:
        given: all options.
        rows: those about the part.
        topics: the names of the topics that are read; None if a pattern finds them.
        infer: finds the fields of JSON that the user does not name; None where they must be named.
    """

    given: ParsedOptions
    rows: PartOptions
    topics: Collection[str] | None
    infer: Callable[[PartOptions], StructType] | None = None

    @property
    def options(self) -> FormatOptions:
        """What all formats have in common."""
        given, rows = self.given, self.rows
        return FormatOptions(
            corrupt_column=given[rows.corrupt_column],
            rescued_column=given.get(rows.rescued_column),
            time_zone=given[rows.time_zone],
            timestamp_format=given.get(rows.timestamp_format),
            timestamp_ntz_format=given.get(rows.timestamp_ntz_format),
            date_format=given.get(rows.date_format),
        )

    def refusal(self, option: Option[Any], message: str) -> OptionError:
        """Return the error that an option of the part does not make sense."""
        return OptionError(message, option=option.name)


@dataclass(frozen=True, kw_only=True)
class ChosenFormat:
    """A format with its schema, before it is made.

    Attributes:
        fields: the columns that it makes, without the one for corrupt values.
        make: makes it. May load Arrow.
        is_single_value: see `Format`.
        has_times: whether a time that is written without a zone may become a point in time.
    """

    fields: StructType
    make: Callable[[], Format]
    is_single_value: bool = False
    has_times: bool = False

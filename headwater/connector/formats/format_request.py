"""From the user's options about a format to the format with its schema."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from headwater.connector.formats.options import FORMATS, PartOptions
from headwater.connector.options import ParsedOptions
from headwater.core.imports import require
from headwater.readers.formats.format import FormatOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from headwater.readers.formats.format import Format


@dataclass(frozen=True, kw_only=True)
class FormatRequest:
    """The user's options about the format of one part.

    Attributes:
        parsed: all options.
        part: those about the part.
        topics: the names of the topics that are read; None if a pattern finds them.
        infer: finds the fields of JSON that the user does not name; None where they must be named.
    """

    parsed: ParsedOptions
    part: PartOptions
    topics: Collection[str] | None
    infer: Callable[[PartOptions], StructType] | None = None

    @property
    def options(self) -> FormatOptions:
        """The options that all formats have in common."""
        part = self.part
        return FormatOptions(
            corrupt_column=part.corrupt_column,
            rescued_column=part.rescued_column,
            time_zone=part.time_zone,
            timestamp_format=part.timestamp_format,
            timestamp_ntz_format=part.timestamp_ntz_format,
            date_format=part.date_format,
        )

    def gives(self, name: str) -> bool:
        """Return whether the user gave an option of the part, by its field."""
        return self.parsed.gives(self.part.OPTIONS[name])


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


def choose(request: FormatRequest) -> ChosenFormat:
    """Find the schema of a part that has a format, and return the format with it.

    Raises:
        MissingDependencyError: a library that tasks need is not even here.
    """
    row = FORMATS[request.part.format or ""]
    if row.has_kernel:
        require("llvmlite", needed_for=f"the format {request.part.format}", extra="formats")
    function: Callable[[FormatRequest], ChosenFormat] = getattr(import_module(row.module), row.function)
    return function(request)

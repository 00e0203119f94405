"""The options about keys or values: a row of declarations for each of the two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.options import Option
from headwater.readers.formats.csv.csv_settings import CsvDialect


class PartOptions(NamedTuple):
    """The options about one part of a record.

    Attributes:
        part: ``key`` or ``value``.
    """

    part: str
    format: Option[str | None]
    schema: Option[Any]
    avro_schema: Option[str | None]
    avro_writer_schema: Option[str | None]
    descriptor: Option[str | None]
    message: Option[str | None]
    emit_defaults: Option[bool | None]
    enums_as_ints: Option[bool | None]
    upcast_unsigned: Option[bool | None]
    subject: Option[str | None]
    subject_strategy: Option[str | None]
    version: Option[str | None]
    prefix: Option[str | None]
    mode: Option[str | None]
    corrupt_column: Option[str | None]
    rescued_column: Option[str | None]
    time_zone: Option[str | None]
    timestamp_format: Option[str | None]
    timestamp_ntz_format: Option[str | None]
    date_format: Option[str | None]
    csv_options: Option[CsvDialect | None]

    def by_field(self) -> Iterator[tuple[str, Option[Any]]]:
        """Yield the options and the fields of this class that they are in, in the order of the docs."""
        for field, option in self._asdict().items():
            if isinstance(option, Option):
                yield field, option

    def check_none_given(self, options: ParsedOptions) -> None:
        """Refuse options that only count with a format, where there is none.

        Raises:
            OptionError: one of them was given.
        """
        for _, option in self.by_field():
            if options.get(option) is not None:
                raise OptionError(
                    f"counts only where {self.format.name!r} says how the {self.part} is written; set that "
                    "too, or remove this",
                    option=option.name,
                )

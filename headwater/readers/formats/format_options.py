"""What all formats have in common: the settings that a user gives beside the schema."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FormatOptions:
    """How values are decoded, whatever their format. Immutable and picklable.

    Attributes:
        corrupt_column: the name of a column of strings that holds the text of each bad value, bytes that are
            no UTF-8 as U+FFFD; of a binary format as Base64. None: there is no such column.
        rescued_column: the name of a column of strings that holds, as a JSON object, what the schema does not
            name and what it could not take. None: there is no such column, and a value that does not fit its
            field makes the whole value bad.
        time_zone: the zone of times without one, as the time zone database names it or as an offset such as
            ``+01:00``. None: such a time cannot become a point in time.
        timestamp_format: how times are written, as Java's `DateTimeFormatter` has it. None: as ISO 8601.
        timestamp_ntz_format: how times without a zone are written.
        date_format: how dates are written.
        time_fallback: whether dates and times that do not follow their pattern are read as Spark casts text.
            None: where there is no pattern. CSV has it in its dialect.
    """

    corrupt_column: str | None = None
    rescued_column: str | None = None
    time_zone: str | None = None
    timestamp_format: str | None = None
    timestamp_ntz_format: str | None = None
    date_format: str | None = None
    time_fallback: bool | None = None

    @property
    def date_fallback(self) -> bool:
        """Whether dates are read in another way if they do not follow ``date_format``."""
        return self.date_format is None if self.time_fallback is None else self.time_fallback

    @property
    def timestamp_fallback(self) -> bool:
        """Whether times are read in another way if they do not follow ``timestamp_format``."""
        return self.timestamp_format is None if self.time_fallback is None else self.time_fallback

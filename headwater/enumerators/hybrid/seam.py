"""The seam between two parts: one time that decides row by row on both sides."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seam:
    """Rows before a time come from the parts before the last one, all others from the last one.

    It decides by the rows alone, never by where they stand: rows out of order are neither lost nor doubled.

    Attributes:
        column: the column with the time of a row, of the type timestamp, in all parts.
        time_us: rows at or after this time, in microseconds since 1970, are the last part's.
    """

    column: str
    time_us: int

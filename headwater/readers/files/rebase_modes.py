"""What the user says of old dates, for files that do not tell by which calendar they were written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

RebaseMode: TypeAlias = Literal["CORRECTED", "EXCEPTION", "LEGACY"]
"""What Spark calls them: dates as they are, none of old times, or by the calendar of then."""


@dataclass(frozen=True)
class RebaseModes:
    """What the user said of old times, for files that do not say who wrote them.

    Attributes:
        datetime: of dates and timestamps.
        int96: of timestamps in 96 bits.
    """

    datetime: RebaseMode = "CORRECTED"
    int96: RebaseMode = "CORRECTED"

"""A position in a list that is read in rounds: in the segment log of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from headwater.core.errors import OffsetError
from headwater.core.jsons import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class LogPosition:
    """The next segment to read, as the offset holds it: ``{"segment": 12, "known": 7}``.

    Attributes:
        segment: its number.
        known: the last segment before it in which all versions of items stand that were known; None if there
            is none yet.
    """

    segment: int = 0
    known: int | None = None

    @property
    def first_needed(self) -> int:
        """The number of the first segment that going on from here needs."""
        return 0 if self.known is None else self.known

    def to_json(self) -> JsonObject:
        """Return the position as the offset holds it."""
        return {"segment": self.segment, "known": self.known}

    @classmethod
    def from_json(cls, value: JsonValue) -> LogPosition:
        """Return what `to_json` wrote.

        Raises:
            OffsetError: it is a position of a list that was read as it is.
        """
        fields = cast("dict[str, Any]", value)
        if "segment" not in fields:
            raise OffsetError(
                "this checkpoint was begun without option incrementalField: go on without it, or use a new "
                "checkpointLocation"
            )
        return cls(fields["segment"], fields["known"])

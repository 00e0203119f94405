"""Where the splits of a new query begin, where the outside forgets its oldest records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class FirstPosition:
    """The option ``startingPosition``, parsed.

    Attributes:
        at: the end of the splits, or a position of each; None for a time.
        timestamp_ms: with the first record of that time or later.
        positions: by the names of splits. One that is not named begins with its first record.
    """

    at: Literal["earliest", "latest", "positions"] | None = None
    timestamp_ms: int | None = None
    positions: Mapping[str, Any] | None = None


def positions_of(raw: str) -> Mapping[str, Any]:
    """Return positions by the names of splits, from a JSON object.

    Raises:
        ValueError: it is no such object.
    """
    try:
        positions = json.loads(raw)
    except ValueError:
        positions = None
    if not isinstance(positions, dict):
        # No TypeError: the caller's argument is a text, as it should be.
        raise ValueError(  # noqa: TRY004
            f'must be earliest, latest, a time, or positions such as {{"orders": 100}}, not {raw!r}'
        )
    return positions

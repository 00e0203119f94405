"""Where one part of a chain of sources ends, so that the next one can begin there (FLIP-150)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

EndPositions: TypeAlias = Mapping[str, Mapping[str, int]]
"""By topic, then by partition, the first offset that was not read. The topic is "" where nobody tells it."""


@dataclass(frozen=True, slots=True)
class PartEnd:
    """What the next part of a chain is told (FLIP-150 ``SourceSwitchContext``).

    Attributes:
        option: the user's option that says where that is, for errors.
        time_ms: rows of that time or later, in ms since 1970, may be in the next part; None if no time says
            it.
        positions: where the next part begins; None if positions do not say it.
    """

    option: str
    time_ms: int | None = None
    positions: EndPositions | None = None

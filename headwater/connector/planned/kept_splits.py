"""How many positions of splits that are out of sight an offset keeps, and for how long."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from headwater.core.enumerator import KeptSplit
from headwater.core.errors import DataLossError
from headwater.core.split import PositionT, SplitPath, SplitT

MOST_KEPT: Final = 10_000
KEPT_MS: Final = 30 * 24 * 60 * 60 * 1000

log = logging.getLogger(__name__)


def within_limits(
    kept: Mapping[SplitPath, KeptSplit[SplitT, PositionT]], now_ms: int, *, source: str, forgets: bool
) -> Mapping[SplitPath, KeptSplit[SplitT, PositionT]]:
    """Return those that may stay in the offset: those of the last 30 days, and the newest 10,000 of them.

    Called for an offset that is going to be logged.

    Args:
        kept: all of them.
        now_ms: the driver's wall-clock time in ms since 1970.
        source: the source's name.
        forgets: whether the others are forgotten, with a warning that names the count.

    Raises:
        DataLossError: there are others, and they may not be forgotten.
    """
    young = {path: each for path, each in kept.items() if now_ms - each.since_ms < KEPT_MS}
    newest = sorted(young, key=lambda path: (-young[path].since_ms, path))[:MOST_KEPT]
    stay = {path: young[path] for path in newest}
    too_many = [path for path in sorted(kept) if path not in stay]
    if not too_many:
        return kept
    shown = ", ".join("-".join(path) for path in too_many[:5]) + (", ..." if len(too_many) > 5 else "")
    what = (
        f"the positions of {len(too_many)} splits that are out of sight cannot be kept any longer (30 days, "
        f"and {MOST_KEPT} splits, are the most): {shown}"
    )
    if not forgets:
        raise DataLossError(
            f"{what}. Bring them back, or deselect them by option; with failOnDataLoss=false they are "
            "forgotten, and begin anew should they come back",
            source=source,
        )
    log.warning("source %s: %s; they are forgotten, and begin anew should they come back", source, what)
    return stay

"""Times of before 1900 by the clocks that Java's old classes suppose: they know no local mean time.

Spark 2, and every Spark that writes ORC, hands times over by these. So such a time says which date and hour
a clock with the zone's offset of today would have shown, and it is meant where the clocks of then showed it.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.readers.formats.values.time_zones import zone_of
from headwater.readers.formats.values.zones import offsets_of

_NOW = 2024
"""A year whose rules are those of today."""
_MICROSECOND = timedelta(microseconds=1)


class OldClock:
    """The clocks of one time zone.

    Args:
        name: of the zone, as Java calls it.

    Raises:
        ValueError: there is no such zone.
    """

    def __init__(self, name: str) -> None:
        zone = zone_of(name)
        offsets = offsets_of(name)
        if zone is None or offsets is None:
            raise ValueError(f"there is no time zone {name!r}")
        self.supposed_us = _without_summer_time(zone) // _MICROSECOND
        """How far Java's old classes suppose that these clocks were ahead of UTC."""
        until, self._offsets = offsets
        # Where clocks were set back, Spark takes the second of two equal times.
        self._until = until.copy()
        self._until[:-1] += np.minimum(0, np.diff(self._offsets))

    def ahead_us(self, local: Any) -> Any:
        """Return how far clocks were ahead of UTC that showed these times."""
        shown = local.fill_null(0).to_numpy(zero_copy_only=False)
        return pa.array(self._offsets[np.searchsorted(self._until, shown, side="right")])


def _without_summer_time(zone: tzinfo) -> timedelta:
    moments = (datetime(_NOW, month, 1, tzinfo=zone).utcoffset() for month in range(1, 13))
    return min(moment or timedelta() for moment in moments)

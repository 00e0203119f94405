"""Times for kernels: the zones that were seen, and the patterns that a user gave."""

from __future__ import annotations

import ctypes
from typing import Final

import numpy as np

from headwater.core.errors import OptionError
from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.format import FormatOptions
from headwater.readers.formats.values import layout as V
from headwater.readers.formats.values.time_pattern import program_of
from headwater.readers.formats.values.zones import offsets_of
from headwater.readers.kernels.arrays import Int64Array, address

_MOST_ZONES: Final = 256


class TimePatterns:
    """The programs of the patterns that a user gave, and the room that they need.

    Args:
        options: with the patterns.
        state: that of the kernel, which finds them there.
    """

    def __init__(self, options: FormatOptions, state: Int64Array) -> None:
        patterns = (options.timestamp_format, options.timestamp_ntz_format, options.date_format)
        self._programs = [None if one is None else np.array(program_of(one), np.int64) for one in patterns]
        self._work = np.zeros(V.WORK_BYTES, np.uint8)
        self._table = np.array(
            [*(0 if one is None else address(one) for one in self._programs), address(self._work)], np.int64
        )
        state[T.STATE_PATTERNS] = address(self._table)


class KnownZones:
    """The time zones that the kernel knows: the one for times without a zone, and those seen in values.

    A name that means no zone is remembered too.

    Args:
        time_zone: of times without one; None: there is none.
        state: that of the kernel, which finds the zones there, and names one that it does not know.

    Raises:
        OptionError: there is no such time zone.
    """

    def __init__(self, time_zone: str | None, state: Int64Array) -> None:
        self._state = state
        self._rows: list[list[int]] = []
        self._alive: list[object] = []  # the arrays at these addresses
        if time_zone is not None:
            if offsets_of(time_zone) is None:
                raise OptionError(f"there is no time zone {time_zone!r}; write Europe/Paris, +01:00 or UTC")
            self._append(b"", time_zone)
        else:
            self._rows.append([0] * (V.ZONE_BYTES // 8))
        self._publish()

    def add_unknown(self, _done: int) -> None:
        """Look up the zone for which the kernel has stopped."""
        name = ctypes.string_at(int(self._state[T.STATE_ZONE_TEXT]), int(self._state[T.STATE_ZONE_SIZE]))
        if len(self._rows) > _MOST_ZONES:
            # Values may name anything: a zone that is dropped is looked up again.
            del self._rows[1:], self._alive[3:]
        self._append(name, name.decode("ascii", "replace").strip())
        self._publish()

    def _append(self, key: bytes, name: str) -> None:
        text = np.frombuffer(key + b"\0", np.uint8)
        until, offsets = offsets_of(name) or (np.empty(0, np.int64), np.empty(0, np.int64))
        self._alive += [text, until, offsets]
        places = (address(until), address(offsets)) if len(offsets) else (0, 0)
        self._rows.append([address(text), len(key), *places, len(offsets)])

    def _publish(self) -> None:
        self._table = np.array(self._rows, np.int64)
        self._state[T.STATE_ZONES] = address(self._table)
        self._state[T.STATE_ZONE_COUNT] = len(self._rows)

"""What kernels know of times: the zones that were seen, and the patterns that a user gave."""

from __future__ import annotations

import ctypes
from typing import Final

import numpy as np

from headwater.core.errors import OptionError
from headwater.readers.formats.format_options import FormatOptions
from headwater.readers.formats.values import layout
from headwater.readers.formats.values.time_pattern import program_of
from headwater.readers.formats.values.zones import offsets_of
from headwater.readers.kernels.arrays import address

_MOST_ZONES: Final = 256


class TimePatterns:
    """The programs of the patterns that a user gave, and the room that they need."""

    def __init__(self, options: FormatOptions) -> None:
        given = (options.timestamp_format, options.timestamp_ntz_format, options.date_format)
        self._programs = [None if one is None else np.array(program_of(one), np.int64) for one in given]
        self._work = np.zeros(layout.WORK_BYTES, np.uint8)
        self._table = np.array(
            [*(0 if one is None else address(one) for one in self._programs), address(self._work)], np.int64
        )

    @property
    def address(self) -> int:
        """Where the table is."""
        return address(self._table)


class KnownZones:
    """The time zones that the kernel knows: the one for times without a zone, and those seen in values.

    A name that means no zone is remembered too.

    Raises:
        OptionError: there is no such time zone.
    """

    def __init__(self, time_zone: str | None) -> None:
        self._rows: list[list[int]] = []
        self._kept: list[object] = []  # what the addresses point to
        if time_zone is not None:
            if offsets_of(time_zone) is None:
                raise OptionError(f"there is no time zone {time_zone!r}; write Europe/Paris, +01:00 or UTC")
            self._append(b"", time_zone)
        else:
            self._rows.append([0] * (layout.ZONE_BYTES // 8))
        self._table = np.array(self._rows, np.int64)

    @property
    def address(self) -> int:
        """Where the table is."""
        return address(self._table)

    @property
    def count(self) -> int:
        """How many zones it has."""
        return len(self._rows)

    def add(self, at: int, size: int) -> None:
        """Look a zone up whose name, of so many bytes, is at an address."""
        name = ctypes.string_at(at, size)
        if len(self._rows) > _MOST_ZONES:
            # Values may name anything: what is forgotten is looked up again.
            del self._rows[1:], self._kept[3:]
        self._append(name, name.decode("ascii", "replace").strip())
        self._table = np.array(self._rows, np.int64)

    def _append(self, key: bytes, name: str) -> None:
        text = np.frombuffer(key + b"\0", np.uint8)
        until, offsets = offsets_of(name) or (np.empty(0, np.int64), np.empty(0, np.int64))
        self._kept += [text, until, offsets]
        places = (address(until), address(offsets)) if len(offsets) else (0, 0)
        self._rows.append([address(text), len(key), *places, len(offsets)])

"""Old dates: Spark 2, and newer ones in the mode LEGACY, wrote them by the Julian calendar until 1582."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute

from headwater.core.errors import CorruptRecordError
from headwater.core.imports import importing
from headwater.readers.files.column_types import ColumnConversion
from headwater.readers.files.settings import RebaseMode, RebaseModes

if TYPE_CHECKING:
    from headwater.readers.formats.values.zones import OldClock

compute: Any = pyarrow.compute
_UTC: Final = frozenset({"", "UTC", "Etc/UTC", "GMT", "Z", "+00:00"})
_DAY_US: Final = 86_400_000_000
_FIRST_YEAR: Final = -719_530
"""The first day of the year 0, by the Julian calendar: where the year 1 begins by the clocks of some zone."""
_STEPS: Final = {
    -682_945: -1,
    -646_420: -1,
    -609_895: -1,
    -536_845: -1,
    -500_320: -1,
    -463_795: -1,
    -390_745: -1,
    -354_220: -1,
    -317_695: -1,
    -244_645: -1,
    -208_120: -1,
    -171_595: -1,
    -141_427: 10,
}
"""By the first day of a period: by how many more days the calendars differ. From the last on they are one."""
_CALENDAR_DAY: Final = -141_427
_CALENDAR_US: Final = -2_208_988_800_000_000
"""Before this time, the year 1900, clocks went otherwise in some zone, or the calendar was another."""


@dataclass(frozen=True)
class Rebase:
    """The conversion of the old times of one file.

    Attributes:
        url: of the file, for errors.
        modes: of this file.
        zone: of the writer.
    """

    url: str
    modes: RebaseModes
    zone: str | None = None

    @classmethod
    def of(cls, url: str, metadata: Mapping[bytes, bytes] | None, modes: RebaseModes) -> Rebase:
        """Return the conversion by a file's own notes; by the options if Spark did not write it."""
        notes = {
            key.removeprefix(b"org.apache.spark.").decode(): value.decode()
            for key, value in (metadata or {}).items()
            if key.startswith(b"org.apache.spark.")
        }
        version = notes.get("version")
        if version is None:
            return cls(url, modes)
        return cls(
            url,
            RebaseModes(
                datetime="LEGACY" if version < "3.0.0" or "legacyDateTime" in notes else "CORRECTED",
                int96="LEGACY" if version < "3.1.0" or "legacyINT96" in notes else "CORRECTED",
            ),
            notes.get("timeZone"),
        )

    @property
    def is_none(self) -> bool:
        """Whether all times are as they are stored."""
        return self.modes == RebaseModes()

    def dates(self, column: Any) -> Any:
        """Return days as the proleptic Gregorian calendar counts them."""
        if self.modes.datetime == "CORRECTED" or not self._has_before(column.view(pa.int32()), _CALENDAR_DAY):
            return column
        self._check(self.modes.datetime)
        return self._days(column.view(pa.int32())).cast(pa.int32()).view(pa.date32())

    def timestamps(self, micros: Any, kind: Any) -> Any:
        """Return microseconds as times of this type. Those without a zone are never rebased."""
        if kind.tz is None:
            return micros.view(kind)
        return self._timestamps(micros, self.modes.datetime).view(kind)

    def int96(self, kind: Any) -> ColumnConversion:
        """Return the conversion of times that pyarrow reads as microseconds."""
        if kind.tz is None:
            return lambda column: column.view(pa.int64()).view(kind)
        return lambda column: self._timestamps(column.view(pa.int64()), self.modes.int96).view(kind)

    def _timestamps(self, micros: Any, mode: RebaseMode) -> Any:
        if mode == "CORRECTED" or not self._has_before(micros, _CALENDAR_US):
            return micros
        self._check(mode)
        is_old = compute.less(micros, _CALENDAR_US)
        return compute.if_else(is_old, self._of_then(micros), micros)

    def _of_then(self, micros: Any) -> Any:
        """Return times that were counted by the calendar, and shown by the clocks, of the writer."""
        clock = None if self.zone in _UTC else self._clock()
        local = micros if clock is None else compute.add(micros, clock.supposed_us)
        # Towards zero, so one day less before 1970.
        days = compute.divide(local, _DAY_US)
        is_less = compute.less(local, compute.multiply(days, _DAY_US))
        days = compute.subtract(days, compute.cast(is_less, pa.int64()))
        within = compute.subtract(local, compute.multiply(days, _DAY_US))
        moved = compute.add(compute.multiply(self._days(days), _DAY_US), within)
        return moved if clock is None else compute.subtract(moved, clock.ahead_us(moved))

    def _clock(self) -> OldClock:
        with importing("times of before 1900 by the clocks of a time zone", extra="formats"):
            from headwater.readers.formats.values.zones import OldClock
        try:
            return OldClock(self.zone or "")
        except ValueError:
            raise CorruptRecordError(
                f"the file has timestamps before 1900 by the clocks of then, in the zone {self.zone or '?'}, "
                "which is not known here",
                source="files",
                split=self.url,
            ) from None

    def _days(self, days: Any) -> Any:
        if self._has_before(days, _FIRST_YEAR):
            raise CorruptRecordError(
                "the file has dates before the year 0 by the Julian calendar: these are not read",
                source="files",
                split=self.url,
            )
        moved = compute.add(compute.cast(days, pa.int64()), 2)
        for day, step in _STEPS.items():
            is_later = compute.cast(compute.greater_equal(days, day), pa.int64())
            moved = compute.add(moved, compute.multiply(is_later, step))
        return moved

    def _check(self, mode: RebaseMode) -> None:
        if mode == "EXCEPTION":
            raise CorruptRecordError(
                "the file has dates before 1582-10-15 or times before 1900, and does not say by which "
                "calendar: set datetimeRebaseMode or int96RebaseMode to CORRECTED or LEGACY",
                source="files",
                split=self.url,
            )

    def _has_before(self, numbers: Any, bound: int) -> bool:
        least = compute.min(numbers).as_py()
        return bool(least is not None and least < bound)

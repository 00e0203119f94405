"""ORC files with times: those that pyarrow does not hold are refused by name; zones by any of their names."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import pyarrow as pa
import pytest
from pyarrow import orc

from headwater.core.errors import CorruptRecordError, SourceError
from headwater.readers.files.orc_tail import OrcTail
from headwater.readers.formats.values.time_zones import zone_of
from tests.readers.files.reading import infer, read, settings

FAR = Path(__file__).parent / "far_times.orc"
"""Written by Spark: `n` 1 and 2; `t` 2024-07-03 and 9999-12-31; `l`, lists of the same."""


@pytest.mark.parametrize("skips", [False, True])
def test_far_timestamps_are_refused_with_stripe_columns_and_way_out(*, skips: bool) -> None:
    schema = infer(FAR, settings("orc", pa.schema([])))
    with pytest.raises(
        SourceError, match=r"stripe 1 of 1 has timestamps before 1677.* in 't' or 'l'"
    ) as error:
        read(FAR, settings("orc", schema, ignore_corrupt=skips))
    assert not isinstance(error.value, CorruptRecordError)
    assert error.value.split == f"file://{FAR}"
    assert "spark.read.format('orc')" in str(error.value)


def test_other_columns_of_such_a_file_are_read() -> None:
    numbers = pa.schema([pa.field("n", pa.int32())])
    assert read(FAR, settings("orc", numbers)) == [{"n": 1}, {"n": 2}]


WRITTEN = datetime(2015, 1, 1, 0, 0, 1)  # noqa: DTZ001 - by the writer's clock


def written_in(zone: str) -> bytes:
    """Return a file with the time `WRITTEN` by the clock of a zone, as Java would write it."""
    out = io.BytesIO()
    orc.write_table(pa.table({"t": [WRITTEN]}), out, compression="UNCOMPRESSED")
    data = out.getvalue()
    ((start, stop),) = OrcTail(io.BytesIO(data), len(data)).footers
    footer = data[start:stop].replace(b"\x1a\x03GMT", b"\x1a" + bytes([len(zone)]) + zone.encode())
    # The list of stripes has the footer's length, then the number of rows.
    old, new = (b"\x20" + bytes([length]) + b"\x28\x01" for length in (stop - start, len(footer)))
    return data[:start] + footer + data[stop:].replace(old, new)


def test_times_are_read_by_whatever_name_a_file_has_of_its_writers_zone(tmp_path: Path) -> None:
    """The decoder's library looks for some zones by other names than those in the file."""
    names = sorted(name for name in available_timezones() if zone_of(name) is not None)
    assert {"US/Pacific", "US/Alaska", "America/New_York", "Asia/Calcutta"} <= set(names)
    path = tmp_path / "f.orc"
    how = settings("orc", pa.schema([("t", pa.timestamp("us", "UTC"))]))
    for name in names:
        path.write_bytes(written_in(name))
        (row,) = read(path, how)
        assert row["t"].astimezone(ZoneInfo(name)).replace(tzinfo=None) == WRITTEN, name


@pytest.mark.parametrize(("julian_days", "day"), [(-141_428, date(1582, 10, 4)), (-719_164, date(1, 1, 1))])
def test_a_filter_goes_by_the_day_that_is_meant_in_a_file_of_the_old_calendar(
    tmp_path: Path, julian_days: int, day: date
) -> None:
    path = tmp_path / "f.orc"
    orc.write_table(pa.table({"d": pa.array([julian_days, 0], pa.int32()).cast(pa.date32())}), path)
    for value in (day, date(1970, 1, 1)):
        how = settings("orc", pa.schema([("d", pa.date32())]), filters=(("d", "==", value),))
        assert read(path, how) == [{"d": value}]


ONES = 1 << 22


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of a process")
@pytest.mark.parametrize(
    "make",
    [
        lambda: pa.nulls(ONES, pa.int64()).fill_null(7),
        lambda: pa.nulls(ONES, pa.string()).fill_null("x" * 10),
        lambda: pa.ListArray.from_arrays(pa.array([0, ONES], pa.int32()), pa.nulls(ONES, pa.int64())),
    ],
    ids=["numbers", "texts", "a list"],
)
def test_a_stripe_that_becomes_larger_than_it_may_is_refused_by_name_and_the_next_file_is_read(
    tmp_path: Path, make: Callable[[], pa.Array[Any]]
) -> None:
    path = tmp_path / "f.orc"
    column = make()
    orc.write_table(pa.table({"a": column}), path, compression="ZSTD")
    how = settings("orc", pa.schema([("a", column.type)]), ignore_corrupt=True)
    with pytest.raises(SourceError, match="option 'maxInflatedBlockBytes' bounds them") as error:
        read(path, replace(how, most_inflated_bytes=1 << 20))
    assert not isinstance(error.value, CorruptRecordError)
    assert error.value.split == f"file://{path}"
    orc.write_table(pa.table({"a": column[:1].slice(0, 0)}), path)
    assert read(path, how) == []

"""Values of records as values of columns: what stands for null and the like, and each type."""

from __future__ import annotations

import datetime as dt
import math

import pyarrow as pa
import pytest

from headwater.readers.formats.format import FormatOptions
from tests.readers.formats.csv.csv_values import decode

MISMATCH = "which does not fit its type"


def test_texts_of_the_options_stand_for_null_nothing_and_infinities() -> None:
    found = decode(
        {"a": pa.string(), "b": pa.float64()},
        ['NA,nil', '"",-', '"NA",+', ",many"],
        null_value="NA", empty_value="none", nan_value="nil", positive_inf="many", negative_inf="-",
    )  # fmt: skip
    assert [row.get("a") for row in found.rows] == [None, "none", None, None]
    assert math.isnan(found.rows[0]["b"])
    assert [row.get("b") for row in found.rows[1:]] == [-math.inf, None, math.inf]
    assert found.bad == {2: f"has a value in the field 'b', {MISMATCH} double"}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (pa.bool_(), {"true": True, "FALSE": False}, ["t", "yes", "1"]),
        (pa.date32(), {"2024-01-05": 19727, "2024": 19723}, ["2024-13-01", "x"]),
        (
            pa.timestamp("us", "UTC"),
            {"2024-01-05 10:11:12.5": 1_704_449_472_500_000, "2024-01-05": 1_704_412_800_000_000},
            ["12:30", "2024-02-30"],
        ),
        (pa.timestamp("us"), {"2024-01-05T10:11:12": 1_704_449_472_000_000}, ["2024-01-05 10:11:12+01:00"]),
        (pa.binary(), {"ab": b"ab"}, []),
        (
            pa.time64("ns"),
            {
                "12:30": dt.time(12, 30),
                "1:2:3.1234567": dt.time(1, 2, 3, 123_456),
                "T1": dt.time(1),
                " 12:00 am ": dt.time(0),
                "1:2:3.PM": dt.time(13, 2, 3),
            },
            [
                "12",
                "24:00",
                "12:30Z",
                "1:60",
                "0:30 AM",
                "13:30 pm",
                "2024-01-01 12:30",
                "am",
                "1:2:3:4",
                " T1",
            ],
        ),
        (
            pa.duration("us"),
            {
                "1 02:03:04.5": dt.timedelta(microseconds=93_784_500_000),
                "-1 2:3:4.123456789": dt.timedelta(microseconds=-93_784_123_456),
                "|0 0:0:59": dt.timedelta(seconds=59),
                "interval\t-'-1 02:03:04' day  TO second": dt.timedelta(seconds=93_784),
                "106751991 04:00:54.775807": dt.timedelta(microseconds=(1 << 63) - 1),
            },
            [
                *("1", "1 2:3", "1  2:3:4", "1 24:00:00", "1 2:3:60", "106751991 04:00:54.775808", "1 day"),
                *("INTERVAL'1 2:3:4' DAY TO SECOND", "INTERVAL '1 2:3:4' DAY TO SECONDS"),
            ],
        ),
    ],
    ids=str,
)
def test_a_value_fits_its_type_or_is_null_and_makes_the_record_bad(
    kind: pa.DataType, good: dict[str, object], bad: list[str]
) -> None:
    found = decode({"v": kind}, [*good, *bad], corrupt="corrupt")
    assert [row.get("v") for row in found.rows] == [*good.values(), *(None for _ in bad)]
    assert [row.get("corrupt") for row in found.rows[len(good) :]] == bad
    assert len(found.bad) == len(bad)
    assert all(f"in the field 'v', {MISMATCH} " in reason for reason in found.bad.values())


def test_patterns_say_how_dates_are_written_and_the_fallback_what_else_is_one() -> None:
    options = FormatOptions(time_zone="UTC", date_format="dd/MM/yyyy")
    day = (dt.date(2024, 1, 5) - dt.date(1970, 1, 1)).days
    strict = decode({"v": pa.date32()}, ["05/01/2024", "2024-01-05"], options=options)
    assert [row.get("v") for row in strict.rows] == [day, None]
    lenient = decode({"v": pa.date32()}, ["05/01/2024", "2024-01-05"], options=options, time_fallback=True)
    assert [row.get("v") for row in lenient.rows] == [day, day]

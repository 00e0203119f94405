"""ORC as Spark reads it: types, names in any case, and damaged files."""

from __future__ import annotations

import datetime as dt
import io
import random
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from headwater.readers.files.orc_tail import OrcTail
from tests.parity.files.drawn_files import DrawnFiles
from tests.parity.files.files_parity import Failed, FilesParity, reading
from tests.parity.files.strategies.orc import orc_files
from tests.parity.files.strategies.tables import DDL
from tests.parity.files.test_parquet import READ, WRITTEN

TYPES = (
    *("boolean", "int8", "int16", "int32", "int64", "float32", "float64", "string", "binary", "date"),
    *("decimal 9", "decimal 38", "list", "map", "struct", "list of structs"),
)
TURNED = (
    *(("boolean", "int"), ("int8", "int"), ("int16", "boolean"), ("int32", "bigint"), ("int64", "tinyint")),
    *(("int32", "decimal(9,2)"), ("int64", "string"), ("int64", "double"), ("float32", "double")),
    *(("decimal 9", "decimal(10,2)"), ("decimal 38", "decimal(20,0)"), ("decimal 9", "int")),
    *(("string", "binary"), ("struct", "struct<a:bigint>"), ("list", "array<bigint>")),
)
"""Written as, read as."""


def is_refused(written: str, read: str) -> bool:
    """Whether Spark reads and we refuse: its library for ORC makes something of nearly everything."""
    is_time = read in {"timestamp", "timestamp_ntz"}
    if written in {"string", "binary", "date", "float32", "float64"} or is_time:
        return True
    if "decimal" in written:
        return read in {"boolean", "float", "double", "string"}
    return (written, read[:7]) == ("boolean", "decimal") or "string" in read


def file_of(**columns: pa.Array[Any]) -> bytes:
    out = io.BytesIO()
    orc.write_table(pa.table(columns), out)
    return out.getvalue()


@pytest.mark.parametrize("written", TYPES)
def test_types_are_those_of_spark(parity: FilesParity, written: str) -> None:
    content = file_of(c=WRITTEN[written][0])
    parity.same(reading("orc"), [content])
    for one, read in TURNED:
        if one == written:
            parity.same(reading("orc", f"C {read}"), [content])


@pytest.mark.timeout(900)
@pytest.mark.parametrize("written", TYPES)
def test_each_type_is_read_as_each_other_as_spark_does_or_refused(parity: FilesParity, written: str) -> None:
    for read in READ:
        sparks, ours = parity.both(reading("orc", f"c {read}"), [file_of(c=WRITTEN[written][0])])
        refused = isinstance(ours[0], Failed) and is_refused(written, read)
        assert ours == sparks or refused, (written, read)


def test_values_as_text_and_text_as_values_differ(parity: FilesParity) -> None:
    content = file_of(c=pa.array([1.5]))
    sparks, ours = parity.differs("ORC as other types", reading("orc", "c string"), content)
    assert sparks == [("1.5",)]
    assert isinstance(ours, Failed)
    assert "column 'c' is double in this file and string in the schema" in ours.said


def test_drawn_files_are_those_of_spark(drawn: DrawnFiles) -> None:
    drawn.same(reading("orc", DDL), orc_files(), 400)


def test_names_go_by_any_case_and_by_places_where_there_are_none(parity: FilesParity) -> None:
    numbers = pa.array([1, 2], pa.int32())
    files = [
        file_of(A=numbers, b=numbers),
        file_of(B=numbers),
        file_of(_col0=numbers, _col1=pa.array([3, 4], pa.int32()), _col2=numbers),
    ]
    parity.same(reading("orc", "a int, b int"), files, one_by_one=True)
    assert isinstance(parity.same(reading("orc", "a int"), [file_of(A=numbers, a=numbers)])[0], Failed)


def test_damaged_files_fail_or_are_skipped(parity: FilesParity, rng: random.Random) -> None:
    good = file_of(c=pa.array(range(1_000)))
    files = [good, b"no orc file", good[:-20], good[: len(good) // 2]]
    assert all(
        isinstance(each, Failed)
        for each in parity.same(reading("orc", "c bigint"), files[1:], one_by_one=True)
    )
    skipping = reading("orc", "c bigint", ignoreCorruptFiles="true")
    for streaming in (False, True):
        parity.same(skipping, files, streaming=streaming)


TIMES = (
    *(
        "1970-01-01 00:00:00",
        "2024-07-03 10:46:40.123456",
        "1969-12-31 23:59:59.999999",
        "1901-02-03 04:05:06",
    ),
    # Clocks went by the sun.
    *("1850-01-01 00:00:00", "1883-11-18 17:00:00.5"),
    *("2014-12-31 23:30:00", "2015-01-01 00:00:00", "2024-03-10 07:30:00", "2262-01-01 00:00:00"),
    # Fractions on both sides of the epoch, by UTC and by other clocks.
    *("1969-12-31 23:59:58.5", "1969-12-31 20:00:00.25", "1970-01-01 04:59:59.5", "1969-12-31 18:30:00.0005"),
    *(
        "1970-01-01 00:00:00.5",
        "1970-01-01 05:00:00.5",
        "1969-12-31 18:29:59.5",
        "1965-01-01 00:00:00.000001",
    ),
    # The hour that New York's clocks go through twice.
    *("2024-11-03 05:30:00", "2024-11-03 06:30:00", "2024-11-03 05:59:59.5", "2024-11-03 07:00:00"),
)


def written_in(parity: FilesParity, zone: str, compression: str = "zstd") -> bytes:
    """Return a file that Spark has written, by the clock of a zone."""
    values = ", ".join(f"(timestamp'{time} UTC', array(timestamp'{time} UTC'))" for time in TIMES)
    with parity.settings.java_zone(zone):
        return parity.written_by_spark(
            "orc", f"select * from values {values} t(c, l)", compression=compression
        )


@pytest.mark.parametrize(
    ("zone", "compression"),
    [
        *(("UTC", "zstd"), ("America/New_York", "snappy")),
        *(
            (zone, compression)
            for zone in ("America/New_York", "Asia/Kolkata", "GMT+01:30", "Australia/Lord_Howe")
            for compression in ("zlib", "lz4", "zstd", "none")
        ),
    ],
)
def test_times_are_those_that_were_written_where_sparks_clock_is_the_writers(
    parity: FilesParity, zone: str, compression: str
) -> None:
    content = written_in(parity, zone, compression)
    with parity.settings.java_zone(zone):
        (rows,) = parity.same(reading("orc"), [content])
    assert not isinstance(rows, Failed)
    assert len(rows) == len(TIMES)


def test_times_of_another_zone_differ(parity: FilesParity) -> None:
    content = written_in(parity, "America/New_York")
    with parity.settings.java_zone("UTC"):
        sparks, ours = parity.differs("ORC timestamps of another zone", reading("orc"), content)
    with parity.settings.java_zone("America/New_York"):
        (written,) = parity.same(reading("orc"), [content])
    assert ours == written
    assert not isinstance(sparks, Failed)
    assert sparks[0] == (-5 * 3_600_000_000, [-5 * 3_600_000_000])


def test_old_orc_times_differ_where_the_jvm_has_another_history_of_the_zone(
    parity: FilesParity,
) -> None:
    with parity.settings.java_zone("Europe/Amsterdam"):
        content = parity.written_by_spark("orc", "select timestamp'1850-01-01 00:00:00 UTC' t")
        sparks, ours = parity.differs("old times in zones of another history", reading("orc"), content)
    assert not isinstance(sparks, Failed)
    assert not isinstance(ours, Failed)
    assert abs(sparks[0][0] - ours[0][0]) == 122_000_000


OLD_DATES = (
    *("0001-01-01", "0004-02-29", "0200-03-01", "1000-02-28", "1500-02-28", "1500-03-01"),
    *("1582-10-04", "1582-10-15", "1899-12-31", "1970-01-01", "9999-12-31"),
)


@pytest.mark.parametrize("is_proleptic", ["false", "true"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_old_dates_and_times_of_either_calendar_are_those_that_were_written_at_every_level(
    parity: FilesParity, is_proleptic: str, zone: str
) -> None:
    rows = ", ".join(
        f"(date'{day}', array(date'{day}', null), map(date'{day}', date'{day}'), struct(array(date'{day}')), "
        f"timestamp_ntz'{day} 01:02:03', timestamp'1700-01-01 00:00:00 UTC')"
        for day in OLD_DATES
    )
    query = f"select * from values {rows} t(d, l, m, s, n, t)"
    with parity.settings.java_zone(zone):
        content = parity.written_by_spark("orc", query, **{"orc.proleptic.gregorian": is_proleptic})
        footer = OrcTail(io.BytesIO(content), len(content))
        assert footer.is_proleptic == (is_proleptic == "true")
        (found,) = parity.same(reading("orc"), [content])
    assert not isinstance(found, Failed)
    days = [dt.date.fromisoformat(day) - dt.date(1970, 1, 1) for day in OLD_DATES]
    assert [row[0] for row in found] == [day.days for day in days]


def test_fractions_of_seconds_before_1970_differ_as_arrow_writes_them(parity: FilesParity) -> None:
    moments = [-1, -1_500_000, -8_000_000_000_500_000]
    content = file_of(t=pa.array(moments, pa.timestamp("us", "UTC")))
    sparks, ours = parity.differs("negative parts of seconds in ORC", reading("orc"), content)
    assert isinstance(sparks, Failed)
    assert ours == [(moment,) for moment in moments]


@pytest.mark.parametrize("far", ["9999-12-31 23:59:59.999999", "1582-10-15 00:00:00", "0001-01-01 00:00:00"])
def test_times_that_nanoseconds_do_not_reach_differ(parity: FilesParity, far: str) -> None:
    query = f"select timestamp'{far} UTC' t, array(timestamp'{far} UTC') l, 1 n"
    content = parity.written_by_spark("orc", query)
    sparks, ours = parity.differs("far timestamps of ORC", reading("orc"), content)
    parity.same(reading("orc", "n int"), [content])
    assert not isinstance(sparks, Failed)
    assert isinstance(ours, Failed)
    assert "stripe 1 of 1 has timestamps before 1677-09-22 or after 2262-04-11" in ours.said
    assert "'t' or 'l'" in ours.said
    assert "spark.read.format('orc')" in ours.said


def test_files_compressed_by_lzo_differ(parity: FilesParity) -> None:
    columns = ", ".join(f"id column_{at}" for at in range(50))
    content = parity.written_by_spark("orc", f"select {columns} from range(9)", compression="lzo")
    _, ours = parity.differs("ORC compressed by LZO", reading("orc"), content)
    assert isinstance(ours, Failed)
    assert "compressed by lzo" in ours.said


def test_times_with_and_without_a_zone_are_read_as_in_spark(parity: FilesParity) -> None:
    content = written_in(parity, "America/New_York")
    with parity.settings.java_zone("America/New_York"):
        parity.same(reading("orc", "c timestamp_ntz"), [content])
    parity.same(reading("orc", "c timestamp_ntz"), [file_of(c=pa.array([0, 1_500_000], pa.timestamp("us")))])
    parity.same(reading("orc"), [file_of(c=pa.array([0, 1_500_000], pa.timestamp("us", "UTC")))])

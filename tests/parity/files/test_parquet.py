"""Parquet as Spark's vectorized reader reads it: every type as every other one, names, and damaged files."""

from __future__ import annotations

import datetime as dt
import io
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.parity.files.drawn_files import DrawnFiles
from tests.parity.files.files_parity import Failed, FilesParity, reading
from tests.parity.files.strategies.parquet import parquet_files
from tests.parity.files.strategies.tables import DDL

ZONE = "spark.sql.session.timeZone"
DATES = [dt.date(2024, 1, 1), None, dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1582, 10, 14)]
MICROS = [1, None, -62_135_596_800_000_000, 253_402_300_799_999_999, -1, -11_644_473_600_000_001]
MILLIS = [None if each is None else each // 1000 for each in MICROS]
NANOS = [1_704_070_923_000_004_000, None, -9_223_372_036_854_775_000, 9_223_372_036_854_775_000]
SMALL = [Decimal("1.23"), None, Decimal("-1234567.89")]
OLD: dict[str, Any] = {"use_deprecated_int96_timestamps": True}
INTEGERS: dict[str, Any] = {"store_decimal_as_integer": True}

WRITTEN: dict[str, tuple[pa.Array[Any], dict[str, Any]]] = {
    "boolean": (pa.array([True, None, False]), {}),
    "int8": (pa.array([1, None, -128], pa.int8()), {}),
    "int16": (pa.array([1, None, -32768], pa.int16()), {}),
    "int32": (pa.array([1, None, -(2**31)], pa.int32()), {}),
    "int64": (pa.array([1, None, -(2**63)], pa.int64()), {}),
    "uint8": (pa.array([1, None, 255], pa.uint8()), {}),
    "uint16": (pa.array([1, None, 65535], pa.uint16()), {}),
    "uint32": (pa.array([1, None, 2**32 - 1], pa.uint32()), {}),
    "uint64": (pa.array([1, None, 2**64 - 1], pa.uint64()), {}),
    "float16": (pa.array([1, None, 2.5], pa.float16()), {}),
    "float32": (pa.array([1, None, float("nan"), -0.0], pa.float32()), {}),
    "float64": (pa.array([1, None, float("inf"), -0.0], pa.float64()), {}),
    "string": (pa.array(["a", None, "", "grüß"]), {}),
    "binary": (pa.array([b"a", None, b"\xff"]), {}),
    "fixed": (pa.array([b"ab", None, b"\xff\x00"], pa.binary(2)), {}),
    "date": (pa.array(DATES), {}),
    "millis": (pa.array(MILLIS, pa.timestamp("ms")), {}),
    "micros": (pa.array(MICROS, pa.timestamp("us")), {}),
    "nanos": (pa.array([1, None, -1], pa.timestamp("ns")), {}),
    "millis utc": (pa.array(MILLIS, pa.timestamp("ms", "UTC")), {}),
    "micros utc": (pa.array(MICROS, pa.timestamp("us", "UTC")), {}),
    "nanos utc": (pa.array([1, None, -1], pa.timestamp("ns", "UTC")), {}),
    "int96": (pa.array(NANOS, pa.timestamp("ns")), OLD),
    "time millis": (pa.array([1, None, 86_399_999], pa.time32("ms")), {}),
    "time micros": (pa.array([1, None, 86_399_999_999], pa.time64("us")), {}),
    "time nanos": (pa.array([1, None, 86_399_999_999_999], pa.time64("ns")), {}),
    "decimal 9 as int": (pa.array(SMALL, pa.decimal128(9, 2)), INTEGERS),
    "decimal 18 as int": (pa.array(SMALL, pa.decimal128(18, 2)), INTEGERS),
    "decimal 9": (pa.array(SMALL, pa.decimal128(9, 2)), {}),
    "decimal 38": (pa.array(SMALL, pa.decimal128(38, 2)), {}),
    "duration": (pa.array([1, None, 5], pa.duration("us")), {}),
    "dictionary": (pa.array(["a", None, "b"]).dictionary_encode(), {}),
    "nothing": (pa.nulls(3), {}),
    "large string": (pa.array(["a", None, "b"], pa.large_string()), {}),
    "uuid": (pa.array([b"0" * 16, None, b"1" * 16], pa.uuid()), {}),
    "json": (pa.array(["{}", None, "1"], pa.json_()), {}),
    "list": (pa.array([[1], None, [], [None, 2]], pa.list_(pa.int32())), {}),
    "old list": (pa.array([[1], None, []], pa.list_(pa.int32())), {"use_compliant_nested_type": False}),
    "large list": (pa.array([[1], None, []], pa.large_list(pa.int32())), {}),
    "map": (pa.array([[("a", 1)], None, [], [("b", None)]], pa.map_(pa.string(), pa.int32())), {}),
    "struct": (
        pa.array([{"A": 1, "b": "x"}, None, {"A": None}], pa.struct([("A", pa.int32()), ("b", pa.string())])),
        {},
    ),
    "list of structs": (
        pa.array([[{"A": 1}, None], None], pa.list_(pa.struct([("A", pa.int32()), ("b", pa.string())]))),
        {},
    ),
}
READ = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date"),
    *("timestamp", "timestamp_ntz", "decimal(9,2)", "decimal(10,2)", "decimal(11,4)", "decimal(20,0)"),
    *("decimal(38,2)", "decimal(38,10)", "array<int>", "array<bigint>", "array<string>", "map<string,int>"),
    *("map<string,bigint>", "struct<a:int,b:string>", "struct<a:bigint>", "struct<B:string,c:int>"),
    "array<struct<a:bigint,c:date>>",
)
REFUSED = {
    ("decimal 9", "binary"): "decimals as bytes",
    ("decimal 38", "binary"): "decimals as bytes",
    ("uint32", "double"): "unsigned numbers as signed ones",
    ("time micros", None): "time of day",
    ("time nanos", None): "time of day",
}
"""What Spark reads and we refuse: written as, read as (None: inferred), the entry of the list."""


def parquet(written: str) -> bytes:
    array, how = WRITTEN[written]
    out = io.BytesIO()
    pq.write_table(pa.table({"c": array}), out, **how)
    return out.getvalue()


def compare(parity: FilesParity, written: str, read: str | None) -> None:
    how = reading("parquet", None if read is None else f"c {read}")
    sparks, ours = parity.both(how, [parquet(written)])
    if (written, read) in REFUSED:
        assert isinstance(ours[0], Failed)
    else:
        assert ours == sparks, (written, read)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("written", WRITTEN)
def test_each_type_is_read_as_each_other_as_spark_does(parity: FilesParity, written: str) -> None:
    for read in (None, *READ):
        compare(parity, written, read)


def one(**columns: pa.Array[Any]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def test_drawn_files_are_those_of_spark(drawn: DrawnFiles) -> None:
    drawn.same(reading("parquet", DDL), parquet_files(), 400)


def test_names_go_by_any_case_at_every_level(parity: FilesParity) -> None:
    numbers = pa.array([1, 2], pa.int32())
    nested = pa.array([{"Inner": {"X": 1}}, None], pa.struct([("Inner", pa.struct([("X", pa.int32())]))]))
    files = [one(A=numbers, Nested=nested), one(a=numbers), one(b=numbers)]
    found = parity.same(reading("parquet", "a int, nested struct<inner:struct<x:int,y:string>>"), files[:1])
    assert found[0] == [(1, ((1, None),)), (2, None)]
    parity.same(reading("parquet", "a int, b int"), files, one_by_one=True)
    twice = one(A=numbers, a=numbers)
    assert isinstance(parity.same(reading("parquet", "a int"), [twice])[0], Failed)


@pytest.mark.parametrize("streaming", [False, True])
def test_damaged_files_fail_or_are_skipped(parity: FilesParity, *, streaming: bool) -> None:
    good = one(c=pa.array(range(1_000)))
    files = [good, b"no parquet file", good[:-20], good[: len(good) // 2], b"PAR1" + b"\0" * 8 + b"PAR1"]
    how = reading("parquet", "c bigint")
    failed = parity.same(how, files[1:3], one_by_one=True)
    assert all(isinstance(each, Failed) for each in failed)
    parity.same(reading("parquet", "c bigint", ignoreCorruptFiles="true"), files, streaming=streaming)


def test_files_without_rows_or_row_groups_are_read(parity: FilesParity) -> None:
    empty = pa.array([], pa.string())
    out = io.BytesIO()
    with pq.ParquetWriter(out, pa.schema([("c", pa.string())])):
        pass
    assert parity.same(reading("parquet", "c int"), [out.getvalue()]) == [[]]
    parity.same(reading("parquet", "c string"), [one(c=empty), one(c=pa.array(["a"])), b""])


@pytest.mark.parametrize("mode", ["CORRECTED", "LEGACY", "EXCEPTION"])
def test_old_dates_are_rebased_as_the_option_says(parity: FilesParity, mode: str) -> None:
    columns: dict[str, pa.Array[Any]] = {
        "d": pa.array(DATES),
        "t": pa.array(MICROS[:5], pa.timestamp("us", "UTC")),
    }
    how = reading("parquet", "d date, t timestamp", datetimeRebaseMode=mode)
    if mode != "LEGACY":
        parity.same(how, [one(**columns)])
        return
    parity.same(reading("parquet", "d date", datetimeRebaseMode=mode), [one(d=columns["d"])])


def written_by_old_clocks(parity: FilesParity, zone: str) -> bytes:
    """Return a file of times and dates that Spark has written as Spark 2 did, in a zone that it names."""
    times = "1883-11-18 17:00:00", "1850-01-01 00:00:00.5", "1582-10-04 12:00:00", "0100-03-01 00:00:00"
    rows = ", ".join(f"(timestamp'{time} UTC', date'{time[:10]}')" for time in times)
    such = parity.settings.such
    with such("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY"), such(ZONE, zone):
        content = parity.written_by_spark("parquet", f"select * from values {rows} t(t, d)")
    metadata = pq.read_metadata(io.BytesIO(content)).metadata or {}
    assert metadata[b"org.apache.spark.timeZone"] == zone.encode()
    assert b"org.apache.spark.legacyDateTime" in metadata
    return content


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Amsterdam"])
def test_old_times_of_a_writer_whose_zone_the_file_names(parity: FilesParity, zone: str) -> None:
    content = written_by_old_clocks(parity, zone)
    how = reading("parquet", "t timestamp, d date", datetimeRebaseMode="LEGACY")
    (rows,) = parity.same(how, [content])
    assert not isinstance(rows, Failed)
    assert len(rows) == 4


def test_merged_columns_are_in_the_order_of_the_files_names(parity: FilesParity, tmp_path: Path) -> None:
    paths = [tmp_path / "b.parquet", tmp_path / "a.parquet"]
    for at, (path, column) in enumerate(zip(paths, ("x", "y"), strict=True)):
        path.write_bytes(one(n=pa.array([at]), **{column: pa.array([at])}))
        os.utime(path, (at, at))
    how = reading("parquet", mergeSchema="true")
    assert parity.both_of(paths, str(tmp_path), how, streaming=False)[1] == [[(0, None, 0)], [(1, 1, None)]]


@pytest.mark.parametrize("merges", ["false", "true"])
@pytest.mark.parametrize(
    "summaries",
    [
        {"_metadata": {"m": pa.int32(), "a": pa.int64()}},
        {"_metadata": {"m": pa.int32(), "a": pa.int64()}, "_common_metadata": {"c": pa.string()}},
        {"k=1/_common_metadata": {"c": pa.string(), "b": pa.int64()}, "_metadata": {"m": pa.int32()}},
        {"_metadata_of": {"m": pa.int32()}},
    ],
    ids=str,
)
def test_a_file_that_only_tells_columns_shows_the_schema_as_in_spark(
    parity: FilesParity, tmp_path: Path, summaries: dict[str, dict[str, pa.DataType]], merges: str
) -> None:
    paths = [tmp_path / "k=1" / "a.parquet", tmp_path / "k=1" / "b.parquet"]
    paths[0].parent.mkdir()
    for path, column in zip(paths, ("a", "b"), strict=True):
        path.write_bytes(one(**{column: pa.array([1])}))
    for name, fields in summaries.items():
        pq.write_metadata(pa.schema(list(fields.items())), str(tmp_path / name))
    how = reading("parquet", mergeSchema=merges)
    sparks, ours = parity.both_of(paths, str(tmp_path), how, streaming=False)
    assert ours == sparks
    assert not any(isinstance(each, Failed) for each in ours)


# The end of the description of a column c: string, as pyarrow writes it, and others of the same length.
STRING = b"\x18\x01c\x25\x00\x4c\x1c\x00\x00\x00"
ANNOTATED = {
    "enum": b"\x18\x01c\x25\x08\x4c\x4c\x00\x00\x00",
    "json": b"\x18\x01c\x25\x26\x4c\xcc\x00\x00\x00",
    "bson": b"\x18\x01c\x25\x28\x4c\xdc\x00\x00\x00",
}


@pytest.mark.parametrize("kind", ANNOTATED)
def test_annotations_that_arrow_does_not_write(parity: FilesParity, kind: str) -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"c": pa.array(["a", None, "b"])}), out, store_schema=False)
    content = out.getvalue().replace(STRING, ANNOTATED[kind])
    assert kind in str(pq.ParquetFile(io.BytesIO(content)).schema).lower()
    for read in (None, "c string", "c binary"):
        parity.same(reading("parquet", read), [content])


@pytest.mark.parametrize("kind", ["geometry", "geography"])
def test_places_are_bytes_where_they_are_asked_for_as_such(parity: FilesParity, kind: str) -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"c": pa.array([b"a", None, b"b"])}).cast(pa.schema([("c", pa.string())])), out)
    annotation = b"\x22" if kind == "geometry" else b"\x24"
    content = out.getvalue().replace(STRING, b"\x18\x01c\x6c\x0c" + annotation + b"\x00\x00\x00")
    footer = int.from_bytes(content[-8:-4], "little") - 1
    content = content[:-8] + footer.to_bytes(4, "little") + b"PAR1"
    assert kind in str(pq.ParquetFile(io.BytesIO(content)).schema).lower()
    parity.same(reading("parquet", "c binary"), [content])
    parity.same(reading("parquet", "c string"), [content])
    (inferred,) = parity.both(reading("parquet"), [content])[1]
    assert isinstance(inferred, Failed)
    assert kind.upper() in inferred.said


@pytest.mark.parametrize(
    "mode",
    [None, *(mode for mode in ("CORRECTED", "EXCEPTION", "LEGACY"))],
)
def test_timestamps_as_spark_writes_them_reach_all_years(parity: FilesParity, mode: str | None) -> None:
    content = written_as_int96(parity)
    assert "int96" in str(pq.ParquetFile(io.BytesIO(content)).schema)
    options = {} if mode is None else {"int96RebaseMode": mode}
    (found,) = parity.same(reading("parquet", None, **options), [content])
    assert isinstance(found, list)
    assert len(found) == 5


def test_a_filter_that_is_pushed_down_finds_a_time_of_any_year(
    parity: FilesParity, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "t.parquet").write_bytes(written_as_int96(parity))
    setting = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(setting, "true")
    try:
        reader = spark.read.format("headwater").options(source="files", format="parquet")
        frame = reader.option("pushFilters", "true").load(str(tmp_path / "t.parquet"))
        assert frame.where("t = timestamp'9999-12-31 23:59:59.999999 UTC'").count() == 1
    finally:
        spark.conf.unset(setting)


def written_as_int96(parity: FilesParity) -> bytes:
    times = (
        "9999-12-31 23:59:59.999999",
        "1500-01-01 00:00:00",
        "0001-01-01 00:00:00",
        "1600-06-01 12:00:00.5",
        "2024-07-01 00:00:00",
    )
    rows = ", ".join(f"(timestamp'{time} UTC', array(timestamp'{time} UTC'))" for time in times)
    with parity.settings.such("spark.sql.parquet.outputTimestampType", "INT96"):
        return parity.written_by_spark("parquet", f"select * from values {rows} t(t, l)")


def test_lists_of_two_levels(parity: FilesParity) -> None:
    query = (
        "select array(1, 2) a, array(struct(1 x, 'b' y)) s, array(array(1), array(2, 3)) n, "
        "map('k', array(1)) m, array(cast(null as int), 3) o, array(struct('z' y)) one"
    )
    with parity.settings.such("spark.sql.parquet.writeLegacyFormat", "true"):
        content = parity.written_by_spark("parquet", query)
    parity.same(reading("parquet"), [content])
    wanted = (
        "a array<bigint>, s array<struct<x:int,y:string>>, n array<array<int>>, one array<struct<y:string>>"
    )
    parity.same(reading("parquet", wanted), [content])
    parity.same(reading("parquet", "one array<string>"), [content])


def test_variants_differ(parity: FilesParity) -> None:
    content = parity.written_by_spark("parquet", "select 1 b, parse_json('{\"a\":1}') v")
    parity.same(reading("parquet", "b int"), [content])
    parity.same(reading("parquet", "v struct<value:binary,metadata:binary>"), [content])
    _, ours = parity.differs("variants", reading("parquet", "b int, v variant"), content)
    assert isinstance(ours, Failed)
    assert "'v' has the type variant" in ours.said
    (inferred,) = parity.both(reading("parquet"), [content])[1]
    assert isinstance(inferred, Failed)
    assert "column 'v' is of the type variant" in inferred.said


def test_what_is_refused_differs(parity: FilesParity) -> None:
    parity.differs("decimals of Parquet as binary", reading("parquet", "c binary"), parquet("decimal 9"))
    parity.differs("unsigned numbers of Parquet as double", reading("parquet", "c double"), parquet("uint32"))
    old = one(t=pa.array(MICROS, pa.timestamp("us", "UTC")))
    how = reading("parquet", "t timestamp", datetimeRebaseMode="LEGACY")
    _, ours = parity.differs("old timestamps without the writer's zone", how, old)
    assert isinstance(ours, Failed)


def test_an_empty_page_in_a_list_differs(parity: FilesParity) -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"l": pa.array([[1]], pa.list_(pa.int32()))}), out, data_page_size=1)
    sparks, ours = parity.differs("an empty page in a list of Parquet", reading("parquet"), out.getvalue())
    assert sparks == [([1],)]
    assert isinstance(ours, Failed)
    assert "1 rows are missing in the row group 0" in ours.said


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_types_that_spark_has_noted_in_a_file_are_inferred_at_every_level(
    parity: FilesParity, kind: str
) -> None:
    interval = "interval '-1 02:03:04.5' day to second"
    content = parity.written_by_spark(
        kind,
        f"select {interval} i, array({interval}) l, map('k', {interval}) m, struct({interval} x) s, "
        "cast('a' as char(3)) c, cast('b' as varchar(5)) v, timestamp_ntz'1500-01-01 00:00:00' n, "
        "array(timestamp_ntz'2024-01-01 00:00:00') ln, 1 b",
    )
    parity.same(reading(kind), [content])


def test_a_comment_that_spark_has_noted_is_the_columns(parity: FilesParity) -> None:
    table = pa.table({"c": [1]}).replace_schema_metadata(
        {
            "org.apache.spark.sql.parquet.row.metadata": json.dumps(
                {
                    "type": "struct",
                    "fields": [
                        {"name": "gone", "type": "string", "nullable": True, "metadata": {}},
                        {"name": "c", "type": "long", "nullable": True, "metadata": {"comment": "says what"}},
                    ],
                }
            )
        }
    )
    out = io.BytesIO()
    pq.write_table(table.append_column("later", pa.array([2])), out)
    parity.same(reading("parquet"), [out.getvalue()])


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_parts_of_intervals_that_spark_has_noted_differ(parity: FilesParity, kind: str) -> None:
    content = parity.written_by_spark(kind, "select interval '26' hour h, array(interval '3' day) d, 1 n")
    _, ours = parity.differs("parts of intervals and times that Spark has noted", reading(kind), content)
    assert isinstance(ours, Failed)
    assert "column 'h' is interval hour, as Spark has noted in the file" in ours.said
    parity.same(reading(kind, "h interval day to second, n int"), [content])


def test_places_on_the_earth_differ(parity: FilesParity) -> None:
    point = bytes.fromhex("0101000000000000000000f03f0000000000000040")
    content = one(g=pa.array([point], pa.binary()))
    footer = int.from_bytes(content[-8:-4], "little")
    # Behind a column's name comes its annotation: number 17 of the logical types, without details.
    changed = content[-8 - footer : -8].replace(b"\x18\x01g", b"\x18\x01g\x6c\x0c\x22\x00\x00", 1)
    content = content[: -8 - footer] + changed + len(changed).to_bytes(4, "little") + content[-4:]
    _, ours = parity.differs("places on the earth", reading("parquet"), content)
    assert isinstance(ours, Failed)
    assert "column 'g' is BYTE_ARRAY (GEOMETRY)" in ours.said

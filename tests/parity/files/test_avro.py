"""Avro files as spark-avro reads them: types as other types, codecs, several blocks, damaged files."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pytest

from tests.parity.files.avro_files import SYNC, avro_file
from tests.parity.files.drawn_files import DrawnFiles
from tests.parity.files.files_parity import Failed, FilesParity, Meant, Outcome, reading
from tests.parity.files.strategies.avro import DDL, KINDS, avro_files
from tests.parity.files.test_orc import OLD_DATES

WRITTEN: dict[str, tuple[Any, list[Any]]] = {
    "boolean": ("boolean", [True, False]),
    "int": ("int", [1, -5, 2**31 - 1]),
    "long": ("long", [1, -5, 90_000_000]),
    "float": ("float", [1.5, float("nan")]),
    "double": ("double", [1.5, -0.0]),
    "string": ("string", ["a", "grüß"]),
    "bytes": ("bytes", [b"a", b"\xff"]),
    "fixed": ({"type": "fixed", "name": "fx", "size": 4}, [b"abcd"]),
    "enum": ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, ["A", "B"]),
    "date": ({"type": "int", "logicalType": "date"}, [19_000, -719_162]),
    "time-millis": ({"type": "int", "logicalType": "time-millis"}, [5]),
    "time-micros": ({"type": "long", "logicalType": "time-micros"}, [5]),
    "timestamp-millis": ({"type": "long", "logicalType": "timestamp-millis"}, [1500, -1]),
    "timestamp-micros": ({"type": "long", "logicalType": "timestamp-micros"}, [1500, -1]),
    "local-timestamp-millis": ({"type": "long", "logicalType": "local-timestamp-millis"}, [1500]),
    "local-timestamp-micros": ({"type": "long", "logicalType": "local-timestamp-micros"}, [1500]),
    "timestamp-nanos": ({"type": "long", "logicalType": "timestamp-nanos"}, [1500]),
    "decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        [b"\x01\x00", b"\xff"],
    ),
    "fixed decimal": (
        {"type": "fixed", "name": "fd", "size": 5, "logicalType": "decimal", "precision": 10, "scale": 2},
        [b"\0\0\0\1\0"],
    ),
    "uuid": ({"type": "string", "logicalType": "uuid"}, ["123e4567-e89b-12d3-a456-426614174000"]),
    "array": ({"type": "array", "items": ["null", "int"]}, [[1, None, 2], []]),
    "map": ({"type": "map", "values": "int"}, [{"a": 1}, {}]),
    "record": (
        {
            "type": "record",
            "name": "r",
            "fields": [{"name": "A", "type": "int"}, {"name": "b", "type": "string"}],
        },
        [{"A": 1, "b": "x"}],
    ),
    "int or long": (["int", "long"], [1, 2**40]),
    "float or double": (["float", "double"], [1.5]),
    "int or string": (["null", "int", "string"], [1, "a", None]),
    "optional int": (["int", "null"], [1, None]),
    "only string": (["string"], ["a"]),
}
READ = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date"),
    *("timestamp", "timestamp_ntz", "decimal(9,2)", "decimal(10,2)", "decimal(12,3)", "decimal(12,1)"),
    *("decimal(20,0)", "array<int>", "array<bigint>", "map<string,int>", "map<string,bigint>"),
    *(
        "struct<a:int,b:string>",
        "struct<B:string,c:int>",
        "struct<member0:int,member1:string>",
        "struct<a:int>",
    ),
)
CODECS = ("null", "deflate", "snappy", "bzip2", "xz")


def refused(written: str, read: str | None) -> bool:
    """Whether Spark reads and we refuse: times as days that they are not."""
    return read == "date" and "time" in written and written != "time-millis"


def avro(kind: Any, values: list[Any], codec: str = "null", interval: int = 16_000) -> bytes:
    """Return a file with the column ``c``."""
    return avro_file({"c": kind}, [{"c": value} for value in values], codec, interval)


@pytest.mark.parametrize("schema", [None, "`name` int"])
@pytest.mark.parametrize("name", ["a-bc", "a bc", "12ab", "a.bc", "    "])
def test_columns_and_types_of_a_file_may_have_any_name(
    parity: FilesParity, name: str, schema: str | None
) -> None:
    inner = {"type": "record", "name": "name", "fields": [{"name": "name", "type": "string"}]}
    content = avro_file({"name": "int", "else": inner}, [{"name": 1, "else": {"name": "x"}}])
    how = reading("avro", None if schema is None else schema.replace("name", name))
    sparks, ours = parity.both(how, [content.replace(b': "name"', f': "{name}"'.encode())])
    assert ours == sparks
    assert not isinstance(ours[0], Failed)


def compare(parity: FilesParity, written: str, read: str | None) -> None:
    how = reading("avro", None if read is None else f"c {read}")
    sparks, ours = parity.both(how, [avro(*WRITTEN[written])])
    if refused(written, read):
        assert isinstance(ours[0], Failed)
    else:
        assert ours == sparks, (written, read)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("written", WRITTEN)
def test_each_type_is_read_as_each_other_as_spark_does(parity: FilesParity, written: str) -> None:
    for read in (None, *READ):
        compare(parity, written, read)


def have_the_same_entries(_: bytes, spark: Outcome, ours: Outcome) -> bool:
    """Whether rows differ in nothing but the order of what their maps have."""

    def sorted_maps(outcome: Outcome) -> Outcome:
        if isinstance(outcome, Failed):
            return outcome
        at = list(KINDS).index("k")
        return [(*row[:at], row[at] and sorted(row[at]), *row[at + 1 :]) for row in outcome]

    return sorted_maps(spark) == sorted_maps(ours)


def test_drawn_files_are_those_of_spark(drawn: DrawnFiles) -> None:
    meant: dict[str, Meant] = {"the order in a map of Avro": have_the_same_entries}
    drawn.same(reading("avro", DDL), avro_files(), 400, may_differ=meant)


@pytest.mark.parametrize("streaming", [False, True])
def test_files_of_every_codec_are_read(parity: FilesParity, streaming: bool) -> None:
    kind, _ = WRITTEN["int or string"]
    values = [each for number in range(3_000) for each in (number, str(number), None)]
    files = [avro(kind, values, codec, interval=4_000) for codec in CODECS]
    found = parity.same(
        reading("avro", "c struct<member0:int,member1:string>"), [*files, avro(kind, [])], streaming=streaming
    )
    assert isinstance(found[0], list)
    assert len(found[0]) == 9_000


def test_damaged_files_fail_or_are_skipped_as_in_spark(parity: FilesParity, rng: random.Random) -> None:
    good = avro("long", list(range(20_000)), "deflate", interval=4_000)
    files = [good, b"no avro", good[:10], good[: len(good) // 2], good[: len(good) // 2] + b"x" * 100]
    how = reading("avro", "c bigint")
    assert all(isinstance(each, Failed) for each in parity.same(how, files[1:], one_by_one=True))
    skipping = reading("avro", "c bigint", ignoreCorruptFiles="true")
    found = parity.same(skipping, files)
    assert isinstance(found[0], list)
    assert len(found[0]) == 20_000


@pytest.mark.timeout(900)
@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_rows_before_a_damaged_value_are_those_of_spark(parity: FilesParity, codec: str) -> None:
    # Always the same files: a length that becomes very large ends Spark's JVM.
    rng = random.Random(codec)
    kind, _ = WRITTEN["int or string"]
    values = [each for number in range(300) for each in (number, str(number), None)]
    good = avro(kind, values, codec, interval=2_000)
    # Behind the sizes of the first block, and before the second one.
    begin = good.index(SYNC) + len(SYNC) + 8
    end = good.index(SYNC, begin) - 3
    files = []
    for _ in range(300):
        data = bytearray(good)
        at = rng.randrange(begin, end)
        # Longer than any value of the file, and no branch of its union.
        data[at : at + 3] = rng.choice([b"\xff\xff\xff", bytes([rng.randrange(256)]), b""])
        files.append(bytes(data))
    found = parity.same(
        reading("avro", "c struct<member0:int,member1:string>", ignoreCorruptFiles="true"), files
    )
    assert any(isinstance(rows, list) and 0 < len(rows) < len(values) for rows in found)


@pytest.mark.parametrize("mode", ["LEGACY", "CORRECTED"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_old_dates_and_times_of_either_calendar_are_those_that_were_written_at_every_level(
    parity: FilesParity, mode: str, zone: str
) -> None:
    rows = ", ".join(
        f"(date'{day}', array(date'{day}', null), map('k', date'{day}'), "
        f"struct(array(timestamp'{day} 00:00:00 UTC')), timestamp_ntz'{day} 01:02:03', "
        f"timestamp'{day} 00:00:00 UTC')"
        for day in OLD_DATES
    )
    such = parity.settings.such
    with such("spark.sql.avro.datetimeRebaseModeInWrite", mode), such("spark.sql.session.timeZone", zone):
        content = parity.written_by_spark("avro", f"select * from values {rows} t(d, l, m, s, n, t)")
    assert (b"org.apache.spark.legacyDateTime" in content) == (mode == "LEGACY")
    for asked in ("LEGACY", "CORRECTED"):
        # What the file says counts more.
        (found,) = parity.same(reading("avro", datetimeRebaseMode=asked), [content])
        assert not isinstance(found, Failed)
        days = [dt.date.fromisoformat(day) - dt.date(1970, 1, 1) for day in OLD_DATES]
        assert [row[0] for row in found] == [day.days for day in days]


def test_times_as_days_differ(parity: FilesParity) -> None:
    content = avro(*WRITTEN["timestamp-micros"])
    _, ours = parity.differs("times of Avro as days", reading("avro", "c date"), content)
    assert isinstance(ours, Failed)


def test_maps_differ_in_their_order(parity: FilesParity) -> None:
    content = avro({"type": "map", "values": "int"}, [{"b": 1, "a": 2}])
    sparks, ours = parity.differs("the order in a map of Avro", reading("avro"), content)
    assert (sparks, ours) == ([([("a", 2), ("b", 1)],)], [([("b", 1), ("a", 2)],)])

"""Options of CSV beside Spark's own reader, with files that show what they mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.parity.files.files_parity import Failed, FilesParity, reading
from tests.parity.files.test_csv import TEXT, TYPED

NUMBERS = "f float, d double, s string, _corrupt_record string"
QUOTED = [
    b'"1","2","1.5","2.5","true","2024-01-05","2024-01-05 10:00:00"\n',
    b'"","","","","","",""\n"","","","","","x",""\n',
    b'"NA","NA","NA","NA","NA","NA","NA"\nNA,NA,NA,NA,NA,NA,NA\n',
]
"""As they are written where every value is quoted."""


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nanValue": "nan", "positiveInf": "inf", "negativeInf": "-oo"},
        {"nanValue": "Inf", "nullValue": "NaN"},
        {"positiveInf": "1", "negativeInf": "2"},
    ],
    ids=str,
)
def test_what_stands_for_no_number_and_for_infinity(parity: FilesParity, options: dict[str, str]) -> None:
    words = ("NaN", "nan", "Inf", "inf", "-Inf", "-oo", "+Inf", "Infinity", "-Infinity", "1", "2", "INF")
    parity.same(reading("csv", NUMBERS, **options), [f"{word},{word},{word}\n".encode() for word in words])


@pytest.mark.parametrize("multi_line", ["false", "true"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nullValue": "NA"},
        {"emptyValue": "NA"},
        {"nullValue": "NA", "emptyValue": ""},
        {"nullValue": "2.5"},
    ],
    ids=str,
)
def test_quoted_values_of_every_type(parity: FilesParity, options: dict[str, str], multi_line: str) -> None:
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        parity.same(reading("csv", TYPED, mode=mode, multiLine=multi_line, **options), QUOTED)
    parity.same(reading("csv", TEXT, multiLine=multi_line, **options), [b'"",NA,"NA"\n,"",NA\n'])
    parity.same(reading("csv", inferSchema="true", multiLine=multi_line, **options), QUOTED[:2])


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
@pytest.mark.parametrize("multi_line", ["false", "true"])
def test_bytes_that_are_no_text(parity: FilesParity, mode: str, multi_line: str) -> None:
    files = [
        b"\xff,b,c\n",
        b'a,"\xe2\x82",c\n',
        b"a,b\n\xf4\x90,\xc0\x80,\xed\xa0\x80\n",
        b"\xef\xbb,b,c\n1,2,3\n",
    ]
    parity.same(reading("csv", TEXT, mode=mode, multiLine=multi_line), files)
    typed = [b"1,\xff,1.5,2.5,true,2024-01-05,2024-01-05 10:00:00\n"]
    parity.same(reading("csv", TYPED, mode=mode, multiLine=multi_line), typed)


HEADED = (b"a,b,c\n1,2,3\n", b"A,B,C\n1,2,3\n", b"b,a,c\n1,2,3\n", b"a,b\n1,2\n", b"User ID,b,c\n1,2,3\n")


@pytest.mark.parametrize("enforced", ["true", "false"])
@pytest.mark.parametrize("multi_line", ["false", "true"])
def test_names_in_the_header_matter_where_the_option_says_so(
    parity: FilesParity, enforced: str, multi_line: str
) -> None:
    how = reading(
        "csv", "a string, b string, c string", header="true", enforceSchema=enforced, multiLine=multi_line
    )
    found = parity.same(how, HEADED, one_by_one=True)
    assert [isinstance(each, Failed) for each in found] == [False, False, *[enforced == "false"] * 3]


@pytest.mark.parametrize("multi_line", ["false", "true"])
@pytest.mark.parametrize("limit", [{"maxColumns": "3"}, {"maxCharsPerColumn": "4"}], ids=str)
def test_a_header_that_is_beyond_a_limit_fails_or_is_skipped_with_its_file(
    parity: FilesParity, limit: dict[str, str], multi_line: str
) -> None:
    files = [b"a,b,longer,d\n1,2,3\n", b"a,b,c\n4,5,6\n"]
    how = reading("csv", TEXT, header="true", multiLine=multi_line, **limit)
    assert isinstance(parity.same(how, files[:1])[0], Failed)
    assert parity.same(replace(how, options={**how.options, "ignoreCorruptFiles": "true"}), files)[0] == []
    assert isinstance(parity.same(replace(how, schema=None), files[:1])[0], Failed)


def test_other_names_of_options(parity: FilesParity) -> None:
    latin = "1;\u00e9;x\n".encode("latin-1")
    parity.same(reading("csv", TEXT, delimiter=";", charset="ISO-8859-1"), [latin])
    parity.same(reading("csv", TEXT, delimiter=";", sep=",", charset="ISO-8859-1", encoding="UTF-8"), [latin])
    parity.same(reading("csv", TEXT, sep="\\t"), [b"1\t2\t3\n"])
    parity.same(reading("csv", TEXT, sep="\\u0001"), [b"1\x012\x013\n"])


@pytest.mark.parametrize("zone", ["Europe/Paris", "+05:30", "UTC"])
def test_times_without_a_zone_are_of_the_option(parity: FilesParity, zone: str) -> None:
    times = [
        "2024-07-01 10:00:00",
        "2024-03-31 02:30:00",
        "2024-10-27T02:30",
        "1850-01-01 00:00:00",
        "2024-07-01",
    ]
    schema = "s timestamp, n timestamp_ntz, _corrupt_record string"
    parity.same(reading("csv", schema, timeZone=zone), [f"{time},{time}\n".encode() for time in times])


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_the_last_record_counts_for_the_schema_as_much_as_the_first(parity: FilesParity, kind: str) -> None:
    lines = ["1"] * 5_000 + ["2.5"] if kind == "csv" else ['{"a":1}'] * 5_000 + ['{"a":2.5,"b":"x"}']
    options = {"inferSchema": "true"} if kind == "csv" else {}
    (rows,) = parity.same(reading(kind, **options), ["\n".join(lines).encode()])
    assert isinstance(rows, list)
    assert rows[-1][0] is not None


def test_a_lone_carriage_return_is_a_part_of_a_value_or_ends_a_line(parity: FilesParity) -> None:
    files = [b"a\rb,c\n1,2,3\r4,5,6\n", b'"a\rb",c,d\n', b"a,b,c\r\rd,e,f\r", b"\r\r\na,b,c\n"]
    for options in ({}, {"multiLine": "true"}, {"header": "true"}, {"lineSep": "\n"}):
        parity.same(reading("csv", TEXT, **options), files)


@pytest.mark.parametrize(
    ("name", "column"),
    [("Year=2024/f.csv", "year"), ("year=2024/f.csv", "YEAR"), ("k=1/Year=2024/f.csv", "year")],
)
def test_columns_of_folders_go_by_any_case(
    parity: FilesParity, tmp_path: Path, name: str, column: str
) -> None:
    path = tmp_path / "in" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x\n")
    more = "k int, " if "k=" in name else ""
    how = reading("csv", f"value string, {more}{column} int")
    sparks, ours = parity.both_of([path], str(tmp_path / "in"), how, streaming=False)
    assert ours == sparks
    assert isinstance(ours[0], list)
    assert ours[0][0][-1] == 2024

"""Lines of JSON beside Spark's own reader: generated and broken, rows and schemas exactly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from headwater.connector.formats.ddl import schema as struct_of
from tests.formats.json_differences import FOREIGN_DIGITS, TIME_ONLY, has_broken_base64
from tests.formats.json_texts import SCHEMAS
from tests.parity.files.drawn_files import DrawnFiles
from tests.parity.files.files_parity import Failed, FilesParity, Meant, Outcome, reading
from tests.parity.files.strategies.json import lines

CORRUPT = ", _corrupt_record string"
ZONE = {"timeZone": "Europe/Paris"}
SIMPLE = f"a long, s string, n struct<x:int>{CORRUPT}"


def text_of(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def is_row_of_nulls(spark: Sequence[Any], ours: Sequence[Any]) -> bool:
    """Whether a record that is not JSON is kept by both, and Spark alone still finds something in it."""
    if ours[-1] is None or spark[-1] != ours[-1] or any(value is not None for value in ours[:-1]):
        return False
    try:
        json.loads(ours[-1])
    except (ValueError, RecursionError):
        return True
    return False


def is_cut_short(_: bytes, spark: Outcome, ours: Outcome) -> bool:
    """Whether rows differ in nothing but what Spark still finds in documents that are not JSON."""
    if not isinstance(spark, list) or not isinstance(ours, list) or len(spark) != len(ours):
        return False
    return all(one == other or is_row_of_nulls(one, other) for one, other in zip(spark, ours, strict=True))


def may_differ(ddl: str) -> dict[str, Meant]:
    """Return what may differ of files with these columns, in the mode PERMISSIVE."""
    meant: dict[str, Meant] = {
        "partial rows of what is not JSON": is_cut_short,
        "a time without a date": lambda content, *_: bool(TIME_ONLY.search(text_of(content))),
        "dates in digits of other scripts": lambda content, *_: bool(FOREIGN_DIGITS.search(text_of(content))),
    }
    if "binary" in ddl:
        meant["base64 that breaks off"] = lambda content, *_: has_broken_base64(text_of(content))
    return meant


@pytest.mark.parametrize("ddl", SCHEMAS)
def test_drawn_and_broken_lines(drawn: DrawnFiles, ddl: str) -> None:
    drawn.same(
        reading("json", ddl + CORRUPT, **ZONE), lines(struct_of(ddl)), 1_500, may_differ=may_differ(ddl)
    )


LINES = (
    b'{"a":1,"s":"x"}',
    b'[{"a":1},{"a":2,"s":"y"}]',
    b'[{"a":1},{"a":"x"},{"a":3}]',
    b"[]",
    b"[ ]",
    b"[{}]",
    b'[{"a":1},2]',
    b'[{"a":1},null]',
    b'[[{"a":1}]]',
    b'[{"a":1},{"a":2}',
    b'[{"a":1},]',
    b"null",
    b"5",
    b'"x"',
    b"",
    b"  \t",
    b'{"a":1} {"a":2}',
    b'{"a":1}]',
    b'{"a":"x"}',
    b'{"a":1.9,"s":1.10}',
    b'{"s":{"b":  [1, 2.50]}}',
    b'{"s":12345678901234567890.12}',
    b'{"s":1e400,"a":100000000000000000000}',
    b'{"s":"\\ud800"}',
    b'{"s":"\xff"}',
    b'{"s":"\xed\xa0\x80"}',
    b'{"s":"\xc0\x80\xe0\x80\x80\xf4\x90\x80\x80"}',
    b'\xef\xbb\xbf{"a":1}',
    b"\xef\xbb\xbf",
    b'{"n":{"x":"y"},"a":2}',
    b'{"a":1,"a":null}',
    b"{a:1}",
    b"\x00",
    "{'a':7}".encode("utf-16-le"),
    '{"a":8}'.encode("utf-16-be"),
    '{"a":9}'.encode("utf-32-be"),
)
"""Of one file each, and in all orders of one file."""


def together(lines: Sequence[bytes], *ends: bytes) -> SearchStrategy[bytes]:
    """Return files of nine of these lines in any order."""
    chosen = st.lists(st.sampled_from(lines), min_size=9, max_size=9, unique=True)
    return st.builds(lambda each, end: end.join(each), chosen, st.sampled_from(ends))


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_lines_of_every_kind(parity: FilesParity, drawn: DrawnFiles, mode: str) -> None:
    how = reading("json", SIMPLE, mode=mode)
    parity.same(how, LINES)
    drawn.same(how, together(LINES[:-3], b"\n", b"\r\n", b"\r", b"\n\n"), 200)


def test_failfast_fails_where_spark_does(parity: FilesParity) -> None:
    parity.same(reading("json", SIMPLE, mode="FAILFAST"), LINES[:16], one_by_one=True)


def test_a_stream_reads_as_a_batch_does(parity: FilesParity) -> None:
    parity.same(reading("json", SIMPLE), LINES, streaming=True)


@pytest.mark.parametrize("separator", [";", "||", "\n", "}{", "aa"])
def test_lines_that_end_with_a_separator(drawn: DrawnFiles, separator: str) -> None:
    drawn.same(reading("json", SIMPLE, lineSep=separator), together(LINES[:-4], separator.encode()), 30)


def test_integers_have_no_negative_zero(parity: FilesParity) -> None:
    files = [
        b'{"d":-0,"f":-0}',
        b'{"d":-0.0,"f":-0e0}',
        b'{"d": -0 ,"f":-0}',
        b'{"d":0,"f":-0.0}',
        b'{"l":[-0,-0.0]}',
    ]
    parity.same(reading("json", "d double, f float, l array<double>"), files)


TIMES = (
    b'{"t":"2024-01-05T10:00:00Z","n":"2024-01-05T10:00:00","d":"2024-01-05"}',
    b'{"t":"2024-1-5","d":"2024-1-5"}',
    b'{"t":"2024-01-05 10:00","n":"2024-01-05 10:00","d":"5.1.2024"}',
    b'{"t":"2024-01-05GMT","n":"2024-01-05GMT","d":"GMT2024-01-05"}',
    b'{"t":"2024-01-05T00:00GMT+01:00","d":"\\u0032024GMT-01-05"}',
    b'{"t":"1","n":"1","d":"19000"}',
    b'{"d":"+12"}',
    b'{"d":"-12"}',
    b'{"t":"","d":""}',
)


@pytest.mark.parametrize(
    "fallback", [{}, *({"enableDateTimeParsingFallback": each} for each in ("true", "false"))]
)
def test_times_that_do_not_follow_the_pattern(parity: FilesParity, fallback: dict[str, str]) -> None:
    patterns = {"timestampFormat": "yyyy-MM-dd HH:mm", "dateFormat": "d.M.yyyy"}
    ddl = f"t timestamp, n timestamp_ntz, d date{CORRUPT}"
    for options in ({}, patterns, {"timestampNTZFormat": "yyyy-MM-dd HH:mm"}):
        parity.same(reading("json", ddl, **ZONE, **fallback, **options), TIMES)


FITTING_IN_PART = (
    b'{"a":1,"n":{"x":"y"},"l":[1,"x"],"m":{"k":"x","j":1},"s":"y"}',
    b'{"ls":[{"x":1,"y":2},{"x":"z"},{"x":3}],"a":1}',
    b'{"ls":[{"x":1},4,{"x":3}],"a":1}',
    b'{"l":{"x":1},"n":[1],"m":"x","a":1}',
    b'{"mn":{"k":{"x":"y"},"j":{"x":2}},"a":1}',
    b'{"mn":{"k":{"x":1},"j":3},"a":1}',
    b'{"l":[1,null,[2]],"a":1,"n":{"x":1,"z":[{}]}}',
    b'{"a":"x","l":[2]}',
)


def test_of_json_everything_that_fits_stays(parity: FilesParity) -> None:
    ddl = "a long, s string, n struct<x:int>, l array<int>, m map<string,int>, ls array<struct<x:int,y:int>>"
    how = reading("json", f"{ddl}, mn map<string,struct<x:int>>{CORRUPT}")
    found = parity.same(how, FITTING_IN_PART)
    assert found[0] == [(1, "y", (None,), None, None, None, None, FITTING_IN_PART[0].decode())]


def test_partial_rows_differ(parity: FilesParity) -> None:
    spark, ours = parity.differs(
        "partial rows of what is not JSON", reading("json", SIMPLE), b'{"a":1,"n":{"x":'
    )
    text = '{"a":1,"n":{"x":'
    assert (spark, ours) == ([(1, None, None, text)], [(None, None, None, text)])


def test_times_without_a_date_differ(parity: FilesParity) -> None:
    how = reading("json", "t timestamp", **ZONE)
    assert parity.differs("a time without a date", how, b'{"t":"12:30"}')[1] == [(None,)]
    with pytest.raises(AssertionError, match="the schemas differ"):
        parity.differs(
            "a time without a date", reading("json", inferTimestamp="true", **ZONE), b'{"t":"12:30"}'
        )


def test_times_of_day_differ(with_times_of_day: FilesParity) -> None:
    how = reading("json", "t time")
    sparks, ours = with_times_of_day.differs("times of day in JSON", how, b'{"t":"12:30"}\n')
    assert not isinstance(sparks, Failed)
    assert isinstance(ours, Failed)
    assert "time(6) at 't'" in ours.said
    days = reading("json", "t interval day to second")
    sparks, ours = with_times_of_day.differs("times of day in JSON", days, b'{"t":"INTERVAL \'1\' DAY"}\n')
    assert not isinstance(sparks, Failed)
    assert isinstance(ours, Failed)
    assert "interval day to second at 't'" in ours.said


def test_base64_that_breaks_off_differs(parity: FilesParity) -> None:
    how = reading("json", "a int, x binary")
    spark, ours = parity.differs("base64 that breaks off", how, b'{"a":1,"x":"A"}')
    assert (spark, ours) == ([(None, None)], [(1, None)])
    spark, ours = parity.differs("base64 that breaks off", how, '{"a":1,"x":"aaaa\u00e9"}'.encode())
    assert (spark, ours) == ([(None, None)], [(1, None)])


HALVES = (
    *(
        b'{"\\ud800":1,"a":1}',
        b'{"\\ud83d\\ude00":1,"a":1}',
        b'{"\\udc00":1,"a":1}',
        b'{"a":1,"q":{"\\ud800":2}}',
    ),
    *(b'{"a":1,"n":{"\\ud800":2,"x":3}}', b'{"a":1,"s":{"\\ud800":2}}', b'{"a":1,"m":{"\\ud800":2}}'),
    *(
        b'{"a":1,"m":{"\\ud83d\\ude00":2}}',
        b'{"a":1,"\\u00e9\\ud800\\u0041":2}',
        b'{"q":[{"r":{"\\udbff\\ue000":2}}],"a":1}',
    ),
    *(b'{"\xed\xa0\x80":1,"a":1}', b'{"a":1,"q":{"\xed\xa0\x80":1}}', b'{"a":1,"q":"\xed\xa0\x80"}'),
    *(b'{"s":"\xed\xa0\x80","a":1}', b'{"a":"\xed\xa0\x80","s":"x"}', b'{"n":"\xed\xa0\x80","a":1}'),
    *(
        b'{"n":{"x":"\xed\xa0\x80"},"a":1}',
        b'{"a":1,"q":["\xed\xbf\xbf",2]}',
        b'{"m":{"k":"\xed\xa0\x80"},"a":1}',
    ),
    *(b'{"a":1,"s":["\xed\xa0\x80"]}', b'{"a":1,"q":"\xed\xa0"}', b'{"a":1,"m":{"\xed\xa0\x80":2}}'),
)


def test_halves_of_surrogate_pairs_matter_where_spark_looks(parity: FilesParity) -> None:
    ddl = f"a long, s string, n struct<x:int>, m map<string,int>{CORRUPT}"
    parity.same(reading("json", ddl), HALVES)
    parity.same(reading("json", ddl, multiLine="true"), HALVES)


@pytest.mark.parametrize("kind", ["date", "decimal(10,2)"])
def test_dates_in_digits_of_other_scripts_differ(parity: FilesParity, kind: str) -> None:
    how = reading("json", f"d {kind}")
    content = '{"d":"\u0661\u0662"}'.encode()
    assert parity.differs("dates in digits of other scripts", how, content)[1] == [(None,)]

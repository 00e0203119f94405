"""What Spark and what headwater make of CSV where the list says that this differs."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from tests.parity.files.files_parity import Failed, FilesParity, Outcome, reading
from tests.parity.files.test_csv import MARKED, TEXT

CORRUPT = "_corrupt_record string"


def test_a_blank_first_value_differs(parity: FilesParity) -> None:
    how = reading("csv", TEXT, ignoreTrailingWhiteSpace="true")
    sparks, ours = parity.differs("a blank first value", how, b"a,b,c\n \t,x,y\n")
    assert isinstance(sparks, Failed)
    assert ours == [("a", "b", "c", None), (None, "x", "y", None)]
    parity.same(how, [b"x, ,y\nx,y, \n"])
    parity.same(
        reading("csv", TEXT, ignoreTrailingWhiteSpace="true", ignoreLeadingWhiteSpace="true"), [b" ,x,y\n"]
    )


def test_white_space_at_the_end_of_a_line_differs(parity: FilesParity) -> None:
    how = reading("csv", TEXT, ignoreTrailingWhiteSpace="true", sep="ab")
    parity.same(how, [b"1ab2ab3 \n"])
    sparks, ours = parity.differs(
        "white space at the end of a line with a long separator", how, b'"x"yab2ab3\n1ab2ab3 \n'
    )
    assert not isinstance(sparks, Failed)
    assert not isinstance(ours, Failed)
    assert (sparks[1][2], ours[1][2]) == ("3", "3 ")


def test_a_part_of_a_long_separator_behind_quotes_differs(parity: FilesParity) -> None:
    _, ours = parity.differs(
        "a part of a long separator behind quotes", reading("csv", TEXT, sep="ab"), b'"x" a 1ab2\n3ab4ab5\n'
    )
    assert ours == [('"x" a 1ab2', None, None, '"x" a 1ab2'), ("3", "4", "5", None)]


@pytest.mark.parametrize(
    ("content", "in_spark", "here"),
    [
        (
            b" a\n1ab2ab3\n",
            [("a1", "2", "3", None)],
            [("a", None, None, " a"), ("1", "2", "3", None)],
        ),
        (
            b"1ab a\n2ab3ab4\n",
            [("1", None, None, "1ab a"), ("a2", "3", "4", None)],
            [("1", "a", None, "1ab a"), ("2", "3", "4", None)],
        ),
    ],
)
def test_a_part_of_a_long_separator_behind_white_space_differs(
    parity: FilesParity, content: bytes, in_spark: Outcome, here: Outcome
) -> None:
    how = reading("csv", TEXT, sep="ab", multiLine="true", ignoreLeadingWhiteSpace="true")
    found = parity.differs("a part of a long separator behind white space", how, content)
    assert found == (in_spark, here)


@pytest.mark.parametrize(
    ("encoding", "multi_line", "content"),
    [
        ("UTF-8", "true", MARKED),
        ("UTF-8", "false", MARKED * 2),
        ("UTF-16LE", "false", MARKED),
        ("UTF-16", "true", MARKED * 2),
    ],
)
def test_a_mark_of_the_byte_order_alone_differs(
    parity: FilesParity, encoding: str, multi_line: str, content: str
) -> None:
    how = reading("csv", TEXT, encoding=encoding, multiLine=multi_line)
    codec = {"UTF-16": "UTF-16BE"}.get(encoding, encoding)
    sparks, ours = parity.differs("a mark of the byte order alone", how, content.encode(codec))
    assert sparks == [("\0", None, None, MARKED)]
    assert ours == []


def test_a_line_feed_that_ends_no_line_differs(parity: FilesParity) -> None:
    how = reading("csv", TEXT, lineSep="\r\n")
    parity.same(how, [b"a,b\nc,d\r\ne,f,g\r\n"])
    sparks, ours = parity.differs("a line feed that ends no line", how, b"a,b,\nc\r\ne,f,g\r\n")
    assert sparks != [("a", "b", "\nc", None), ("e", "f", "g", None)]
    assert ours == [("a", "b", "\nc", None), ("e", "f", "g", None)]


@pytest.mark.parametrize("broken", [b"1,22222,3\n", b"1,2,3,4,5\n"])
@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_what_comes_behind_a_record_that_cannot_be_read_is_skipped(
    parity: FilesParity, mode: str, broken: bytes
) -> None:
    limits = {"maxCharsPerColumn": "4", "maxColumns": "4"}
    how = reading("csv", TEXT, mode=mode, ignoreCorruptFiles="true", **limits)
    parity.same(how, [b"a,b,c\nd,e\n" + broken + b"g,h,i\n", broken, b"j,k,l\n" + broken, b"m,n,o\n"])


GOOD = "".join(f"{at % 7},b,c\n" for at in range(10_000)).encode()


def test_the_record_before_one_that_cannot_be_read_differs(parity: FilesParity) -> None:
    limits = {"maxCharsPerColumn": "4", "ignoreCorruptFiles": "true"}
    how = reading("csv", TEXT, multiLine="true", **limits)
    sparks, ours = parity.differs(
        "the record before one that cannot be read", how, b"a,b,c\nd,e,f\n1,22222,3\ng,h,i\n"
    )
    assert sparks == [("a", "b", "c", None)]
    assert ours == [("a", "b", "c", None), ("d", "e", "f", None)]
    sparks, ours = parity.differs(
        "the record before one that cannot be read", replace(how, suffix=".csv.gz"), gzip.compress(GOOD)[:-20]
    )
    assert sparks == []
    assert isinstance(ours, list)
    assert len(ours) > 1_000
    inferring = reading("csv", inferSchema="true", **limits)
    sparks, ours = parity.differs("the record before one that cannot be read", inferring, b"a,b\n1,22222\n")
    assert isinstance(sparks, Failed)
    assert ours == [("a", "b")]


def test_quotes_that_are_not_escaped_on_several_lines_differ(parity: FilesParity) -> None:
    how = reading("csv", TEXT, multiLine="true", unescapedQuoteHandling="BACK_TO_DELIMITER")
    sparks, ours = parity.differs("quotes that are not escaped on several lines", how, b'"a,b"c,d\n')
    assert not isinstance(sparks, Failed)
    assert isinstance(ours, Failed)
    assert "option 'unescapedQuoteHandling'" in ours.said


def test_a_comment_that_begins_as_a_quoted_value_differs(parity: FilesParity) -> None:
    how = reading("csv", TEXT, multiLine="true", comment="'", quote="'")
    sparks, ours = parity.differs("a comment that begins as a quoted value", how, b"a,b\n'x\n")
    assert isinstance(sparks, list)
    assert isinstance(ours, Failed)
    assert "option 'comment'" in ours.said
    parity.same(reading("csv", TEXT, comment="'", quote="'"), [b"a,b\n'x\n"])


@pytest.mark.parametrize("handling", ["BACK_TO_DELIMITER", "SKIP_VALUE"])
def test_quotes_that_are_not_escaped_differ_with_a_long_separator(parity: FilesParity, handling: str) -> None:
    how = reading("csv", TEXT, sep="ab", unescapedQuoteHandling=handling)
    sparks, ours = parity.differs("quotes that are not escaped with a long separator", how, b"1ab2ab3\n")
    assert sparks == [("1", "2", "3", None)]
    assert isinstance(ours, Failed)
    assert "option 'unescapedQuoteHandling'" in ours.said


def test_times_without_a_date_in_csv_differ(parity: FilesParity) -> None:
    how = reading("csv", f"s timestamp, {CORRUPT}")
    _, ours = parity.differs("a time without a date in CSV", how, b"12:30\n")
    assert ours == [(None, "12:30")]
    with pytest.raises(AssertionError, match="the schemas differ"):
        parity.differs("a time without a date in CSV", reading("csv", inferSchema="true"), b"12:30\n")


@pytest.mark.parametrize(
    ("kind", "text"), [("int", "\u0663"), ("bigint", "1\uff11"), ("decimal(10,2)", "\u0663.5")]
)
def test_numbers_in_digits_of_other_scripts_differ(parity: FilesParity, kind: str, text: str) -> None:
    how = reading("csv", f"n {kind}, {CORRUPT}")
    _, ours = parity.differs("numbers in digits of other scripts", how, f"{text}\n".encode())
    assert ours == [(None, text)]
    inferring = reading("csv", inferSchema="true")
    with pytest.raises(AssertionError, match="the schemas differ"):
        parity.differs("numbers in digits of other scripts", inferring, "\u0663\n".encode())


def test_doubles_and_dates_in_digits_of_other_scripts_are_bad_in_both(parity: FilesParity) -> None:
    for kind, text in (("double", "\u0663"), ("date", "2024-01-0\u0665"), ("timestamp", "2024-01-0\u0665")):
        parity.same(reading("csv", f"n {kind}, {CORRUPT}"), [f"{text}\n".encode()])


def test_the_records_that_a_schema_is_inferred_from_differ(parity: FilesParity) -> None:
    # Each tenth record is a number: those that are looked at here.
    lines = [str(at) if at % 10 == 9 else "x" for at in range(2_000)]
    how = reading("csv", inferSchema="true", samplingRatio="0.1")
    with pytest.raises(AssertionError, match="the schemas differ"):
        parity.differs("a part of the records of CSV", how, "\n".join(lines).encode())


@pytest.mark.parametrize(
    ("kind", "text"),
    [("interval hour to second", "02:03:04.5"), ("interval day", "3"), ("time(3)", "12:30:01.5")],
)
def test_parts_of_intervals_and_times_differ(with_times_of_day: FilesParity, kind: str, text: str) -> None:
    sparks, ours = with_times_of_day.differs(
        "parts of intervals and of times of day in CSV", reading("csv", f"i {kind}"), f"{text}\n".encode()
    )
    assert not isinstance(sparks, Failed)
    assert isinstance(ours, Failed)
    assert "i interval day to second" in ours.said or "i time(6)" in ours.said


@pytest.mark.parametrize(
    ("at", "content", "beside", "in_spark", "here"),
    [
        ("_c1=5/a.csv", b"1\n2,3\n", {}, [("1", 5)], [("1", 5), ("2", 5)]),
        ("k=5/b.csv", b"a,k\n1,2\n", {"k=5/a.csv": b"a\n3\n4,5\n"}, [], [("1", 5)]),
        ("k=5/b.csv", b"a\n3\n4,5\n", {"k=5/a.csv": b"a,k\n1,2\n"}, [("3", 5), ("4", 5)], [("3", 5)]),
    ],
)
def test_columns_of_some_files_that_a_folder_hides_differ(  # noqa: PLR0917 - a case
    parity: FilesParity, at: str, content: bytes, beside: dict[str, bytes], in_spark: Outcome, here: Outcome
) -> None:
    how = reading("csv", mode="DROPMALFORMED", header=str("k=" in at).lower())
    found = parity.differs("columns of some files that a folder hides", how, content, at=at, beside=beside)
    assert found == (in_spark, here)


def test_bad_values_in_columns_that_are_not_selected_differ(parity: FilesParity) -> None:
    content = b"1,x\n2,3\n"
    how = reading("csv", "a int, b int", mode="DROPMALFORMED")
    parity.same(how, [content])
    part = replace(how, unselected=("b",))
    sparks, ours = parity.differs("bad values in columns that are not selected", part, content)
    assert (sparks, ours) == ([(1,), (2,)], [(2,)])
    parity.same(reading("csv", "a int", mode="DROPMALFORMED"), [b"1\n2\n"])

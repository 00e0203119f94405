"""CSV, as both readers read it: random text, most of it not well written."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from hypothesis import strategies as st

from tests.parity.files.drawn_files import DrawnFiles
from tests.parity.files.files_parity import FilesParity, Meant, Outcome, reading
from tests.parity.files.strategies.csv import (
    records,
    records_over_lines,
    records_with_a_bad_value,
    typed_records,
)

TEXT = "a string, b string, c string, _corrupt_record string"
TYPED = "i int, l bigint, d double, e decimal(10,2), o boolean, t date, s timestamp, _corrupt_record string"


def long_separators(options: Mapping[str, str]) -> dict[str, Meant]:
    """Return which contents differ because a part of a long separator may stand alone, or behind quotes."""
    separator = options.get("sep", ",")
    if len(separator) == 1:
        return {}
    begin = re.escape(separator[:1].encode())
    behind_quotes = re.compile(b'"[\\x00-\\x20]+' + begin)
    if separator.endswith(" "):
        behind_quotes = re.compile(b'"[^\\r\\n]*' + begin + b"[ \\t]*[\\r\\n]|" + behind_quotes.pattern)
    alone = re.compile(b"[ \\t]" + begin + b"[ \\t]*(\\r?\\n|" + re.escape(separator.encode()) + b")")

    def is_behind_quotes(content: bytes, *_: Outcome) -> bool:
        return behind_quotes.search(content) is not None

    def is_alone(content: bytes, *_: Outcome) -> bool:
        return alone.search(content) is not None

    meant: dict[str, Meant] = {"a part of a long separator behind quotes": is_behind_quotes}
    if options.get("ignoreLeadingWhiteSpace") == "true":
        meant["a part of a long separator behind white space"] = is_alone
    return meant


@pytest.mark.parametrize(
    "options",
    [
        {"escape": '"'},
        {},
        {"header": "true"},
        {"comment": "b"},
        {"sep": "ab"},
        {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"},
        {"unescapedQuoteHandling": "STOP_AT_CLOSING_QUOTE"},
        {"mode": "DROPMALFORMED"},
    ],
    ids=str,
)
def test_records_over_several_lines_are_those_of_spark(
    parity: FilesParity, drawn: DrawnFiles, options: dict[str, str]
) -> None:
    how = reading("csv", TEXT, multiLine="true", **options)
    drawn.same(how, records_over_lines().map(str.encode), 300, may_differ=long_separators(options))
    files = [b'a,b"\r\n', b'x\nb, \1,""","', b'"  b,"a"\nb\'1"\'",']
    parity.same(how, files, may_differ=long_separators(options))


@pytest.mark.parametrize("multi_line", ["false", "true"])
def test_a_stream_reads_as_a_batch_does(drawn: DrawnFiles, multi_line: str) -> None:
    how = reading("csv", TEXT, multiLine=multi_line)
    drawn.same(how, records_over_lines().map(str.encode), 40, streaming=True)


@pytest.mark.parametrize("end", [";", "\r\n"])
def test_lines_end_where_they_do_in_spark(drawn: DrawnFiles, end: str) -> None:
    drawn.same(reading("csv", TEXT, lineSep=end), records(end).map(str.encode), 100)


@pytest.mark.parametrize("multi_line", ["true", "false"])
@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16", "UTF-32", "ISO-8859-1"])
def test_encodings_are_read_as_in_spark(drawn: DrawnFiles, encoding: str, multi_line: str) -> None:
    how = reading("csv", TEXT, encoding=encoding, multiLine=multi_line)
    drawn.same(how, records().map(lambda text: text.encode(encoding)), 200)


MARKED = "\ufeff"


@pytest.mark.parametrize(
    ("encoding", "multi_line"),
    [
        ("UTF-16LE", "false"),
        *(
            (encoding, multi_line)
            for encoding in ("UTF-8", "UTF-16LE", "UTF-16BE", "UTF-16", "UTF-32")
            for multi_line in ("true", "false")
        ),
    ],
)
def test_marks_of_the_byte_order_are_taken_off_as_in_spark(
    parity: FilesParity, encoding: str, multi_line: str
) -> None:
    codec = {"UTF-16": "utf-16-be", "UTF-32": "utf-32-be"}.get(encoding, encoding)
    texts = [
        f"{MARKED}1,x,\n2,y,\n",
        f"1,x,\n{MARKED}2,y,\n",
        f'{MARKED}"a,b",y,z\n',
        f"{MARKED}x,y,z,more\n",
        f"{MARKED}{MARKED}1,x,\n",
        f"{MARKED}#c\n1,x,\n",
    ]
    if encoding != "UTF-16LE" or multi_line == "true":
        texts.append(f"{MARKED}\n1,x,\n")
    files = [text.encode(codec) for text in texts]
    options = {"encoding": encoding, "multiLine": multi_line}
    parity.same(reading("csv", TEXT, comment="#", **options), files)
    parity.same(reading("csv", header="true", **options), files[:1])
    parity.same(reading("csv", inferSchema="true", **options), files[:1])


@pytest.mark.parametrize(
    "options", [{}, {"dateFormat": "dd/MM/yyyy"}, {"timestampFormat": "yyyy-MM-dd HH:mm"}], ids=str
)
def test_values_are_those_of_spark(drawn: DrawnFiles, options: dict[str, str]) -> None:
    drawn.same(reading("csv", TYPED, **options), typed_records(7).map(str.encode), 300)


def test_records_with_a_bad_value_are_dropped_as_in_spark(drawn: DrawnFiles) -> None:
    several = st.lists(records_with_a_bad_value(), min_size=1, max_size=4).map("".join)
    drawn.same(reading("csv", TYPED, mode="DROPMALFORMED"), several.map(str.encode), 300)


@pytest.mark.parametrize("infer", ["true", "false"])
def test_inferred_columns_are_those_of_spark(parity: FilesParity, infer: str) -> None:
    content = (
        b"id,id,,x y,d,t\n"
        b"1,2.5,a,true,2024-01-05,2024-01-05 10:11:12\n"
        b"3000000000,1,,false,2024-1-5,2024-01-05\n"
    )
    parity.same(reading("csv", header="true", inferSchema=infer), [content])

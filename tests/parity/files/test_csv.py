"""CSV, as both readers read it: random text, most of it not well written."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

import pytest

from tests.parity.files.files_parity import FilesParity, reading

TEXT = "a string, b string, c string, _corrupt_record string"
TYPED = "i int, l bigint, d double, e decimal(10,2), o boolean, t date, s timestamp, _corrupt_record string"
_CELLS = (
    *("", '""', "1", "-5", "1.5", "abc", " x", "x ", '"q"', '"a,b"', '"a ""b"" c"', '"a \\"b\\" c"', 'a"b'),
    *("a\\b", '"x"y', '"x" y', '"x" ', '  "x"', '"', "\\", '"\\"', '"\\\\"', "NaN", "true", "2024-01-02"),
)
_LETTERS = '"",\\ ab1\t\'é'
VALUES = (
    *("1", "+1", "007", "-0", "2147483648", "9223372036854775808", "1.239", "1.235", "-0.0", "5.", ".5"),
    *("1e3", "NaN", "Inf", "-Inf", "Infinity", "0x1p3", "0x1F", "1d", " 1", "1,5", "", "true", "TRUE", "t"),
    *("2024-1-5", "2024", "2024-01-05 10:11:12", "2024-01-05T10:11:12.123456789Z", "2024-02-30", "null"),
    *("2024-01-05 GMT", "2024-01-05 10:11:12 Europe/Paris", "12345-01-01", "1582-10-10"),
)


def random_files(seed: int, count: int, end: str = "\n") -> list[bytes]:
    rng = random.Random(seed)

    def cell() -> str:
        if rng.random() < 0.3:
            return rng.choice(_CELLS)
        return "".join(rng.choices(_LETTERS, k=rng.randrange(7)))

    def line() -> str:
        return ",".join(cell() for _ in range(rng.choice([3, 3, 3, 2, 4, 1])))

    return [
        (end.join(line() for _ in range(rng.randrange(1, 6))) + end * rng.randrange(2)).encode()
        for _ in range(count)
    ]


def long_separators(options: Mapping[str, str]) -> dict[str, Callable[[bytes], bool]]:
    """Return which contents differ because a part of a long separator may stand alone, or behind quotes."""
    separator = options.get("sep", ",")
    if len(separator) == 1:
        return {}
    begin = re.escape(separator[:1].encode())
    behind_quotes = re.compile(b'"[\\x00-\\x20]+' + begin)
    if separator.endswith(" "):
        behind_quotes = re.compile(b'"[^\\r\\n]*' + begin + b"[ \\t]*[\\r\\n]|" + behind_quotes.pattern)
    alone = re.compile(b"[ \\t]" + begin + b"[ \\t]*(\\r?\\n|" + re.escape(separator.encode()) + b")")

    def is_behind_quotes(content: bytes) -> bool:
        return behind_quotes.search(content) is not None

    def is_alone(content: bytes) -> bool:
        return alone.search(content) is not None

    meant: dict[str, Callable[[bytes], bool]] = {"a part of a long separator behind quotes": is_behind_quotes}
    if options.get("ignoreLeadingWhiteSpace") == "true":
        meant["a part of a long separator behind white space"] = is_alone
    return meant


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"escape": '"', "header": "true"},
        pytest.param({"unescapedQuoteHandling": "STOP_AT_CLOSING_QUOTE"}, marks=pytest.mark.long),
        pytest.param({"unescapedQuoteHandling": "BACK_TO_DELIMITER"}, marks=pytest.mark.long),
        pytest.param({"unescapedQuoteHandling": "SKIP_VALUE"}, marks=pytest.mark.long),
        pytest.param({"ignoreLeadingWhiteSpace": "true"}, marks=pytest.mark.long),
        pytest.param({"charToEscapeQuoteEscaping": "'"}, marks=pytest.mark.long),
        pytest.param({"sep": "ab"}, marks=pytest.mark.long),
        pytest.param({"sep": "é", "quote": "'"}, marks=pytest.mark.long),
        pytest.param({"nullValue": "a", "emptyValue": "E", "comment": "b"}, marks=pytest.mark.long),
        pytest.param({"mode": "DROPMALFORMED"}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_records_are_those_of_spark(parity: FilesParity, options: dict[str, str]) -> None:
    parity.same(reading("csv", TEXT, **options), random_files(1, 150), may_differ=long_separators(options))


@pytest.mark.parametrize(
    "options",
    [
        {"escape": '"'},
        *(
            pytest.param(options, marks=pytest.mark.long)
            for options in (
                {},
                {"header": "true"},
                {"comment": "b"},
                {"sep": "ab"},
                {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"},
                {"unescapedQuoteHandling": "STOP_AT_CLOSING_QUOTE"},
                {"mode": "DROPMALFORMED"},
            )
        ),
    ],
    ids=str,
)
def test_records_over_several_lines_are_those_of_spark(parity: FilesParity, options: dict[str, str]) -> None:
    rng = random.Random(5)
    ends = {"a": (0.3, "\n"), "\n": (0.3, "\r\n")}

    def turned(letter: str) -> str:
        chance, other = ends.get(letter, (0, letter))
        return other if rng.random() < chance else letter

    files = ["".join(map(turned, content.decode())).encode() for content in random_files(3, 300)]
    files += [b'a,b"\r\n', b'x\nb, \1,""","', b'"  b,"a"\nb\'1"\'",']
    how = reading("csv", TEXT, multiLine="true", **options)
    parity.same(how, files, may_differ=long_separators(options))


@pytest.mark.parametrize("multi_line", ["false", pytest.param("true", marks=pytest.mark.long)])
def test_a_stream_reads_as_a_batch_does(parity: FilesParity, multi_line: str) -> None:
    parity.same(reading("csv", TEXT, multiLine=multi_line), random_files(7, 40), streaming=True)


@pytest.mark.parametrize("end", [";", pytest.param("\r\n", marks=pytest.mark.long)])
def test_lines_end_where_they_do_in_spark(parity: FilesParity, end: str) -> None:
    parity.same(reading("csv", TEXT, lineSep=end), random_files(4, 100, end))


@pytest.mark.long
@pytest.mark.parametrize("multi_line", ["true", "false"])
@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16", "UTF-32", "ISO-8859-1"])
def test_encodings_are_read_as_in_spark(parity: FilesParity, encoding: str, multi_line: str) -> None:
    files = [content.decode().encode(encoding) for content in random_files(4, 200)]
    parity.same(reading("csv", TEXT, encoding=encoding, multiLine=multi_line), files)


MARKED = "\ufeff"


@pytest.mark.parametrize(
    ("encoding", "multi_line"),
    [
        ("UTF-16LE", "false"),
        *(
            pytest.param(encoding, multi_line, marks=pytest.mark.long)
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


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [{}, {"dateFormat": "dd/MM/yyyy"}, {"timestampFormat": "yyyy-MM-dd HH:mm"}, {"mode": "DROPMALFORMED"}],
    ids=str,
)
def test_many_values_are_those_of_spark(parity: FilesParity, options: dict[str, str]) -> None:
    rng = random.Random(77)
    values = [value.replace(",", "") for value in VALUES]
    lines = [",".join(rng.choices(values, k=7)) for _ in range(3_000)]
    files = ["\n".join(lines[at : at + 10]).encode() for at in range(0, len(lines), 10)]
    parity.same(reading("csv", TYPED, **options), files)


def test_values_are_those_of_spark(parity: FilesParity) -> None:
    rng = random.Random(2)
    lines = [",".join([rng.choice(VALUES).replace(",", "")] * 7) for _ in range(200)]
    files = ["\n".join(lines[at : at + 10]).encode() for at in range(0, 200, 10)]
    parity.same(reading("csv", TYPED), files)


@pytest.mark.parametrize("infer", ["true", "false"])
def test_inferred_columns_are_those_of_spark(parity: FilesParity, infer: str) -> None:
    content = (
        b"id,id,,x y,d,t\n"
        b"1,2.5,a,true,2024-01-05,2024-01-05 10:11:12\n"
        b"3000000000,1,,false,2024-1-5,2024-01-05\n"
    )
    parity.same(reading("csv", header="true", inferSchema=infer), [content])

"""Ten thousand files of CSV, with each option that changes how records are cut."""

from __future__ import annotations

import pytest

from tests.parity.files.drawn_files import DrawnFiles
from tests.parity.files.files_parity import reading
from tests.parity.files.strategies.csv import records, records_over_lines
from tests.parity.files.test_csv import TEXT, long_separators

FILES = 170
OPTIONS: list[dict[str, str]] = [
    {},
    *({"escape": escape} for escape in ('"', "", "a")),
    {"header": "true"},
    {"escape": '"', "header": "true"},
    *(
        {"unescapedQuoteHandling": each}
        for each in ("STOP_AT_CLOSING_QUOTE", "BACK_TO_DELIMITER", "SKIP_VALUE")
    ),
    {"ignoreLeadingWhiteSpace": "true"},
    {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"},
    {"charToEscapeQuoteEscaping": "'"},
    *({"sep": sep} for sep in ("ab", ",,", "aa", "\t", "é")),
    {"sep": "ab", "ignoreLeadingWhiteSpace": "true"},
    {"sep": "ab", "unescapedQuoteHandling": "STOP_AT_CLOSING_QUOTE"},
    {"sep": "ab", "comment": "b"},
    {"sep": "a ", "escape": '"'},
    {"sep": "é", "quote": "'"},
    {"nullValue": "a", "emptyValue": "E", "comment": "b"},
    {"comment": "b"},
    {"quote": ""},
    {"quote": "", "escape": ""},
    {"mode": "DROPMALFORMED"},
    *({"lineSep": end} for end in (";", "\r", "\r\n")),
]


def multi_lines(options: dict[str, str]) -> tuple[str, ...]:
    """Return the values of ``multiLine`` with which options are not refused: see the list of differences."""
    refused = options.get("unescapedQuoteHandling") == "BACK_TO_DELIMITER"
    return ("false",) if refused else ("false", "true")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("options", "multi_line"),
    [(options, multi_line) for options in OPTIONS for multi_line in multi_lines(options)],
    ids=str,
)
def test_drawn_records_are_those_of_spark(
    drawn: DrawnFiles, options: dict[str, str], multi_line: str
) -> None:
    texts = records_over_lines() if multi_line == "true" else records(options.get("lineSep", "\n"))
    how = reading("csv", TEXT, multiLine=multi_line, **options)
    drawn.same(how, texts.map(str.encode), FILES, may_differ=long_separators(options))

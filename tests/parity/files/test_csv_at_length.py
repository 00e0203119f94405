"""Ten thousand random files of CSV, with each option that changes how records are cut."""

from __future__ import annotations

import random

import pytest

from tests.parity.files.files_parity import FilesParity, reading
from tests.parity.files.test_csv import TEXT, long_separators, random_files

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


def many_lines(rng: random.Random, content: bytes) -> bytes:
    """Return content with line ends of both kinds, also inside of values."""
    ends = {"a": (0.3, "\n"), "\n": (0.3, "\r\n")}

    def turned(letter: str) -> str:
        chance, other = ends.get(letter, (0, letter))
        return other if rng.random() < chance else letter

    return "".join(map(turned, content.decode())).encode()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("multi_line", ["false", "true"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_random_records_are_those_of_spark(
    parity: FilesParity, options: dict[str, str], multi_line: str, seed: int
) -> None:
    rng = random.Random(seed)
    files = random_files(seed, FILES, options.get("lineSep", "\n"))
    if multi_line == "true":
        files = [many_lines(rng, content) for content in files]
    if options.get("unescapedQuoteHandling") == "BACK_TO_DELIMITER" and multi_line == "true":
        pytest.skip("refused: the list of differences says why")
    how = reading("csv", TEXT, multiLine=multi_line, **options)
    parity.same(how, files, may_differ=long_separators(options))

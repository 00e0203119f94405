"""Records as univocity cuts them: their values, where they end, and text that no writer would write."""

from __future__ import annotations

import random

import pytest

from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.csv.kernel_options import KernelOptions, transition_table
from headwater.readers.formats.format import FormatOptions
from tests.readers.formats.csv.csv_values import TEXT, decode, stream, texts

HELD_EXACT = {"max_characters": 100}
"""So that no record counts as ordinary."""


@pytest.mark.parametrize(
    ("record", "values"),
    [
        ("a,b,c", ("a", "b", "c")),
        ("a,,c", ("a", None, "c")),
        ("a,", ("a", None, None)),
        (",", (None, None, None)),
        ('"a,b",c', ("a,b", "c", None)),
        ('"",""," "', (None, None, " ")),
        ('"a', ("a", None, None)),
        ('a"b,c', ('a"b', "c", None)),
        ('"x" ,y', ("x", "y", None)),
        ("é€😀,b", ("é€😀", "b", None)),
    ],
)
def test_a_record_is_cut_at_separators_outside_of_quotes(record: str, values: tuple[str | None, ...]) -> None:
    assert texts([record]) == texts([record], **HELD_EXACT) == [values]


def test_blanks_at_the_ends_of_values_are_left_out_where_the_options_say_so() -> None:
    record = ' a ,"b ",c '
    assert texts([record]) == [(" a ", "b ", "c ")]
    assert texts([record], ignore_leading=True) == [("a ", "b ", "c ")]
    assert texts([record], ignore_trailing=True) == [(" a", "b ", "c")]
    assert texts([record], ignore_leading=True, ignore_trailing=True) == [("a", "b ", "c")]


def test_what_is_empty_or_a_comment_is_no_record() -> None:
    found = decode(TEXT, ["", "#a,b,c", "a,b,c"], comment="#")
    assert found.rows == [{}, {}, {"a": "a", "b": "b", "c": "c"}]
    assert list(found.bad) == [0, 1]
    assert stream(b"#x\n\n\na\n#y\n#", comment="#") == [("a", None, None)]


def test_a_comment_ends_at_a_line_separator_and_not_at_a_line_feed_that_is_none() -> None:
    assert stream(b"a\r\n#x\ny\r\nb", comment="#", line_separator="\r\n") == [
        ("a", None, None),
        ("b", None, None),
    ]


def test_what_a_records_last_value_is_does_not_depend_on_the_records_before_it() -> None:
    alone = texts(['x,"y "'], ignore_trailing=True)
    assert texts(["a ,b ", 'x,"y "'], ignore_trailing=True)[1:] == alone


@pytest.mark.parametrize(
    ("escape", "record", "value"),
    [
        ("\\", r'"a \"b\" c"', 'a "b" c'),
        ("\\", r'"a\b"', r"a\b"),
        ("\\", r'"a\\b"', r"a\b"),
        ("\\", r'"C:\temp"', r"C:\temp"),
        ("\\", '"a ""b"" c"', '"a ""b"" c"'),
        ('"', '"a ""b"" c"', 'a "b" c'),
        ('"', '""""', '"'),
        ('"', '"a"', "a"),
        ("", r'"a\"', "a\\"),
    ],
)
def test_an_escape_before_a_quote_makes_it_a_part_of_the_value(escape: str, record: str, value: str) -> None:
    assert texts([record], escape=escape) == [(value, None, None)]


@pytest.mark.parametrize(
    ("handling", "record", "values"),
    [
        ("STOP_AT_DELIMITER", '"x"y,z', ('"x"y', "z", None)),
        ("STOP_AT_DELIMITER", '"x" y,z', ('"x" y', "z", None)),
        ("STOP_AT_CLOSING_QUOTE", '"a "b,c" d",e', ('a "b,c" d', "e", None)),
        ("BACK_TO_DELIMITER", '"a,b"c,d', ("a", "bc,d", None)),
        ("SKIP_VALUE", '"x"y,z', (None, "z", None)),
    ],
)
def test_a_quote_that_is_not_escaped_is_handled_as_the_option_says(
    handling: str, record: str, values: tuple[str | None, ...]
) -> None:
    assert texts([record], unescaped_quotes=handling) == [values]


def test_a_quote_that_is_not_escaped_makes_a_record_bad_where_it_is_forbidden() -> None:
    found = decode(TEXT, ['"x"y,z,a', "1,2,3"], corrupt="corrupt", unescaped_quotes="RAISE_ERROR")
    assert found.rows == [{"corrupt": '"x"y,z,a'}, {"a": "1", "b": "2", "c": "3"}]
    assert found.bad == {0: "has a quote that is not escaped, which option 'unescapedQuoteHandling' forbids"}


def test_a_quoted_value_may_have_line_ends_in_a_stream() -> None:
    assert stream(b'a,"b\nc"\nd,e') == [("a", "b\nc", None), ("d", "e", None)]
    assert stream(b'a,"b\r\nc"\r\nd', line_separator="\r\n") == [("a", "b\r\nc", None), ("d", None, None)]


@pytest.mark.parametrize(
    ("record", "values"),
    [
        ("1ab2ab3", ("1", "2", "3")),
        ("abab", (None, None, None)),
        ("1a2ab3a", ("1a2", "3a", None)),
        ("1aab2", ("1a", "2", None)),
        ('"1abx"ab2', ("1abx", "2", None)),
        ('"1" ab2', ("1", "2", None)),
        ('"x"y ab2', ('"x"y ', "2", None)),
        ('"x" a 1ab2', ('"x" a 1ab2', None, None)),
        ('"x" a', ('"x" a', None, None)),
        ('"x" a ', ('"x" a ', None, None)),
        ('"x"  ', ("x", None, None)),
    ],
)
def test_a_separator_counts_only_as_a_whole(record: str, values: tuple[str | None, ...]) -> None:
    assert texts([record], separator="ab") == [values]


@pytest.mark.parametrize(
    ("content", "records"),
    [
        (b" a\n1ab2\n", [("a", None, None), ("1", "2", None)]),
        (b"1ab a\n2ab3\n", [("1", "a", None), ("2", "3", None)]),
        (b" aab\n, \n", [("a", None, None), (", ", None, None)]),
        (b" a ab2ab3\n", [("a", "2", "3")]),
        (b" ab ab3\n", [(None, None, "3")]),
        (b" a \n", [("a", None, None)]),
        (b" \n1ab2\n", [("1", "2", None)]),
    ],
)
def test_a_part_of_a_separator_behind_white_space_is_a_value(
    content: bytes, records: list[tuple[str | None, ...]]
) -> None:
    assert stream(content, separator="ab", ignore_leading=True) == records


def test_records_without_special_characters_are_split_as_by_python(rng: random.Random) -> None:
    records = ["".join(rng.choices("abc", k=rng.randrange(1, 20))) for _ in range(500)]
    expected = [[part or None for part in record.split("abc")][:3] for record in records]
    found = texts(records, separator="abc")
    assert found == [tuple([*parts, None, None][:3]) for parts in expected]


@pytest.mark.parametrize("separator", [",", "||", "€-€-€"])
def test_the_table_of_a_dialect_is_made_once_and_names_only_states_that_it_has(separator: str) -> None:
    for handling in ("STOP_AT_DELIMITER", "STOP_AT_CLOSING_QUOTE", "RAISE_ERROR"):
        dialect = CsvDialect(separator=separator, unescaped_quotes=handling, ignore_leading=True)
        made = transition_table.cache_info().misses
        tables = [KernelOptions(dialect, FormatOptions(), "\n").transitions for _ in range(2)]
        assert tables[0] is tables[1]
        assert transition_table.cache_info().misses <= made + 1
        states = len(tables[0].entries) // tables[0].class_count
        assert states < 1 << 7
        for shift in (L.NEXT_SHIFT, L.OTHERWISE_SHIFT):
            assert ((tables[0].entries >> shift & 0x7F) < states).all()

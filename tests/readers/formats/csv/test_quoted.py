"""Values in quotes: what is escaped, and what becomes of quotes that should have been."""

from __future__ import annotations

import pytest

from tests.readers.formats.csv.csv_values import TEXT, decode, stream, texts


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

"""Records as univocity cuts them: what each record says it holds, and where it ends."""

from __future__ import annotations

import pytest

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

"""Files of CSV: random text, most of it not well written."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = [
    "inferable_records",
    "records",
    "records_over_lines",
    "records_with_a_bad_value",
    "typed_records",
]

_CELLS = (
    *("", '""', "1", "-5", "1.5", "abc", " x", "x ", '"q"', '"a,b"', '"a ""b"" c"', '"a \\"b\\" c"', 'a"b'),
    *("a\\b", '"x"y', '"x" y', '"x" ', '  "x"', '"', "\\", '"\\"', '"\\\\"', "NaN", "true", "2024-01-02"),
)
_VALUES = (
    *("1", "+1", "007", "-0", "2147483648", "9223372036854775808", "1.239", "1.235", "-0.0", "5.", ".5"),
    *("1e3", "NaN", "Inf", "-Inf", "Infinity", "0x1p3", "0x1F", "1d", " 1", "", "true", "TRUE", "t"),
    *("2024-1-5", "2024", "2024-01-05 10:11:12", "2024-01-05T10:11:12.123456789Z", "2024-02-30", "null"),
    *("2024-01-05 GMT", "2024-01-05 10:11:12 Europe/Paris", "12345-01-01", "1582-10-10"),
)
_ALIKE = (
    ("1", "-5", "007", "", "2147483648", "9223372036854775808", "1.5", "1e3", ".5", "NaN", "-Inf"),
    ("true", "FALSE", "", "t"),
    ("2024-01-05", "2024-1-5", "2024", "", "2024-01-05 10:11:12", "2024-01-05T10:11:12.5Z", "2024-02-30"),
    ("2024-01-05 10:11:12", "2024-01-05T10:11:12+01:00", "", "12345-01-01 00:00:00"),
    ("a", "", '"q"', " 1", "1 "),
)
_LETTERS = '"",\\ ab1\t\'é'
_MORE_THAN_A_CELL = st.text(_LETTERS, max_size=6)
_OVER_LINES = st.lists(st.sampled_from([*_LETTERS, "\n", "\r\n"]), max_size=6).map("".join)


def _files(cells: SearchStrategy[str], ends: SearchStrategy[str]) -> SearchStrategy[str]:
    width = st.sampled_from((3, 3, 3, 2, 4, 1))
    line = width.flatmap(lambda count: st.lists(cells, min_size=count, max_size=count)).map(",".join)
    ended = st.tuples(line, ends).map("".join)
    return st.tuples(st.lists(ended, max_size=5), line).map(lambda each: "".join([*each[0], each[1]]))


def records(end: str = "\n") -> SearchStrategy[str]:
    """Return texts of lines with about three values each."""
    return _files(st.one_of(st.sampled_from(_CELLS), _MORE_THAN_A_CELL, _MORE_THAN_A_CELL), st.just(end))


def records_over_lines() -> SearchStrategy[str]:
    """Return texts with line ends of both kinds, also inside of values."""
    cells = st.one_of(st.sampled_from(_CELLS), _OVER_LINES, _OVER_LINES)
    return _files(cells, st.sampled_from(("\n", "\n", "\r\n")))


def typed_records(width: int) -> SearchStrategy[str]:
    """Return texts of up to ten lines of values that are numbers, dates or times, or nearly so."""
    line = st.lists(st.sampled_from(_VALUES), min_size=width, max_size=width).map(",".join)
    alike = st.sampled_from(_VALUES).map(lambda value: ",".join([value] * width))
    return st.lists(line | alike, min_size=1, max_size=10).map("\n".join)


@st.composite
def inferable_records(draw: st.DrawFn) -> str:
    """Return a text whose columns have values of one kind or two, below a header."""
    one_or_two = st.lists(st.sampled_from(_ALIKE), min_size=1, max_size=2).map(lambda each: sum(each, ()))
    kinds = draw(st.lists(one_or_two, min_size=1, max_size=5))
    names = draw(
        st.lists(st.sampled_from(("a", "A", "b", "", "x y", "_c1")), min_size=len(kinds), max_size=len(kinds))
    )
    # No more than three of a kind: of all of them the type would nearly always be a string.
    columns = [
        st.sampled_from(draw(st.lists(st.sampled_from(kind), min_size=1, max_size=3))) for kind in kinds
    ]
    rows = draw(st.lists(st.tuples(*columns), max_size=5))
    return "".join(f"{','.join(row)}\n" for row in (names, *rows))


@st.composite
def records_with_a_bad_value(draw: st.DrawFn) -> str:
    """Return two lines of `typed_records`: a good one, and one with some value or with one too few."""
    good = ("1", "2", "1.5", "1.5", "true", "2024-01-05", "2024-01-05 10:11:12")
    at = draw(st.integers(0, len(good) - 1))
    row = [*good[:at], draw(st.sampled_from(_VALUES)), *good[at + 1 :]]
    width = draw(st.sampled_from((7, 7, 7, 7, 6)))
    return f"{','.join(good)}\n{','.join(row[:width])}\n"

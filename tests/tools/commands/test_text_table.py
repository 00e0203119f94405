"""Rows as a table of text."""

from __future__ import annotations

from headwater.tools.commands.text_table import text_table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert list(text_table(("id", "name"), [(1, "anna"), (20_000, None)])) == [
        "id     name",
        "-----  ----",
        "1      anna",
        "20000  null",
    ]


def test_a_table_without_rows_shows_its_columns() -> None:
    assert list(text_table(("id",), [])) == ["id", "--"]


def test_a_row_is_one_line_and_a_long_cell_is_cut() -> None:
    *_, row = text_table(("text", "bytes", "binary"), [("a\nb\x1b[31m", b"x" * 50, b"\xff\x00")])
    assert row == f"a b [31m  {'x' * 37}...  ff 00"

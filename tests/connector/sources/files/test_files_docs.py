"""The page on files shows the options that there are."""

from __future__ import annotations

from pathlib import Path

from headwater.connector.sources.files.options import render

PAGE = Path(__file__).parents[4] / "docs" / "files.md"


def test_the_page_has_the_table_of_options() -> None:
    assert render() in PAGE.read_text()

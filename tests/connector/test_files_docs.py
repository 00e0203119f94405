"""The page on files shows the options that there are."""

from __future__ import annotations

from pathlib import Path

from headwater.connector.files_options import render

PAGE = Path(__file__).parent.parent.parent / "docs" / "files.md"


def test_the_page_has_the_table_of_options() -> None:
    assert render() in PAGE.read_text()

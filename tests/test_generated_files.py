"""The files in the repository are those that the tables in the code say."""

from __future__ import annotations

from generated_files import ROOT, generated


def test_each_generated_file_is_as_its_table_says() -> None:
    stale = [str(path.relative_to(ROOT)) for path, text in generated() if path.read_text() != text]
    assert stale == [], "run scripts/generate"

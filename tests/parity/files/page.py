"""The page ``docs/files-differences.md``, made from the list of differences."""

from __future__ import annotations

from pathlib import Path

from tests.parity.files.differences import BY_SUBJECT, FILES_DIFFERENCES
from tests.parity.page import differing_tests, functions

__all__ = ["HERE", "render"]

HERE = Path(__file__).parent

HEAD = """# Differences from Spark's own file readers

<!-- Written by `scripts/generate`. -->

`tests/parity/files/` reads the same files with Spark's own readers and with headwater, in one Spark session,
and compares rows and schemas exactly: files made by hand, drawn by hypothesis, and mutated. Everything is the
same but the entries of this list. Each entry has a reason, and a test that shows both results. Options that
only headwater has are not differences: they are in [files.md](files.md). Errors are errors in both; their
words are not the same.

{count} entries. The suite fails on any other difference, and on an entry that no longer differs.
"""

TABLE = """
## {subject}

| case | Spark's reader | headwater | reason | shown by |
|---|---|---|---|---|
"""


def render() -> str:
    """Return the page."""
    shown_by = differing_tests(HERE)
    file_of = {node.name: file for file, node in functions(HERE)}
    page = HEAD.format(count=len(FILES_DIFFERENCES))
    for subject, differences in BY_SUBJECT.items():
        if not differences:
            continue
        page += TABLE.format(subject=subject)
        for name, entry in differences.items():
            tests = ", ".join(f"[`{test}`](../tests/parity/files/{file_of[test]})" for test in shown_by[name])
            cells = (entry.behaviour, entry.spark, entry.headwater, entry.reason.value, tests)
            page += f"| {' | '.join(cells)} |\n"
    return page

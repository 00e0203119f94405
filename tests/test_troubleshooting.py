"""docs/troubleshooting.md finds errors by their text: each is one that is raised here, or is Spark's."""

from __future__ import annotations

import re
from pathlib import Path

import headwater
from headwater.core import errors

PACKAGE = Path(headwater.__file__).parent
PAGE = PACKAGE.parent / "docs" / "troubleshooting.md"
SPARKS = {
    "BrokenPipeError",
    "DATA_SOURCE_NOT_FOUND",
    "failed to connect back",
    "headwater",
    "pyspark/daemon.py",
    "Python worker exited unexpectedly",
    "reentrant call inside",
}


def test_each_text_of_the_page_is_one_that_an_error_has() -> None:
    firsts = re.findall(r"^\| (.*?) \|", PAGE.read_text(), re.MULTILINE)
    texts = {text for first in firsts for text in re.findall(r"`([^`]+)`", first)}
    assert texts >= SPARKS
    code = "".join(path.read_text() for path in sorted(PACKAGE.rglob("*.py")))
    unknown = [text for text in texts - SPARKS if text not in code and not hasattr(errors, text)]
    assert unknown == []

"""The pages for readers: each path, link and test that they name is there, and lines are not too long."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "README.md"]
COLUMNS = 110

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@each_page
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


@each_page
def test_every_path_in_code_style_exists(page: Path) -> None:
    """A path begins at the top of the repository or in ``tests/``; one that ends in ``/`` is a folder.

    The project that the tutorial makes has files of its own.
    """
    places = (ROOT, ROOT / "tests")
    first = {entry.name for place in places for entry in place.iterdir()}
    named = re.findall(
        r"`([\w.-]+(?:/[\w.-]+)*(?:\.py|\.md|\.toml|/))(?:::\w+[\w\[\] *]*)?`", page.read_text()
    )
    paths = [name for name in named if name.split("/")[0] in first and "my_lines" not in name]
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []


@each_page
def test_every_test_that_is_named_exists(page: Path) -> None:
    named = re.findall(r"`(?:([\w./-]+\.py)::)?(test_\w+)(?:\[[^`]*\])?(\*?)`", page.read_text())
    missing = [
        (file, name)
        for file, name, rest in named
        if not any(found.startswith(name) if rest else found == name for found in _tests(file))
    ]
    assert not missing


@each_page
def test_lines_are_not_too_long(page: Path) -> None:
    code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        code ^= line.startswith("```")
        assert code or len(line) <= COLUMNS or line.startswith(("|", "#")) or "](" in line, (
            f"line {number}: {line}"
        )


def test_contributing_names_what_there_is_to_run() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert {"scripts/setup", "scripts/test"} <= set(re.findall(r"scripts/\w+", text))
    assert text.count("\n| ") > 20, "the table of where to change what"


def _tests(file: str) -> set[str]:
    """Return the names of the test functions in the files of this name; of all files for an empty one."""
    return {
        name
        for path, names in _all_tests().items()
        if path.endswith(f"/{file}" if file else "")
        for name in names
    }


@cache
def _all_tests() -> dict[str, set[str]]:
    return {
        str(path): {
            node.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        }
        for path in (ROOT / "tests").rglob("test_*.py")
    }

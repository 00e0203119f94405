"""Each row of `docs/contracts.md` is held by a test that fails where the code behind the row is changed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.exactly_once.contract_mutants import MUTANTS, Mutant
from tests.exactly_once.contract_page import PAGE, rows
from tests.exactly_once.contract_paths import ROOT

_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "dist", "build", "docs", "benchmarks")
_PATIENCE_S = 300
"""For one test. One that takes longer has noticed nothing."""
_FAILED = 1
_DEFINED = re.compile(r"^(?P<indent> *)(?P<kind>def|class) (?P<name>\w+)", re.MULTILINE)


def row_of(mutant: Mutant) -> tuple[str, str]:
    """Return the first cell of a mutant's row, and the line."""
    text = PAGE.read_text()
    lines = text.splitlines()
    return next((first, lines[number]) for number, first in rows(text) if first.startswith(mutant.row))


def test_each_row_that_has_a_meaning_has_a_mutant() -> None:
    text = PAGE.read_text()
    lines = text.splitlines()
    meant = {first for number, first in rows(text) if "No meaning" not in lines[number]}
    assert {row_of(mutant)[0] for mutant in MUTANTS} == meant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.row.strip()}-{mutant.test}")
def test_what_a_mutant_changes_is_there_once_and_its_row_names_the_test(mutant: Mutant) -> None:
    assert (ROOT / mutant.file).read_text().count(mutant.original) == 1
    assert mutant.mutated != mutant.original
    assert mutant.test in row_of(mutant)[1]
    assert test_files()[mutant.test]


@cache
def test_files() -> dict[str, list[str]]:
    """Return where the tests of each name are, as pytest is told it."""
    found = defaultdict(list)
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        owner = ""
        for indent, kind, name in _DEFINED.findall(file.read_text()):
            if kind == "class" and not indent:
                owner = f"{name}::"
            elif name.startswith("test_"):
                found[name].append(f"{file.relative_to(ROOT)}::{owner if indent else ''}{name}")
    return found


test_files.__test__ = False  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the tree in which the tests of all mutants pass."""
    copied = tmp_path_factory.mktemp("mutants") / "tree"
    shutil.copytree(ROOT, copied, ignore=_NOT_COPIED)
    assert run(copied, *{where(mutant) for mutant in MUTANTS}, timeout_s=4 * _PATIENCE_S) == 0
    yield copied
    shutil.rmtree(copied)


def where(mutant: Mutant) -> str:
    """Return the test of a mutant, as pytest is told it: where the row names a file, that one."""
    places = test_files()[mutant.test]
    named = [place for place in places if place.partition("::")[0] in row_of(mutant)[1]]
    return (named or places)[0]


def run(tree: Path, *tests: str, timeout_s: float = _PATIENCE_S) -> int:
    """Run tests of a tree; return pytest's answer.

    Raises:
        subprocess.TimeoutExpired: they take too long.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, timeout=timeout_s, check=False
    ).returncode


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.row.strip()}-{mutant.test}")
def test_a_change_of_the_code_behind_a_row_makes_its_test_fail(mutant: Mutant, copy: Path) -> None:
    file = copy / mutant.file
    original = file.read_text()
    file.write_text(original.replace(mutant.original, mutant.mutated))
    try:
        assert run(copy, where(mutant)) == _FAILED
    finally:
        file.write_text(original)

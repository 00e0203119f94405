"""What `docs/contracts.md` says of runs in Spark: for each contract, as it was recorded, and still there."""

from __future__ import annotations

import pytest

from tests.exactly_once.contract_page import PAGE, kill_tests, rows, witnesses_of
from tests.exactly_once.contract_paths import FOLDERS, PATHS, ROOT, defined_functions, read_runs
from tests.exactly_once.contract_witnesses import WITNESSES


def test_each_statement_is_about_one_row() -> None:
    firsts = [first for _, first in rows(PAGE.read_text())]
    assert [begins for begins in WITNESSES if not any(first.startswith(begins) for first in firsts)] == []


def test_the_tests_that_it_names_beside_the_paths_are_there() -> None:
    assert [name for name in kill_tests() if "@pytest.mark.crash" not in (ROOT / name).read_text()] == []


@pytest.mark.parametrize("path", PATHS)
def test_what_the_page_says_is_run_was_called_by_a_recorded_run_and_is_still_there(path: str) -> None:
    called = {name.partition(":")[2] for name in read_runs()["called"][path]}
    files = (file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
    defined = {name for file in files for name in defined_functions(file)}
    assert witnesses_of(path) <= called & defined, (
        "record the runs anew: tests/exactly_once/test_contract_kills.py"
    )

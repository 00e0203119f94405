"""Each difference has its test."""

from __future__ import annotations

from pathlib import Path

from tests.parity.files.differences import BY_SUBJECT, FILES_DIFFERENCES
from tests.parity.files.page import HERE
from tests.parity.page import differing_tests

ROOT = Path(__file__).parents[3]


def test_each_difference_is_shown_by_a_test_and_no_other_is() -> None:
    assert differing_tests(HERE).keys() == FILES_DIFFERENCES.keys()


def test_no_two_differences_have_one_name() -> None:
    assert sum(len(differences) for differences in BY_SUBJECT.values()) == len(FILES_DIFFERENCES)

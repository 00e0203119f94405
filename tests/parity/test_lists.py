"""Each difference has its test, and each behaviour of Spark's a test or a reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from headwater.tools.commands.kafka_differences import DIFFERENCES
from tests.parity.behaviours import SUITES, Behaviour
from tests.parity.page import differing_tests, files_of_tests, functions

ROOT = Path(__file__).parents[2]
BEHAVIOURS = [each for behaviours in SUITES.values() for each in behaviours]


def test_each_difference_is_shown_by_a_test_and_no_other_is() -> None:
    assert differing_tests().keys() == DIFFERENCES.keys()


def test_no_two_tests_have_one_name() -> None:
    assert [name for name, count in Counter(node.name for _, node in functions()).items() if count > 1] == []


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda each: each.name)
def test_each_behaviour_has_a_test_or_a_reason(behaviour: Behaviour) -> None:
    assert bool(behaviour.tests) != bool(behaviour.reason)
    assert set(behaviour.tests) <= files_of_tests().keys()

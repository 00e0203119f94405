"""Each scenario on both sources, compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parity.golden.answers import Answers, Case, Mode
from tests.parity.golden.fixtures import (
    answers,
    at_length,
    draws,
    new_answers,
    parametrize_draws,
    seed,
    select_cases,
    settings,
)
from tests.parity.parity import Parity

__all__ = ["answers", "at_length", "draws", "new_answers", "seed", "settings"]

pytest_collection_modifyitems = select_cases
pytest_generate_tests = parametrize_draws


@pytest.fixture
def live_parity(request: pytest.FixtureRequest, topic: str, tmp_path: Path) -> Iterator[Parity]:
    """Scenarios whose rows are others in each run, so that Spark is asked in each run."""
    fixture = request.getfixturevalue
    answers = Answers(Mode.FRESH, Case("", "", ""), {}, lambda _: None)
    comparing = Parity(answers, lambda: fixture("spark"), lambda: fixture("kafka"), topic, tmp_path)
    yield comparing
    comparing.close()


@pytest.fixture
def parity(request: pytest.FixtureRequest, answers: Answers, topic: str, tmp_path: Path) -> Iterator[Parity]:
    """Scenarios; Spark and the broker start when one needs them."""
    fixture = request.getfixturevalue
    comparing = Parity(answers, lambda: fixture("spark"), lambda: fixture("kafka"), topic, tmp_path)
    yield comparing
    comparing.close()

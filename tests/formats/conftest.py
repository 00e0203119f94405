"""Formats beside Spark's own: its answers are stored."""

from __future__ import annotations

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

__all__ = ["answers", "at_length", "draws", "new_answers", "seed", "settings"]

pytest_collection_modifyitems = select_cases
pytest_generate_tests = parametrize_draws

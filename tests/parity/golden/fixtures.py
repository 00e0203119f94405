"""The fixtures of tests that compare with Spark's answers; their folders' `conftest` imports them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.conftest import SEED
from tests.parity.golden.answer_files import AnswerFile
from tests.parity.golden.answers import Answers, Case, Mode
from tests.parity.golden.settings import Settings

__all__ = [
    "answers",
    "are_whole_modules",
    "at_length",
    "by_module",
    "draws",
    "has_stored_answers",
    "new_answers",
    "parametrize_draws",
    "seed",
    "select_cases",
    "settings",
]

STORED_SEED = 32
"""Of what is drawn in cases whose answers are stored."""
TESTS = Path(__file__).parents[2]


def mode_of(config: pytest.Config) -> Mode:
    """Return where the answers of a run come from."""
    if config.option.ask_spark:
        return Mode.ASK
    return Mode.CHECK if config.option.long else Mode.STORED


def place_of(item: pytest.Item) -> tuple[str, str]:
    """Return the module of a test, from the folder of all tests, and its name in it."""
    return item.path.relative_to(TESTS).as_posix(), item.name


def parametrize_draws(metafunc: pytest.Metafunc) -> None:
    """Let tests that draw cases draw new ones too, beside those with stored answers, where Spark is asked."""
    if not {"answers", "seed"} <= set(metafunc.fixturenames) or mode_of(metafunc.config) is not Mode.CHECK:
        return
    metafunc.parametrize("draws", [Mode.CHECK, Mode.FRESH], indirect=True, ids=[pytest.HIDDEN_PARAM, "new"])


def select_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where answers are asked for, run nothing else, and forget those of tests that are gone.

    Where Spark itself has to answer because nothing is stored, tests that take it minutes are long ones.
    """
    if mode_of(config) is Mode.STORED:
        for item in filter(has_stored_answers, items):
            module, test = place_of(item)
            if item.get_closest_marker("timeout") and test not in _tests_with_answers(module):
                item.add_marker("long")
    if mode_of(config) is not Mode.ASK:
        return
    others = [item for item in items if not has_stored_answers(item)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if has_stored_answers(item)]
    if are_whole_modules(config):
        for module, tests in by_module(items).items():
            AnswerFile(pyspark.__version__, module).keep(tests)


def has_stored_answers(item: pytest.Item) -> bool:
    """Whether a test asks for answers that are stored."""
    if "answers" not in getattr(item, "fixturenames", ()) or item.get_closest_marker("long"):
        return False
    call = getattr(item, "callspec", None)
    return call is None or call.params.get("draws") is not Mode.FRESH


def are_whole_modules(config: pytest.Config) -> bool:
    """Whether a run leaves out no test of the modules that it has."""
    return not (config.option.keyword or config.option.markexpr or any("::" in arg for arg in config.args))


def by_module(items: Iterable[pytest.Item]) -> dict[str, set[str]]:
    """Return the names of tests by their modules."""
    found: dict[str, set[str]] = {}
    for item in items:
        module, test = place_of(item)
        found.setdefault(module, set()).add(test)
    return found


@pytest.fixture
def draws(request: pytest.FixtureRequest) -> Mode:
    """Where answers come from.

    A test that draws new cases asks Spark itself, and so does one to which the Spark that is installed has
    no stored answers yet.
    """
    mode: Mode = getattr(request, "param", mode_of(request.config))
    return mode if mode is Mode.ASK or _answers_to(request.node) else Mode.FRESH


@pytest.fixture
def at_length(request: pytest.FixtureRequest, draws: Mode) -> bool:
    """Whether a test draws as many cases as it can: where everything runs, the new ones."""
    return draws is Mode.FRESH and bool(request.config.option.long)


@pytest.fixture
def seed(request: pytest.FixtureRequest, draws: Mode) -> int:
    """The seed of what a test draws: always the same, where answers are stored."""
    is_stored = "answers" in request.fixturenames and draws is not Mode.FRESH
    seed = STORED_SEED if is_stored else SEED
    print(f"HEADWATER_SEED={seed}")
    return seed


@pytest.fixture
def answers(request: pytest.FixtureRequest, draws: Mode, new_answers: NewAnswers) -> Iterator[Answers]:
    """Spark's answers to the questions of a test."""
    module, test = place_of(request.node)
    case = Case(pyspark.__version__, module, test)
    asked = Answers(draws, case, _answers_to(request.node), partial(new_answers.add, module, test))
    failed = request.session.testsfailed
    yield asked
    if request.session.testsfailed == failed:
        asked.close()


@pytest.fixture
def settings(request: pytest.FixtureRequest, answers: Answers) -> Settings:
    """Settings of the session, with or without Spark."""
    return Settings(answers, lambda: request.getfixturevalue("spark"))


class NewAnswers:
    """Answers that are not stored yet.

    They are stored module by module: to compress them for each test takes longer than to ask.
    """

    def __init__(self) -> None:
        self._module = ""
        self._answers: dict[str, Mapping[str, Any]] = {}

    def add(self, module: str, test: str, answers: Mapping[str, Any]) -> None:
        """Take the answers to a test, and store those to another module's."""
        if module != self._module:
            self.store()
        self._module = module
        self._answers[test] = answers

    def store(self) -> None:
        """Store all."""
        if self._answers:
            AnswerFile(pyspark.__version__, self._module).replace(self._answers)
        self._answers = {}


@pytest.fixture(scope="session")
def new_answers() -> Iterator[NewAnswers]:
    """Answers that are not stored yet."""
    found = NewAnswers()
    yield found
    found.store()


def _answers_to(item: pytest.Item) -> dict[str, Any]:
    module, test = place_of(item)
    return _stored(pyspark.__version__, module).get(test, {})


@functools.cache
def _tests_with_answers(module: str) -> set[str]:
    return AnswerFile(pyspark.__version__, module).tests()


@functools.cache
def _stored(version: str, module: str) -> dict[str, dict[str, Any]]:
    return AnswerFile(version, module).read()

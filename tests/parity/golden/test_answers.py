"""Stored answers: no case is changed, dropped or forgotten in silence."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.parity.files.files_parity import Failed
from tests.parity.golden import answer_files
from tests.parity.golden.answer_files import AnswerFile, modules
from tests.parity.golden.answers import Answers, Case, Mode, NoAnswerError
from tests.parity.golden.fingerprints import fingerprint
from tests.parity.golden.fixtures import are_whole_modules, by_module, has_stored_answers
from tests.parity.golden.plain_values import from_json, to_json

TESTS = Path(__file__).parents[2]
MODULE = "parity/files/test_csv.py"


def test_each_case_has_answers_and_each_answer_a_case(request: pytest.FixtureRequest) -> None:
    version = pyspark.__version__
    cases = by_module(filter(has_stored_answers, request.session.items))
    for module, tests in cases.items():
        stored = AnswerFile(version, module).read().keys()
        assert AnswerFile(version, module).tests() == stored
        if not stored:
            continue  # Spark itself is asked
        assert tests <= stored, f"scripts/test --ask-spark tests/{module}"
        assert tests == stored or not are_whole_modules(request.config), (
            f"scripts/test --ask-spark tests/{module}"
        )
    assert [module for module in modules(version) if not (TESTS / module).exists()] == []


def answers(mode: Mode, test: str = "test_a") -> Answers:
    file = AnswerFile("1.2.3", MODULE)

    def store(answers: Mapping[str, Any]) -> None:
        file.replace({test: answers})

    return Answers(mode, Case("1.2.3", MODULE, test), file.read().get(test, {}), store)


def asked(mode: Mode, answer: Any = (1, 2), question: Any = "question") -> Any:
    session = answers(mode)
    found = session.ask(question, lambda: answer)
    session.close()
    return found


def not_asked() -> Any:
    raise AssertionError("there is no Spark")


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark 1.2.3 was asked one question."""
    monkeypatch.setattr(answer_files, "ANSWERS", tmp_path)
    asked(Mode.ASK)


@pytest.mark.usefixtures("stored")
def test_a_stored_answer_is_what_spark_gave() -> None:
    assert answers(Mode.STORED).ask("question", not_asked) == (1, 2)
    assert asked(Mode.CHECK) == (1, 2)


@pytest.mark.usefixtures("stored")
def test_a_case_that_was_changed_names_the_command() -> None:
    with pytest.raises(NoAnswerError, match=f"scripts/test --ask-spark tests/{MODULE}"):
        answers(Mode.STORED).ask("another question", not_asked)


@pytest.mark.usefixtures("stored")
def test_an_answer_that_spark_does_not_give_any_more_is_an_error() -> None:
    with pytest.raises(AssertionError, match=r"(?s)any more.*stored: \[1, 2\]\nnow: \[1, 3\]"):
        asked(Mode.CHECK, answer=(1, 3))
    assert asked(Mode.ASK, answer=(1, 3)) == answers(Mode.STORED).ask("question", not_asked) == (1, 3)


@pytest.mark.usefixtures("stored")
def test_the_words_of_an_error_are_no_other_answer() -> None:
    asked(Mode.ASK, answer=[Failed("calling o1.load")])
    (failed,) = asked(Mode.CHECK, answer=[Failed("calling o2.load")])
    assert failed.said == "calling o2.load"
    with pytest.raises(AssertionError, match="any more"):
        asked(Mode.CHECK, answer=[[]])


@pytest.mark.usefixtures("stored")
def test_a_stored_answer_that_is_compared_with_nothing_is_an_error() -> None:
    session = answers(Mode.ASK)
    session.ask("one", lambda: 1)
    session.ask("two", lambda: 2)
    session.close()
    session = answers(Mode.STORED)
    session.ask("two", not_asked)
    with pytest.raises(AssertionError, match="1 of 2 stored answers of Spark were not compared"):
        session.close()
    with pytest.raises(AssertionError, match="no answer of Spark was compared"):
        answers(Mode.STORED).close()


@pytest.mark.usefixtures("stored")
def test_cases_that_are_drawn_are_those_of_the_answers() -> None:
    def drawn(mode: Mode, cases: list[bytes], how: str = "how") -> list[bytes]:
        session = answers(mode, "test_drawn")
        found = session.drawn(how, lambda: cases, "version 1")
        session.close()
        return found

    assert drawn(Mode.ASK, [b"1"]) == [b"1"]
    assert drawn(Mode.STORED, [b"2"]) == [b"1"]
    assert drawn(Mode.FRESH, [b"2"]) == [b"2"]
    with pytest.raises(NoAnswerError):
        drawn(Mode.STORED, [b"2"], "in another way")


@pytest.mark.usefixtures("stored")
def test_answers_of_tests_that_are_gone_are_forgotten() -> None:
    session = answers(Mode.ASK, "test_b")
    session.ask("question", lambda: 1)
    session.close()
    AnswerFile("1.2.3", MODULE).keep({"test_b", "test_c"})
    assert AnswerFile("1.2.3", MODULE).read().keys() == {"test_b"}


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 1 << 80, -0.0, 1e-320, "\ud800 a", b"\0\xff", Decimal("1.50"), (), [], {}),
        {"a": [(1, None), {2: b"x"}]},
        Failed("why"),
    ],
)
def test_values_come_back_as_they_were(value: Any) -> None:
    assert repr(from_json(to_json(value, {}), {})) == repr(value)


def test_names_of_a_run_are_stored_as_others() -> None:
    made = to_json({"/tmp/5/a": "file:/tmp/5/b"}, {"/tmp/5": "<folder>"})
    assert "/tmp" not in str(made)
    assert from_json(made, {"/tmp/6": "<folder>"}) == {"/tmp/6/a": "file:/tmp/6/b"}


def test_the_time_and_the_version_of_a_writer_are_no_content() -> None:
    assert fingerprint(b"\x1f\x8b\x08\0aaaax") == fingerprint(b"\x1f\x8b\x08\0bbbbx")
    assert fingerprint(b"parquet-cpp-arrow version 26.0.1") == fingerprint(
        b"parquet-cpp-arrow version 27.1.0"
    )
    assert fingerprint(b"a") != fingerprint(b"b")

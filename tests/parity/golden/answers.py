"""What Spark answers to the questions of a test: from the stored answers, or from Spark."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.parity.golden.plain_values import compared, from_json, to_json

__all__ = ["Answers", "Case", "Mode", "NoAnswerError"]

T = TypeVar("T")


class Mode(enum.Enum):
    """Where answers come from."""

    STORED = "the stored answers"
    ASK = "Spark, whose answers are stored"
    CHECK = "Spark, which must give the stored answers"
    FRESH = "Spark, about cases that are drawn anew and not stored"


@dataclass(frozen=True)
class Case:
    """A test that asks.

    Attributes:
        version: of Spark.
        module: of the test, as `AnswerFile` takes it.
        test: its name in the module.
    """

    version: str
    module: str
    test: str


class NoAnswerError(AssertionError):
    """A case has no stored answer."""


class Answers:
    """The answers to the questions of one test: Spark's, where it is there to be asked, else stored ones.

    An answer is stored with a digest of its question: of all that Spark was given. So a case that was changed
    has no answer before Spark was asked again.

    Attributes:
        mode: where answers come from.
        names: text that is another one in each run, such as a folder's path, and what stands for it in
            questions and stored answers.

    Args:
        mode: where answers come from.
        case: the test.
        stored: its stored answers.
        store: stores answers in place of these.
    """

    def __init__(
        self,
        mode: Mode,
        case: Case,
        stored: Mapping[str, Any],
        store: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self.mode = mode
        self.names: dict[str, str] = {}
        self._case = case
        self._stored = stored
        self._store = store
        self._digests: dict[str, Any] = {}

    @property
    def asks_spark(self) -> bool:
        """Whether Spark is there to be asked."""
        return self.mode is not Mode.STORED

    def ask(self, question: Any, answer: Callable[[], T]) -> T:
        """Return Spark's answer.

        Args:
            question: all that the answer depends on.
            answer: asks Spark.

        Raises:
            NoAnswerError: there is no Spark, and the question has no stored answer.
            AssertionError: Spark gives another answer than the stored one.
        """
        digest = self.digest(question)
        if self.mode is Mode.FRESH:
            return answer()
        if self.mode is Mode.STORED:
            found = self._answer(digest)
        else:
            found = to_json(answer(), self.names)
            if self.mode is Mode.CHECK and compared(self._answer(digest)) != compared(found):
                raise AssertionError(
                    f"Spark {self._case.version} does not give the stored answer any more; if that is "
                    f"right, store the new one: {self._command}\n"
                    f"stored: {repr(self._stored[digest])[:2000]}\nnow: {repr(found)[:2000]}"
                )
        self._digests[digest] = found
        value: T = from_json(found, self.names)
        return value

    def made_by_spark(self, question: Any, make: Callable[[], T]) -> T:
        """Return something that Spark makes for a test to go on with, such as a file.

        Where Spark makes other bytes each time, later questions would have other digests: so it is made anew
        only where answers are stored, or not compared with stored ones.
        """
        if self.mode is not Mode.CHECK:
            return self.ask(question, make)
        digest = self.digest(question)
        self._digests[digest] = self._answer(digest)
        value: T = from_json(self._digests[digest], self.names)
        return value

    def drawn(self, question: Any, draw: Callable[[], list[T]], drawer: str) -> list[T]:
        """Return cases that are drawn: those that Spark was asked about.

        What hypothesis draws depends on its version, and on constants in all modules that are loaded: with
        the same seed it draws other cases some day. Nobody has asked Spark about these: stored ones count.

        Args:
            question: how they are drawn.
            draw: draws them.
            drawer: what draws them, with its version.

        Raises:
            NoAnswerError: Spark was not asked about cases that are drawn so.
        """
        if self.mode is Mode.FRESH:
            return draw()
        digest = self.digest(question)
        if self.mode is Mode.ASK:
            cases = draw()
            self._digests[digest] = to_json((drawer, cases), self.names)
            return cases
        self._digests[digest] = self._answer(digest)
        then: list[T]
        _, then = from_json(self._digests[digest], self.names)
        return then

    def digest(self, question: Any) -> str:
        """Return what a question's answer is stored under."""
        text = json.dumps(to_json(question, self.names), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def close(self) -> None:
        """End the test: store its answers, or prove that it asked for all that are stored.

        Raises:
            AssertionError: it asked nothing, or less than before.
        """
        if self.mode is Mode.FRESH:
            return
        assert self._digests, "no answer of Spark was compared with anything"
        if self.mode is Mode.ASK:
            self._store(self._digests)
            return
        left = self._stored.keys() - self._digests.keys()
        assert not left, (
            f"{len(left)} of {len(self._stored)} stored answers of Spark were not compared with anything. If "
            f"that is right: {self._command}"
        )

    def _answer(self, digest: str) -> Any:
        if digest in self._stored:
            return self._stored[digest]
        raise self._no_answer()

    def _no_answer(self) -> NoAnswerError:
        return NoAnswerError(
            f"Spark {self._case.version} was not asked about this case of {self._case.test}: it is new, or "
            f"its files, its schema or its options have changed. Ask it: {self._command}"
        )

    @property
    def _command(self) -> str:
        return f"scripts/test --ask-spark tests/{self._case.module}"

"""Java's own ``java.util.regex``, in a process beside the tests."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from py4j import java_gateway
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError, get_return_value


class JavaNames:
    """Names in which Java searches.

    Args:
        jvm: py4j's view of the process.
        names: without blanks.
    """

    def __init__(self, jvm: Any, names: Iterable[str]) -> None:
        self._jvm = jvm
        self.names = frozenset(names)
        self._list = jvm.java.util.ArrayList()
        for name in self.names:
            self._list.add(name)

    def matches(self, pattern: str) -> frozenset[str] | None:
        """Return the names in which Java finds the pattern; None if it is no pattern of Java."""
        try:
            compiled = self._jvm.java.util.regex.Pattern.compile(pattern)
        except Py4JJavaError as error:
            assert "PatternSyntaxException" in str(error.java_exception), error  # noqa: PT017
            return None
        left = self._jvm.java.util.ArrayList(self._list)
        try:
            left.removeIf(compiled.asPredicate())
        except Py4JJavaError:
            return None  # JDK 17 compiles a few patterns that it cannot search with
        return self.names.difference(self._jvm.java.lang.String.join(" ", left).split(" "))


@contextmanager
def java_process() -> Iterator[Any]:
    """Start a JVM that has nothing but py4j in it, and give py4j's view of it."""
    jars = Path(pyspark.__file__).parent / "jars"
    port, process = launch_gateway(
        jarpath=str(next(jars.glob("py4j-*.jar"))), die_on_exit=True, return_proc=True
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    # PySpark puts a function of its own here, which asks Spark's JVM about the errors of any JVM.
    pysparks = java_gateway.get_return_value
    java_gateway.get_return_value = get_return_value
    try:
        yield gateway.jvm
    finally:
        java_gateway.get_return_value = pysparks
        gateway.shutdown()
        process.stdin.close()
        process.wait()


class Patterns:
    """Makes patterns of Java at random: most are valid, those that are mutated often not.

    Args:
        rng: random numbers.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def pattern(self) -> str:
        """Return a pattern; it may be invalid."""
        pattern = self._rng.choice(["", "", "(?i)"]) + self._alternatives(0)
        return self._mutated(pattern) if self._rng.random() < 0.3 else pattern

    def names(self, count: int) -> set[str]:
        """Return names in which much of what patterns ask for is found."""
        short = ("".join(self._rng.choices("abkzABZ019._-", k=self._rng.randint(1, 6))) for _ in range(count))
        return {*short, *"abkzABZ019._-", "aa", "ab", "aab", "abab", "aaa", "a-a", "orders.v2", "X-a1"}

    def _alternatives(self, depth: int) -> str:
        return "|".join(self._sequence(depth) for _ in range(self._rng.choice([1, 1, 1, 2, 3])))

    def _sequence(self, depth: int) -> str:
        return "".join(
            self._atom(depth) + self._quantifier() for _ in range(self._rng.choice([0, 1, 1, 2, 2, 3]))
        )

    def _quantifier(self) -> str:
        if self._rng.random() > 0.35:
            return ""
        return self._rng.choice(_QUANTIFIERS) + self._rng.choice(["", "", "", "", "", "?"])

    def _atom(self, depth: int) -> str:
        kind = self._rng.random()
        if kind < 0.35 or depth > 3:
            return self._rng.choice("abkAz0.-_")
        if kind < 0.62:
            return self._rng.choice(_ATOMS)
        if kind < 0.77:
            return self._class()
        return f"{self._rng.choice(_OPENINGS)}{self._alternatives(depth + 1)})"

    def _class(self) -> str:
        members = self._rng.choices(_MEMBERS, k=self._rng.randint(1, 4))
        return f"[{self._rng.choice(['', '', '^'])}{''.join(members)}]"

    def _mutated(self, pattern: str) -> str:
        for _ in range(self._rng.randint(1, 3)):
            index = self._rng.randint(0, len(pattern))
            if self._rng.random() < 0.5:
                pattern = pattern[:index] + self._rng.choice(_MARKS) + pattern[index:]
            else:
                pattern = pattern[:index] + pattern[index + 1 :]
        return pattern


_ATOMS = (
    *("1", " ", "#", "é", "\u212a", "]", "}", r"\.", r"\-", r"\_", r"\ ", r"\é"),
    *(r"\d", r"\w", r"\s", r"\S", r"\D", r"\W", r"\b", r"\B", r"\A", r"\z", r"\Z", "^", "$"),
)
_MEMBERS = (
    *("a", "b", "A", "z", "0", "-", "_", ".", "&", "^", "|", "~", " ", "é", "\u212a"),
    *(r"\d", r"\w", r"\W", r"\-", r"\]", r"\[", r"\^", "a-z", "A-Z", "0-9", "b-k", "Z-a", "+--", r"\.-9"),
)
_QUANTIFIERS = ("*", "+", "?", "{2}", "{1,}", "{0,2}", "{1,3}", "{0}")
_OPENINGS = ("(", "(", "(", "(?:", "(?:", "(?=", "(?!", "(?i:")
_MARKS = "()[]{}|*+?^$\\.-&ab1QEpxi<>=!:,# "

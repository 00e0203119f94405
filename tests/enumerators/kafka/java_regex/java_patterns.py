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

    def found_by(self, pattern: str) -> frozenset[str] | None:
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
        return self._mutated(self._alternatives(0)) if self._rng.random() < 0.3 else self._alternatives(0)

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
        return self._rng.choice(_QUANTIFIERS) + self._rng.choice(["", "", "", "+", "?"])

    def _atom(self, depth: int) -> str:
        kind = self._rng.random()
        if kind < 0.35 or depth > 3:
            return self._rng.choice("abkAz0.-_")
        if kind < 0.62:
            return self._rng.choice(_ATOMS)
        if kind < 0.77:
            return self._class(0)
        opening = self._rng.choice(_OPENINGS)
        return opening if opening in _SWITCHES else f"{opening}{self._alternatives(depth + 1)})"

    def _class(self, depth: int) -> str:
        written = "[^" if self._rng.random() < 0.3 else "["
        for number in range(self._rng.randint(1, 4)):
            if number and self._rng.random() < 0.2:
                written += "&&"
            inner = depth < 2 and self._rng.random() < 0.25
            written += self._class(depth + 1) if inner else self._rng.choice(_MEMBERS)
        return f"{written}]"

    def _mutated(self, pattern: str) -> str:
        for _ in range(self._rng.randint(1, 3)):
            at = self._rng.randint(0, len(pattern))
            if self._rng.random() < 0.5:
                pattern = pattern[:at] + self._rng.choice(_MARKS) + pattern[at:]
            else:
                pattern = pattern[:at] + pattern[at + 1 :]
        return pattern


_ATOMS = (
    *("1", " ", "#", "é", "\u212a", "\u0131", r"\.", r"\-", r"\_", r"\ "),
    *(r"\d", r"\w", r"\s", r"\S", r"\D", r"\W", r"\h", r"\H", r"\v", r"\V", r"\R", r"\X"),
    *(r"\b", r"\B", r"\A", r"\G", r"\z", r"\Z", "^", "$", r"\b{g}"),
    *(r"\x61", r"\x{61}", r"\u0041", r"\0101", r"\07", r"\c!", r"\t", r"\e", r"\y"),
    *(r"\Qa.b\E", r"\Q-\E", r"\Q", r"\E", r"\1", r"\2", r"\10", r"\k<n>"),
    *(r"\p{Alpha}", r"\p{L}", r"\pL", r"\P{Lu}", r"\pP", r"\p{Lt}", r"\p{L1}", r"\p{Sc}", r"\p{gc=Nd}"),
    *(r"\p{Lower}", r"\p{Upper}", r"\p{Punct}", r"\p{XDigit}", r"\p{javaLowerCase}", r"\p{InBasicLatin}"),
    *(r"\p{IsLatin}", r"\p{sc=Latin}", r"\p{IsAlphabetic}", r"\p{IsDigit}", r"\p{IsUppercase}"),
)
_MEMBERS = (
    *"abAz0-_.&^][: #é",
    *(r"\d", r"\w", r"\W", r"\-", r"\]", r"\p{Lu}", r"\P{L}", r"\x61-\x63", r"\Qa-\E", r"\v", r"\b", r"\1"),
    *("a-z", "A-Z", "0-9", "b-k", "Z-a", "--a", "+--"),
)
_QUANTIFIERS = ("*", "+", "?", "{2}", "{1,}", "{0,2}", "{1,3}", "{,2}", "{0}")
_SWITCHES = ("(?i)", "(?-i)", "(?x)", "(?U)", "(?m)", "(?iu)")
_OPENINGS = (
    *("(", "(", "(", "(?:", "(?:", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?<n>", "(?i:", "(?iu:", "(?s-m:"),
    *_SWITCHES,
)
_MARKS = "()[]{}|*+?^$\\.-&ab1QEpxi<>=!:,# "

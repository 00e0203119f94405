"""A pattern finds the same names here as in Java, or is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from headwater.enumerators.kafka.pattern import topic_pattern
from tests.enumerators.kafka.java_patterns import JavaNames, Patterns, java_process

NAMES = (
    "orders",
    "orders.v2",
    "my-orders",
    "ORDERS",
    "X-a1",
    "audit_log",
    "abab",
    "2024",
    "k",
    "s",
    "i",
    "-",
)


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    with java_process() as running:
        yield running


@pytest.fixture(scope="module")
def java(jvm: Any) -> JavaNames:
    return JavaNames(jvm, NAMES)


def matches_here(pattern: str, names: JavaNames) -> frozenset[str] | None:
    try:
        regex = topic_pattern(pattern)
    except ValueError:
        return None
    return frozenset(name for name in names.names if regex.search(name))


MEANINGS = [
    *(
        "",
        "X",
        "orders",
        "^orders$",
        r"\Aorders\z|k\Z",
        "a||k",
        "(|a)k",
        "()?s$",
        "(a*)?k",
        "a}|]",
        "o{1}r{0,2}d{1,}",
    ),
    *("[a-z]{6}", "[^a-z]", r"[\w.-]", "[-_]", "[a-z-9.]", r"[\d\-\]\[]", "[a|b&c~^]", "[a^]", r"[\.-9]"),
    *(
        "(?i)ORDERS",
        "(?i)^[K-k]$",
        "^(?i:x)-A",
        "(?i)[^k]",
        r"(?i)^\W$",
        "(?i)É|\u212a",
        "(?i)[\u0130-\u0132]",
    ),
    *(
        r"\bv\d",
        r"o\B",
        r"^\w+$",
        r"^\S\D\W",
        r"\s",
        r"my\-",
        r"\_",
        "(?:ab){1,3}?$",
        "(a|b)+?1",
        "é",
        "a#| ",
    ),
    *("(?=.*v)orders", "(?!o).r", "^(?:(?!my).)*$"),
]


@pytest.mark.parametrize("pattern", MEANINGS)
def test_it_means_what_it_means_in_java(pattern: str, java: JavaNames) -> None:
    expected = java.matches(pattern)
    assert expected is not None
    assert matches_here(pattern, java) == expected


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"a\Qs.v\E", r"the quotation at index 1 of .* is not supported: write a backslash before each"),
        (
            r"\p{Lower}",
            r"the property at index 0 .*: write the characters, such as \[a-z\]\. Names of topics",
        ),
        (r"(a)\1", r"the back-reference at index 3 .*: write the possible texts as alternatives"),
        (r"\x61", r"the escape at index 0 .*: write \\d, \\w, \\s, \\b, or a backslash before a special"),
        (r"\h", "the escape at index 0"),
        ("[a-z&&[^s]]", "the character class at index 0 .*: write characters and ranges, without &&"),
        ("[a[b]]", "the character class at index 0"),
        (r"[\w-.]", "the character class at index 0 .*, and - as the last one"),
        ("[]a]", "the character class at index 0"),
        ("a*+b", "the repetition at index 2 .*: write .* once, behind a character, a class or a group"),
        ("a{2}{3}", "the repetition at index 4"),
        ("^*a", "the repetition at index 1"),
        ("(?=a)*b", "the repetition at index 5 .*: its group may match no character"),
        ("(?:a*|b)+k", "the repetition at index 8 .*: write a group that matches at least one"),
        ("a{100000}", "the repetition at index 1"),
        ("(?>a)", r"the atomic group at index 0 .*: write \(\?:\.\.\.\)"),
        ("(?<n>a)", r"the named group at index 0 .*: write \(\.\.\.\)"),
        ("(?x) a", r"the flag or group at index 0 .*: write \(\?i\) at the beginning"),
        ("a(?i)b", "the flag or group at index 1"),
        ("(?<=a)b", r"the look-behind at index 0 .*: write .* or a look-ahead, \(\?=\.\.\.\) or"),
    ],
)
def test_what_may_mean_something_else_is_refused_by_name_and_with_the_way_out(
    pattern: str, message: str, java: JavaNames
) -> None:
    assert java.matches(pattern) is not None or pattern == r"[\w-.]"
    with pytest.raises(ValueError, match=message):
        topic_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "(",
            ")",
            "(?:a",
            "a)",
            "[a",
            "[]",
            "[^]",
            "*",
            "+a",
            "?",
            "a**",
            "{2}x{",
            "a{,3}",
            "a{2",
            "a{3,2}",
        ),
        *("(?P<n>a)", "(?#c)", "(?(1)a)", "(?q)", "(?<1>a)", r"\k<n>", r"[\1]", r"[\b]", "(?:?a)", "(*a)"),
        *(r"\y", r"\i", "\\", r"\u12", r"\08", r"\p{", "[z-a]", r"a\E", r"[a-\d]", r"a{99999999999}"),
    ],
)
def test_what_java_refuses_is_refused(pattern: str, java: JavaNames) -> None:
    assert java.matches(pattern) is None
    with pytest.raises(ValueError, match=r"is not supported|closes no group|is not closed"):
        topic_pattern(pattern)


def test_patterns_made_at_random_find_the_same_names(jvm: Any, rng: random.Random) -> None:
    compare(Patterns(rng), jvm, count=1_500)


@pytest.mark.long
def test_and_many_more_of_them(jvm: Any, rng: random.Random) -> None:
    for _ in range(20):
        compare(Patterns(rng), jvm, count=2_500)


def compare(patterns: Patterns, jvm: Any, count: int) -> None:
    names = JavaNames(jvm, patterns.names(60))
    outcomes = {"compared": 0, "some match": 0}
    for _ in range(count):
        pattern = patterns.pattern()
        matches = matches_here(pattern, names)
        if matches is not None:
            assert matches == names.matches(pattern), f"{pattern!r} is {topic_pattern(pattern).pattern!r}"
            outcomes["compared"] += 1
            outcomes["some match"] += 0 < len(matches) < len(names.names)
    # Otherwise little was compared.
    assert outcomes["compared"] > count * 0.4
    assert outcomes["some match"] > count * 0.15

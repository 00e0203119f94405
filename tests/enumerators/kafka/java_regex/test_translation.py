"""A pattern finds the same names here as in Java, or is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from headwater.enumerators.kafka.java_regex.translation import JavaPatternError, java_regex
from tests.enumerators.kafka.java_regex.java_patterns import JavaNames, Patterns, java_process

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


def found_here(pattern: str, names: JavaNames) -> frozenset[str] | None:
    try:
        regex = java_regex(pattern)
    except JavaPatternError:
        return None
    return frozenset(name for name in names.names if regex.search(name))


MEANINGS = [
    "X",
    "orders",
    "^orders$",
    r"\Aorders\z|\Gk\Z",
    "[a-z&&[^s]]",
    "^[a-z&&[def]or-s]+$",
    "^[a-d[r-s]or-s&&[^r]]+$",
    "[^a-z[A-Z]]",
    "[]a]",
    "[a-z&&r-s]",
    "(?i)ORDERS",
    "(?i)^[K-k]$",
    "(?i)audit(?-i)_LOG",
    "^(?i:x)-A",
    "(?x) ^ orders # all of them\n $",
    r"(?x)\ |\#|my -orders",
    r"\p{Alpha}{5}",
    r"^\p{Lower}+$",
    r"(?i)^\p{Lower}+$",
    r"^\p{IsAlphabetic}+$",
    r"^\P{L}+$",
    r"\p{IsGreek}",
    r"^\p{javaLowerCase}+\p{Punct}",
    r"\Qs.v\E",
    r"\Qs.v",
    r"^[\Q-]\E]$",
    r"\bv\d",
    r"o\B",
    r"^\w+$",
    r"\s|\h|\v|\R",
    r"^\S\H\V\X$",
    r"\x2e\x{76}\062",
    r"\u006frd",
    r"\c/rders",
    r"(?>ab|a)*b",
    "a*+b",
    "(?:ab){1,3}+$",
    r"(ab)\1",
    r"(?<twice>ab)\k<twice>",
    "(?i)(x).*\\1",
    "(?<=my-|X-)[oa]",
    "(?<!my-|[.])[ov]",
    "(?=.*v)orders",
    "(?!o).r",
    "a||k",
    "(|a)k",
    "()*s$",
    "\u212a",
    "a}|]",
    r"(?:)*^*k$*",
    "o{1}r{0,2}d{1,}",
]


@pytest.mark.parametrize("pattern", MEANINGS)
def test_it_means_what_it_means_in_java(pattern: str, java: JavaNames) -> None:
    expected = java.found_by(pattern)
    assert expected is not None
    assert found_here(pattern, java) == expected


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (
            "(?<=a+)b",
            r"'\(\?<=' before index 7 cannot be translated .*: the width of what it looks for is not",
        ),
        ("(?<!a(?:b|cd))", r"the width of what it looks for is not fixed"),
        (r"(?:(a|b)\1)+", r"'\\\\1' .*: a back-reference beside or within a quantifier or a look-around"),
        (r"(?=(a))\1", "a back-reference beside or within a quantifier or a look-around"),
        ("(?iu)\u212a", r"with \(\?iu\) a letter beyond ASCII may match one of ASCII"),
        ("(?iU)[\u0130-\u0132]", r"with \(\?iu\) a letter beyond ASCII may match one of ASCII"),
        (r"\p{IsThai}", r"'\\\\p\{IsThai\}' .*: this property is not known here"),
        (r"\N{WHITE SMILING FACE}", "there is no such escape, or it is not known here"),
        ("[&&a]", "'&&' .*: one operand is missing, or they do not group from the left"),
        ("[a&&]", "'&&' .*: one operand is missing"),
        ("[a-z&&[k]s&&[s]]", "'&&' .*: .* or they do not group from the left"),
        ("[a-z&&[k]&s]", "'&' .*: behind && and a class it ends the operand"),
        (r"\b{g}k", "JDK 17 finds such boundaries in places where there are none"),
        (r"[\t-\v]", "it means nothing in a character class, or in a range"),
        ("(?x)[a b]", "blanks and # in a character class are ignored by Java"),
        (r"(?x)\06 1", r"'\\\\06' .*: with \(\?x\) Java may take digits behind the blank for a part of it"),
        ("a{2}{3}", "there is nothing that it could repeat"),
    ],
)
def test_what_cannot_be_translated_faithfully_is_refused_by_name(
    pattern: str, said: str, java: JavaNames
) -> None:
    assert java.found_by(pattern) is not None
    with pytest.raises(JavaPatternError, match=said):
        java_regex(pattern)


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
        *("(?P<n>a)", "(?#c)", "(?(1)a)", "(?q)", "(?<1>a)", "(?<n>a)(?<n>b)", r"\k<n>", r"[\1]", r"[\b]"),
        *(r"\y", r"\i", "\\", r"\x1", r"\x{110000}", r"\u12", r"\08", r"\p{", r"\p{Nope}", "[z-a]", r"a\E"),
        *(r"[a-\d]", "a{99999999999}"),
    ],
)
def test_what_java_refuses_is_refused(pattern: str, java: JavaNames) -> None:
    assert java.found_by(pattern) is None
    with pytest.raises(JavaPatternError, match=r"before index \d+ (is no|cannot be)"):
        java_regex(pattern)


def test_patterns_made_at_random_find_the_same_names(jvm: Any, rng: random.Random) -> None:
    compare(Patterns(rng), jvm, count=1_500)


@pytest.mark.long
def test_and_many_more_of_them(jvm: Any, rng: random.Random) -> None:
    for _ in range(20):
        compare(Patterns(rng), jvm, count=2_500)


def compare(patterns: Patterns, jvm: Any, count: int) -> None:
    names = JavaNames(jvm, patterns.names(60))
    outcomes = {"same": 0, "translated": 0, "valid": 0}
    for _ in range(count):
        pattern = patterns.pattern()
        expected = names.found_by(pattern)
        found = found_here(pattern, names)
        outcomes["valid"] += expected is not None
        if found is not None:
            assert found == expected, f"{pattern!r} is {java_regex(pattern).pattern!r}"
            outcomes["translated"] += 1
            outcomes["same"] += 0 < len(found) < len(names.names)
    # Otherwise little was compared.
    assert outcomes["valid"] > count * 0.3
    assert outcomes["translated"] > outcomes["valid"] * 0.75
    assert outcomes["same"] > count * 0.1

r"""Checks that a regular expression means the same in Java and in Python.

Spark's ``subscribePattern`` is a ``java.util.regex.Pattern``. The two languages look alike and differ in many
places: ``[a-z&&[^b]]`` is valid in both, and matches nothing in Python. Only constructs with one meaning are
let through: literals, ``.``, ``\d \w \s``, character classes, groups, alternatives, repetitions, anchors,
look-aheads, and ``(?i)``. All others are refused by name.

A topic's name has ASCII letters, digits, ``.``, ``_`` and ``-`` only. So the two languages' different ideas
of letters and of line ends cannot matter, and most of the refused constructs have a plain equivalent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_CHARACTER: Final = r"(?: \\[^a-zA-Z0-9] | (?! \|\| | ~~ | && ) [^\\\[\]-] )"
"""A character of a class. ``||``, ``~~``, ``&&`` and ``--`` are (in Python: will be) set operations."""
_HYPHEN: Final = "(?: -(?!-) )?"
_TOKENS: Final = re.compile(
    rf"""
      (?: (?P<unit> \. | \\[dDwWsS]
            | \[ (?!\^?\]) \^? {_HYPHEN}
              (?: {_CHARACTER}-{_CHARACTER} {_HYPHEN} | {_CHARACTER} | \\[dDwWsS] )* -? \] )
        | (?P<literal> \\[^a-zA-Z0-9] | [^\\\[(){{*+?|^$] )
        | (?P<closing> \) )
      ) (?P<repetition> (?: [*+?] | \{{ [0-9]{{1,4}} (?: , [0-9]{{0,4}} )? \}} ) \?? )?
    | (?P<opening> \( (?: \? (?: : | i: | [=!] ) )? (?!\?) )
    | (?P<anchor> [\^$] | \\[AzZbB] )
    | (?P<alternative> \| )
    """,
    re.VERBOSE | re.DOTALL,
)

_ANCHORS: Final = {"^": r"\A", "$": r"\Z", "z": r"\Z"}
"""Anchors that Python spells differently. Names have no line ends, so ``$`` and ``\\Z`` are the very end."""

_REFUSED: Final = (
    (r"[*+?{]", "repetition", "*, +, ?, {n}, {n,} or {n,m} once, behind a character, a class or a group"),
    (r"\\Q", "quotation", r"a backslash before each special character, such as \."),
    (r"\\[pP]", "property", r"the characters, such as [a-z]"),
    (r"\\[1-9k]", "back-reference", "the possible texts as alternatives, such as (?:aa|bb)"),
    (r"\\", "escape", r"\d, \w, \s, \b, or a backslash before a special character, such as \."),
    (r"\[", "character class", "characters and ranges, without && and classes inside, and - as the last one"),
    (r"\(\?<[a-zA-Z]", "named group", "(...)"),
    (r"\(\?<[=!]", "look-behind", "the possible texts as alternatives, or a look-ahead, (?=...) or (?!...)"),
    (r"\(\?>", "atomic group", "(?:...)"),
    (r"\(\?", "flag or group", "(?i) at the beginning, (?i:...), (?:...), (?=...) or (?!...)"),
)
"""Where no token follows: how such a construct begins, its name, and the replacement."""


@dataclass(slots=True)
class _Group:
    """A group that is open, or the whole pattern.

    Attributes:
        opening: its first characters.
        may_be_empty: whether one of its finished alternatives may match no character.
        is_empty_so_far: whether the current alternative may.
    """

    opening: str
    may_be_empty: bool = False
    is_empty_so_far: bool = True

    def end_alternative(self) -> None:
        self.may_be_empty |= self.is_empty_so_far
        self.is_empty_so_far = True


@lru_cache(maxsize=256)
def topic_pattern(pattern: str) -> re.Pattern[str]:
    """Return Python's form of a Java pattern, for `re.Pattern.search` in the name of a topic.

    For the same name, ``search`` finds a match exactly if Java's ``Matcher.find`` does.

    Raises:
        ValueError: Java refuses the pattern, or Python may read it differently. The message names the
            construct, where it stands, and its replacement.
    """
    ignores_case = pattern.startswith("(?i)")
    index = len("(?i)") if ignores_case else 0
    translation: list[str] = []
    groups = [_Group("")]
    while index < len(pattern):
        token = _TOKENS.match(pattern, index)
        if token is None:
            raise _refusal(pattern, index)
        if token["opening"]:
            groups.append(_Group(token[0]))
        elif token["closing"]:
            _close(groups, token)
        elif token["alternative"]:
            groups[-1].end_alternative()
        elif not token["anchor"]:
            groups[-1].is_empty_so_far &= _may_be_left_out(token)
        translation.append(_in_python(token))
        index = token.end()
    if len(groups) > 1:
        raise ValueError(f"{groups[-1].opening!r} in {pattern!r} is not closed: ) is missing")
    try:
        # Java ignores the case of ASCII letters only, and its \d, \w and \s are ASCII too.
        return re.compile("".join(translation), re.ASCII | (re.IGNORECASE if ignores_case else 0))
    except re.error as error:  # such as [z-a] or a{3,2}
        raise ValueError(f"{pattern!r} is not supported: {error.msg}") from error


def _close(groups: list[_Group], token: re.Match[str]) -> None:
    """Close the innermost group; refuse repetitions of it that the two languages try in different ways."""
    if len(groups) == 1:
        raise ValueError(f"')' at index {token.start()} of {token.string!r} closes no group")
    group = groups.pop()
    group.end_alternative()
    is_look_ahead = group.opening in ("(?=", "(?!")
    repeats = token["repetition"] not in (None, "?", "??")
    if token["repetition"] and (is_look_ahead or (repeats and group.may_be_empty)):
        raise ValueError(
            f"the repetition at index {token.start('repetition')} of {token.string!r} is not supported: "
            "its group may match no character: write a group that matches at least one"
        )
    if not is_look_ahead:
        groups[-1].is_empty_so_far &= group.may_be_empty or _may_be_left_out(token)


def _may_be_left_out(token: re.Match[str]) -> bool:
    return (token["repetition"] or "").startswith(("*", "?", "{0"))


def _in_python(token: re.Match[str]) -> str:
    if token["literal"]:
        return re.escape(token["literal"][-1]) + (token["repetition"] or "")
    if token["anchor"]:
        return _ANCHORS.get(token[0][-1], token[0])
    return token[0]


def _refusal(pattern: str, index: int) -> ValueError:
    rest = pattern[index:]
    name, instead = next((name, instead) for start, name, instead in _REFUSED if re.match(start, rest))
    return ValueError(
        f"the {name} at index {index} of {pattern!r} is not supported: write {instead}. "
        "Names of topics have only a-z, A-Z, 0-9, '.', '_' and '-'"
    )

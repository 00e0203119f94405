"""Wildcards as Spark's users know them from Hadoop: ``*``, ``?``, ``[a-z]``, ``[^a]``, ``{jpg,png}``."""

from __future__ import annotations

import re

_WILDCARD = re.compile(r"[*?\[{]")
_TOKEN = re.compile(r"\\(?P<escaped>.)|\[(?P<negated>[!^]?)(?P<members>[^\]]+)\]|(?P<single>.)", re.DOTALL)
_OUTSIDE_BRACES = {"*": ".*", "?": ".", "{": "(?:"}
_INSIDE_BRACES = {"*": ".*", "?": ".", ",": "|", "}": ")"}


def has_wildcard(text: str) -> bool:
    """Whether a path, or one name of it, is a pattern."""
    return _WILDCARD.search(text) is not None


def compile_name(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern for one name, to be used with ``fullmatch``.

    Braces do not nest.

    Raises:
        ValueError: a bracket or brace is not closed, or braces are nested.
    """
    parts: list[str] = []
    in_braces = False
    for token in _TOKEN.finditer(pattern):
        char = token["single"]
        if char is None:
            parts.append(_escaped_or_bracket(token))
            continue
        if char == "[" or (char == "{" and in_braces):
            raise ValueError(
                f"the pattern {pattern!r} has a {char} that is not closed, or is inside of another"
            )
        special = _INSIDE_BRACES if in_braces else _OUTSIDE_BRACES
        parts.append(special.get(char, re.escape(char)))
        if char == "{":
            in_braces = True
        elif char == "}":
            in_braces = False
    if in_braces:
        raise ValueError(f"the pattern {pattern!r} has a {{ that is not closed")
    return re.compile("".join(parts), re.DOTALL)


def _escaped_or_bracket(token: re.Match[str]) -> str:
    """Return the regular expression of a character after a backslash, or of a bracket."""
    if token["escaped"] is not None:
        return re.escape(token["escaped"])
    negation = "^" if token["negated"] else ""
    members = token["members"].replace("\\", r"\\")
    return f"[{negation}{members}]"

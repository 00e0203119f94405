"""Wildcards as Spark's users know them from Hadoop: ``*``, ``?``, ``[a-z]``, ``[^a]``, ``{jpg,png}``."""

from __future__ import annotations

import re

__all__ = ["compile_name", "has_wildcard"]

_TOKEN = re.compile(r"\\(?P<escaped>.)|\[(?P<negated>[!^]?)(?P<members>[^\]]+)\]|(?P<single>.)", re.DOTALL)
_OUTSIDE = {"*": ".*", "?": ".", "{": "(?:"}
_INSIDE = {"*": ".*", "?": ".", ",": "|", "}": ")"}


def has_wildcard(text: str) -> bool:
    """Whether a path, or one name of it, is a pattern."""
    return re.search(r"[*?\[{]", text) is not None


def compile_name(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern for one name, to be used with ``fullmatch``.

    Braces do not nest.

    Raises:
        ValueError: a bracket or brace is not closed, or braces are nested.
    """
    parts, in_braces = [], False
    for token in _TOKEN.finditer(pattern):
        char = token["single"]
        if char is None:
            members = (token["members"] or "").replace("\\", r"\\")
            parts.append(
                re.escape(token["escaped"])
                if token["escaped"]
                else f"[{'^' if token['negated'] else ''}{members}]"
            )
            continue
        if char == "[" or (char == "{" and in_braces):
            raise ValueError(
                f"the pattern {pattern!r} has a {char} that is not closed, or is inside of another"
            )
        parts.append((_INSIDE if in_braces else _OUTSIDE).get(char) or re.escape(char))
        in_braces = char == "{" or (in_braces and char != "}")
    if in_braces:
        raise ValueError(f"the pattern {pattern!r} has a {{ that is not closed")
    return re.compile("".join(parts), re.DOTALL)

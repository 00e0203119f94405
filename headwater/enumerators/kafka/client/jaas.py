"""Kafka's ``sasl.jaas.config``.

One login module with its options, as ``org.apache.kafka.common.security.JaasConfig`` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["JaasEntry", "parse"]

_FLAGS = ("required", "requisite", "sufficient", "optional")
_TOKEN = re.compile(r"""
      (?P<blank> \s+ | //[^\n]* | /\*.*?\*/ )
    | "(?P<double> (?: [^"\\\n] | \\. )* )"
    | '(?P<single> (?: [^'\\\n] | \\. )* )'
    | (?P<mark> [=;] )
    | (?P<word> (?: [^\s=;"'/] | /(?![/*]) )+ )
""", re.VERBOSE | re.DOTALL)  # fmt: skip
_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|[0-7]{1,2}|.)", re.DOTALL)
_CONTROL = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """A login module and its options. The options hold secrets and are not shown.

    Attributes:
        module: the Java class, for example ``org.apache.kafka.common.security.plain.PlainLoginModule``.
        options: by name.
    """

    module: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def module_name(self) -> str:
        """The class without its package: platforms that bundle Kafka rename the package."""
        return self.module.rpartition(".")[2]


def parse(written: str) -> JaasEntry:
    """Read ``Module required name="value" ... ;``.

    Raises:
        ValueError: it is something else. The message shows no option's value.
    """
    tokens = _tokens(written)
    if len(tokens) < 3 or tokens[-1] != (";", True):
        raise ValueError(
            'it must be: <login module> required name="value" ... ; (with the semicolon at the end)'
        )
    module, flag, *rest = tokens[:-1]
    if module[1] or flag[1] or flag[0].lower() not in _FLAGS:
        raise ValueError(f"after the login module comes one of {', '.join(_FLAGS)}")
    return JaasEntry(module[0], _options(rest))


def _options(tokens: list[tuple[str, bool]]) -> dict[str, str]:
    if (";", True) in tokens:
        raise ValueError("it must hold exactly one login module")
    options = {}
    for i in range(0, len(tokens), 3):
        (name, is_mark), *rest = tokens[i : i + 3]
        if is_mark or len(rest) != 2 or rest[0] != ("=", True) or rest[1][1]:
            raise ValueError(f'its option number {i // 3 + 1} is not name="value"')
        options[name] = rest[1][0]
    return options


def _tokens(written: str) -> list[tuple[str, bool]]:
    """Return words, and the marks = and ; which are told from quoted ones by a True."""
    tokens, position = [], 0
    while position < len(written):
        match = _TOKEN.match(written, position)
        if match is None:
            raise ValueError("it has a quote that does not end")
        position = match.end()
        kind, content = match.lastgroup, match[match.lastgroup or 0]
        if kind in ("double", "single"):
            tokens.append((_ESCAPE.sub(_unescape, content), False))
        elif kind != "blank":
            tokens.append((content, kind == "mark"))
    return tokens


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped, 8)) if escaped.isdigit() and escaped < "8" else _CONTROL.get(escaped, escaped)

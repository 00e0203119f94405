"""JSON whose numbers keep their digits: Python's floats have 17, and a column may have more."""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import Any, Self


class Number(float):
    """A number of JSON, which is written as it was read."""

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number._text = text
        return number

    _text: str

    def __str__(self) -> str:
        return self._text


def loads(data: bytes) -> Any:
    """Do what `json.loads` does, but make a `Number` of each number.

    Raises:
        ValueError: it is not JSON.
    """
    return json.loads(data, parse_int=Number, parse_float=Number)


def dumps(value: Any) -> str:
    """Return what `loads` has made as compact JSON."""
    parts: list[str] = []
    _put(value, parts)
    return "".join(parts)


def _put(value: Any, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(encode_basestring(value))
    elif isinstance(value, Number):
        parts.append(str(value))
    elif isinstance(value, dict):
        opening = "{"
        for name, member in value.items():
            parts += (opening, encode_basestring(name), ":")
            _put(member, parts)
            opening = ","
        parts.append("}" if value else "{}")
    elif isinstance(value, list):
        opening = "["
        for element in value:
            parts.append(opening)
            _put(element, parts)
            opening = ","
        parts.append("]" if value else "[]")
    else:
        parts.append(json.dumps(value))

"""Canonical JSON: one value, one text.

Spark compares offsets as text, so the same offset must always be the same bytes.
"""

from __future__ import annotations

import json
from operator import itemgetter
from typing import TypeAlias

JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = "dict[str, JsonValue]"

_PLAIN = {str, int, bool, type(None)}
_KEYS = {str}
_KEY = itemgetter(0)


def canonical(value: JsonValue) -> JsonValue:
    """Return an equal value whose objects have their keys in sorted order, all the way down.

    Raises:
        TypeError: something in it is not JSON (a set, a tuple, bytes, a number that is not finite).
    """
    if isinstance(value, dict):
        if set(map(type, value)) - _KEYS and not all(isinstance(key, str) for key in value):
            raise TypeError(
                f"a JSON object has strings as keys, not {next(k for k in value if not isinstance(k, str))!r}"
            )
        if set(map(type, value.values())) <= _PLAIN:
            return dict(sorted(value.items(), key=_KEY))
        return {
            key: item if type(item) in _PLAIN else canonical(item)
            for key, item in sorted(value.items(), key=_KEY)
        }
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    raise TypeError(f"not JSON: {value!r} ({type(value).__name__})")


def dumps(value: JsonValue) -> str:
    """Return the one compact text of a JSON value: sorted keys, no blanks."""
    return json.dumps(canonical(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)

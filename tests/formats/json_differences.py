"""Every difference between the format json and Spark's `from_json` that is meant, with its reason."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

DIFFERENCES = {
    "a text that is no JSON is a row of nulls": (
        "what Spark still finds after an error depends on where its parser happens to stand"
    ),
    "a time without a date is bad": "Spark takes the day on which the query runs: a replay would differ",
    "doubles as text have the fewest digits": "before Java 19 `Double.toString` sometimes writes more",
    "Base64 that ends behind the first character of four, or behind one of two equals signs, is a null": (
        "Spark's parser loses its place, and takes the rest of the text for a part of that string"
    ),
    "dates have ASCII digits": "Java takes those of all scripts, in a number of days only",
}

TIME_ONLY = re.compile(r'"(T?\d{1,2}:\d{1,2}|T\d{1,2})')
FOREIGN_DIGITS = re.compile(r'"[+-]?[0-9]*(?![0-9])\d+\d*"')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NUMBER = re.compile(r"-?\d+\.\d+(?:E-?\d+)?")


def is_meant(
    text: bytes,
    ours: Mapping[str, Any],
    spark: Mapping[str, Any],
    *,
    bad: bool,
    spark_bad: bool,
    broken: bool,
) -> bool:
    """Return whether two rows of one text differ as they are meant to; ``broken`` is one that is no JSON."""
    if broken and spark_bad:
        return True
    string = text.decode("utf-8", "replace")
    if TIME_ONLY.search(string) or FOREIGN_DIGITS.search(string):
        return True
    if "x" in ours and bad and spark_bad and has_broken_base64(string):
        return True
    return bad == spark_bad and _same(dict(ours), dict(spark))


def has_broken_base64(text: str) -> bool:
    """Return whether a string of a JSON text would be Base64 that breaks off."""
    return any(map(_breaks_off, _STRING.findall(text)))


def _breaks_off(text: str) -> bool:
    plain = re.sub(r"\\[nrt]|\\u00[01].|\s", "", text)
    return len(plain) % 4 == 1 or (len(plain) % 4 == 3 and plain.endswith("="))


def _same(one: Any, other: Any) -> bool:
    """Return whether values are equal but for doubles that are written with other digits."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, str) and isinstance(other, str) and one != other:
        return _NUMBER.sub("#", one) == _NUMBER.sub("#", other) and all(
            float(a) == float(b) for a, b in zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
        )
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)

"""Rescued data: what a row has and its schema does not name, as one JSON object in a column of its own."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final, cast

import pyarrow as pa

RESCUED_COLUMN: Final = "_rescued_data"
"""The name of the column for rescued data if the user gives none."""

_ESCAPES: Final = [("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")]


def json_objects(columns: Mapping[str, pa.Array[Any]], rows: int) -> pa.Array[Any]:
    """Return a column of JSON objects with the values that are not null; null where all of them are.

    Numbers and booleans are those of JSON; times, dates and decimals are strings, as Arrow writes
    them, and so are numbers that JSON does not have; bytes are strings in base64.

    Args:
        columns: by the names that their values get.
        rows: how many there are.
    """
    compute = _compute()
    members = []
    for name, column in columns.items():
        begin = f"{json.dumps(name, ensure_ascii=False)}:"
        members.append(compute.binary_join_element_wise(begin, _json_text(column), ""))
    if not members:
        return pa.nulls(rows, pa.string())
    # Arrow drops a row that has only nulls from the result: with the empty text each row has something.
    joined = compute.binary_join_element_wise("", *members, ",", null_handling="skip")
    inside = compute.utf8_slice_codeunits(joined, 1)
    objects = compute.binary_join_element_wise("{", inside, "}", "")
    return cast("pa.Array[Any]", compute.if_else(compute.equal(inside, ""), None, objects))


def _json_text(column: Any) -> Any:
    """Return the JSON text of each value; null stays null."""
    compute = _compute()
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        text = column.cast(pa.string())
        return compute.if_else(compute.is_finite(column), text, _quoted(text))
    if pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or _is_binary(kind):
        return _dumped_each(column)
    return _quoted(column.cast(pa.string()))


def _quoted(text: Any) -> Any:
    """Return strings as JSON has them."""
    compute = _compute()
    if compute.any(compute.match_substring_regex(text, r"[\x00-\x08\x0b\x0c\x0e-\x1f]")).as_py():
        return _dumped_each(text)
    for plain, escaped in _ESCAPES:
        text = compute.replace_substring(text, plain, escaped)
    return compute.binary_join_element_wise('"', text, '"', "")


def _dumped_each(column: Any) -> Any:
    """Return the JSON text of each value, one after the other: for types without a fast way."""
    values = (_without_nulls(value) for value in column.to_pylist())
    return pa.array([None if value is None else _dumped(value) for value in values], pa.string())


def _without_nulls(value: Any) -> Any:
    """Return a value without members that are null; None for an object that has no others."""
    if isinstance(value, dict):
        return {
            name: rest for name, member in value.items() if (rest := _without_nulls(member)) is not None
        } or None
    return [_without_nulls(element) for element in value] if isinstance(value, list) else value


def _is_binary(kind: Any) -> bool:
    types = pa.types
    return (
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_binary_view(kind)
    )


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _compute() -> Any:
    # Loaded where rows are made: whoever plans needs the name of the column alone.
    import pyarrow.compute

    return pyarrow.compute

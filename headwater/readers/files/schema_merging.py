"""Schemas of several files as one, as Spark's ``mergeSchema`` has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa


def merged_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Return all columns of all schemas, as the first one spells them: the case of names does not count.

    Raises:
        ValueError: a column has types that Spark does not merge: only decimals of one scale are widened.
    """
    merged: pa.Schema = pa.schema([])
    for schema in schemas:
        merged = pa.schema(_fields(list(merged), list(schema), ""))
    return merged


def _fields(one: list[pa.Field[Any]], other: list[pa.Field[Any]], path: str) -> list[pa.Field[Any]]:
    fields = {field.name.lower(): field for field in one}
    for field in other:
        known = fields.get(field.name.lower(), field)
        kind = _merged(known.type, field.type, f"{path}{field.name}")
        fields[field.name.lower()] = pa.field(known.name, kind)
    return list(fields.values())


def _merged(one: Any, other: Any, path: str) -> Any:
    types = pa.types
    if one == other:
        return one
    if types.is_struct(one) and types.is_struct(other):
        return pa.struct(_fields(list(one), list(other), f"{path}."))
    if types.is_list(one) and types.is_list(other):
        return pa.list_(_merged(one.value_type, other.value_type, path))
    if types.is_map(one) and types.is_map(other):
        key = _merged(one.key_type, other.key_type, path)
        return pa.map_(key, _merged(one.item_type, other.item_type, path))
    if types.is_decimal(one) and types.is_decimal(other) and one.scale == other.scale:
        return pa.decimal128(max(one.precision, other.precision), one.scale)
    raise ValueError(f"column {path!r} is {one} in one file and {other} in another")

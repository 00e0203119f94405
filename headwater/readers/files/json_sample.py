"""The type of a sample of JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from itertools import islice
from typing import Any, cast

import pyarrow as pa

from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.codecs import decompressed
from headwater.readers.files.line_format import line_blocks

_SAMPLE_BYTES = 1 << 20


def sample(file: Any, status: FileStatus) -> pa.Schema:
    """Look at the first megabyte or two. A line that cannot be read does not count."""
    blocks = line_blocks(decompressed(status.url, file), 0, None, status.url, block_bytes=_SAMPLE_BYTES)
    data = b"".join(cast("bytes", block.data) for block in islice(blocks, 2))
    fields: dict[str, pa.DataType] = {}
    for line in data.split(b"\n"):
        for name, value in _members(line).items():
            fields[name] = _wider(fields.get(name, pa.null()), _type_of(value))
    return pa.schema([pa.field(name, kind) for name, kind in sorted(fields.items())])


def _members(line: bytes) -> dict[str, Any]:
    """Return the members of the object on a line, none if there is no such object."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _type_of(value: Any) -> pa.DataType:
    """Return the type of a value of Python's JSON parser."""
    if isinstance(value, dict):
        return pa.struct(sorted((name, _type_of(item)) for name, item in value.items()))
    if isinstance(value, list):
        return pa.list_(reduce(_wider, map(_type_of, value), cast("pa.DataType", pa.null())))
    if isinstance(value, int) and not isinstance(value, bool):  # a bool is an int in Python
        return pa.int64() if -(1 << 63) <= value < 1 << 63 else pa.float64()
    simple: dict[type, pa.DataType] = {bool: pa.bool_(), float: pa.float64(), str: pa.string()}
    return simple.get(type(value), pa.null())


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type that holds both, string if nothing else does."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        return pa.struct(sorted(_merged(list(one), list(other)).items()))
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(_wider(one.value_type, other.value_type))
    return pa.string()


def _merged(one: Sequence[Any], other: Sequence[Any]) -> dict[str, pa.DataType]:
    """Return the fields of two structs, each with the type that holds both."""
    fields = {field.name: field.type for field in one}
    for field in other:
        fields[field.name] = _wider(fields.get(field.name, pa.null()), field.type)
    return fields

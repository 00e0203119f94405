"""Types that Spark has noted in the files it wrote, where the files' own types say less.

An interval or a time of day is a number to Parquet, ORC and Avro. Spark notes its whole schema in the footer
of Parquet, and the types of single columns in ORC and Avro, and infers these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from headwater.readers.files.column_types import UnfitTypeError

_PARQUET_NOTE: Final = b"org.apache.spark.sql.parquet.row.metadata"
_NOTE: Final = "spark.sql.catalyst.type"
_TYPES: Final[Mapping[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "interval day to second": pa.duration("us"),
}
"""By the names in Spark's JSON."""
_TEXT: Final = re.compile(r"(var)?char\(\d+\)|string collate .*", re.IGNORECASE)
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_MONTHS: Final = re.compile(r"interval (year|month)( to month)?")


def noted_schema(metadata: Mapping[bytes, bytes] | None) -> pa.Schema | None:
    """Return the schema that Spark has noted in a file of Parquet; None if there is none.

    Raises:
        UnfitTypeError: it has a type that cannot be made here.
    """
    try:
        schema = json.loads((metadata or {}).get(_PARQUET_NOTE, b"null"))
        if not isinstance(schema, dict):
            return None
        columns: Any = _type(schema, "")
        return pa.schema(list(columns))
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, UnfitTypeError):
            raise
        return None  # Spark passes over such a note, too


def noted_orc_type(field: pa.Field[Any], kind: pa.DataType, path: str) -> pa.DataType:
    """Return the type that Spark infers of a column of ORC, or of a part of one.

    Args:
        field: of the file.
        kind: the type that is inferred without a note.
        path: of the column, for messages.

    Raises:
        UnfitTypeError: it is noted as a type that cannot be made here.
    """
    note = (field.metadata or {}).get(_NOTE.encode())
    own: Any = field.type
    result: Any = kind
    types = pa.types
    if types.is_struct(own):
        return pa.struct(
            [
                pa.field(part.name, noted_orc_type(part, result.field(at).type, f"{path}.{part.name}"))
                for at, part in enumerate(own)
            ]
        )
    if types.is_map(own):
        key = noted_orc_type(own.key_field, result.key_type, f"{path}.key")
        return pa.map_(key, noted_orc_type(own.item_field, result.item_type, f"{path}.value"))
    if types.is_list(own):
        return pa.list_(noted_orc_type(own.value_field, result.value_type, f"{path}.element"))
    return kind if note is None else _beyond(note.decode(), kind, path)


def noted_avro_type(node: Any, kind: Any, path: str) -> pa.DataType:
    """Return the type that Spark infers of a type of Avro.

    Args:
        node: of the schema's JSON.
        kind: the type that is inferred without a note.
        path: of the column, for messages.

    Raises:
        UnfitTypeError: it is noted as a type that cannot be made here.
    """
    types = pa.types
    if isinstance(node, list):
        branches = [branch for branch in node if branch != "null"]
        node = branches[0] if len(branches) == 1 else None
    own: pa.DataType = kind
    if not isinstance(node, dict):
        return own
    if types.is_struct(kind) and isinstance(node.get("fields"), list):
        nodes = {field["name"]: field["type"] for field in node["fields"]}
        return pa.struct(
            [
                pa.field(part.name, noted_avro_type(nodes.get(part.name), part.type, f"{path}.{part.name}"))
                for part in kind
            ]
        )
    if types.is_list(kind):
        return pa.list_(noted_avro_type(node.get("items"), kind.value_type, f"{path}.element"))
    if types.is_map(kind):
        return pa.map_(kind.key_type, noted_avro_type(node.get("values"), kind.item_type, f"{path}.value"))
    note = node.get(_NOTE)
    return _beyond(note, own, path) if isinstance(note, str) else own


def _beyond(note: str, kind: pa.DataType, path: str) -> pa.DataType:
    """Return the noted type if it says more than the file's own."""
    if note.startswith(("interval", "time(")):
        return _leaf(note, path)
    return _TYPES[note] if note == "timestamp_ntz" else kind


def _type(node: Any, path: str) -> pa.DataType:
    """Return the type of a node of Spark's JSON."""
    if isinstance(node, str):
        return _leaf(node, path)
    match node["type"]:
        case "struct":
            return pa.struct(
                [
                    pa.field(
                        field["name"],
                        _type(field["type"], f"{path}.{field['name']}" if path else field["name"]),
                        metadata=_comment(field),
                    )
                    for field in node["fields"]
                ]
            )
        case "array":
            return pa.list_(_type(node["elementType"], f"{path}.element"))
        case "map":
            return pa.map_(_type(node["keyType"], f"{path}.key"), _type(node["valueType"], f"{path}.value"))
    raise _refused(path, f"the user-defined type {node.get('pyClass') or node.get('class')}", "")


def _comment(field: Mapping[str, Any]) -> dict[str, str] | None:
    comment = (field.get("metadata") or {}).get("comment")
    return {"comment": comment} if isinstance(comment, str) else None


def _leaf(note: str, path: str) -> pa.DataType:
    if note in _TYPES:
        return _TYPES[note]
    if _TEXT.fullmatch(note):
        return pa.string()
    decimal = _DECIMAL.fullmatch(note)
    if decimal is not None:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    if _MONTHS.fullmatch(note):
        raise _refused(path, note, ", or with int, the number of months")
    if note.startswith("interval"):
        raise _refused(path, note, ", or with interval day to second")
    if note.startswith("time("):
        raise _refused(path, note, ", or with bigint, the number that stands in the file")
    raise _refused(path, note, "")


def _refused(path: str, note: str, way_out: str) -> UnfitTypeError:
    return UnfitTypeError(
        f"column {path!r} is {note}, as Spark has noted in the file, and cannot be made here: give "
        f".schema(...) without it{way_out}"
    )

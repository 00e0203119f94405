"""JSON Schema as Spark's types: the fields of values whose schema a registry has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from headwater.core.errors import FormatSchemaError

_SIMPLE: Final[Mapping[str, DataType]] = {
    "boolean": BooleanType(),
    "integer": LongType(),
    "number": DoubleType(),
    "string": StringType(),
}
_MOST_DEPTH: Final = 64


def fields_of_json_schema(text: str) -> StructType:
    """Return the fields that a schema describes, in its order; all of them may be null.

    Other rules of a schema than types (patterns, ranges, required fields) are ignored.

    Raises:
        FormatSchemaError: it describes no object, or has something that no column can hold.
    """
    try:
        root = json.loads(text)
    except RecursionError:
        raise FormatSchemaError("the JSON schema is nested too deeply") from None
    except ValueError as error:
        raise FormatSchemaError(f"the JSON schema is not JSON: {error}") from None
    kind = _Converter(root).type_of(root, "the value", 0)
    if not isinstance(kind, StructType):
        raise FormatSchemaError("the JSON schema does not describe an object with properties")
    return kind


class _Converter:
    def __init__(self, root: Any) -> None:
        self._root = root

    def type_of(self, schema: Any, path: str, depth: int) -> DataType:
        if depth > _MOST_DEPTH:
            raise _refusal(path, "is nested too deeply, or contains itself")
        if not isinstance(schema, dict):
            raise _refusal(path, f"may be anything: its schema is {schema!r}")
        if "$ref" in schema:
            return self.type_of(self._referred(schema["$ref"], path), path, depth + 1)
        for word in ("oneOf", "anyOf", "allOf"):
            if word in schema:
                return self._only(schema[word], path, depth)
        kind = _kind(schema, path)
        if kind in _SIMPLE:
            return _SIMPLE[kind]
        if kind == "array":
            return ArrayType(self.type_of(schema.get("items"), f"{path}[]", depth + 1))
        if kind == "object":
            return self._object(schema, path, depth)
        raise _refusal(path, f"is of the type {kind!r}")

    def _object(self, schema: Mapping[str, Any], path: str, depth: int) -> DataType:
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties:
            return StructType(
                [
                    StructField(name, self.type_of(of_name, f"{path}.{name}", depth + 1))
                    for name, of_name in properties.items()
                ]
            )
        values = schema.get("additionalProperties")
        return MapType(StringType(), self.type_of(values, f"{path}.*", depth + 1))

    def _only(self, choices: Any, path: str, depth: int) -> DataType:
        """Return the type of the only choice beside null."""
        others = [each for each in choices if not (isinstance(each, dict) and each.get("type") == "null")]
        if len(others) != 1:
            raise _refusal(path, "may be of several types")
        return self.type_of(others[0], path, depth + 1)

    def _referred(self, reference: Any, path: str) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise _refusal(path, f"refers to {reference!r}, which is another schema")
        path_in_root = unquote(reference.removeprefix("#"))
        if path_in_root and not path_in_root.startswith("/"):
            return self._anchored(path_in_root, path)
        node = self._root
        for part in path_in_root.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and name.isdecimal() and int(name) < len(node):
                node = node[int(name)]
            elif isinstance(node, dict) and name in node:
                node = node[name]
            else:
                raise _refusal(path, f"refers to {reference!r}, which is not there")
        return node

    def _anchored(self, anchor: str, path: str) -> Any:
        """Return the schema that has this name: by ``$anchor``, or in older drafts by ``$id`` or ``id``."""
        queue = [self._root]
        while queue:
            node = queue.pop()
            if isinstance(node, dict):
                if node.get("$anchor") == anchor or f"#{anchor}" in (node.get("$id"), node.get("id")):
                    return node
                queue += node.values()
            elif isinstance(node, list):
                queue += node
        raise _refusal(path, f"refers to '#{anchor}', which is not there")


def _kind(schema: Mapping[str, Any], path: str) -> str:
    """Return the one type beside null."""
    types = schema.get("type")
    if types is None and "properties" in schema:
        return "object"
    if types is None and all(isinstance(each, str) for each in schema.get("enum", [None])):
        return "string"
    kinds: Sequence[Any] = types if isinstance(types, list) else [types]
    others = [kind for kind in kinds if kind != "null"]
    if len(others) > 1:
        raise _refusal(path, "may be of several types")
    if not others or not isinstance(others[0], str):
        raise _refusal(path, "has no type beside null")
    return others[0]


def _refusal(path: str, what: str) -> FormatSchemaError:
    return FormatSchemaError(f"the JSON schema: {path} {what}; no column can hold that")

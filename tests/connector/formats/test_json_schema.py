"""JSON Schema as Spark's types, or a refusal that names the place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.connector.formats.json_schema import fields_of_json_schema
from headwater.core.errors import FormatSchemaError


def fields(**properties: Any) -> str:
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["x"],
        "definitions": {
            "Point": {"type": "object", "properties": {"y": {"type": "number"}}},
            "a/b": {"type": "string"},
            "Named": {"$anchor": "named", "type": "object", "properties": {"z": {"type": "integer"}}},
            "Older": {"$id": "#older", "type": "boolean"},
            "Oldest": {"id": "#oldest", "anyOf": [{"type": "null"}, {"type": "number"}]},
        },
        "$defs": {"Loop": {"type": "array", "items": {"$ref": "#/$defs/Loop"}}},
    }
    found = fields_of_json_schema(json.dumps(schema))
    assert all(field.nullable for field in found.fields)
    return found.simpleString().removeprefix("struct<").removesuffix(">")


NULL = {"type": "null"}


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "integer", "minimum": 3}, "bigint"),
        ({"type": "number"}, "double"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "string", "format": "date-time"}, "string"),
        ({"enum": ["a", "b"]}, "string"),
        ({"type": ["null", "integer"]}, "bigint"),
        ({"oneOf": [NULL, {"type": "string"}]}, "string"),
        ({"anyOf": [{"type": "number"}, NULL]}, "double"),
        ({"allOf": [{"$ref": "#/definitions/Point"}]}, "struct<y:double>"),
        ({"$ref": "#/definitions/a~1b"}, "string"),
        ({"$ref": "#/definitions/a%7E1b"}, "string"),
        ({"$ref": "#/definitions/Oldest/anyOf/1"}, "double"),
        ({"$ref": "#named"}, "struct<z:bigint>"),
        ({"$ref": "#older"}, "boolean"),
        ({"type": "array", "items": {"$ref": "#oldest"}}, "array<double>"),
        ({"type": "array", "items": {"$ref": "#/definitions/Point"}}, "array<struct<y:double>>"),
        ({"properties": {"b": {"type": "string"}, "a": {"type": "integer"}}}, "struct<b:string,a:bigint>"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "map<string,bigint>"),
    ],
)
def test_what_becomes_a_column(schema: Any, kind: str) -> None:
    assert fields(x=schema) == f"x:{kind}"


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (True, "the value.x may be anything"),
        ({}, "the value.x has no type beside null"),
        (NULL, "the value.x has no type beside null"),
        ({"type": ["string", "integer"]}, "the value.x may be of several types"),
        ({"enum": ["a", 1]}, "the value.x has no type beside null"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "the value.x may be of several types"),
        ({"type": "array"}, r"the value.x\[\] may be anything"),
        ({"type": "object"}, r"the value.x.\* may be anything"),
        ({"type": "object", "properties": {"y": {"type": "date"}}}, "the value.x.y is of the type 'date'"),
        ({"$ref": "point.json"}, "refers to 'point.json', which is another schema"),
        ({"$ref": "#/definitions/Line"}, "which is not there"),
        ({"$ref": "#/$defs/Loop"}, "is nested too deeply, or contains itself"),
    ],
)
def test_what_no_column_can_hold_is_refused_with_its_place(schema: Any, reason: str) -> None:
    with pytest.raises(FormatSchemaError, match=reason):
        fields(x=schema)


@pytest.mark.parametrize("text", ["{", "[]", '{"type": "string"}', "true"])
def test_what_describes_no_object_is_refused(text: str) -> None:
    with pytest.raises(FormatSchemaError, match="the JSON schema"):
        fields_of_json_schema(text)


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"properties":{"a":' * 5_000 + "{}" + "}}" * 5_000], ids=["lists", "objects"]
)
def test_a_schema_that_is_nested_without_end_is_an_error_of_the_tree(text: str) -> None:
    with pytest.raises(FormatSchemaError, match="nested too deeply"):
        fields_of_json_schema(text)

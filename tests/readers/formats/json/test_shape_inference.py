"""Fields that are inferred from JSON values."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headwater.core.errors import FormatSchemaError
from headwater.readers.formats.json.shape_inference import InferenceRules, ShapeInference


def inferred(*values: str, rules: InferenceRules | None = None) -> ShapeInference:
    shapes = ShapeInference(rules or InferenceRules())
    for value in values:
        shapes.add_each([value.encode()])
    return shapes


def kinds(*values: str, **rules: bool) -> dict[str, str]:
    schema = inferred(*values, rules=InferenceRules(**rules)).schema()
    return {field.name: str(field.type) for field in schema}


def test_a_field_has_the_type_that_holds_all_its_values() -> None:
    assert kinds('{"a":1,"b":true,"c":null}', '{"a":2.5,"b":1}', '{"d":[{"x":1},{"y":""}]}') == {
        "a": "double",
        "b": "string",
        "c": "string",
        "d": "list<item: struct<x: int64, y: string>>",
    }


def test_rules_change_types() -> None:
    assert kinds('{"a":1,"b":true}', primitives_as_string=True) == {"a": "string", "b": "string"}
    assert kinds('{"a":0.05}', '{"a":10}', prefers_decimal=True) == {"a": "decimal128(22, 2)"}
    assert kinds('{"a":null,"b":[],"c":1}', drop_all_null=True) == {"c": "int64"}


def test_values_that_are_no_objects_leave_nothing_but_their_number() -> None:
    shapes = inferred('{"a":1,"b":', "7", "[1]", "null", "", '{"c":1}')
    assert (shapes.schema().names, shapes.broken, shapes.others) == (["c"], 1, 2)


@pytest.mark.parametrize("behind", ['"', "'", ' "x', " NaN", "{", "[", ' {"b":', " -Infinity", "}", "\\"])
@pytest.mark.parametrize("prefers_decimal", [False, True])
def test_whatever_stands_behind_a_whole_value_is_not_looked_at(behind: str, prefers_decimal: bool) -> None:
    rules = InferenceRules(prefers_decimal=prefers_decimal)
    shapes = inferred('{"a":1}' + behind, '[{"b":1}]' + behind, rules=rules)
    assert (shapes.schema(), shapes.broken) == (pa.schema({"a": pa.int64(), "b": pa.int64()}), 0)


def test_many_fields_and_long_names_are_found_again() -> None:
    values = [f'{{"{"k" * 40}{at}":{{"\\u00e9{at % 7}":{at}}}}}' for at in range(3_000)]
    schema = inferred(*values, *values).schema()
    assert len(schema) == 3_000
    assert str(schema.field(f"{'k' * 40}8").type) == "struct<é1: int64>"


def test_texts_alone_may_have_another_type() -> None:
    shapes = inferred('{"a":"x","b":["y"],"c":null,"d":"z"}', '{"d":1}')
    assert shapes.schema(pa.binary()).types == [pa.binary(), pa.list_(pa.binary()), pa.string(), pa.string()]


@pytest.mark.parametrize("value", ['{"a":1,"a":2}', '{"a":1,"A":2}', '{"a":' + "[" * 200 + "]" * 200 + "}"])
def test_what_no_columns_can_be_made_of_is_an_error(value: str) -> None:
    with pytest.raises(FormatSchemaError, match=r"comes twice|nested deeper"):
        inferred(value).schema()

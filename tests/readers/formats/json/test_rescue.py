"""The column of what the schema does not name or could not take: what is in it, and what is not."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.readers.formats.format import FormatOptions
from headwater.readers.formats.json.json_format import JsonValueFormat
from tests.readers.formats.json.json_values import plain, spans

_INNER: dict[str, pa.DataType] = {"x": pa.int64(), "s": pa.string()}
SCHEMA: dict[str, pa.DataType] = {
    "a": pa.int64(),
    "s": pa.string(),
    "n": pa.struct(list(_INNER.items())),
    "l": pa.list_(pa.struct(list(_INNER.items()))),
    "m": pa.map_(pa.string(), pa.list_(pa.struct([("x", pa.int64())]))),
}
NAMES = st.sampled_from(["a", "s", "n", "l", "m", "x", "k\"'", "é"])
VALUES = st.recursive(
    st.none() | st.integers(-5, 5) | st.sampled_from(["", "é\n", "1"]) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


def rescued(*texts: str, schema: dict[str, pa.DataType] = SCHEMA) -> tuple[list[str | None], dict[int, str]]:
    """Return what is in the column, and the reasons of bad values by row."""
    options = FormatOptions(rescued_column="rescued", corrupt_column="corrupt", time_zone="UTC")
    made = JsonValueFormat(pa.schema(schema).serialize().to_pybytes(), options)
    assert made.schema().names[-2:] == ["corrupt", "rescued"]
    decoder = made.decoder()
    bad = decoder.append(spans([text.encode() for text in texts]))
    columns = decoder.finish()
    for column in columns:
        column.validate(full=True)
    reasons = {} if bad is None else dict(zip(bad.rows.tolist(), bad.reasons.tolist(), strict=True))
    assert [row for row, text in enumerate(plain(columns[-2])) if text is not None] == sorted(reasons)
    return plain(columns[-1]), {row: decoder.reason(code) for row, code in reasons.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":1,"s":"x","n":{"x":1},"l":[{"s":"y"}],"m":{"k":[{"x":1}]}}', None),
        ('{"z": 1.50, "y": [1, {"q" : null}]}', '{"z":1.50,"y":[1,{"q":null}]}'),
        ('{"a":"x","n":{"x":{},"z":true}}', '{"a":"x","n":{"x":{},"z":true}}'),
        ('{"l":[{"x":1},{},{"x":"b"}],"a":1}', '{"l":[null,null,{"x":"b"}]}'),
        ('{"m":{"p":[],"q\\"":[{},{"z":1}]}}', '{"m":{"q\\"":[null,{"z":1}]}}'),
        ('{"l":[{"z":1},2],"z":3}', '{"l":[{"z":1},2],"z":3}'),
        ('{"m":{"p":[{"z":1}],"q":0}}', '{"m":{"p":[{"z":1}],"q":0}}'),
        ("{'z':'\"', 'y':NaN, 'w':-INF}", '{"z":"\\"","y":"NaN","w":"-INF"}'),
        ('{"z":123456789012345678901234567890.10}', '{"z":123456789012345678901234567890.10}'),
        ('{"\\u00e9":"\\ud83d\\ude00"}', '{"é":"\\uD83D\\uDE00"}'),
    ],
)
def test_what_is_rescued_keeps_its_place_and_its_digits(text: str, expected: str | None) -> None:
    assert rescued(text) == ([expected], {})


def test_a_value_that_is_no_object_is_bad_and_nothing_of_it_is_rescued() -> None:
    found, bad = rescued('{"z":1', "[1]", '{"z":1}', '{"l":[{"z":1},')
    assert found == [None, None, '{"z":1}', None]
    assert bad.keys() == {0, 1, 3}


@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=4), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_rescued_is_exactly_what_no_column_has(rows: list[dict[str, Any]]) -> None:
    found, bad = rescued(*[json.dumps(row) for row in rows])
    assert bad == {}
    assert [text and json.loads(text) for text in found] == [
        expected(pa.struct(list(SCHEMA.items())), row)[1] for row in rows
    ]


def test_large_values_are_rescued_as_a_whole() -> None:
    large = {"z": ["é" * 5_000] * 20, "n": {"q": "x" * 100_000}}
    found, _ = rescued(*[json.dumps(large)] * 3)
    assert [json.loads(text or "") for text in found] == [large] * 3


def expected(kind: pa.DataType, value: Any) -> tuple[bool, Any]:
    """Return whether a value fits a type, and what of it is rescued if it does."""
    if value is None or pa.types.is_string(kind):
        return True, None
    if isinstance(kind, pa.StructType):
        return isinstance(value, dict), _of_struct(kind, value) if isinstance(value, dict) else None
    if isinstance(kind, pa.ListType):
        found = [expected(kind.value_type, each) for each in value] if isinstance(value, list) else []
        last = max((at for at, (_, rest) in enumerate(found) if rest is not None), default=-1)
        fits = isinstance(value, list) and all(one for one, _ in found)
        return fits, [rest for _, rest in found[: last + 1]] or None
    if isinstance(kind, pa.MapType):
        pairs = (
            {name: expected(kind.item_type, each) for name, each in value.items()}
            if isinstance(value, dict)
            else {}
        )
        fits = isinstance(value, dict) and all(one for one, _ in pairs.values())
        return fits, {name: rest for name, (_, rest) in pairs.items() if rest is not None} or None
    return isinstance(value, int) and not isinstance(value, bool), None


def _of_struct(kind: pa.StructType, value: dict[str, Any]) -> Any:
    types = {kind.field(at).name: kind.field(at).type for at in range(kind.num_fields)}
    rest = {}
    for name, each in value.items():
        fits, inside = expected(types[name], each) if name in types else (False, None)
        if not fits:
            rest[name] = each
        elif inside is not None:
            rest[name] = inside
    return rest or None

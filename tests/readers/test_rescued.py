"""What is rescued of columns with types is JSON that says the same."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.readers.rescued import json_objects

NESTED = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])
nested = st.one_of(
    st.none(), st.fixed_dictionaries({"a": st.integers(-5, 5), "b": st.lists(st.text(max_size=3))})
)
rows_of_values = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
        st.one_of(st.none(), st.text(max_size=8)),
        st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
        st.one_of(st.none(), st.booleans()),
        nested,
    ),
    max_size=8,
)


@given(rows_of_values)
def test_values_are_what_json_reads_and_nulls_are_left_out(values: list[tuple[Any, ...]]) -> None:
    names = ["a", 'b"', "c", "d", "é"]
    types: list[pa.DataType] = [pa.int64(), pa.string(), pa.float64(), pa.bool_(), NESTED]
    columns = {
        name: pa.array([row[at] for row in values], kind)
        for at, (name, kind) in enumerate(zip(names, types, strict=True))
    }
    found = json_objects(columns, len(values)).to_pylist()
    expected = [
        {name: value for name, value in zip(names, row, strict=True) if value is not None} or None
        for row in values
    ]
    assert [None if text is None else json.loads(str(text)) for text in found] == expected


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1_704_164_645_000_006], pa.timestamp("us")), "2024-01-02 03:04:05.000006"),
        (pa.array([dt.date(2024, 1, 2)]), "2024-01-02"),
        (pa.array([Decimal("1.20")]), "1.20"),
        (pa.array([math.inf]), "inf"),
        (pa.array([b"\x00ab"]), "AGFi"),
        (pa.array(["x"]).dictionary_encode(), "x"),
        (pa.array([{"a": None}], pa.struct([("a", pa.int64())])), None),
        (pa.array([[1, None]]), [1, None]),
    ],
)
def test_what_json_does_not_have_is_a_string(column: pa.Array[Any], expected: object) -> None:
    (text,) = json_objects({"v": column}, 1).to_pylist()
    assert (None if text is None else json.loads(str(text))["v"]) == expected


def test_no_column_is_no_object() -> None:
    assert json_objects({}, 2).to_pylist() == [None, None]

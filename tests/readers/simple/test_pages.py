"""Rows of pages, in whatever way Python writes them, become the columns of the schema, or an error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

from headwater.core.errors import ContractError
from headwater.core.simple_source import NamedSplit, Page, SimpleSource
from headwater.core.split import SplitRange
from headwater.readers.simple.pages import SplitPages

NAIVE = datetime(2024, 1, 1)  # noqa: DTZ001 - times without a zone are what is tested
TEXTS = pa.schema({"first": pa.string(), "second": pa.string()})


class OnePage(SimpleSource):
    name = "one-page"

    def __init__(self, rows: Any, schema: pa.Schema) -> None:
        super().__init__({})
        self.rows = rows
        self.schema = schema

    def discover(self) -> list[NamedSplit]:
        return [NamedSplit("a")]

    def read(self, split: NamedSplit, position: int) -> Iterator[Page]:
        yield Page(self.rows, position + 1)


def read(rows: Any, schema: pa.Schema) -> list[dict[str, Any]]:
    source = OnePage(rows, schema)
    record: Any = SplitPages(source, schema, SplitRange(NamedSplit("a"), 0, None), is_planned=True).step()
    assert record.rows.schema.equals(schema)
    rows_read: list[dict[str, Any]] = record.rows.to_pylist()
    return rows_read


def of_type(kind: pa.DataType, *values: Any) -> list[Any]:
    """Read values as a column of their own, and as a member of a struct in a list."""
    nested = pa.list_(pa.struct([("v", kind)]))
    schema = pa.schema([("v", kind), ("nested", nested)])
    rows = read([(value, [{"v": value}]) for value in values], schema)
    for row in rows:
        assert repr(row["nested"]) == repr([{"v": row["v"]}])
    return [row["v"] for row in rows]


@dataclass
class Named:
    second: str
    first: str


class Pair(NamedTuple):
    second: str
    first: str


@pytest.mark.parametrize(
    "row",
    [
        Row(second="B", first="A"),
        Row("second", "first")("B", "A"),
        Pair("B", "A"),
        Named("B", "A"),
        {"second": "B", "first": "A"},
        ("A", "B"),
        ["A", "B"],
    ],
    ids=["Row", "Row of a class", "namedtuple", "dataclass", "dict", "tuple", "list"],
)
def test_rows_with_names_go_by_name_and_others_by_place(row: Any) -> None:
    assert read([row, row], TEXTS) == [{"first": "A", "second": "B"}] * 2
    nested = pa.schema({"s": pa.struct(list(TEXTS))})
    if not isinstance(row, list):
        assert read([(row,)], nested) == [{"s": {"first": "A", "second": "B"}}]


def test_columns_that_a_row_does_not_name_are_null() -> None:
    assert read([{"second": "B"}, {}], TEXTS) == [{"first": None, "second": "B"}, dict.fromkeys(TEXTS.names)]


@pytest.mark.parametrize("row", [{"third": "C"}, Row(first="A", third="C"), {"first": "A", "Second": "B"}])
def test_a_column_that_the_schema_lacks_is_an_error(row: Any) -> None:
    with pytest.raises(ContractError, match=r"has the column '(third|Second)', which is not in the schema"):
        read([row], TEXTS)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.int64(), 1.5),
        (pa.int64(), True),
        (pa.int64(), "1"),
        (pa.int64(), Decimal("1.5")),
        (pa.int64(), NAIVE),
        (pa.int64(), timedelta(1)),
        (pa.int8(), 128),
        (pa.float64(), "1.5"),
        (pa.float64(), True),
        (pa.float64(), (1 << 53) + 1),
        (pa.float32(), 1e300),
        (pa.decimal128(6, 2), Decimal("1.005")),
        (pa.decimal128(6, 2), 1.5),
        (pa.bool_(), 1),
        (pa.string(), 7),
        (pa.string(), b"x"),
        (pa.binary(), "x"),
        (pa.timestamp("us", "UTC"), 1_704_067_200),
        (pa.timestamp("us", "UTC"), date(2024, 1, 1)),
        (pa.timestamp("us", "UTC"), "2024-01-01"),
        (pa.timestamp("us"), datetime(2024, 1, 1, tzinfo=UTC)),
        (pa.date32(), NAIVE),
        (pa.date32(), 19_000),
        (pa.list_(pa.int64()), "12"),
        (pa.list_(pa.int64()), [1.5]),
        (pa.map_(pa.string(), pa.int64()), {"a": 1.5}),
        (pa.struct([("a", pa.int64())]), {"a": 1, "b": 2}),
    ],
    ids=str,
)
def test_a_value_that_its_type_does_not_hold_is_an_error_with_column_value_and_type(
    kind: pa.DataType, value: Any
) -> None:
    if pa.types.is_struct(kind):
        with pytest.raises(ContractError, match=r"has the column 's\.b', which is not in the schema"):
            read([(value,)], pa.schema({"s": kind}))
        return
    for schema, row in (
        (pa.schema({"v": kind}), (value,)),
        (pa.schema({"v": pa.list_(kind)}), ([value],)),
        (pa.schema({"v": pa.struct([("w", kind)])}), ({"w": value},)),
        (pa.schema({"v": pa.map_(pa.string(), kind)}), ({"k": value},)),
    ):
        with pytest.raises(ContractError, match=r"row 1 of the page has .* in column 'v.*', which is"):
            read([(None,), row], schema)


def test_values_that_arrow_holds_exactly_are_taken() -> None:
    assert of_type(pa.int64(), 1, 2.0, Decimal(3), np.int32(4), None) == [1, 2, 3, 4, None]
    assert of_type(pa.float64(), 1, 0.5, np.float32(0.25)) == [1.0, 0.5, 0.25]
    assert of_type(pa.decimal128(6, 2), 1, Decimal("1.5")) == [Decimal("1.00"), Decimal("1.50")]
    assert of_type(pa.timestamp("us", "UTC"), NAIVE) == [datetime(2024, 1, 1, tzinfo=UTC)]
    assert of_type(pa.binary(), bytearray(b"x"), memoryview(b"y")) == [b"x", b"y"]


@given(
    st.sampled_from([pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 3), pa.bool_()]),
    st.one_of(
        st.integers(-(1 << 70), 1 << 70),
        st.integers(-300, 300),
        st.floats(),
        st.floats(width=32),
        st.decimals(),
        st.decimals(-1000, 1000, places=3),
        st.booleans(),
        st.text(max_size=3),
    ),
)
def test_a_number_is_read_as_it_is_or_not_at_all(kind: pa.DataType, value: Any) -> None:
    try:
        [number] = of_type(kind, value)
    except ContractError:
        return
    assert not isinstance(value, str)
    assert isinstance(value, bool) == (kind == pa.bool_())
    both_nan = isinstance(number, float) and math.isnan(number) and math.isnan(value)
    # Only a float of Python is rounded, to the next one that has 32 bits.
    is_rounded = kind == pa.float32() and isinstance(value, float)
    assert both_nan or number == (np.float32(value) if is_rounded else value)


def test_a_column_that_is_never_null_holds_no_null() -> None:
    schema = pa.schema([pa.field("v", pa.int64(), nullable=False)])
    with pytest.raises(ContractError, match="not null"):
        read([(1,), (None,)], schema)

"""A value has its column's type, or one that Arrow takes without loss; nothing else is converted."""

from __future__ import annotations

import importlib
import re
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from headwater.connector.async_io.arrow_results import ArrowResults
from headwater.connector.async_io.results import ResultColumns, ResultFormat
from headwater.core.errors import ContractError
from headwater.readers.async_io.settings import OnFailure

pd: Any = importlib.import_module("pandas")  # without types
ZONE = ZoneInfo("America/New_York")
INSTANT = pa.timestamp("us", "UTC")
LOCAL = pa.timestamp("us")
PRICE = pa.decimal128(6, 2)
NOON = datetime(2026, 1, 5, 12, 0, 0, 123456)  # noqa: DTZ001 - without a zone is what is tested
ZONED = NOON.replace(tzinfo=UTC)


class Level(IntEnum):
    """A whole number."""

    HIGH = 3


FITS: list[tuple[pa.DataType, Any, Any]] = [
    (pa.bool_(), True, True),
    (pa.bool_(), np.bool_(True), True),
    (pa.int8(), -128, -128),
    (pa.int32(), 7.0, 7),
    (pa.int32(), Decimal("7.00"), 7),
    (pa.int32(), np.int64(7), 7),
    (pa.int32(), Level.HIGH, 3),
    (pa.int64(), 2**63 - 1, 2**63 - 1),
    (pa.float64(), 2**53, float(2**53)),
    (pa.float64(), np.float32(0.5), 0.5),
    (pa.float64(), float("inf"), float("inf")),
    (pa.float32(), 0.1, pytest.approx(0.1)),
    (pa.float32(), float("-inf"), float("-inf")),
    (pa.float32(), 2**24, float(2**24)),
    (PRICE, 7, Decimal("7.00")),
    (PRICE, Decimal("1.500"), Decimal("1.50")),
    (pa.string(), "ä", "ä"),
    (pa.binary(), bytearray(b"a"), b"a"),
    (pa.binary(), memoryview(b"a"), b"a"),
    (pa.date32(), date(2026, 1, 5), date(2026, 1, 5)),
    (INSTANT, ZONED, ZONED),
    (INSTANT, NOON, NOON.replace(tzinfo=ZONE)),
    (INSTANT, pd.Timestamp(ZONED), ZONED),
    (LOCAL, NOON, NOON),
    (pa.time64("ns"), time(7, 8), time(7, 8)),
    (pa.duration("us"), timedelta(1), timedelta(1)),
    (pa.list_(pa.int32()), np.array([1, 2]), [1, 2]),
    (pa.list_(pa.float64()), (1, 2.5), [1.0, 2.5]),
    (pa.map_(pa.string(), pa.int32()), {"a": 1.0}, [("a", 1)]),
    (pa.map_(pa.string(), pa.int32()), [("a", 1)], [("a", 1)]),
]
DOES_NOT_FIT: list[tuple[pa.DataType, Any]] = [
    *(
        (kind, "7")
        for kind in (pa.bool_(), pa.int32(), pa.float64(), PRICE, pa.binary(), pa.list_(pa.int32()))
    ),
    *((kind, "2026-01-05") for kind in (pa.date32(), INSTANT, LOCAL)),
    *((kind, True) for kind in (pa.int32(), pa.float64(), PRICE, pa.string())),
    *((kind, 1) for kind in (pa.bool_(), pa.string(), pa.date32(), INSTANT, LOCAL, pa.time64("ns"))),
    (pa.int8(), 128),
    (pa.int32(), 7.5),
    (pa.int32(), float("nan")),
    (pa.int32(), Decimal("7.5")),
    (pa.int32(), Decimal("NaN")),
    (pa.int32(), Decimal("sNaN")),
    (pa.int32(), Decimal("1e999999")),
    (pa.int64(), 2**63),
    (pa.float64(), 2**53 + 1),
    (pa.float64(), Decimal("0.5")),
    (pa.float32(), 1e300),
    (pa.float32(), 2**24 + 1),
    (PRICE, 1.5),
    (PRICE, 70000),
    (PRICE, Decimal("1.005")),
    (pa.string(), b"a"),
    (pa.string(), "\ud800"),
    (pa.date32(), NOON),
    (pa.date32(), ZONED),
    (INSTANT, date(2026, 1, 5)),
    (INSTANT, pd.NaT),
    (INSTANT, pd.Timestamp("2026-01-05T00:00:00.000000001Z")),
    (LOCAL, ZONED),
    (LOCAL, np.datetime64("2026-01-05", "ns")),
    (pa.duration("us"), 5),
    (pa.list_(pa.int32()), iter((1, 2))),
    (pa.list_(pa.int32()), {"a": 1}),
    (pa.list_(pa.int32()), [1, "2"]),
    (pa.map_(pa.string(), pa.int32()), {None: 1}),
    (pa.map_(pa.string(), pa.int32()), {"a": "1"}),
    (pa.map_(pa.string(), pa.int32()), ""),
]


def form(kind: pa.DataType, **settings: Any) -> ResultFormat:
    return ResultFormat(schema=pa.schema({"a": kind}), time_zone=str(ZONE), **settings)


def of_rows(kind: pa.DataType, values: list[Any]) -> list[Any]:
    """Return the column of results in a mapping each, null where one does not fit."""
    columns = ResultColumns(form(kind, on_failure=OnFailure.NULL), "Asks", lambda _: "")
    _, [column] = columns.build(range(len(values)), [{"a": value} for value in values])
    assert column.type == kind
    return column.to_pylist()


def of_columns(kind: pa.DataType, column: Any) -> list[Any]:
    """Return the column of an answer as a table, null where a row does not fit."""
    results = ArrowResults(form(kind, on_failure=OnFailure.NULL), "Asks", kept_columns=[], key_columns=[])
    joined = results.joined(
        pa.RecordBatch.from_pydict({"id": list(range(len(column)))}), pa.table({"a": column})
    )
    assert joined.schema.field("a").type == kind
    found: list[Any] = joined.column("a").to_pylist()
    return found


def named(value: Any) -> str:
    """Return an id without an address in memory: each worker collects the tests for itself."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


@pytest.mark.parametrize(("kind", "value", "expected"), FITS, ids=named)
def test_a_value_that_fits_is_taken_as_it_is(kind: pa.DataType, value: Any, expected: Any) -> None:
    assert of_rows(kind, [value, None]) == [expected, None]
    nested = of_rows(pa.struct([pa.field("b", kind)]), [{"b": value}, None])
    assert nested == [{"b": expected}, None]


@pytest.mark.parametrize(("kind", "value"), DOES_NOT_FIT, ids=named)
def test_a_value_of_another_type_or_with_a_loss_fails_its_row_alone(kind: pa.DataType, value: Any) -> None:
    good = next(good for fitting, good, _ in FITS if fitting == kind)
    assert of_rows(kind, [good, value])[1] is None
    assert of_rows(kind, [good, value])[0] is not None
    assert of_rows(pa.struct([pa.field("b", kind)]), [{"b": good}, {"b": value}])[1] is None
    columns = ResultColumns(form(kind), "Asks", lambda _: "")
    with pytest.raises(
        ContractError, match=r"^Asks returned .* as 'a.*', which is .*: return (a|an|bytes)\b"
    ):
        columns.build([0], [{"a": value}])


COLUMNS_THAT_FIT: list[tuple[pa.DataType, pa.Array[Any], list[Any]]] = [
    (pa.int8(), pa.array([1, None], pa.int64()), [1, None]),
    (pa.int32(), pa.array([7.0, None]), [7, None]),
    (pa.int32(), pa.array([Decimal("7.0")]), [7]),
    (pa.float64(), pa.array([1, 2]), [1.0, 2.0]),
    (pa.float32(), pa.array([0.5]), [0.5]),
    (PRICE, pa.array([Decimal("1.500")]), [Decimal("1.50")]),
    (PRICE, pa.array([7]), [Decimal("7.00")]),
    (pa.string(), pa.array(["a"]).dictionary_encode(), ["a"]),
    (pa.string(), pa.array(["a"], pa.large_string()), ["a"]),
    (pa.binary(), pa.array([b"a"], pa.large_binary()), [b"a"]),
    (pa.date32(), pa.array([date(2026, 1, 5)], pa.date64()), [date(2026, 1, 5)]),
    (INSTANT, pa.array([ZONED], pa.timestamp("ns", "Asia/Tokyo")), [ZONED]),
    (LOCAL, pa.array([NOON], pa.timestamp("ns")), [NOON]),
    (pa.list_(pa.int32()), pa.array([[1], None], pa.large_list(pa.int64())), [[1], None]),
    (pa.int32(), pa.nulls(2), [None, None]),
]
COLUMNS_THAT_DO_NOT_FIT: list[tuple[pa.DataType, pa.Array[Any]]] = [
    (pa.int8(), pa.array([1, 128])),
    (pa.int32(), pa.array([7.0, 7.5])),
    (pa.float64(), pa.array([1, 2**53 + 1])),
    (pa.float32(), pa.array([0.5, 1e300])),
    (PRICE, pa.array([Decimal("1.500"), Decimal("1.005")])),
    (INSTANT, pa.array([0, 1], pa.timestamp("ns", "UTC"))),
    (pa.list_(pa.int8()), pa.array([[1], [128]])),
]


@pytest.mark.parametrize(("kind", "column", "expected"), COLUMNS_THAT_FIT, ids=str)
def test_a_column_is_cast_where_nothing_is_lost(
    kind: pa.DataType, column: pa.Array[Any], expected: list[Any]
) -> None:
    assert of_columns(kind, column) == expected


@pytest.mark.parametrize(("kind", "column"), COLUMNS_THAT_DO_NOT_FIT, ids=str)
def test_a_column_with_one_value_that_does_not_fit_fails_that_row(
    kind: pa.DataType, column: pa.Array[Any]
) -> None:
    good, bad = of_columns(kind, column)
    assert good is not None
    assert bad is None


def test_columns_and_rows_have_the_same_rules() -> None:
    compared = 0
    for kind, value in DOES_NOT_FIT:
        if type(value).__module__ not in {"builtins", "datetime", "decimal"}:
            continue  # as a column it is of another type
        with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
            column = pa.array([value])
            assert of_columns(kind, column) == [None], (kind, value)
            compared += 1
    assert compared > 30


class RaisesArithmeticError:
    """Raises where it is asked for its number."""

    def __float__(self) -> float:
        raise ArithmeticError

    def __repr__(self) -> str:
        raise ArithmeticError


@pytest.mark.parametrize(
    "value",
    [
        np.array([1, 2]),
        np.array(1),
        np.datetime64("2026-01-01"),
        10**5000,
        "7" * 5000,
        RaisesArithmeticError(),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=ZONE),
        iter(()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_of_any_class_fits_or_fails_its_row(value: Any) -> None:
    for kind in {kind for kind, _, _ in FITS}:
        columns = ResultColumns(form(kind, on_failure=OnFailure.NULL), "Asks", lambda _: "")
        _, [column] = columns.build([0], [(value,)])
        assert column.null_count == columns.misfits


def test_the_error_shortens_a_value() -> None:
    columns = ResultColumns(form(pa.int32()), "Asks", lambda _: "id=1")
    with pytest.raises(ContractError) as caught:
        columns.build([0], [("7" * 5000,)])
    text = "'77777777777777777...777777777777777777' (str)"
    assert (
        str(caught.value) == f"Asks returned for id=1 {text} as 'a', which is int32: return an int of 32 bits"
    )

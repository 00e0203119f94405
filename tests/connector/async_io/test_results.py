"""Results become the promised columns, or an error that says which did not."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row

from headwater.connector.async_io.results import ResultColumns, flatten
from headwater.core.errors import ContractError
from headwater.readers.async_io.call import Failure

FIELDS: dict[str, pa.DataType] = {"name": pa.string(), "tier": pa.int32()}
SCHEMA = pa.schema(FIELDS)
Customer = namedtuple("Customer", "tier name")  # noqa: PYI024 - a namedtuple is what is tested


def columns(error_column: str | None = None) -> ResultColumns:
    return ResultColumns(SCHEMA, "Lookup", lambda row: f"id={row}", error_column)


def built(results: list[Any], error_column: str | None = None) -> list[list[Any]]:
    return [array.to_pylist() for array in columns(error_column).build(range(len(results)), results)]


def test_one_many_or_no_rows() -> None:
    assert flatten([("a", (1,)), ("b", [(2,), (3,)]), ("c", None), ("d", [])]) == (
        ["a", "b", "b"],
        [(1,), (2,), (3,)],
    )


def test_dicts_rows_and_named_tuples_go_by_name_and_tuples_by_place() -> None:
    results = [{"tier": 1, "name": "a"}, Row(tier=1, name="a"), Customer(1, "a"), ("a", 1)]
    assert built(results) == [["a"] * 4, [1] * 4]


def test_a_failure_is_a_row_of_nulls_and_says_why_in_the_error_column() -> None:
    failure = Failure(ValueError("bad"), 3)
    assert built([failure, ("a", 1)]) == [[None, "a"], [None, 1]]
    error = {"class": "ValueError", "message": "bad", "attempts": 3}
    assert built([failure, ("a", 1)], "error")[2] == [error, None]
    assert columns("error").schema.names == ["name", "tier", "error"]


def test_no_results() -> None:
    assert built([], "error") == [[], [], []]


@pytest.mark.parametrize(
    ("result", "was"),
    [
        ("text", "a str; a result is a dict, a tuple or a Row"),
        ({"name": "a"}, "a dict with the columns 'name'"),
        ({"name": "a", "tier": 1, "more": 2}, "a dict with the columns 'name', 'tier', 'more'"),
        (Row(name="a", level=1), "a Row with the columns 'name', 'level'"),
        (("a",), "a tuple with 1 values"),
        (("a", 1, 2), "a tuple with 3 values"),
        (("a", "one"), "a str that is no int32 as 'tier'"),
        ((7, 1), "a int that is no string as 'name'"),
        (("a", 1 << 40), "a int that is no int32 as 'tier'"),
    ],
)
def test_what_is_no_row_of_the_schema_names_function_and_row(result: Any, was: str) -> None:
    with pytest.raises(
        ContractError, match=rf"^Lookup returned for id=1 {was}.*; its schema is name string, tier int32$"
    ):
        built([("a", 1), result])


def test_the_error_does_not_repeat_what_was_returned() -> None:
    with pytest.raises(ContractError) as caught:
        built([("a", "a secret")])
    assert "a secret" not in str(caught.value)

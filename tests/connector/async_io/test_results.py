"""Results become the promised columns, or a failure of their row that says which did not."""

from __future__ import annotations

import re
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row

from headwater.connector.async_io.results import ResultColumns, ResultFields, ResultFormat, flatten
from headwater.core.errors import ContractError
from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.settings import OnFailure

FIELDS: dict[str, pa.DataType] = {"name": pa.string(), "tier": pa.int32()}
SCHEMA = pa.schema(FIELDS)
Customer = namedtuple("Customer", "tier name")  # noqa: PYI024 - a namedtuple is what is tested


@dataclass
class Account:
    """A result."""

    tier: int
    name: str


def unnamed(*values: Any) -> Any:
    """Return a Row without names."""
    return Row(*values)


class Record:
    """As database drivers have them: named as a mapping is, with no such base."""

    def keys(self) -> Iterator[str]:
        return iter(("name", "tier"))

    def __getitem__(self, name: str) -> Any:
        return {"name": "a", "tier": 1}[name]


def columns(schema: pa.Schema = SCHEMA, **form: Any) -> ResultColumns:
    return ResultColumns(ResultFormat(schema=schema, **form), "Lookup", lambda row: f"id={row}")


def struct(fields: dict[str, pa.DataType]) -> pa.DataType:
    return pa.struct([pa.field(name, kind) for name, kind in fields.items()])


def built(results: list[Any], schema: pa.Schema = SCHEMA, **form: Any) -> list[list[Any]]:
    _, arrays = columns(schema, **form).build(range(len(results)), results)
    return [array.to_pylist() for array in arrays]


def test_one_many_or_no_rows() -> None:
    assert flatten([("a", (1,)), ("b", [(2,), (3,)]), ("c", None), ("d", [])]) == (
        ["a", "b", "b"],
        [(1,), (2,), (3,)],
        2,
    )


def test_what_has_names_goes_by_name_and_tuples_go_by_place() -> None:
    plain = {"tier": 1, "name": "a"}
    named = [OrderedDict(plain), MappingProxyType(plain), Row(**plain), Customer(1, "a"), Account(1, "a")]
    results = [plain, *named, Record(), ("a", 1), unnamed("a", 1)]
    assert built(results) == [["a"] * 9, [1] * 9]
    assert built([plain, plain]) == [["a"] * 2, [1] * 2]


def test_nested_records_are_the_same_as_those_at_the_top() -> None:
    schema = pa.schema({"customer": struct(FIELDS), "all": pa.list_(struct(FIELDS))})
    customer = {"name": "a", "tier": 1}
    results = [(Account(1, "a"), [Customer(1, "a"), Record()]), ({"tier": 1, "name": "a"}, [customer] * 2)]
    assert built(results, schema) == [[customer] * 2, [[customer] * 2] * 2]


def test_a_failure_is_a_row_of_nulls_and_says_why_in_the_error_column() -> None:
    failure = Failure(ValueError("bad"), 3)
    assert built([failure, ("a", 1)]) == [[None, "a"], [None, 1]]
    error = {"class": "ValueError", "message": "bad", "attempts": 3}
    assert built([failure, ("a", 1)], error_column="error")[2] == [error, None]
    assert columns(error_column="error").schema.names == ["name", "tier", "error"]


def test_no_results() -> None:
    assert built([], error_column="error") == [[], [], []]


MISFITS = [
    ("text", "a str, and no mapping, dataclass, tuple or Row; its"),
    ({"name": "a"}, "a dict with the columns 'name'; its"),
    ({"name": "a", "tier": 1, "more": 2}, "a dict with the columns 'name', 'tier', 'more'; its"),
    (Row(name="a", level=1), "a Row with the columns 'name', 'level'; its"),
    (("a",), "a tuple with 1 values; its"),
    (("a", 1, 2), "a tuple with 3 values; its"),
    (("a", "7"), "'7' (str) as 'tier', which is int32: return an int of 32 bits"),
    (([7], 1), "[7] (list) as 'name', which is string: return a str"),
    (("a", 1 << 40), "1099511627776 (int) as 'tier', which is int32: return an int of 32 bits"),
]


@pytest.mark.parametrize(("result", "was"), MISFITS)
def test_what_is_no_row_of_the_schema_names_function_and_row(result: Any, was: str) -> None:
    expected = f"Lookup returned for id=1 {was}".replace("; its", "; its schema is name string, tier int32")
    with pytest.raises(ContractError, match=f"^{re.escape(expected)}$"):
        built([("a", 1), result])


@pytest.mark.parametrize(("result", "was"), MISFITS)
def test_what_is_no_row_of_the_schema_goes_where_on_failure_says(result: Any, was: str) -> None:
    results = [("a", 1), result, ("c", 3)]
    assert built(results, on_failure=OnFailure.NULL) == [["a", None, "c"], [1, None, 3]]
    dropping = columns(on_failure=OnFailure.DROP)
    rows, arrays = dropping.build([7, 8, 9], results)
    assert (list(rows), arrays[0].to_pylist(), dropping.misfits) == ([7, 9], ["a", "c"], 1)
    names, _, errors = built(results, on_failure=OnFailure.ERROR_COLUMN, error_column="error")
    assert names == ["a", None, "c"]
    assert errors[0] is None
    assert errors[1]["class"] == "ContractError"
    assert f"id=1 {was}" in errors[1]["message"]
    assert errors[1]["attempts"] is None, "a call answered"


def test_a_nested_misfit_names_the_way_to_it() -> None:
    schema = pa.schema({"orders": pa.list_(struct({"zip": pa.int32()}))})
    with pytest.raises(ContractError, match=r"'x' \(str\) as 'orders\[\]\.zip', which is int32: "):
        built([([{"zip": 1}, {"zip": "x"}],)], schema)


def test_a_null_is_a_failure_where_the_schema_has_none() -> None:
    inner = pa.field("element", pa.int32(), nullable=False)
    schema = pa.schema({"numbers": pa.list_(inner), "one": pa.struct([inner])})
    good = ([1], {"element": 1})
    results: list[Any] = [good, ([None], {"element": 1}), ([1], {"element": None}), (None, None)]
    found = built(results, schema, on_failure=OnFailure.ERROR_COLUMN, error_column="error")
    none = "None (NoneType) as"
    remedy = "which is int32 not null: return an int of 32 bits"
    assert [error and error["message"].partition("id=")[2][2:] for error in found[2]] == [
        None,
        f"{none} 'numbers[]', {remedy}",
        f"{none} 'one.element', {remedy}",
        None,
    ]


def test_other_members_are_dropped_or_rescued_at_every_depth() -> None:
    schema = pa.schema({"name": pa.string(), "home": struct({"zip": pa.int32(), "town": pa.string()})})
    result = {"name": "a", "more": [1], "home": {"zip": 1, "street": "s"}}
    expected = [["a"], [{"zip": 1, "town": None}]]
    assert built([result], schema, fields=ResultFields.LENIENT) == expected
    rescued = built([result], schema, fields=ResultFields.RESCUE, rescue_column="rescued")
    assert rescued == [*expected, ['{"more": [1], "home.street": "s"}']]
    for wrong in (result, {"name": "a", "home": {"zip": 1}}):
        with pytest.raises(ContractError):
            built([wrong], schema)


def test_a_time_without_a_zone_is_in_the_zone_of_the_session() -> None:
    schema = pa.schema({"at": pa.timestamp("us", "UTC")})
    noon = datetime(2026, 1, 1, 12)  # noqa: DTZ001 - without a zone is what is tested
    assert built([(noon,)], schema) == [[noon.replace(tzinfo=UTC)]]
    for zone in ("Asia/Tokyo", "+09:00", "UTC+9"):
        assert built([(noon,)], schema, time_zone=zone) == [[datetime(2026, 1, 1, 3, tzinfo=UTC)]]

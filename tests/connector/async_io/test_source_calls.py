"""``asyncFunction`` on a source in barrier mode: options, columns, errors."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from headwater.connector.barrier.options import BARRIER_OPTIONS, epoch_settings
from headwater.connector.options import OptionTable
from headwater.connector.sources.configured import ConfiguredBarrierSource
from headwater.connector.sources.registry import source_factory
from headwater.core.errors import AsyncCallError, ContractError, OptionError
from headwater.core.source import Boundedness

HERE = "tests.connector.async_io.source_functions"


def configured(function: str, **options: str) -> ConfiguredBarrierSource:
    """The numbers 0 to 9, in two splits."""
    found = source_factory("tests.connector.async_io.numbers:Numbers")(
        {"asyncfunction": f"{HERE}:{function}", **{key.lower(): value for key, value in options.items()}},
        Boundedness.BOUNDED,
    )
    assert isinstance(found, ConfiguredBarrierSource)
    pickled: ConfiguredBarrierSource = pickle.loads(pickle.dumps(found))
    return pickled


def rows_of(source: ConfiguredBarrierSource) -> list[dict[str, Any]]:
    coordinator = source.create_coordinator()
    try:
        batches = [batch for task in coordinator.plan_all() for batch in source.read_task(task)]
    finally:
        coordinator.close()
    table = pa.Table.from_batches(batches, schema=source.schema())
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def test_results_are_columns_behind_those_of_the_source() -> None:
    source = configured("Answers", asyncArguments='{"prefix": "no "}')
    assert source.schema().names == ["id", "answer", "length"]
    expected = [{"id": n, "answer": f"no {n}", "length": 4} for n in range(10)]
    assert rows_of(source) == expected


@pytest.mark.parametrize("function", ["answer", "InBulk"])
def test_functions_without_a_class_and_in_bulk(function: str) -> None:
    source = configured(function, asyncSchema="answer string")
    prefix = "a" if function == "answer" else ""
    assert [row["answer"] for row in rows_of(source)] == [f"{prefix}{n}" for n in range(10)]


@pytest.mark.parametrize("function", ["Chatty", "ChattyInBulk"])
def test_members_that_are_no_columns_go_where_asyncResultFields_says(function: str) -> None:  # noqa: N802
    source = configured(function, asyncResultFields="rescue", asyncOnFailure="error_column")
    assert source.schema().names == ["id", "answer", "rescued", "error"]
    assert rows_of(source)[3] == {"id": 3, "answer": "3", "rescued": '{"more": 3}', "error": None}
    assert rows_of(configured(function, asyncResultFields="lenient"))[3] == {"id": 3, "answer": "3"}
    with pytest.raises(ContractError, match="the columns 'answer', 'more'"):
        rows_of(configured(function))


def test_what_spark_plans_with_is_told_to_the_source_without_the_results() -> None:
    source = configured("Answers", asyncOnFailure="error_column")
    assert source.schema().names == ["id", "answer", "length", "error"]
    assert source.with_schema(source.schema(), given=False).schema().equals(source.schema())


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        ("Missing", {}, r"option 'asyncFunction': '.*:Missing' cannot be imported"),
        ("NoMethod", {}, r"option 'asyncFunction': the class .*:NoMethod lacks async_invoke"),
        ("nothing", {"asyncSchema": "a int"}, r"option 'asyncFunction': .*:nothing must be an AsyncFunction"),
        ("Answers", {"asyncArguments": '{"x": 1}'}, r"option 'asyncFunction': .* cannot be made: TypeError"),
        ("answer", {"asyncArguments": "{}", "asyncSchema": "a int"}, r"option 'asyncArguments': .* no class"),
        ("answer", {}, r"option 'asyncSchema': is required: .*:answer does not say its results"),
        ("BadSchema", {}, r"option 'asyncSchema': the schema of .*:BadSchema, 'answer strin',"),
        ("Answers", {"asyncSchema": "id int"}, r"option 'asyncSchema': names the column 'id', which the so"),
        ("Answers", {"asyncSchema": "x strin"}, r"option 'asyncSchema': "),
        ("Answers", {"asyncBatchSize": "10"}, r"option 'asyncBatchSize': .* takes one row at a time"),
        ("Answers", {"asyncRetryDelay": "5s"}, r"option 'asyncRetryDelay': means nothing without asyncAtt"),
        ("Answers", {"asyncCapacity": "0"}, r"option 'asyncCapacity': "),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(
    function: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        configured(function, **options).schema()


def test_a_name_without_a_class_is_refused() -> None:
    options = OptionTable(BARRIER_OPTIONS)
    parsed = options.parse({"asyncFunction": "just.a.module"}, Boundedness.BOUNDED)
    with pytest.raises(OptionError, match=r"must be package.module:Class, not 'just.a.module'"):
        epoch_settings(parsed, Boundedness.BOUNDED, source="x")


def test_options_of_calls_without_calls_are_refused() -> None:
    options = OptionTable(BARRIER_OPTIONS)
    parsed = options.parse({"asyncCapacity": "7"}, Boundedness.BOUNDED)
    with pytest.raises(OptionError, match="'asyncCapacity': means nothing without asyncFunction"):
        epoch_settings(parsed, Boundedness.BOUNDED, source="x")


def test_a_method_that_is_not_async_is_an_error_of_the_task() -> None:
    with pytest.raises(ContractError, match=r"NotAsync.async_invoke must be an async def function"):
        rows_of(configured("NotAsync"))


@pytest.mark.parametrize("policy", ["fail", "null", "drop", "error_column"])
def test_a_call_that_fails_goes_where_asyncOnFailure_says(policy: str) -> None:  # noqa: N802 - the option
    source = configured("Fails", asyncOnFailure=policy, asyncAttempts="2", asyncRetryDelay="1ms")
    if policy == "fail":
        with pytest.raises(AsyncCallError, match="Fails failed, attempt 2: ValueError: three"):
            rows_of(source)
        return
    rows = rows_of(source)
    assert len(rows) == (9 if policy == "drop" else 10)
    failed = next((row for row in rows if row["id"] == 3), None)
    if policy == "null":
        assert failed == {"id": 3, "answer": None}
    if policy == "error_column":
        assert failed is not None
        assert failed["error"] == {"class": "ValueError", "message": "three", "attempts": 2}

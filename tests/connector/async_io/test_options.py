"""What does not fit is said on the driver, before anything runs."""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

import headwater as hw
from headwater.connector.async_io.limits import divided_limits
from headwater.connector.async_io.options import AsyncOptions
from headwater.connector.async_io.plan import plan
from headwater.core.errors import OptionError
from headwater.readers.async_io.settings import OutputMode, RateLimit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


async def ask(row: Any) -> None:
    return None


class HoldsALock(hw.async_io.AsyncFunction):
    def __init__(self) -> None:
        self.guard = threading.Lock()

    async def async_invoke(self, row: Any) -> None:
        return None


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.range(4).selectExpr("id", "id Name", "array(id) numbers")


NAME = "name string"
OTHER: Any = "ignore"
Wrong = Callable[["DataFrame"], Any]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", capacity=0),
            "'capacity': must be at least 1, is 0",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", capacity=OTHER),
            "'capacity': must be of type int, and is 'ignore'",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", retry=OTHER),
            "'retry': must be of type RetryPolicy, and is 'ignore'",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", parallelism=True),
            "'parallelism': must be of type int, and is True",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", result_fields=OTHER),
            "'result_fields': must be one of exact, lenient, rescue, and is 'ignore'",
        ),
        (
            lambda df: hw.keyed_wait(df, ask, schema="tier int", keys=["numbers"]),
            "'keys': 'numbers' cannot be a key: it is nested",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", timeout="soon"),
            "'timeout': must be a duration such as '500ms' or '5s'",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", timeout="0s"),
            "'timeout': must be at least 1, is 0",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema=NAME),
            "'schema': clashes with the input: 'name' would be there twice; .*keep_input=False",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="id long", keep_input=True),
            "'schema': clashes with the input: 'id'",
        ),
        (lambda df: hw.unordered_wait(df, ask, schema="a int, A int"), "'schema': names 'a' twice"),
        (
            lambda df: hw.unordered_wait(df, ask, schema="error int", on_failure="error_column"),
            "names 'error' twice, the error column included",
        ),
        (lambda df: hw.unordered_wait(df, ask, schema="tier wrong"), "'schema': is not a schema"),
        (lambda df: hw.unordered_wait(df, ask, schema="int"), "'schema': must be DDL"),
        (lambda df: hw.unordered_wait(df, ask, schema=StructType()), "'schema': must be DDL"),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", columns=["ids"]),
            "'columns': 'ids' is no column of the input; did you mean 'id'",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", columns="id"),
            "'columns': must be a list of column names",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", columns=[]),
            "'columns': must name at least one column",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", key_columns=["no"]),
            "'key_columns': 'no' is no column",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", on_failure=OTHER),
            "'on_failure': must be one of fail, null, drop",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", rety=3),  # type: ignore[call-arg]
            "'rety': is not known; did you mean 'retry'",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", cache=hw.async_io.CacheSettings()),
            "'cache': needs a key of its own: 'numbers'",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", batching=hw.async_io.Batching(size=2)),
            "'batching': is for an AsyncBatchFunction",
        ),
        (
            lambda df: hw.unordered_wait(df, HoldsALock, schema="tier int"),
            r"'function': is a class; pass an instance: HoldsALock\(\)",
        ),
        (
            lambda df: hw.unordered_wait(df, HoldsALock(), schema="tier int"),
            "HoldsALock cannot be pickled to the tasks: its attribute 'guard'",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", max_concurrent_requests=0),
            "'max_concurrent_requests': must be at least 1",
        ),
        (
            lambda df: hw.keyed_wait(df, ask, schema="tier int", keys=[]),
            "'keys': must be a list of names, one at least",
        ),
        (
            lambda df: hw.keyed_wait(df, ask, schema="tier int", keys=["id"], columns=["Name"]),
            "'keys': must be among the columns",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", error_column="why"),
            "'error_column': means nothing without on_failure='error_column'",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", rescue_column="more"),
            "'rescue_column': means nothing without result_fields='rescue'",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", parallelism=2),
            "'parallelism': means nothing without max_concurrent_requests or rate_limit",
        ),
        (
            lambda df: hw.unordered_wait(df, ask, schema="tier int", carried_bytes=2),
            "'carried_bytes': means nothing without carry_over",
        ),
        (
            lambda df: hw.ordered_wait(df, ask, schema="tier int", event_time="at"),
            "'event_time': means nothing without carry_over",
        ),
        (hw.split_failures, "'error_column': 'error' is no column of the frame"),
    ],
)
def test_what_does_not_fit(df: DataFrame, wrong: Wrong, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        wrong(df)


class Holds(hw.async_io.AsyncFunction):
    def __init__(self, url: str) -> None:
        self.url = url

    async def async_invoke(self, row: Any) -> None:
        return None


def test_plans_of_an_equal_function_share_and_others_do_not(df: DataFrame) -> None:
    """As in ``foreachBatch``, which makes a plan for each batch."""

    def id_of(function: Any, options: AsyncOptions | None = None) -> str:
        planned = plan(
            df,
            function,
            OutputMode.UNORDERED,
            schema="tier int",
            timeout=None,
            capacity=1,
            options=options or {} or {},
        )
        return planned.wait.share_id

    assert id_of(Holds("a")) == id_of(Holds("a"))
    assert id_of(Holds("a")) != id_of(Holds("b"))
    assert id_of(ask) == id_of(ask)
    assert id_of(ask, {"share_id": "mine"}) == "mine"


def test_the_table_in_the_docs_names_every_setting() -> None:
    page = (Path(__file__).parents[3] / "docs" / "async-io.md").read_text()
    named = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    signatures = {
        name for wait in (hw.unordered_wait, hw.keyed_wait) for name in inspect.signature(wait).parameters
    }
    assert set(named) >= (signatures | hw.async_io.AsyncOptions.__annotations__.keys()) - {
        "df",
        "function",
        "options",
    }


def test_the_schema_may_be_a_struct_and_is_nullable(df: DataFrame) -> None:
    given = StructType([StructField("tier", IntegerType(), nullable=False)])
    out = hw.unordered_wait(df, ask, schema=given, on_failure="error_column", error_column="why")
    assert [(field.name, field.nullable) for field in out.schema][3:] == [("tier", True), ("why", True)]
    assert out.schema["why"].dataType == StructType(
        [
            StructField("class", StringType()),
            StructField("message", StringType()),
            StructField("attempts", IntegerType()),
        ]
    )
    assert hw.ordered_wait(df, ask, schema="name string", keep_input=False).columns == ["name"]


def test_a_stream_that_is_split_is_warned_of(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    out = hw.unordered_wait(stream, ask, schema="tier int", on_failure="error_column")
    with pytest.warns(RuntimeWarning, match="both branches of a stream make all calls"):
        hw.split_failures(out)


@pytest.mark.parametrize(
    ("capacity", "limit", "parallelism", "tasks", "share"),
    [
        (100, None, 8, None, 100),
        (100, 80, 8, 8, 10),
        (100, 84, 8, 8, 10),
        (100, 3, 8, 3, 1),
        (5, 80, 8, 8, 5),
        (100, 1, 1, 1, 1),
    ],
)
def test_shares_never_add_up_to_more_than_the_limit(
    capacity: int, limit: int | None, parallelism: int, tasks: int | None, share: int
) -> None:
    divided = divided_limits(capacity=capacity, max_concurrent_requests=limit, parallelism=parallelism)
    assert (divided.tasks, divided.capacity) == (tasks, share)
    assert limit is None or divided.capacity * (divided.tasks or 0) <= limit


def test_the_rate_is_divided_too() -> None:
    divided = divided_limits(capacity=100, rate_limit=RateLimit(requests_per_s=10, burst=6), parallelism=4)
    assert (divided.tasks, divided.rate_limit) == (4, RateLimit(requests_per_s=2.5, burst=1))

"""What a typed reader makes of Python values: options that their parsers read as the same, or an error."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql.types import LongType, StructType

from headwater import options_of
from headwater.connector.typed.argument_kinds import ArgumentKind
from headwater.errors import OptionError


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (ArgumentKind.TEXT, "orders", "orders"),
        (ArgumentKind.BOOLEAN, True, "true"),
        (ArgumentKind.BOOLEAN, False, "false"),
        (ArgumentKind.WHOLE_NUMBER, 12, "12"),
        (ArgumentKind.NUMBER, 0.5, "0.5"),
        (ArgumentKind.NUMBER, 3, "3"),
        (ArgumentKind.VERSION, 3, "3"),
        (ArgumentKind.VERSION, "latest", "latest"),
        (ArgumentKind.DURATION, "10s", "10s"),
        (ArgumentKind.DURATION, 250, "250"),
        (ArgumentKind.DURATION, timedelta(seconds=1.5), "1500ms"),
        (ArgumentKind.NAMES, "a,b", "a,b"),
        (ArgumentKind.NAMES, ["a", "b"], "a,b"),
        (ArgumentKind.NAMES, ("a",), "a"),
        (ArgumentKind.PATHS, "/data", "/data"),
        (ArgumentKind.PATHS, ["/a,b", "/c"], '["/a,b", "/c"]'),
        (ArgumentKind.JSON, "earliest", "earliest"),
        (ArgumentKind.JSON, {"orders": {"0": 5}}, '{"orders": {"0": 5}}'),
        (ArgumentKind.JSON, {"orders": {0: 5}}, '{"orders": {"0": 5}}'),
        (ArgumentKind.MOMENT, "2024-05-01T12:00:00Z", "2024-05-01T12:00:00Z"),
        (ArgumentKind.MOMENT, datetime(2024, 5, 1, tzinfo=UTC), "2024-05-01T00:00:00+00:00"),
        (ArgumentKind.MOMENT_MS, datetime(2024, 5, 1, tzinfo=UTC), "1714521600000"),
        (ArgumentKind.MOMENT_MS, 1714521600000, "1714521600000"),
        (ArgumentKind.SCHEMA, "id long", "id long"),
    ],
)
def test_a_value_is_written_as_the_option_has_it(kind: ArgumentKind, value: Any, text: str) -> None:
    assert kind.text(value, "argument") == text


def test_a_schema_of_spark_is_written_as_its_json() -> None:
    written = ArgumentKind.SCHEMA.text(StructType().add("id", LongType()), "value_schema")
    assert json.loads(written)["fields"][0]["name"] == "id"


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (ArgumentKind.TEXT, 5, "must be a text, not 5"),
        (ArgumentKind.BOOLEAN, "yes", "must be True or False, not 'yes'"),
        (ArgumentKind.BOOLEAN, 1, "must be True or False, not 1"),
        (ArgumentKind.WHOLE_NUMBER, True, "must be a whole number, not True"),
        (ArgumentKind.WHOLE_NUMBER, 1.5, "must be a whole number, not 1.5"),
        (ArgumentKind.NUMBER, "1", "must be a number, not '1'"),
        (ArgumentKind.DURATION, 1.5, "must be a duration such as '10s'"),
        (ArgumentKind.NAMES, ["a,b"], "separates names by commas, so none may hold one: 'a,b'"),
        (ArgumentKind.NAMES, [1], "must be a text, or a list of texts"),
        (ArgumentKind.NAMES, {"a"}, "must be a text, or a list of texts"),
        (ArgumentKind.PATHS, 5, "must be a path, or a list of paths"),
        (ArgumentKind.JSON, ["a"], "must be a dict, or a text"),
        (ArgumentKind.JSON, {"a": {1}}, "cannot be written as JSON"),
        (ArgumentKind.JSON, {"a": float("nan")}, "cannot be written as JSON"),
        (ArgumentKind.MOMENT_MS, datetime(2024, 5, 1), "needs a time with a zone"),  # noqa: DTZ001 - the slip
        (ArgumentKind.MOMENT_MS, "yesterday", None),
        (ArgumentKind.SCHEMA, 5, "must be Spark's DDL, or a StructType"),
    ],
)
def test_a_value_of_another_type_is_an_error_that_names_the_argument(
    kind: ArgumentKind, value: Any, expected: str | None
) -> None:
    if expected is None:
        assert kind.text(value, "starting_timestamp") == value
        return
    with pytest.raises(OptionError, match="option 'topics': ") as caught:
        kind.text(value, "topics")
    assert expected in str(caught.value)


def test_what_is_written_is_what_parsers_read() -> None:
    table = options_of("kafka")
    rows = {row.name: row for row in table.rows}
    assert (
        rows["kafkaConsumer.pollTimeoutMs"].parse(ArgumentKind.DURATION.text(timedelta(seconds=2), "x"))
        == 2_000
    )
    assert rows["columns"].parse(ArgumentKind.NAMES.text(["key", "value"], "x")) == ("key", "value")
    assert rows["assign"].parse(ArgumentKind.JSON.text({"a": [0]}, "x")) == {"a": [0]}

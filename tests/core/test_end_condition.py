"""The option ``stopAtRecord``: on columns, fields of structs and headers, by whole batches."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headwater.core.end_condition import end_condition, first_end
from headwater.core.errors import OptionError

HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
ROWS = pa.RecordBatch.from_pydict(
    {
        "key": pa.array([b"a", None, b"end", b"end"], pa.binary()),
        "number": pa.array([1, 2, 3, None], pa.int32()),
        "price": pa.array([None, Decimal(2), Decimal("0.50"), Decimal("1e7")], pa.decimal128(10, 2)),
        "value": pa.array(
            [
                {"kind": "row", "at": {"day": 1}},
                None,
                {"kind": None, "at": None},
                {"kind": "end", "at": {"day": 2}},
            ]
        ),
        "headers": pa.array(
            [
                None,
                [{"key": "kind", "value": b"row"}, {"key": "x.y", "value": b"end"}],
                [],
                [{"key": "kind", "value": None}, {"key": "kind", "value": b"end"}],
            ],
            HEADERS,
        ),
    }
)


@pytest.mark.parametrize(
    ("condition", "first"),
    [
        ('{"key": "end"}', 2),
        ('{"key": "no"}', None),
        ('{"key": null}', 1),
        ('{"number": 3}', 2),
        ('{"number": null}', 3),
        ('{"key": "end", "number": null}', 3),
        ('{"price": 2}', 1),
        ('{"price": 0.5}', 2),
        ('{"price": 1e7}', 3),
        ('{"value.kind": "end"}', 3),
        ('{"value.at.day": 2}', 3),
        ('{"value.kind": null}', 1),
        ('{"headers.kind": "end"}', 3),
        ('{"headers.x.y": "end"}', 1),
        ('{"headers.kind": null}', 3),
    ],
)
@pytest.mark.parametrize("skipped", [0, 1])
def test_the_first_row_with_all_values_is_the_end(condition: str, first: int | None, skipped: int) -> None:
    found = first_end(end_condition(condition).mask(ROWS.slice(skipped)))
    assert found == (None if first is None else first - skipped)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ('{"what": 1}', "'what' is no column; there are key, number, price, value, headers"),
        ('{"value": "end"}', "'value' is struct<.*>: name a single value in it"),
        ('{"value.what": "end"}', "'what' of 'value.what' is no field of struct"),
        ('{"key.what": "end"}', "'what' of 'key.what' is no field of binary"),
        ('{"number": "three"}', "'three' is no value of 'number', which is int32"),
        ('{"number": 1e300}', "is no value of 'number'"),
        ('{"number": 99999999999999999999}', "is no value of 'number'"),
        ('{"price": 0.001}', "is no value of 'price'"),
        ('{"price": true}', "is no value of 'price'"),
        ('{"key": "\\ud800"}', "is no value of 'key'"),
    ],
)
def test_a_condition_that_no_row_can_meet_is_refused_by_its_name(condition: str, message: str) -> None:
    with pytest.raises(OptionError, match=f"stopAtRecord.*{message}"):
        end_condition(condition).check(ROWS.schema)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("{}", "must name a column"),
        ("end", "is not valid JSON"),
        ('{"key": []}', "must be a text, a number"),
        ('{"key": 1, "key": 2}', "comes twice"),
    ],
)
def test_a_malformed_condition_says_what_is_expected(raw: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        end_condition(raw)


def test_a_condition_is_logged_as_it_was_written_and_read_from_that() -> None:
    condition = end_condition('{"b": 1, "a": "x"}')
    logged: Any = condition.to_json()
    assert logged == {"a": "x", "b": 1}
    assert hash(condition) == hash(end_condition('{"a": "x", "b": 1}'))

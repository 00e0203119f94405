"""Records as rows: as many values as columns, the column of corrupt records, and nulls."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.readers.formats.csv.csv_values import TEXT, decode

COLUMNS = "has more or fewer values than there are columns"
NOTHING = "has no values: it is empty or a comment"


def test_a_record_with_more_or_fewer_values_is_bad_and_what_fits_is_kept() -> None:
    found = decode(TEXT, ["1,2,3", "1,2", "1,2,3,4", "1"], corrupt="corrupt")
    assert found.rows == [
        {"a": "1", "b": "2", "c": "3"},
        {"a": "1", "b": "2", "corrupt": "1,2"},
        {"a": "1", "b": "2", "c": "3", "corrupt": "1,2,3,4"},
        {"a": "1", "corrupt": "1"},
    ]
    assert found.bad == {1: COLUMNS, 2: COLUMNS, 3: COLUMNS}
    assert not decode(TEXT, ["1,2", "1,2,3,4"], any_width=True).bad


def test_a_value_that_is_null_is_a_row_of_nulls_and_not_bad_and_an_empty_one_is_bad() -> None:
    found = decode(TEXT, [None, "", "1,2,3"], corrupt="corrupt")
    assert found.rows == [{}, {}, {"a": "1", "b": "2", "c": "3"}]
    assert found.bad == {1: NOTHING}


def test_a_record_is_bad_once_for_its_first_reason() -> None:
    found = decode({"a": pa.int32(), "b": pa.int32()}, ["x,y,z", "x,y"], corrupt="corrupt")
    assert list(found.bad) == [0, 1]
    assert [row["corrupt"] for row in found.rows] == ["x,y,z", "x,y"]


def test_columns_grow_as_records_need_it() -> None:
    long = "y" * 3_000_000
    rows = decode(TEXT, [f"{at},{long if at == 500 else ''},x" for at in range(1_000)]).rows
    assert [row["a"] for row in rows] == list(map(str, range(1_000)))
    assert rows[500]["b"] == long


def test_the_text_of_a_bad_record_ends_before_its_line_end() -> None:
    assert decode(TEXT, ["1,2\r\n"], corrupt="corrupt").rows[0]["corrupt"] == "1,2"


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        ("x\f", "x\f"),
        ("x\r", "x"),
        ("x\f\r", "x\f"),
        ("x\f\f", "x\f\f"),
        ("x\f\n", "x\f"),
    ],
)
def test_a_bad_record_is_shown_with_all_but_its_line_end(record: str, shown: str) -> None:
    decoded = decode({"a": pa.int32()}, [record], corrupt="bad")
    assert decoded.rows == [{"bad": shown}]

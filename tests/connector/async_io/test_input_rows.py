"""Rows find back to their places, in any order in which they come out."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Row

from headwater.connector.async_io.input_rows import MOST_ROWS, InputRows, python_values


def batch(start: int, count: int) -> pa.RecordBatch:
    numbers = list(range(start, start + count))
    return pa.RecordBatch.from_pydict(
        {"id": numbers, "class": [f"c{n}" for n in numbers], "left out": [{"n": n} for n in numbers]}
    )


def test_a_row_is_a_row() -> None:
    [row] = InputRows(["id", "class", "left out"], []).admit(batch(7, 1))
    assert isinstance(row, Row)
    assert (row.id, row["class"], row["left out"], row[0], row.asDict()) == (
        7,
        "c7",
        {"n": 7},
        7,
        {"id": 7, "class": "c7", "left out": {"n": 7}},
    )
    assert row == (7, "c7", {"n": 7})
    assert pickle.loads(pickle.dumps(row)) == row
    assert "class" in row
    assert repr(row).startswith("Row(id=7, class='c7'")


def test_key_columns_name_a_row_whether_the_function_gets_them_or_not() -> None:
    rows = InputRows(["id"], ["class", "id"])
    [_, second] = rows.admit(batch(0, 2))
    assert second == (1,)
    assert rows.describe(second) == "class='c1', id=1"


def test_equal_rows_are_not_the_same_row() -> None:
    rows = InputRows(["same"], [])
    [first, second] = rows.admit(pa.RecordBatch.from_pydict({"same": [1, 1], "other": ["a", "b"]}))
    assert first == second
    assert rows.gather([second, first, second])["other"].to_pylist() == ["b", "a", "b"]


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), sizes=st.lists(st.integers(0, 3000), max_size=4))
def test_rows_come_out_as_they_went_in_and_nothing_is_kept(seed: int, sizes: list[int]) -> None:
    rows = InputRows(["id"], [])
    admitted = [
        row
        for index, size in enumerate(sizes)
        for start in range(0, size, MOST_ROWS)
        for row in rows.admit(batch(index * 10_000, size).slice(start, MOST_ROWS))
    ]
    assert len(admitted) == sum(sizes)
    order = random.Random(seed).sample(admitted, len(admitted))
    for start in range(0, len(order), 700):
        out = order[start : start + 700]
        gathered = rows.gather(out)
        assert gathered["class"].to_pylist() == [f"c{row.id}" for row in out]
        assert gathered["left out"].to_pylist() == [{"n": row.id} for row in out]
        rows.forget(out)
    assert not rows._places
    assert not rows._pieces
    assert rows.nbytes == 0


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "+02:00"])
def test_times_come_as_arrow_gives_them(zone: str) -> None:
    micros: list[int | None] = [
        0,
        -1,
        1_767_225_600_123_456,
        None,
        1_793_509_200_000_000,
        1_793_512_800_000_000,
    ]
    column = pa.array(micros, pa.timestamp("us", zone))
    expected: list[Any] = column.to_pylist()
    times = python_values(column)
    assert times == expected
    assert [time and time.isoformat() for time in times] == [time and time.isoformat() for time in expected]
    assert python_values(column[:0]) == []
    assert python_values(column[3:4]) == [None]

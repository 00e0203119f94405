"""Rows in the Arrow types of another schema."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from headwater.core.errors import SourceError
from headwater.readers.runtime.batches import cast_batch


def test_a_batch_that_has_the_schema_is_handed_over_itself() -> None:
    batch = pa.RecordBatch.from_pydict({"n": [1]})
    assert cast_batch(batch, batch.schema, "mine") is batch


def test_only_columns_of_other_types_are_cast() -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    own = pa.schema(
        [
            pa.field("n", pa.int64(), nullable=False),
            pa.field("list", pa.list_(pa.field("item", pa.int32(), nullable=False))),
            pa.field("at", pa.timestamp("ns", "Europe/Berlin")),
            pa.field("name", pa.dictionary(pa.int8(), pa.string())),
        ]
    )
    wanted = pa.schema(
        [
            pa.field("n", pa.int64()),
            pa.field("list", pa.list_(pa.field("element", pa.int32()))),
            pa.field("at", pa.timestamp("us", "UTC")),
            pa.field("name", pa.string()),
        ]
    )
    rows: list[dict[str, Any]] = [
        {"n": 1, "list": [1, 2], "at": at, "name": "x"},
        {"n": 2, "list": None, "at": None, "name": None},
    ]
    batch = pa.RecordBatch.from_pylist(rows, own)
    found = cast_batch(batch, wanted, "mine")
    assert found.schema == wanted
    assert found.to_pylist() == rows


def test_a_value_that_does_not_fit_is_an_error_with_its_column() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1], pa.timestamp("ns"))], ["at"])
    said = "column 'at' has a value that does not fit from timestamp[ns] into timestamp[us]"
    with pytest.raises(SourceError, match=re.escape(said)):
        cast_batch(batch, pa.schema([pa.field("at", pa.timestamp("us"))]), "mine")

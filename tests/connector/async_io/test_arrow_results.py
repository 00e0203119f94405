"""Answers of whole batches become the promised columns, by the rules of single results."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from headwater.connector.async_io.arrow_results import ArrowResults
from headwater.connector.async_io.results import ResultFields, ResultFormat
from headwater.core.errors import ContractError
from headwater.readers.async_io.settings import OnFailure

pd: Any = importlib.import_module("pandas")  # without types
ZONE = ZoneInfo("America/New_York")
INT = pa.schema({"a": pa.int64()})


def joined(answer: Any, schema: pa.Schema = INT, rows: int = 3, **form: Any) -> dict[str, list[Any]]:
    results = ArrowResults(
        ResultFormat(schema=schema, **form), "Asks", kept_columns=["id"], key_columns=["id"]
    )
    found: dict[str, list[Any]] = results.joined(
        pa.RecordBatch.from_pydict({"id": list(range(rows))}), answer
    ).to_pydict()
    return found


def test_a_time_without_a_zone_is_in_the_zone_of_the_session_also_where_clocks_are_changed() -> None:
    schema = pa.schema({"at": pa.timestamp("us", "UTC")})
    # Noon, an hour that comes twice, an hour that does not exist.
    dates = ((2026, 1, 1, 12), (2026, 11, 1, 1, 30), (2026, 3, 8, 2, 30))
    times = [datetime(*date) for date in dates]  # noqa: DTZ001
    expected = [
        datetime(2026, 1, 1, 17, tzinfo=UTC),
        datetime(2026, 11, 1, 5, 30, tzinfo=UTC),
        datetime(2026, 3, 8, 7, 30, tzinfo=UTC),
    ]
    for frame in (pa.table({"at": times}), pd.DataFrame({"at": times})):
        assert joined(frame, schema, time_zone=str(ZONE))["at"] == expected
        assert (
            joined(
                frame.iloc[:1] if isinstance(frame, pd.DataFrame) else frame[:1],
                schema,
                1,
                time_zone="-05:00",
            )["at"]
            == expected[:1]
        )


def test_what_does_not_fit_is_a_failure_of_its_row() -> None:
    answer = pa.table({"a": [1, 2**40, 3]})
    schema = pa.schema({"a": pa.int32()})
    message = (
        r"^Asks returned for id=1 1099511627776 \(int\) as 'a', which is int32: return an int of 32 bits$"
    )
    with pytest.raises(ContractError, match=message):
        joined(answer, schema)
    assert joined(answer, schema, on_failure=OnFailure.NULL) == {"id": [0, 1, 2], "a": [1, None, 3]}
    assert joined(answer, schema, on_failure=OnFailure.DROP) == {"id": [0, 2], "a": [1, 3]}
    found = joined(answer, schema, on_failure=OnFailure.ERROR_COLUMN, error_column="error")
    assert [error and error["class"] for error in found["error"]] == [None, "ContractError", None]


def test_an_answer_with_misfits_counts_once() -> None:
    batch = pa.RecordBatch.from_pydict({"id": [0, 1]})
    results = ArrowResults(
        ResultFormat(schema=INT, on_failure=OnFailure.NULL), "Asks", kept_columns=["id"], key_columns=[]
    )
    for answer in (pa.table({"a": ["1", "2"]}), pa.table({"b": [1, 2]}), pa.table({"a": [1]}), "no frame"):
        assert results.joined(batch, answer).to_pydict() == {"id": [0, 1], "a": [None, None]}
    results.joined(batch, pa.table({"a": [1, 2]}))
    assert results.misfits == 4


def test_other_members_are_dropped_or_rescued_at_every_depth() -> None:
    schema = pa.schema({"a": pa.int64(), "home": pa.struct([("zip", pa.int64()), ("town", pa.string())])})
    answer = pa.table({"a": [1], "more": [[1]], "most": [2], "home": [{"zip": 1, "street": "s"}]})
    expected = {"id": [0], "a": [1], "home": [{"zip": 1, "town": None}]}
    assert joined(answer, schema, 1, fields=ResultFields.LENIENT) == expected
    rescued = joined(answer, schema, 1, fields=ResultFields.RESCUE, rescue_column="rescued")
    assert rescued == {**expected, "rescued": ['{"more": [1], "most": 2, "home.street": "s"}']}
    with pytest.raises(ContractError, match="Asks returned the columns 'a', 'more', 'most', 'home'"):
        joined(answer, schema, 1)


def test_columns_of_pandas_may_hold_values_of_many_types() -> None:
    frame = pd.DataFrame({"a": [1, 2.0, Decimal(3)], "b": ["x", None, 7]})
    schema = INT.append(pa.field("b", pa.string()))
    found = joined(frame, schema, on_failure=OnFailure.NULL)
    assert found == {"id": [0, 1, 2], "a": [1, 2, None], "b": ["x", None, None]}

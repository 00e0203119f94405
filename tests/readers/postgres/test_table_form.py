"""The form of a table in the log beside the columns of the query."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headwater.readers.postgres.merge_rule import text_array
from headwater.readers.postgres.table_form import holds
from headwater.readers.postgres.text_values import MisfitTextError

UTC = pa.timestamp("us", tz="UTC")


@pytest.mark.parametrize(
    ("wide", "narrow", "answer"),
    [
        (pa.int64(), pa.int32(), True),
        (pa.int32(), pa.int64(), False),
        (pa.float64(), pa.float32(), True),
        (pa.float64(), pa.string(), False),
        (pa.string(), UTC, True),
        (pa.decimal128(12, 4), pa.decimal128(10, 2), True),
        (pa.decimal128(10, 2), pa.decimal128(10, 4), False),
        (pa.decimal128(10, 4), pa.decimal128(10, 2), False),
        (pa.decimal128(12, 2), pa.int32(), True),
        (pa.decimal128(11, 2), pa.int32(), False),
        (pa.timestamp("us"), pa.date32(), True),
        (pa.date32(), pa.timestamp("us"), False),
        (UTC, pa.timestamp("us"), False),
        (pa.timestamp("us"), UTC, False),
        (pa.binary(), pa.string(), False),
    ],
)
def test_earlier_rows_are_read_by_a_type_that_holds_all_their_values(
    wide: pa.DataType, narrow: pa.DataType, answer: bool
) -> None:
    assert holds(wide, narrow) is answer


@pytest.mark.parametrize("text", ["2020-01-01 00:00:00", "2020-01-01", "00"])
def test_a_time_without_a_zone_has_no_place_in_a_column_with_one(text: str) -> None:
    assert text_array(UTC, ["2020-01-01 00:00:00+00"])[0].as_py().year == 2020
    with pytest.raises(MisfitTextError):
        text_array(UTC, [text])

"""ORC files whose timestamps pyarrow does not hold: refused by name, and never skipped."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from headwater.core.errors import CorruptRecordError, SourceError
from tests.readers.files.reading import infer, read, settings

FAR = Path(__file__).parent / "far_times.orc"
"""Written by Spark: `n` 1 and 2; `t` 2024-07-03 and 9999-12-31; `l`, lists of the same."""


@pytest.mark.parametrize("skips", [False, True])
def test_far_timestamps_are_refused_with_stripe_columns_and_way_out(*, skips: bool) -> None:
    schema = infer(FAR, settings("orc", pa.schema([])))
    with pytest.raises(
        SourceError, match=r"stripe 1 of 1 has timestamps before 1677.* in 't' or 'l'"
    ) as error:
        read(FAR, settings("orc", schema, ignore_corrupt=skips))
    assert not isinstance(error.value, CorruptRecordError)
    assert error.value.split == f"file://{FAR}"
    assert "spark.read.format('orc')" in str(error.value)


def test_other_columns_of_such_a_file_are_read() -> None:
    numbers = pa.schema([pa.field("n", pa.int32())])
    assert read(FAR, settings("orc", numbers)) == [{"n": 1}, {"n": 2}]

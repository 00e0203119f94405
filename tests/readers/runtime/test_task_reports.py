"""What a task measures for its report."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headwater.readers.runtime.task_reports import EventTimeLags


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([100, 400], {"currentFetchEventTimeLag": 500, "currentEmitEventTimeLag": 600}),
        ([2_000], {"currentFetchEventTimeLag": -1_100, "currentEmitEventTimeLag": -1_000}),
        ([100, None], {}),
        ([], {}),
    ],
)
@pytest.mark.parametrize("kind", [pa.timestamp("ms"), pa.timestamp("us", "UTC")])
def test_lag_in_event_time_is_that_of_the_last_record_of_a_batch(
    times: list[int | None], expected: dict[str, int], kind: pa.DataType
) -> None:
    lags = EventTimeLags("at", lambda: 1_000)
    at = pa.array(times, pa.int64()).cast(pa.timestamp("ms")).cast(kind)
    lags.emitted(pa.record_batch({"at": at}), 900)
    assert lags.metrics == expected


def test_without_a_column_there_is_none() -> None:
    lags = EventTimeLags(None, lambda: 1_000)
    lags.emitted(pa.record_batch({"at": pa.array([1], pa.timestamp("ms"))}), 900)
    assert lags.metrics == {}

"""Lag out of a query's progress."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from headwater.connector.spark.lag import LagListener


def progress(*sources: SimpleNamespace, name: str = "orders") -> Any:
    report = SimpleNamespace(
        name=name, id="an-id", runId="a-run", batchId=7, processedRowsPerSecond=1234.5, sources=list(sources)
    )
    return SimpleNamespace(progress=report)


def source(positions: dict[str, Any] | None, heads: dict[str, Any] | None) -> SimpleNamespace:
    def offset(of: dict[str, Any] | None) -> str | None:
        return None if of is None else json.dumps({"source": "kafka", "version": 1, "positions": of})

    return SimpleNamespace(endOffset=offset(positions), latestOffset=offset(heads))


def test_lag_is_the_heads_less_what_was_read_by_partition_and_in_total() -> None:
    listener = LagListener()
    listener.onQueryProgress(progress(source({"orders": {"0": 10, "1": 5}}, {"orders": {"0": 30, "1": 5}})))
    assert listener.as_dict() == {
        "orders": {
            "query": "orders",
            "batch_id": 7,
            "rows_per_second": 1234.5,
            "lag": 20,
            "splits": {"orders-0": 20, "orders-1": 0},
        }
    }
    assert str(listener) == "orders: batch 7, 1,234 rows/s, lag 20 (orders-0 20)"


def test_other_sources_are_left_out_and_a_terminated_query_is_forgotten() -> None:
    listener = LagListener()
    listener.onQueryProgress(progress(SimpleNamespace(endOffset='{"logOffset":3}', latestOffset=None)))
    assert listener.queries() == []
    assert str(listener) == "no query has reported yet"
    listener.onQueryProgress(progress(source({"t": {"0": 1}}, None)))
    assert [lag.total for lag in listener.queries()] == [0]
    listener.onQueryTerminated(SimpleNamespace(runId="a-run"))  # type: ignore[arg-type]
    assert listener.queries() == []

"""``asyncFunction`` in Spark: a stream over the HTTP source asks a real service about each row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.http_server import Api, serving
from tests.connector.async_io.service import SlowService

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ITEMS = 100
SLOW = ITEMS // 25


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api(0, items=ITEMS, page=20)
    serving(made)
    yield made
    made.shutdown()
    made.server_close()


# Aligned, an epoch waits for its calls. Unaligned, it stores them: they are only answered when asked again.
@pytest.mark.parametrize(("mode", "slow"), [("aligned", "late"), ("unaligned", "again")])
def test_a_stream_writes_each_answer_once_and_asks_again_about_stored_rows_only(
    mode: str, slow: str, spark: SparkSession, tmp_path: Path, api: Api
) -> None:
    with SlowService() as service:
        options = {
            "url": api.url,
            "stateLocation": f"{tmp_path}/state",
            "barrierMode": mode,
            "barrierRows": "60",
            "asyncFunction": "tests.exactly_once.asking:Ask",
            "asyncArguments": json.dumps({"url": service.url, "slow": slow}),
        }
        frame = spark.readStream.format("headwater").options(source="http", **options).load()
        query = (
            frame.writeStream.format("parquet")
            .option("path", f"{tmp_path}/rows")
            .option("checkpointLocation", f"{tmp_path}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        try:
            assert query.awaitTermination(100), "the query does not end"
        finally:
            query.stop()
        rows = spark.read.parquet(f"{tmp_path}/rows").select("item", "answer").collect()
    assert sorted((json.loads(row.item)["id"], row.answer) for row in rows) == [
        (number, f"name {number}") for number in range(ITEMS)
    ]
    if mode == "aligned":
        assert service.calls.total() == ITEMS
    else:
        assert service.count(slow) >= 2 * SLOW

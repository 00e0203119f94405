"""A chain in Spark: by SQL, as a batch and as a stream, and what its checkpoint shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.core.jsons import dumps
from headwater.tools.commands.main import main

pytestmark = pytest.mark.slow


def test_files_and_then_a_source_without_ends_as_view_as_batch_and_as_stream(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The orders of the demo are the same however often they are made, so that they are the truth, too."""
    now = datetime.now(UTC)
    seam, until = now - timedelta(seconds=20), now - timedelta(seconds=5)
    demo = {
        "source": "demo",
        "rowsPerSecond": "50",
        "startingTimestamp": (now - timedelta(minutes=1)).isoformat(),
    }
    orders = spark.read.format("headwater").options(**demo).load()
    past = orders.where(orders.ordered_at < seam + timedelta(seconds=5))
    past.write.parquet(str(tmp_path / "history"))
    chain = {
        "source": "hybrid",
        "sources": "history,live",
        "history.source": "files",
        "history.format": "parquet",
        "history.path": str(tmp_path / "history"),
        "live.source": "demo",
        "live.rowsPerSecond": "50",
        "seamColumn": "ordered_at",
        "seamTime": seam.isoformat(),
    }

    def ids(rows: DataFrame) -> list[int]:
        known = rows.where(rows.ordered_at < until)
        return sorted(row.order_id for row in known.select("order_id").collect())

    wanted = ids(orders)
    assert len(wanted) > 1_000
    assert ids(spark.read.format("headwater").options(**chain).load()) == wanted
    given = ", ".join(f"`{name}` {dumps(value)}" for name, value in chain.items())
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW chained USING headwater OPTIONS ({given})")
    assert ids(spark.table("chained")) == wanted
    checkpoint = str(tmp_path / "checkpoint")
    paced = {"targetBatchDuration": "10s", "checkpointLocation": checkpoint}
    stream = spark.readStream.format("headwater").options(**chain, **paced).load()
    to_files = stream.writeStream.option("checkpointLocation", checkpoint)
    to_files.trigger(once=True).start(str(tmp_path / "out")).awaitTermination()
    written = spark.read.parquet(str(tmp_path / "out"))
    # One part a run.
    assert written.count() == written.where(written.ordered_at < seam).count() > 0
    to_files.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
    assert ids(spark.read.parquet(str(tmp_path / "out"))) == wanted
    main(["checkpoint", "positions", checkpoint])
    assert "live-0" in capsys.readouterr().out

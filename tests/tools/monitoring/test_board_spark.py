"""The board beside real queries."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest
from pyspark.errors import StreamingQueryException

import headwater as hw
from headwater.core.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def view(board: hw.Board) -> Any:
    with urlopen(f"{board.url}view") as answer:
        return json.load(answer)


def reported(spark: SparkSession) -> None:
    """Wait until Spark has told its listeners what has happened so far."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()


def query_of(board: hw.Board, name: str) -> Any:
    return next((query for query in view(board)["queries"] if query["name"] == name), {"state": None})


def test_a_board_that_is_made_again_is_the_one_of_its_session(spark: SparkSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with hw.Board(spark, port=port) as board:
        assert hw.Board(spark, port=port) is board
        assert view(board)["queries"] == []
        with pytest.raises(OptionError, match="cannot listen"):
            hw.Board(spark.newSession(), port=port)
    with hw.Board(spark, port=port) as later:
        assert later is not board
        assert view(later)["queries"] == []


@pytest.mark.parametrize(
    ("sink", "tells"), [("noop", True), ("memory", True), ("console", True), ("parquet", False)]
)
def test_rows_that_went_on_are_shown_of_sinks_that_tell_them(
    spark: SparkSession, tmp_path: Path, sink: str, tells: bool
) -> None:
    orders = spark.readStream.format("headwater").option("source", "demo").option("rows", 100).load()
    writer = (
        orders.where("order_id % 2 = 0")
        .writeStream.format(sink)
        .queryName(f"written_to_{sink}")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
    )
    with hw.Board(spark, port=0) as board:
        (
            writer.option("path", str(tmp_path / "out")) if sink == "parquet" else writer
        ).start().awaitTermination()
        reported(spark)
        query = query_of(board, f"written_to_{sink}")
    assert query["last_rows"] > 0
    assert query["last_written"] == (query["last_rows"] // 2 if tells else None)


def test_the_board_follows_a_query_through_a_restart_and_a_failure(
    spark: SparkSession, tmp_path: Path
) -> None:
    orders = spark.readStream.format("headwater").option("source", "demo").option("rows", 100).load()
    writer = (
        orders.writeStream.format("noop")
        .queryName("demo_orders")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
    )
    with hw.Board(spark, port=0) as board:
        writer.start().awaitTermination()
        reported(spark)
        assert query_of(board, "demo_orders")["state"] == "stopped"
        first = query_of(board, "demo_orders")
        assert (first["splits"], first["lag"] is None, first["runs"]) == (4, False, 1)
        assert first["rows"] >= 100
        assert "demo_orders" in board._repr_html_()
        writer.start().awaitTermination()
        reported(spark)
        assert query_of(board, "demo_orders")["runs"] == 2

        failing = (
            orders.selectExpr("raise_error(concat('order ', order_id, ' is refused'))")
            .writeStream.format("noop")
            .queryName("demo_broken")
            .option("checkpointLocation", str(tmp_path / "broken"))
            .trigger(availableNow=True)
            .start()
        )
        with pytest.raises(StreamingQueryException):
            failing.awaitTermination()
        reported(spark)
        assert query_of(board, "demo_broken")["state"] == "failed"
        (failure,) = view(board)["failures"]
        assert failure["query"] == "demo_broken"
        assert "is refused" in failure["message"]
        assert "\n" not in failure["message"]

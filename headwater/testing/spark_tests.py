"""The promises of a query, through Spark. The only suite that needs pyspark."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headwater.core.source import Source
from headwater.testing.contracts import keeps
from headwater.testing.subject import Subject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TIMEOUT_S = 120


class SparkTests(Subject):
    """Batch and stream through Spark bring the same rows.

    Needs a fixture ``spark`` (a ``SparkSession``) in the test's project. The world that `options` makes must
    be visible to other processes.
    """

    def test_spark_reads_the_same_rows_in_batch_and_stream_also_after_a_restart(
        self, spark: SparkSession
    ) -> None:
        options = self.options()
        due = self.due(options)
        batch = self._rows(self._load(spark.read, options))
        keeps(
            Source,
            batch,
            "options() must make a world with some rows, for other processes too; spark.read finds none",
        )
        self.check_rows(options, due, batch, "in a batch")
        # Another one: where a batch takes messages away, nothing is left for the stream.
        options = self.options()
        due = self.due(options)
        with (
            tempfile.TemporaryDirectory(prefix="headwater-spark-") as folder,
            self.stream_options(options) as more,
        ):
            self._stream(spark, more, folder)
            self.check_rows(
                options, due, self._rows(spark.read.parquet(f"{folder}/rows")), "in the first run"
            )
            self._stream(spark, more, folder)
            self.check_rows(options, due, self._rows(spark.read.parquet(f"{folder}/rows")), "after a restart")

    def _load(self, reader: Any, options: Mapping[str, str]) -> DataFrame:
        if isinstance(self.source, str):
            loader = reader.format("headwater").option("source", self.source)
        else:
            from pyspark.sql import SparkSession

            from headwater.connector.spark.register import register

            session = SparkSession.getActiveSession()
            assert session is not None
            register(session, self.source)
            loader = reader.format(self.source.name)
        frame: DataFrame = loader.options(**options).load()
        return frame

    def _stream(self, spark: SparkSession, options: Mapping[str, str], folder: str) -> None:
        writer = self._load(spark.readStream, options).writeStream.trigger(availableNow=True)
        query = (
            writer.format("parquet")
            .option("checkpointLocation", f"{folder}/checkpoint")
            .start(f"{folder}/rows")
        )
        try:
            keeps(
                Source,
                query.awaitTermination(_TIMEOUT_S),
                f"an AvailableNow query ends; this one did not within {_TIMEOUT_S} s",
            )
        finally:
            query.stop()

    @staticmethod
    def _rows(frame: DataFrame) -> list[dict[str, Any]]:
        return [row.asDict(recursive=True) for row in frame.collect()]

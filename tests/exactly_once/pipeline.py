"""A query from Kafka into Parquet that is started, stopped and crashed on one checkpoint; what it wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["Pipeline", "logged", "logged_ids"]


def logged_ids(folder: Path) -> list[int]:
    """Return the batch ids in one of Spark's logs (offsets, commits, or the sink's own); none without it."""
    names = [entry.name for entry in folder.glob("*") if not entry.name.startswith(".")]
    return sorted(int(name.removesuffix(".compact")) for name in names)


def logged(checkpoint: Path, batch_id: int) -> dict[str, Any]:
    """Return the offset that Spark logged for a batch of a query with one source."""
    offset: dict[str, Any] = json.loads((checkpoint / "offsets" / str(batch_id)).read_text().splitlines()[-1])
    return offset


@dataclass(frozen=True)
class Pipeline:
    """One checkpoint, one sink, and options; `but` returns the same pipeline with other options."""

    spark: SparkSession
    bootstrap_servers: str
    folder: Path
    options: dict[str, Any]

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def sink(self) -> Path:
        return self.folder / "rows"

    def but(self, *without: str, **options: Any) -> Self:
        """Return the same pipeline after a change of options."""
        kept = {name: value for name, value in self.options.items() if name not in without}
        return replace(self, options={**kept, **options})

    def job(self, conf: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a program needs to run the same pipeline in a Spark of its own."""
        return {
            "conf": conf,
            "bootstrap_servers": self.bootstrap_servers,
            "folder": str(self.folder),
            "options": self.options,
        }

    @classmethod
    def of(cls, job: Mapping[str, Any], spark: SparkSession) -> Pipeline:
        """Return the pipeline that `job` describes."""
        return cls(spark, job["bootstrap_servers"], Path(job["folder"]), job["options"])

    def frame(self) -> DataFrame:
        """Return the stream, before anything is done to it."""
        reader = (
            self.spark.readStream.format("headwater")
            .option("source", "kafka")
            .option("kafka.bootstrap.servers", self.bootstrap_servers)
        )
        return reader.options(**self.options).load()

    def start(self, frame: DataFrame | None = None, **trigger: Any) -> StreamingQuery:
        """Start the query; without a trigger it goes on until it is stopped."""
        writer = (frame or self.frame()).writeStream.format("parquet").option("path", str(self.sink))
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        return (writer.trigger(**trigger) if trigger else writer).start()

    @contextmanager
    def running(self, frame: DataFrame | None = None) -> Iterator[StreamingQuery]:
        """Start the query, wait until it has caught up, and stop it at the end."""
        query = self.start(frame)
        try:
            query.processAllAvailable()
            yield query
        finally:
            query.stop()

    def drain(self, frame: DataFrame | None = None) -> list[int]:
        """Run the query with AvailableNow to its end; return how many rows each of its batches had."""
        return self.finish(self.start(frame, availableNow=True))

    def finish(self, query: StreamingQuery) -> list[int]:
        """Wait for a query that ends by itself; return how many rows each of its batches had."""
        try:
            assert query.awaitTermination(PATIENCE_S), "the query does not end"
        finally:
            query.stop()
        return [progress["numInputRows"] for progress in query.recentProgress]

    def crash_before_commit(self, *, sink_too: bool = True) -> int:
        """Leave the disk as a crash before the commit of the last batch would; return that batch's id.

        Args:
            sink_too: whether the crash came before the sink committed the batch; otherwise it came between
                the sink's commit and Spark's.
        """
        batch_id = self.batch_ids()[-1]
        assert logged_ids(self.checkpoint / "commits")[-1] == batch_id
        for log in [self.checkpoint / "commits", self.sink / "_spark_metadata"][: 1 + sink_too]:
            (log / str(batch_id)).unlink()
            (log / f".{batch_id}.crc").unlink(missing_ok=True)
        return batch_id

    def batch_ids(self) -> list[int]:
        """Return the ids of the batches that were planned."""
        return logged_ids(self.checkpoint / "offsets")

    def planned(self, batch_id: int) -> dict[str, Any]:
        """Return the offset that was logged for a batch."""
        return logged(self.checkpoint, batch_id)

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """Return these columns, or expressions of them, of what was written, sorted.

        A record that was written twice is there twice.
        """
        return sorted(
            tuple(row) for row in self.spark.read.parquet(str(self.sink)).selectExpr(*columns).collect()
        )

    def places(self) -> list[tuple[int, int]]:
        """Return partition and offset of every record that was written, sorted."""
        return self.rows("partition", "offset")

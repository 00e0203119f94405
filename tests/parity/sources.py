"""The two sources, each as a scenario sees it: topics of its own, batch reads, and streaming queries."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from local_kafka import LocalKafka
from local_kafka_admin import until
from tests.parity.results import Failure, Positions, Row, Step, failure_of, logged_positions, row_of, rows_of
from tests.patience import PATIENCE_S

__all__ = ["ANY_TIME", "NOON_MS", "Query", "Source"]

NOON_MS = 1_700_000_000_000
"""When the records of scenarios were made: the same for both sources."""
FOREVER = {"retention.ms": "-1"}  # records of 2023 are not deleted at once
ANY_TIME = {
    **FOREVER,
    "message.timestamp.after.max.ms": str((1 << 63) - 1),
    "message.timestamp.before.max.ms": str((1 << 63) - 1),
}
"""What a topic needs whose records are of other times than this one's."""

QUICK = {
    "fetchOffset.retryIntervalMs": "50",
    "kafka.metadata.max.age.ms": "1",
    "kafkaConsumer.pollTimeoutMs": "30000",
}
"""Options of every read: what changes in the cluster is noticed at once."""
_SERVERS = "kafka.bootstrap.servers"


@dataclass
class Source:
    """One of the two sources, as a scenario sees it.

    Attributes:
        name: ``kafka`` for Spark's, ``headwater`` for ours: the format's name.
        session: returns the session of both; called only by what needs one.
        kafka: one broker for both.
        prefix: begins the names of all of this source's topics, and is left out in results.
        folder: for checkpoints.
        log: what it was asked for, to which its options are appended.
    """

    name: str
    session: Callable[[], SparkSession]
    kafka: LocalKafka
    prefix: str
    folder: Path
    log: list[Any] = field(default_factory=list)
    _queries: list[Query] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def spark(self) -> SparkSession:
        """The session."""
        return self.session()

    def topic(self, short: str = "t", partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        """Create a topic, and return its name."""
        return self.kafka.create_topic(self.called(short), partitions, {**FOREVER, **(configs or {})})

    def called(self, short: str = "t") -> str:
        """Return the name of a topic."""
        return self.prefix + short

    def produce(
        self, topic: str, values: Iterable[bytes | None], partition: int | None = 0, **more: Any
    ) -> None:
        """Produce records that were made at `NOON_MS`, and wait until all are written."""
        records = list(values)
        more.setdefault("timestamps_ms", [NOON_MS] * len(records))
        self.kafka.produce(topic, records, partition=partition, **more)

    def filled(self, *counts: int, short: str = "t", configs: Mapping[str, str] | None = None) -> str:
        """Create a topic with so many records in each partition: ``0/0``, ``0/1``, ..."""
        topic = self.topic(short, len(counts), configs)
        for partition, count in enumerate(counts):
            self.produce(topic, [b"%d/%d" % (partition, i) for i in range(count)], partition)
        return topic

    def load(self, **options: Any) -> DataFrame:
        """Return ``spark.read...load()``. Underscores in names stand for dots."""
        frame: DataFrame = _with(self.spark.read, self._options(options)).load()
        return frame

    def batch(self, **options: Any) -> list[Row] | Failure:
        """Return all rows of a batch read."""
        try:
            return self.rows(self.load(**options))
        except Exception as error:  # noqa: BLE001 - the error is the result
            return failure_of(error)

    def rows(self, df: DataFrame) -> list[Row]:
        """Run a batch read that was loaded before."""
        return rows_of(df, self.prefix)

    def rows_by_task(self, **options: Any) -> list[list[Row]]:
        """Return key, value, topic, partition and offset of what each task of a batch read gives."""
        frame = self.load(**options).select("key", "value", "topic", "partition", "offset")
        return [[row_of(tuple(row), self.prefix) for row in rows] for rows in frame.rdd.glom().collect()]

    def stream(self, **options: Any) -> Query:
        """Return a streaming query that has not been started."""
        query = Query(self, self.folder / f"{self.name}-{next(self._numbers)}", options)
        self._queries.append(query)
        return query

    def read_stream(self, **options: Any) -> DataFrame:
        """Return ``spark.readStream...load()``."""
        frame: DataFrame = _with(self.spark.readStream, self._options(options)).load()
        return frame

    def close(self) -> None:
        """Stop all queries."""
        for query in self._queries:
            query.stop()

    def _options(self, options: Mapping[str, Any]) -> dict[str, str]:
        given = QUICK | {name.replace("_", "."): value for name, value in options.items()}
        if _SERVERS not in given:
            given = {_SERVERS: self.kafka.bootstrap_servers, **given}
        self.log.append(("options", {name: str(value) for name, value in sorted(given.items())}))
        ours = {"source": "kafka"} if self.name == "headwater" else {}
        return {
            "": self.name,
            **ours,
            **{name: str(value) for name, value in given.items() if value is not None},
        }


class Query:
    """A streaming query with one checkpoint, and a sink that keeps the rows of each batch once.

    Attributes:
        options: changes count from the next `start`.
        before_batch: called with the id of each batch before its rows are read; may change the cluster.
        transform: what is made of the stream.
    """

    def __init__(self, source: Source, checkpoint: Path, options: Mapping[str, Any]) -> None:
        self.options = dict(options)
        self.before_batch: Callable[[int], None] = _do_nothing
        self.transform: Callable[[DataFrame], DataFrame] = lambda df: df
        self._source = source
        self._checkpoint = checkpoint
        self._batches: dict[int, list[Row]] = {}
        self._seen = 0
        self._running: StreamingQuery | None = None

    def start(self, **trigger: Any) -> None:
        """Start it, or start it again."""
        stream = self.transform(self._source.read_stream(**self.options))
        writer = stream.writeStream.foreachBatch(self._take)
        writer = writer.option("checkpointLocation", str(self._checkpoint))
        self._running = (writer.trigger(**trigger) if trigger else writer).start()

    def step(self) -> Step | Failure:
        """Start it if it does not run, read everything that is there, and return what is new."""
        try:
            if self._running is None:
                self.start()
            assert self._running is not None
            self._running.processAllAvailable()
        except Exception as error:  # noqa: BLE001 - the error is the result
            self.stop()
            return failure_of(error)
        return self._step()

    def until(self, holds: Callable[[Positions], bool]) -> Step | Failure:
        """Take steps until its positions are such; all of their rows are one step."""
        steps: list[Step] = []
        deadline = time.monotonic() + PATIENCE_S
        while not (steps and holds(steps[-1].positions)):
            assert time.monotonic() < deadline, f"its positions are still {self.positions}"
            step = self.step()
            if isinstance(step, Failure):
                return step
            steps.append(step)
        return Step([row for step in steps for row in step.rows], steps[-1].positions)

    def wait_for_rows(self, count: int) -> None:
        """Wait until it gave so many rows since its first start."""
        until(lambda: sum(map(len, self._batches.values())) >= count, f"{count} rows")

    def available_now(self) -> Step | Failure:
        """Run it with AvailableNow to its end, and return what is new."""
        return self._to_its_end(availableNow=True)

    def once(self) -> Step | Failure:
        """Run it with Once to its end, and return what is new."""
        return self._to_its_end(once=True)

    def stop(self) -> None:
        """Stop it; `step` starts it again."""
        if self._running is not None:
            self._running.stop()
        self._running = None

    @property
    def batches(self) -> list[list[Row]]:
        """The rows of each batch that has some."""
        return [rows for _, rows in sorted(self._batches.items()) if rows]

    @property
    def logged(self) -> int:
        """How many batches stand in the offset log."""
        return sum(file.name.isdigit() for file in self._checkpoint.glob("offsets/*"))

    @property
    def positions(self) -> Positions:
        """Where it will go on."""
        return logged_positions(self._checkpoint, self._source.prefix)

    def _to_its_end(self, **trigger: Any) -> Step | Failure:
        try:
            self.start(**trigger)
            assert self._running is not None
            assert self._running.awaitTermination(PATIENCE_S)
        except Exception as error:  # noqa: BLE001 - the error is the result
            return failure_of(error)
        finally:
            self.stop()
        return self._step()

    def _step(self) -> Step:
        rows = [row for batch in self.batches for row in batch]
        new = rows[self._seen :]
        self._seen = len(rows)
        return Step(sorted(new, key=lambda row: row[2:5]), self.positions)

    def _take(self, df: DataFrame, batch_id: int) -> None:
        self.before_batch(batch_id)
        self._batches[batch_id] = rows_of(df, self._source.prefix)


def _do_nothing(batch_id: int) -> None:
    """Let a batch be read as it is."""


def _with(reader: Any, options: Mapping[str, str]) -> Any:
    reader = reader.format(options[""])
    for name, value in options.items():
        if name:
            reader = reader.option(name, value)
    return reader

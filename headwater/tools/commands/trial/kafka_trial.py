"""A query of Spark's Kafka source is tried: its last offsets, through that source and through headwater."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headwater.connector.sources.registry import source_factory
from headwater.core.errors import OptionError
from headwater.core.source import Boundedness
from headwater.tools.commands.kafka_differences import QueryFacts, concerning
from headwater.tools.commands.spark_checkpoint import CheckpointError
from headwater.tools.commands.trial.batches import LoggedBatches, TriedQuery
from headwater.tools.commands.trial.kafka_ranges import (
    OffsetRange,
    logged_ranges,
    moved,
    present_ranges,
    range_options,
)
from headwater.tools.commands.trial.kafka_reads import KafkaReads
from headwater.tools.commands.trial.reading import MissingPackageError, ReadError, require_package
from headwater.tools.commands.trial.report import OURS, SPARKS, Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SERVERS: Final = "kafka.bootstrap.servers"
_SUBSCRIPTION: Final = ("subscribe", "subscribePattern", "assign")
_ATTEMPTS: Final = 3


def try_kafka(spark: SparkSession, query: TriedQuery, report: Report) -> bool:
    """Try a query of Spark's Kafka source, and return whether all rows are the same.

    Args:
        spark: the session.
        query: on trial.
        report: takes what is found.

    Raises:
        CheckpointError: there is nothing to read.
        HeadwaterError: headwater refuses an option, or Kafka does not answer.
        ReadError: one of the two could not read.
    """
    batches, source, options = query.batches, query.source, query.options
    if query.schema is not None:
        raise OptionError("is for files: use valueSchema", option="--schema")
    ranges = logged_ranges(batches, source)
    report.say(f"source {source} (Spark's Kafka source), {batches.ids}, committed:")
    report.say_some(map(str, ranges))
    if not ranges:
        raise CheckpointError("these batches have read nothing: try more of them, with --batches")
    _check_stream(options, ranges)
    trial = _Trial(spark, options, ranges, report)
    try:
        require_package(spark, "kafka", {_SERVERS: options[_SERVERS.lower()], "subscribe": "any"})
    except MissingPackageError as error:
        trial.measure_ours()
        report.say(f"compared with nothing: {error}")
        return False
    rows = trial.compare()
    rate = _rows_per_s(batches, source, rows, trial.reads.ranges)
    trial.measure(rows, rate)
    _say_what_changes(batches, options, report)
    return report.is_same


class _Trial:
    """Reads ranges as far as they are there, and again what is left if some go meanwhile. One thread."""

    def __init__(
        self,
        spark: SparkSession,
        options: Mapping[str, str],
        ranges: tuple[OffsetRange, ...],
        report: Report,
    ) -> None:
        self._options = options
        self._ranges = ranges
        self._report = report
        self.reads = KafkaReads(spark, options, self._look())

    def compare(self) -> int:
        """Compare the bytes, and typed rows where the query has such; return how many rows there are."""
        for attempt in range(_ATTEMPTS):
            try:
                rows = self._report.compare(self.reads.plain())
                typed = self.reads.typed()
                if isinstance(typed, str):
                    self._report.say(typed)
                elif typed is not None:
                    self._report.compare(typed)
            except ReadError:
                left = self._look()
                if left == self.reads.ranges or attempt == _ATTEMPTS - 1:
                    raise
                self.reads = replace(self.reads, ranges=left)
            else:
                return rows
        raise AssertionError

    def measure(self, rows: int, rate: float | None) -> None:
        """Time the same reads."""
        for reading in (self.reads.plain(), self.reads.typed()):
            if reading is not None and not isinstance(reading, str):
                self._report.say(f"{reading.title}, handed to a sink that does nothing (noop):")
                self._report.measure({SPARKS: reading.sparks, OURS: reading.ours}, rows, rate)

    def measure_ours(self) -> None:
        """Time headwater alone."""
        rows = sum(each.end - (each.start or 0) for each in self.reads.ranges)
        self._report.say("all columns of Kafka's records, through headwater alone:")
        self._report.measure({OURS: self.reads.ours}, rows, None)

    def _look(self) -> tuple[OffsetRange, ...]:
        present = present_ranges(self._ranges, self._options)
        if present.gone:
            self._report.say("gone meanwhile, and not compared:")
            self._report.say_some(present.gone)
        if not present.ranges:
            raise CheckpointError(
                "no record of these batches is there any more: try again after the next one"
            )
        return present.ranges


def _check_stream(options: Mapping[str, str], ranges: tuple[OffsetRange, ...]) -> None:
    """Check that headwater takes the options of the query, as a stream.

    Raises:
        HeadwaterError: it refuses one, and says what to do.
    """
    stream = dict(options)
    if not any(name.lower() in stream for name in _SUBSCRIPTION):
        stream["assign"] = range_options(ranges)["assign"]
    source_factory("kafka")(stream, Boundedness.CONTINUOUS_UNBOUNDED)


def _rows_per_s(
    batches: LoggedBatches, source: str, rows: int, ranges: tuple[OffsetRange, ...]
) -> float | None:
    """Return how many rows a second the query reads; None if its log does not tell.

    Not every offset is a record, in topics that are compacted or transactional: the share is that of the
    ranges that were read.
    """
    seconds = batches.seconds()
    offsets = sum(each.end - (each.start or 0) for each in ranges)
    if seconds is None or not offsets:
        return None
    start, stop = (entry.offsets.get(source, "-") for entry in batches.timed_span())
    return moved(start, stop) * rows / offsets / seconds


def _say_what_changes(batches: LoggedBatches, options: Mapping[str, str], report: Report) -> None:
    report.say("to change, in the query; the checkpoint and all options stay:")
    report.say('  .format("kafka")  ->  .format("headwater").option("source", "kafka")')
    report.say("what else changes (docs/kafka-differences.md), with these options:")
    for each in concerning(QueryFacts(options, report.differing)):
        report.say(f"  - {each.behaviour}. Spark's source: {each.spark}. headwater: {each.headwater}")
    report.say("the way back, with the query stopped:")
    report.say(f"  headwater checkpoint convert {batches.folder} --to spark-kafka")
    report.say("nothing was committed, written or locked")

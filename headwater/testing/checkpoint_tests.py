"""The promises of a query: every row once, also after crashes. In this process, without Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headwater.core.abilities import Forgets, Heads
from headwater.core.enumerator import PlannedSplitEnumerator, SplitEnumerator
from headwater.core.errors import DataLossError, HeadwaterError
from headwater.core.planned_source import PlannedSource
from headwater.core.reader import SplitReader
from headwater.core.simple_source import SimpleSource
from headwater.core.source import Boundedness, Source
from headwater.testing.contracts import keeps
from headwater.testing.engine import MicroBatchEngine, Step, read_batch
from headwater.testing.subject import Subject

_SPLITS = 1_000
_MOST_BYTES_PER_SPLIT = 4_096


class CheckpointTests(Subject):
    """Batch and stream bring the same rows; a crash after any step of a checkpoint changes nothing."""

    def test_a_stream_brings_the_rows_of_a_batch(self) -> None:
        options = self.options()
        expected = self.due(options)
        with self.stream_options(options) as more:
            engine = self._engine(more)
            engine.run()
            self.check_rows(options, expected, engine.rows)
            logged = len(engine.offsets)
            engine.run()
            self.check_rows(options, expected, engine.rows, "after a restart without anything new")
            read_again = sum(bool(engine.sink[number]) for number in range(logged, len(engine.offsets)))
            keeps(SplitEnumerator.refresh, not read_again, "finding nothing to assign is an ordinary answer")

    def test_small_batches_bring_the_same_rows(self) -> None:
        options = self.options()
        expected = self.due(options)
        with self.stream_options({**options, **self._small()}) as more:
            engine = self._engine(more)
            engine.run()
            self.check_rows(options, expected, engine.rows)

    def test_a_crash_after_any_step_of_a_checkpoint_changes_nothing(self) -> None:
        """A query crashes after one step in each of its batches.

        If it has too few batches for all steps, another world goes on.
        """
        remaining = list(Step)
        while remaining:
            options = self.options()
            expected = self.due(options)
            with self.stream_options({**options, **self._small()}) as more:
                engine = self._engine(more)
                reached = [
                    step for step in remaining if engine.run(crash_after=step, in_batch=len(engine.offsets))
                ]
                engine.run()
                self.check_rows(
                    options,
                    expected,
                    engine.rows,
                    f"after crashes when {'; when '.join(step.value for step in reached)}",
                )
            assert reached, (
                f"options() must make more rows: no batch comes as far as that {remaining[0].value}"
            )
            remaining = [step for step in remaining if step not in reached]

    def test_what_is_added_while_a_query_stands_is_read_once(self) -> None:
        options = self.options()
        with self.stream_options(options) as more:
            engine = self._engine(more)
            engine.run()
            rows = engine.rows
            self.grow(options)
            expected = self.due(options)
            keeps(Source, len(expected) > len(rows), "grow() must add rows")
            engine.run(crash_after=Step.LOGGED, in_batch=len(engine.offsets))
            engine.run()
            self.check_rows(options, expected, engine.rows, "after rows were added")

    def test_a_split_that_is_out_of_sight_for_a_while_is_not_read_twice(self) -> None:
        options = self.options()
        expected = read_batch(self.configure(options))
        source = self.configure(options).source
        if not isinstance(source, PlannedSource) or source.bounded_splits:
            return
        engine = self._engine(options)
        with self.out_of_sight(options):
            hidden = read_batch(self.configure(options))
            keeps(Source, 0 < len(hidden) < len(expected), "out_of_sight() must hide rows, and not all")
        engine.run()
        for _ in range(2):  # the second time from an offset that was logged while the split was out of sight
            with self.out_of_sight(options):
                engine.run()
            engine.run(crash_after=Step.LOGGED, in_batch=len(engine.offsets))
            engine.run()
            self.check_rows(options, expected, engine.rows, "after a split was out of sight")

    def test_what_arrives_late_is_read_once(self) -> None:
        """A query looks wherever the author says that it may."""
        options = self.options()
        contract = self._contract_of_ends(options)
        with self.stream_options(options) as more:
            engine = self._engine(more)
            engine.run()
            count = len(engine.rows)
            looks = 0
            for _ in self.arrive_late(options):
                engine.run()
                looks += 1
            expected = self.due(options)
            assert looks, "arrive_late() must yield where a query may look before all rows are there"
            assert len(expected) > count, "arrive_late() must add rows"
            engine.run()
            self.check_rows(options, expected, engine.rows, "after rows arrived late", contract=contract)

    def test_what_is_dropped_unread_is_an_error_or_counted(self) -> None:
        """A query stands while rows are added, and dropped; later ones it reads."""
        options = self.options()
        if self.is_barrier(options):
            return
        more = dict[str, str]()
        engine = MicroBatchEngine(
            lambda: self.configure({**options, **more}, Boundedness.CONTINUOUS_UNBOUNDED)
        )
        engine.run()
        rows = list(engine.rows)
        self.grow(options)
        self.forget(options)
        failure = _failure_of(engine)
        keeps(Forgets, isinstance(failure, DataLossError), f"an error, unless told otherwise: {failure!r}")
        more["failOnDataLoss"] = "false"
        engine.run(crash_after=Step.LOGGED, in_batch=len(engine.offsets))
        engine.run()
        # What the outside keeps of all that was added, it read.
        rows += _new(self.due(options), rows)
        self.check_rows(options, rows, engine.rows, "after rows were dropped unread", contract=Forgets)
        losses = json.loads(engine.offsets[-1]).get("losses")
        keeps(Forgets, losses and losses["rows"] > 0, f"counted in the offset that goes on: {losses}")
        self.grow(options)
        engine.run()
        rows += _new(self.due(options), rows)
        self.check_rows(options, rows, engine.rows, "of later rows", contract=Forgets)
        keeps(
            Forgets,
            json.loads(engine.offsets[-1])["losses"]["rows"] == losses["rows"],
            "once: no later batch counts the same",
        )

    def _contract_of_ends(self, options: Mapping[str, str]) -> Any:
        """Return who says how far a split may be read."""
        if self.is_barrier(options):
            return SplitReader.fetch
        is_simple = isinstance(self.source, type) and issubclass(self.source, SimpleSource)
        return Heads.head if is_simple else PlannedSplitEnumerator.heads

    def _small(self) -> Mapping[str, str]:
        """Return the options that make batches of one row."""
        if self.is_barrier(self.options()):
            return {"barrierRows": "1", "parallelism": "1"}
        return self.small_batches()

    def small_batches(self) -> Mapping[str, str]:
        """Return the option with which a batch of this source is as small as can be.

        Sources of the plugin path all have this one.
        """
        return {"maxRowsPerTrigger": "1"}

    def _engine(self, options: Mapping[str, str]) -> MicroBatchEngine:
        return MicroBatchEngine(lambda: self.configure(options, Boundedness.CONTINUOUS_UNBOUNDED))


def _new(rows: list[dict[str, Any]], earlier: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows that are not among those that are known, each as often as it is more often there."""
    left = list(earlier)
    new = []
    for row in rows:
        if row in left:
            left.remove(row)
        else:
            new.append(row)
    return new


def _failure_of(engine: MicroBatchEngine) -> Exception | None:
    try:
        engine.run()
    except HeadwaterError as error:
        return error
    return None


class ScaleTests(Subject):
    """A thousand splits are planned, logged and read."""

    def test_a_thousand_splits_fit_into_offsets_and_are_read_once(self) -> None:
        options = self.many_splits(_SPLITS)
        expected = self.due(options)
        with self.stream_options(options) as more:
            engine = MicroBatchEngine(lambda: self.configure(more, Boundedness.CONTINUOUS_UNBOUNDED))
            engine.run()
            largest = max(map(len, engine.offsets))
            each = largest // _SPLITS
            keeps(
                Source.serialize_splits,
                each <= _MOST_BYTES_PER_SPLIT,
                f"is small: an offset has {each} bytes a split, {largest} for {_SPLITS}",
            )
            self.check_rows(options, expected, engine.rows)
            logged = engine.offsets[-1]
            engine.run()
            if engine.offsets[-1] != logged:
                self.check_rows(options, expected, engine.rows, "after a run without work")

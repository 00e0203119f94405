"""The first reading of a split that leaves a note counts, and its note arrives once (`task_notes`)."""

from __future__ import annotations

import pickle
import tempfile
import unittest
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from headwater.connector.sources.configured import ConfiguredSource
from headwater.core.enumerator import PlannedSplitEnumerator
from headwater.core.jsons import JsonValue
from headwater.core.planned_source import PlannedSource
from headwater.core.reader import SplitReader
from headwater.core.source import Boundedness
from headwater.testing.contracts import keeps
from headwater.testing.engine import MicroBatchEngine, Step
from headwater.testing.event_tests import read_with_crashes
from headwater.testing.subject import Subject


class NoteTests(Subject):
    """Rows and notes are those of the first reading, however often tasks run and wherever a query crashes.

    For sources in planned mode with `PlannedSource.note_store`, beside `SourceTests`.
    """

    def told(self, state: JsonValue) -> object:
        """Return the enumerator's knowledge from notes, of its state: the same for equal worlds."""
        raise unittest.SkipTest(
            f"{type(self).__name__} has no method told: that notes arrive once each is not tested"
        )

    @contextmanager
    def stream_options(self, options: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Yield the options of a stream, with a state location of its own."""
        with tempfile.TemporaryDirectory(prefix="headwater-state-") as folder:
            yield {"stateLocation": folder, **options}

    def test_notes_arrive_once_each_wherever_a_query_crashes(self) -> None:
        expected = self._told_after(None)
        for step in Step:
            contents = self._told_after(step)
            keeps(
                PlannedSplitEnumerator.handle_task_notes,
                contents == expected,
                "notes arrive once each, and what they change is in snapshot_state; after crashes when "
                f"{step.value} the enumerator knows, after so many rows, {contents!r}, not {expected!r}",
            )

    def test_a_split_that_is_read_again_has_the_rows_of_its_first_reading(self) -> None:
        """Also when the second task reads after rows were added, and the first one was left early."""
        options = self.options()
        with self.stream_options(options) as more:
            configured = self.configure(more, Boundedness.CONTINUOUS_UNBOUNDED)
            source = configured.source
            assert isinstance(source, PlannedSource), "task notes are of planned mode"
            with closing(configured.create_coordinator()) as coordinator:
                start = coordinator.initial_offset()
                tasks = coordinator.tasks(start, coordinator.plan_next(start, limited=False))
            noted = any(source.leaves_note(each.split) for task in tasks for each in task.ranges)
            keeps(PlannedSource.leaves_note, noted, "says so of a split in the first batch of the world")
            # Left at the first row, as by a limit or a kill.
            first = [list(_first_batch(configured, task)) for task in tasks]
            self.grow(options)
            rows = [self._rows(configured, task) for task in tasks]
            again = [self._rows(configured, task) for task in tasks]
            for seen, whole, second in zip(first, rows, again, strict=True):
                keeps(
                    SplitReader.fetch,
                    whole == second and whole[: len(seen)] == seen,
                    "rows that were handed over once are the rows of the split, for every later task",
                )
            assert any(rows), "options() must make rows"

    def test_what_no_batch_needs_is_deleted(self) -> None:
        """Also what a killed process has left."""
        with self.stream_options({**self.options(), **self.small_batches()}) as options:
            engine = MicroBatchEngine(lambda: self.configure(options, Boundedness.CONTINUOUS_UNBOUNDED))
            engine.run(crash_after=Step.COMMITTED)
            engine.run(crash_after=Step.READ, in_batch=len(engine.offsets))
            engine.run()
            splits = {
                path.name.partition("-")[0]
                for path in Path(options["stateLocation"], "notes").rglob("*")
                if path.is_file()
            }
            # Each small batch reads one split.
            keeps(
                PlannedSource.leaves_note,
                len(splits) <= 1,
                f"objects of committed batches are deleted; those of {len(splits)} splits are there",
            )

    def small_batches(self) -> Mapping[str, str]:
        """Return the option with which a batch of this source is as small as can be."""
        return {"maxRowsPerTrigger": "1"}

    def _rows(self, configured: ConfiguredSource, task: Any) -> list[dict[str, Any]]:
        with closing(configured.read_task(pickle.loads(pickle.dumps(task)))) as batches:
            return [row for batch in batches for row in batch.to_pylist()]

    def _told_after(self, crash: Step | None) -> tuple[object, int]:
        """Read a new world, with crashes; return the enumerator's knowledge then, and how many rows came."""
        with self.stream_options({**self.options(), **self.small_batches()}) as options:
            state, rows = read_with_crashes(self, options, crash)
        return self.told(state), rows


def _first_batch(configured: ConfiguredSource, task: Any) -> Iterator[dict[str, Any]]:
    with closing(configured.read_task(pickle.loads(pickle.dumps(task)))) as batches:
        for batch in batches:
            yield from batch.to_pylist()
            return

"""The source under test, and the world that its author makes for it."""

from __future__ import annotations

import tempfile
import unittest
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from typing import Any, ClassVar

from headwater.connector.planned.coordinator import PlannedCoordinator
from headwater.connector.sources.configured import ConfiguredSource
from headwater.connector.sources.user_sources import SourceClass, options_of_class
from headwater.core.barrier_source import BarrierSource
from headwater.core.source import Boundedness, Source
from headwater.core.split import SplitRange
from headwater.testing.contracts import keeps
from headwater.testing.engine import count_rows, read_batch
from headwater.testing.making import configured


class Subject:
    """The base of all suites: a test class inherits from a suite and names the source under test.

    Every test asks for its own world with `options`. Further hooks are optional: a test whose
    hook is missing is skipped, and names it. The abilities are read off the source: its mode, its
    abilities, its options.
    """

    source: ClassVar[SourceClass | str]
    """The class; or the name of a source that is built in or installed."""

    def options(self) -> Mapping[str, str]:
        """Make a world with some rows, four or more of them in one split; return the options that read it."""
        raise NotImplementedError(
            f"{type(self).__name__} needs a method options: the options that read some rows"
        )

    def grow(self, options: Mapping[str, str]) -> None:
        """Add rows, splits or both to the world that `options` made. Rows that are there stay."""
        raise unittest.SkipTest(
            f"{type(self).__name__} has no method grow: that rows are added while a query runs is not tested"
        )

    def out_of_sight(self, options: Mapping[str, str]) -> AbstractContextManager[None]:
        """Take one split of the world that `options` made out of sight, and bring it back at the end.

        Others stay in sight. For sources of planned mode whose splits are not read once and whole.
        """
        raise unittest.SkipTest(
            f"{type(self).__name__} has no method out_of_sight: that a split is not seen for a while is not "
            "tested"
        )

    def forget(self, options: Mapping[str, str]) -> None:
        """Let the outside drop its records, as it does when they are old: all, or all but newer ones.

        At least one of those that `grow` has added goes. Splits stay.

        For sources that tell it (`headwater.core.abilities.Forgets`).
        """
        raise unittest.SkipTest(
            f"{type(self).__name__} has no method forget: that records are dropped unread is not tested"
        )

    def arrive_late(self, options: Mapping[str, str]) -> Iterator[None]:
        """Add rows to the world that `options` made as late as the outside lets them arrive.

        For outsides with several writers at once: rows take their positions in one order, and become visible
        in another. A generator, which yields wherever a query may look in between; when it ends, all rows can
        be read. For a table: a first transaction takes a key; yield; a second one takes the next key and
        commits; yield; the first one commits.
        """
        raise unittest.SkipTest(
            f"{type(self).__name__} has no method arrive_late: that rows become visible in another order "
            "than that of their positions is not tested"
        )

    def due(self, options: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return every row that the world has, also those that were read before: by default those of a batch.

        For a queue, from which a batch read takes its messages away: return what `options` and `grow` put.
        """
        return read_batch(self.configure(options))

    def many_splits(self, count: int) -> Mapping[str, str]:
        """Make a world with a number of splits, each with a few rows, and return the options that read it."""
        raise unittest.SkipTest(f"{type(self).__name__} has no method many_splits: the scale is not tested")

    def configure(
        self, options: Mapping[str, str], boundedness: Boundedness | None = Boundedness.BOUNDED, **more: str
    ) -> ConfiguredSource:
        """Make the source as Spark's planner process does.

        Option keys come lower-cased, and an inferred schema is passed to the source.
        """
        return configured(self.source, {**options, **more}, boundedness)

    @contextmanager
    def readable(self) -> Iterator[ConfiguredSource]:
        """Make a world, and yield the source as the suites read its splits, more than once: a batch's.

        For a source that stages its rows (`BarrierSource.is_staged`) only a query promises that: it comes
        as a stream's, with a state location and a folder of one query, where each reading finds what those
        before it staged.
        """
        options = self.options()
        configured = self.configure(options)
        if not (isinstance(configured.source, BarrierSource) and configured.source.is_staged):
            yield configured
            return
        with self.stream_options(options) as more:
            staged = self.configure(more, Boundedness.CONTINUOUS_UNBOUNDED)
            assert isinstance(staged.source, BarrierSource)
            yield replace(staged, source=staged.source.for_query("conformance"))

    @contextmanager
    def stream_options(self, options: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Yield the options of a stream: in barrier mode with a state location of its own."""
        if not self.is_barrier(options):
            yield dict(options)
            return
        with tempfile.TemporaryDirectory(prefix="headwater-state-") as folder:
            yield {"stateLocation": folder, **options}

    def is_barrier(self, options: Mapping[str, str]) -> bool:
        """Whether the source is in barrier mode."""
        return isinstance(self.configure(options).source, BarrierSource)

    def count_rows(self, options: Mapping[str, str], rows: list[dict[str, Any]]) -> Counter[str]:
        """Return how often each row comes, without its `BarrierSource.delivery_columns`."""
        source = self.configure(options).source
        left_out = source.delivery_columns if isinstance(source, BarrierSource) else frozenset()
        return count_rows(
            [{name: value for name, value in row.items() if name not in left_out} for row in rows]
        )

    def check_rows(
        self,
        options: Mapping[str, str],
        due: list[dict[str, Any]],
        come: list[dict[str, Any]],
        when: str = "",
        *,
        contract: Any = Source,
    ) -> None:
        """Prove that each row that is due has come, once.

        Args:
            options: of the source.
            due: the rows of a batch read.
            come: those in the sink.
            when: the situation, for the message.
            contract: the contract that is broken otherwise.
        """
        expected = self.count_rows(options, due)
        actual = self.count_rows(options, come)
        lost = expected - actual
        double = actual - expected
        keeps(
            contract,
            not lost and not double,
            f"each row of the batch once {when}: {lost.total()} of {len(due)} are lost, "
            f"{double.total()} came too often; for example {next(iter(lost or double), None)}",
        )

    def declared_options(self) -> list[Any]:
        """Return the options that the source declares itself.

        None are known of a source that is given by name.
        """
        if isinstance(self.source, str):
            return []
        own = {row.name for row in getattr(self.source, "OPTIONS", ())}
        return [row for row in options_of_class(self.source).rows if row.name in own]

    def ranges(self, configured: ConfiguredSource) -> list[SplitRange[Any, Any]]:
        """Return the rows of a batch, split by split."""
        with closing(configured.create_coordinator()) as coordinator:
            if isinstance(coordinator, PlannedCoordinator):
                # As a stream plans it: a batch read leaves ends open, and then finds more each time.
                start = coordinator.initial_offset()
                planned = coordinator.tasks(start, coordinator.plan_next(start, limited=False))
                return [split_range for task in planned for split_range in task.ranges]
            return [split_range for task in coordinator.plan_all() for split_range in task.ranges]

    def some_range(self, configured: ConfiguredSource) -> SplitRange[Any, Any]:
        """Return the range with the most rows."""
        from headwater.testing.driving import read_range

        ranges = self.ranges(configured)
        assert ranges, "options() must make a world with some rows: the batch read has no split with any"
        return max(ranges, key=lambda split_range: len(read_range(configured.source, split_range).rows))

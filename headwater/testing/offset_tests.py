"""The contracts of splits and positions, which are written into every offset (`Source`, `Split`)."""

from __future__ import annotations

import pickle
from typing import Any

from headwater.connector.sources.user_sources import is_importable
from headwater.core.barrier_source import BarrierSource
from headwater.core.jsons import canonical, dumps
from headwater.core.outside import MOST_POSITION_BYTES
from headwater.core.planned_source import PlannedSource
from headwater.core.source import Boundedness, Source
from headwater.core.split import Split
from headwater.testing.contracts import keeps
from headwater.testing.driving import read_range
from headwater.testing.subject import Subject


class OffsetTests(Subject):
    """Splits come back from JSON as they were; positions are small JSON, and only go forward."""

    def test_splits_come_back_from_json_as_they_were(self) -> None:
        source, splits = self._splits()
        definitions = source.serialize_splits(splits)
        restored = source.deserialize_splits([split.path for split in splits], canonical(definitions))
        keeps(
            Source.deserialize_splits,
            restored == {split.path: split for split in splits},
            f"is the inverse of serialize_splits: {restored}",
        )
        keeps(
            Source.serialize_splits,
            dumps(source.serialize_splits(list(restored.values()))) == dumps(definitions),
            "equal splits are equal texts",
        )

    def test_splits_and_the_source_can_be_pickled(self) -> None:
        source, splits = self._splits()
        keeps(
            Split,
            pickle.loads(pickle.dumps(splits)) == splits,
            "splits are frozen dataclasses: equal after pickling",
        )
        if is_importable(type(getattr(source, "user", source))):
            keeps(
                Source,
                pickle.loads(pickle.dumps(source)).schema().equals(source.schema()),
                "a source is pickled to Spark's runner and to every task",
            )

    def test_positions_are_small_json_and_only_go_forward(self) -> None:
        with self.readable() as configured:
            source = configured.source
            for split_range in self.ranges(configured):
                last = split_range.start
                for position, _ in read_range(source, split_range).positions:
                    text = dumps(position)
                    keeps(
                        Split,
                        len(text) <= MOST_POSITION_BYTES,
                        f"a position is small; one of {split_range.split.split_id} has {len(text)} "
                        "characters",
                    )
                    keeps(
                        Split,
                        not _is_before(source, position, last),
                        f"positions go forward; split {split_range.split.split_id} came from {last!r} to "
                        f"{position!r}",
                    )
                    last = position

    def test_positions_can_be_counted_in_both_directions(self) -> None:
        with self.readable() as configured:
            source = configured.source
            if not isinstance(source, PlannedSource):
                return
            for split_range in self.ranges(configured):
                rows = source.rows_between(split_range.start, split_range.stop)
                keeps(
                    PlannedSource.rows_between,
                    rows >= 0 and source.rows_between(split_range.stop, split_range.start) == 0,
                    f"is 0 if stop is not after start; {split_range}",
                )
                keeps(
                    PlannedSource.position_after,
                    source.position_after(split_range.start, rows, split_range.stop) == split_range.stop,
                    f"comes to the stop of {split_range}",
                )
                for count in {0, 1, rows // 2}:
                    position = source.position_after(split_range.start, count, split_range.stop)
                    between = source.rows_between(split_range.start, position)
                    keeps(
                        PlannedSource.position_after,
                        source.rows_between(position, split_range.start) == 0,
                        f"never before the start of {split_range}: {position!r}",
                    )
                    keeps(
                        PlannedSource.position_after,
                        between <= rows,
                        f"never after the stop of {split_range}: {position!r}",
                    )
                    keeps(
                        PlannedSource.position_after,
                        not rows or not count or between > 0,
                        f"moves forward for {count} rows of {split_range}",
                    )

    def _splits(self) -> tuple[Source[Any, Any, Any], list[Any]]:
        options = self.options()
        splits = [split_range.split for split_range in self.ranges(self.configure(options))]
        with self.stream_options(options) as more:
            return self.configure(more, Boundedness.CONTINUOUS_UNBOUNDED).source, list(
                {split.path: split for split in splits}.values()
            )


def _is_before(source: Source[Any, Any, Any], position: Any, other: Any) -> bool:
    if isinstance(source, PlannedSource):
        return source.rows_between(position, other) > 0
    return isinstance(source, BarrierSource) and source.is_before(position, other)

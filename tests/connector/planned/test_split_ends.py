"""Splits that ended at a record: what the driver does where no task has told it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from headwater.connector.planned.offsets import LoggedEnds, PlannedOffset
from headwater.connector.planned.split_ends import SplitEnds
from headwater.connector.sources.simple import PlannedSimpleSource
from headwater.connector.sources.user_sources import UserSource
from headwater.core.metrics import COUNTERS, count
from headwater.core.simple_source import NamedSplit, Page
from headwater.core.source import Boundedness
from headwater.testing import MemorySystem
from tests.simple_sources import END, EndingLogSource


class Counting(EndingLogSource):
    """Counts while it reads."""

    def read(self, split: NamedSplit, position: int) -> Iterator[Page]:
        count("reads")
        return super().read(split, position)

    def is_end(self, rows: pa.RecordBatch) -> pa.BooleanArray:
        count("looks")
        return super().is_end(rows)


def test_a_batch_that_is_read_again_for_its_ends_counts_nothing_and_leaves_what_was_counted() -> None:
    system = MemorySystem()
    system.append("a", [1, END, 3])
    source = UserSource(Counting)({"system": system.name}, Boundedness.CONTINUOUS_UNBOUNDED).source
    assert isinstance(source, PlannedSimpleSource)
    split = NamedSplit("a", {"of": "a"})
    offset = PlannedOffset({split.path: split}, {split.path: 3}, {split.path: 0}, ends=LoggedEnds(True))
    COUNTERS.take()
    count("planned")
    settled, moved = SplitEnds(source).settled(offset)
    assert (settled.ended, moved) == ({split.path}, {split.path: 2})
    assert COUNTERS.take() == {"planned": 1}

"""Splits that end at a record, as the driver of planned mode knows them (FLIP-208).

A batch is planned before anybody has seen its records, so a split may end in the middle of its range. The
offset of such a batch says where its ranges began. Before the next one is planned, each of them is looked
up: the tasks report what they found, and where no report came, as after a restart, the driver reads the range
again up to its end. Both come to the same, so nothing depends on a report.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic

from headwater.connector.planned.offsets import LoggedEnds, PlannedOffset
from headwater.core.jsons import dumps
from headwater.core.metrics import COUNTERS
from headwater.core.planned_source import PlannedSource
from headwater.core.redaction import logger_of
from headwater.core.split import PositionT, SplitPath, SplitRange, SplitT

if TYPE_CHECKING:
    # The readers' runtime is loaded where a batch is read.
    from headwater.readers.runtime.task_reports import RangeEnd

log = logger_of(__name__)


class SplitEnds(Generic[SplitT, PositionT]):
    """Finds the splits that ended in the batch that was committed last.

    Args:
        source: of the query.
    """

    def __init__(self, source: PlannedSource[Any, SplitT, PositionT]) -> None:
        self._source = source
        # Guards the reports: the listener's thread adds, Spark's takes.
        self._lock = threading.Lock()
        self._known: dict[str, RangeEnd] = {}

    def add(self, ends: Sequence[RangeEnd]) -> None:
        """Take a report of a task. Any thread."""
        with self._lock:
            self._known.update((_key(end.path, end.start, end.stop), end) for end in ends)

    def settled(
        self, offset: PlannedOffset[SplitT, PositionT]
    ) -> tuple[PlannedOffset[SplitT, PositionT], Mapping[SplitPath, PositionT]]:
        """Return a committed offset as its batch was read, with the positions of splits that ended in it.

        May read. A second call for the same offset does not. Splits that ended by another condition than the
        source now has go on, right behind the record that ended them.

        Raises:
            OffsetError: see `PlannedSource.ending_at`.
            SourceError: the ranges of the batch cannot be read again.
        """
        logged = offset.ends
        if logged is None:
            return offset, {}
        positions: dict[SplitPath, Any] = {
            end.path: end.end[0]
            for end in self._ends_of(offset.ranges_of(logged), self._source.ending_at(logged.condition))
            if end.end is not None
        }
        for path in positions.keys() - logged.splits:
            log.info("split %s ended at a record before position %s", "-".join(path), dumps(positions[path]))
        is_same = logged.condition == self._source.end_condition
        ended = LoggedEnds[PositionT](
            logged.condition, logged.splits | positions.keys() if is_same else frozenset()
        )
        return replace(offset, positions={**offset.positions, **positions}, ends=ended), positions

    def logged(
        self,
        start_offset: PlannedOffset[SplitT, PositionT] | None,
        offset: PlannedOffset[SplitT, PositionT],
        ended: AbstractSet[SplitPath],
    ) -> LoggedEnds[PositionT] | None:
        """Return the ``ends`` of an offset that is planned; None where splits do not end.

        Args:
            start_offset: the one before it.
            offset: the one that is planned.
            ended: the splits that have ended.
        """
        condition = self._source.end_condition
        if condition is None:
            return None
        since = start_offset.positions if start_offset else {}
        return LoggedEnds(
            condition,
            ended & offset.splits.keys(),
            {
                path: since[path]
                for path, position in offset.positions.items()
                if path in since and path not in offset.starts and since[path] != position
            },
        )

    def _ends_of(
        self,
        ranges: Sequence[SplitRange[SplitT, PositionT]],
        source: PlannedSource[Any, SplitT, PositionT],
    ) -> list[RangeEnd]:
        keys = {_key(each.split.path, each.start, each.stop): each for each in ranges}
        with self._lock:
            ends = {key: self._known[key] for key in keys if key in self._known}
        unknown = [each for key, each in keys.items() if key not in ends]
        if unknown:
            ends |= _read_again(source, unknown)
        # Of other batches nothing is asked any more.
        with self._lock:
            self._known = ends
        return list(ends.values())


def _read_again(
    source: PlannedSource[Any, SplitT, PositionT], ranges: Sequence[SplitRange[SplitT, PositionT]]
) -> dict[str, RangeEnd]:
    """Read ranges of the last batch to find whether a record ended their splits; rows are dropped."""
    from headwater.readers.runtime.source_reader import read_ranges

    log.info(
        "source %s: no task has told whether a record ended %d splits in the last batch: it is read again",
        source.name,
        len(ranges),
    )
    ends: list[RangeEnd] = []
    # The tasks have counted what is read again here; what this process has counted itself stays.
    own_counts = COUNTERS.take()
    try:
        for _ in read_ranges(source, ranges, take_end=ends.append):
            pass
    finally:
        COUNTERS.take()
        for name, by in own_counts.items():
            COUNTERS.add(name, by)
    return {_key(end.path, end.start, end.stop): end for end in ends}


def _key(path: SplitPath, start: Any, stop: Any) -> str:
    return dumps([*path, start, stop])

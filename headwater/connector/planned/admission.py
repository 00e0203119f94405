"""Admission control: how far the next batch goes, by its limits and by the end of an AvailableNow run.

And what it leaves behind, for the metrics.

Spark hands over at most one limit and knows no combination; the source keeps its limits itself and shares the
budget among its splits. Limits of rows are kept as Spark's own Kafka source keeps them
(``KafkaMicroBatchStream``), so that a query that changes its source has the same batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from headwater.connector.planned.batch_duration import TargetDuration
from headwater.connector.planned.offsets import PlannedOffset
from headwater.connector.planned.shares import Share, cap_groups, share_budget, share_by_weight, share_rows
from headwater.core.clock import Clock
from headwater.core.enumerator import SplitRequest, UnassignedSplits
from headwater.core.metrics import (
    BACKLOG,
    LAG_TIME,
    PENDING_BYTES,
    PENDING_RECORDS,
    UNASSIGNED_SPLITS,
    MetricValues,
    checked_gauges,
)
from headwater.core.planned_source import PlannedSource
from headwater.core.split import PositionT, SplitPath, SplitT


@dataclass(frozen=True, kw_only=True)
class ReadLimits:
    """The limits of one query.

    A group of splits is the partitions of a topic, or any other set that a source makes
    (`PlannedSource.group_of`).

    Attributes:
        max_rows: how many records a batch is planned for at the most, but for the one of each split that
            keeps it from starving (``maxOffsetsPerTrigger``).
        max_rows_of: the same for single groups.
        weights: by which groups share ``max_rows`` and ``max_bytes``, 1 for those that are not named; empty:
            all splits share them by their backlog.
        max_bytes: nor for more bytes, as far as they can be estimated (``maxBytesPerTrigger``).
        min_rows: a batch waits until this many records are there ...
        max_delay_ms: ... or until this much time has passed since this clock was last set: when a batch had
            enough records, or was due. The first batch of a run does not wait.
        max_files: no batch has more files than this; a source of bounded splits keeps this limit, and that of
            bytes, itself.
        target: how long batches should take (``targetBatchDuration``); None for any time.
    """

    max_rows: int | None = None
    max_rows_of: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    max_bytes: int | None = None
    min_rows: int | None = None
    max_delay_ms: int = 15 * 60 * 1000
    max_files: int | None = None
    target: TargetDuration | None = None

    @property
    def limits_batches(self) -> bool:
        """Whether there is anything that a batch may not exceed."""
        return bool(
            self.max_rows is not None or self.max_rows_of or self.max_bytes is not None or self.target
        )


class Admission:
    """Decides how many records of each split the next batch takes. Belongs to the coordinator's thread."""

    def __init__(self, limits: ReadLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._clock_set_ms: int | None = None

    def admit(
        self,
        backlog: Sequence[int],
        row_bytes: Callable[[], Sequence[int]],
        groups: Callable[[], Sequence[str]],
        request: SplitRequest,
        *,
        wait_for_more: bool,
    ) -> list[int]:
        """Return how many records to take of each split; all zero for "no batch now".

        Args:
            backlog: the records there are, per split.
            row_bytes: returns the estimated size of one record, per split; called only where bytes are
                limited.
            groups: returns the group of each split; called only where groups count.
            request: the limits of the batch.
            wait_for_more: whether the minimum counts (it does not where Spark would take "nothing now" for
                the end).
        """
        if wait_for_more and self._too_few(sum(backlog)):
            return [0] * len(backlog)
        admitted = list(backlog)
        if request.max_rows_of:
            admitted = cap_groups(admitted, groups(), request.max_rows_of)
        if request.max_rows is not None:
            admitted = self._shared(admitted, groups, request.max_rows, share_rows)
        if request.max_bytes is not None:
            sizes = row_bytes()
            needed = [rows * size for rows, size in zip(admitted, sizes, strict=True)]
            in_bytes = self._shared(needed, groups, request.max_bytes, share_budget)
            admitted = [
                min(rows, max(1, budget // size))
                for rows, size, budget in zip(admitted, sizes, in_bytes, strict=True)
            ]
        return admitted

    def _shared(
        self, backlog: Sequence[int], groups: Callable[[], Sequence[str]], budget: int, share: Share
    ) -> list[int]:
        if not self._limits.weights:
            return share(backlog, budget)
        return share_by_weight(backlog, groups(), budget, self._limits.weights, share)

    def _too_few(self, total: int) -> bool:
        """Whether the batch has to wait; if not, set the clock again.

        As in Spark's ``delayBatch`` a batch that is due sets it even if there is nothing to read, and the
        first batch of a run is always due: a restart must not hold back records that were waiting already.
        """
        if self._limits.min_rows is None:
            return False
        now_ms = self._clock.monotonic_ms()
        due = self._clock_set_ms is None or now_ms - self._clock_set_ms >= self._limits.max_delay_ms
        if not due and total < self._limits.min_rows:
            return True
        self._clock_set_ms = now_ms
        return False


class AvailableNowTarget(Generic[SplitT, PositionT]):
    """The heads that were there when the run began: nothing is read beyond them. On one thread at a time.

    The run captures them in its first discovery; those of a later part in the first discovery of that part
    (`PlannedSource.part_of`), so that the run reads all parts. A split that comes later than the others of
    its part waits for the next run.

    Splits that are read whole have no target: their enumerator knows that the query ends
    (`SplitRequest.ends`).

    Args:
        source: counts.
    """

    def __init__(self, source: PlannedSource[Any, SplitT, PositionT]) -> None:
        self._source = source
        self._is_on = False
        self._target: dict[SplitT, PositionT] = {}
        # The parts whose heads were captured. Splits of these that come later are not read.
        self._parts: set[int] = set()

    @property
    def is_on(self) -> bool:
        """Whether the query ends at the captured heads."""
        return self._is_on

    def begin(self) -> None:
        """Begin a run. The next call of `ends` captures its target."""
        self._is_on = True
        self._target = {}
        self._parts = set()

    def ends(
        self, heads: Mapping[SplitPath, PositionT], splits: Mapping[SplitPath, SplitT]
    ) -> Mapping[SplitPath, PositionT]:
        """Return how far each split may be read now: to its head, and in such a run not beyond the target.

        Args:
            heads: of the last discovery.
            splits: all live ones.
        """
        if not self._is_on or self._source.bounded_splits or all_bounded(self._source, splits):
            return heads
        self._capture(heads, splits)
        ends = {}
        for path, split in splits.items():
            if path in heads and self._source.is_bounded(split):
                ends[path] = heads[path]
            elif split in self._target and path in heads:
                target = self._target[split]
                ends[path] = target if self._source.rows_between(target, heads[path]) > 0 else heads[path]
        return ends

    def _capture(self, heads: Mapping[SplitPath, PositionT], splits: Mapping[SplitPath, SplitT]) -> None:
        part_of = self._source.part_of
        # A discovery that finds no split counts as the first one too.
        parts = {part_of(split) for split in splits.values()} or {0}
        if parts <= self._parts:
            return
        for path, head in heads.items():
            if path in splits and part_of(splits[path]) not in self._parts:
                self._target[splits[path]] = head
        self._parts |= parts


def all_bounded(source: PlannedSource[Any, SplitT, Any], splits: Mapping[SplitPath, SplitT]) -> bool:
    """Whether there are splits, and each is read whole in the batch that it is assigned to."""
    return bool(splits) and all(map(source.is_bounded, splits.values()))


def backlog_metrics(
    source: PlannedSource[Any, SplitT, PositionT],
    offset: PlannedOffset[SplitT, PositionT],
    heads: Mapping[SplitPath, PositionT],
    unassigned: UnassignedSplits,
    gauges: MetricValues,
    *,
    is_read: bool,
) -> MetricValues:
    """Return the metrics of what is there, and that the batch of an offset does not read.

    Args:
        source: of the splits.
        offset: where the batch ends.
        heads: of the last discovery.
        unassigned: splits that were found, and have no position yet.
        gauges: of the enumerator.
        is_read: whether the batch reads anything.
    """
    records, size_bytes = 0, unassigned.size_bytes
    for path, head in heads.items():
        # At its head, as nearly all splits are: nothing is counted.
        if path not in offset.splits or offset.positions[path] == head:
            continue
        rows = source.rows_between(offset.positions[path], head)
        records += 0 if source.counts_bytes(offset.splits[path]) else rows
        size_bytes += rows * source.row_bytes(offset.splits[path], offset.state)
    is_behind = bool(records or size_bytes or unassigned.count)
    lag_time = {LAG_TIME: gauges[LAG_TIME] if is_behind else 0} if LAG_TIME in gauges else {}
    return {
        **checked_gauges(gauges),
        **lag_time,
        PENDING_RECORDS: records,
        PENDING_BYTES: size_bytes,
        UNASSIGNED_SPLITS: unassigned.count,
        BACKLOG: int(unassigned.goes_on or (is_read and is_behind)),
    }

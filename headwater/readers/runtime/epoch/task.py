"""A task of an epoch as the driver sends it, and its reading as callers see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import Clock, SystemClock
from headwater.core.epoch import AlignmentMode, Barrier, EpochState, Failing, InFlight, WaitingSplits
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.epoch.event_time import TaskAlignment
from headwater.readers.runtime.epoch.state_parts import WaitingQueue


@dataclass(frozen=True, kw_only=True)
class EpochTask:
    """A task as the driver sends it, inside Spark's partition. The same for all attempts at the task.

    Attributes:
        folder: of the epoch, in the state location.
        number: of this task in the epoch.
        ranges: the splits to read, each from its position, without a stop.
        barrier: where to cut.
        mode: the treatment of the channels then.
        alignment_timeout_ms: an aligned barrier overtakes after this time; None for never.
        budget_bytes: how much may lie in the channels. The last fetch of each fetcher, and the record
            that the emitter is at, come on top.
        restored: manifests, as (folder, number of the task), whose rows in flight are emitted first.
        waiting: found splits that no task has begun with, for this task.
        least_ready: if the task has fewer splits than this, the missing number of waiting splits is ready
            from the beginning. The others are let in as there is room.
        failing: those of the splits that failed before and made no progress since.
        retry_deadline_ms: how long a split may fail, in all epochs together; None for ever.
        events: of the enumerator, for the readers.
        share_scans: keep the rows on this host for other scans of the same epoch.
        tasks: how many the epoch has.
        alignment: by event time; None for none.
        may_be_read: whether the epoch was logged before this run of the query: earlier versions left
            manifests without a claim.
    """

    folder: str
    number: int
    ranges: tuple[SplitRange[Any, Any], ...]
    barrier: Barrier
    mode: AlignmentMode
    alignment_timeout_ms: int | None
    budget_bytes: int
    restored: tuple[tuple[str, int], ...] = ()
    waiting: tuple[WaitingSplits, ...] = ()
    least_ready: int = 0
    failing: Mapping[SplitPath, Failing] = field(default_factory=dict)
    retry_deadline_ms: int | None = None
    events: tuple[JsonValue, ...] = ()
    share_scans: bool = False
    tasks: int = 1
    alignment: TaskAlignment | None = None
    may_be_read: bool = False

    @property
    def query(self) -> str:
        """The folder of the query, in the state location."""
        return self.folder.partition("/")[0]


@dataclass(slots=True)
class EpochMetrics:
    """Measurements of one epoch of one task.

    Written by the task's thread; complete when the epoch is over.

    Attributes:
        rows: emitted.
        read_bytes: of the Arrow batches that hold them.
        fetches: how often a reader was asked.
        start_delay_ms: from the trigger to the first barrier at the emitter: how long the fetched data held
            it up.
        alignment_ms: from the first barrier to the last one, or to the overtaking.
        in_flight_bytes: Arrow rows that were stored with the state because the barrier overtook them.
        snapshot_ms: how long copying the state took; writing it is not counted.
        peak_buffered_bytes: the most that ever lay between fetchers and emitter.
        took_ms: how long fetching from the slowest splits took.
        source: by the names of `headwater.core.metrics`.
        pending: how many records wait in splits, as far as the outside told it (`EpochRecord.pending`).
    """

    rows: int = 0
    read_bytes: int = 0
    fetches: int = 0
    start_delay_ms: int = 0
    alignment_ms: int = 0
    in_flight_bytes: int = 0
    snapshot_ms: int = 0
    peak_buffered_bytes: int = 0
    took_ms: list[JsonValue] = field(default_factory=list)
    source: Mapping[str, int] = field(default_factory=dict)
    pending: list[JsonValue] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ReadingContext:
    """The parts of a task that differ by attempt.

    Attributes:
        clock: time.
        stop_at: the state to which an earlier attempt has read; None to read up to the barrier.
        restored: rows that earlier epochs left in flight, emitted first.
        waiting: found splits that wait for the task; with ``stop_at`` those that the earlier attempt took.
        on_overtaken: called once with the rows that a barrier has overtaken, when they are known: the last
            rows of the epoch may still be handed over.
        metrics: written while reading.
    """

    clock: Clock = field(default_factory=SystemClock)
    stop_at: EpochState | None = None
    restored: tuple[InFlight, ...] = ()
    waiting: WaitingQueue = field(default_factory=WaitingQueue)
    on_overtaken: Callable[[Sequence[InFlight]], object] = lambda _: None
    metrics: EpochMetrics = field(default_factory=EpochMetrics)


class EpochReading(Protocol):
    """One reading of an epoch by one task. Belongs to the task's thread.

    Iterated once. The emitted batches are all that `state` counts as read, but for its rows in flight.
    """

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def close(self) -> None:
        """Leave early, or release the rest after the end: no thread, socket or file outlives this.

        Idempotent.
        """

    def state(self) -> EpochState:
        """Return the state at the cut, or where the reading was left.

        Raises:
            ContractError: the iteration is under way, or has failed.
        """


OpenReader: TypeAlias = Callable[[BarrierSource[Any, Any], EpochTask, ReadingContext], EpochReading]
"""Makes a reading of a task. Asks the outside nothing: that comes with the first batch."""

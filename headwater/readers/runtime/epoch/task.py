"""One task of an epoch.

Claims its place and reads up to the barrier, or follows the manifest of whoever did.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import Clock, SystemClock
from headwater.core.epoch import AlignmentMode, Barrier, EpochState, InFlight
from headwater.core.errors import FencedError, StateLocationError
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitRange
from headwater.core.state_store import StateStore
from headwater.readers.runtime.epoch.claims import Claim, Entrance
from headwater.readers.runtime.epoch.manifests import Manifest, decode_manifest, encode_manifest
from headwater.readers.runtime.epoch.metrics import EpochMetrics
from headwater.readers.runtime.epoch.places import Place

__all__ = ["EpochReading", "EpochTask", "OpenReader", "ReadingContext", "read_epoch"]


@dataclass(frozen=True)
class EpochTask:
    """What a task of an epoch is told, inside Spark's partition.

    Attributes:
        folder: of the epoch, in the state location.
        place: the number of this task.
        ranges: the splits to read, each from its position, without a stop.
        barrier: where to cut.
        mode: what happens to what is in the channels then.
        alignment_timeout_ms: an aligned barrier overtakes after so long.
        budget_bytes: what may lie in the channels.
        restored: manifests, as (folder, place), whose rows in flight are emitted first.
        events: of the enumerator, for the reader.
        share_scans: keep the rows on this host for other scans of the same epoch.
    """

    folder: str
    place: int
    ranges: tuple[SplitRange[Any, Any], ...]
    barrier: Barrier
    mode: AlignmentMode
    alignment_timeout_ms: int | None
    budget_bytes: int
    restored: tuple[tuple[str, int], ...]
    events: tuple[JsonValue, ...]
    share_scans: bool = False

    @property
    def query(self) -> str:
        """The folder of the query, in the state location."""
        return self.folder.partition("/")[0]


class EpochReading(Protocol):
    """The dataflow of a task, seen from outside (`headwater.readers.runtime.epoch.epoch_reader.EpochReader`)."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def close(self) -> None:
        """End all threads. Afterwards `state` tells what was emitted."""

    def state(self) -> EpochState:
        """Return the state at the cut: after the iteration ended, or after `close`."""


@dataclass(frozen=True)
class ReadingContext:
    """What an attempt adds to its task.

    Attributes:
        clock: time.
        stop_at: read again exactly what led to this state; None to read up to the barrier.
        restored: rows that earlier epochs left in flight, emitted first.
        on_snapshot: called with the state at the barrier, on the task's thread.
        metrics: written while reading.
    """

    clock: Clock
    stop_at: EpochState | None = None
    restored: tuple[InFlight, ...] = ()
    on_snapshot: Callable[[EpochState], None] | None = None
    metrics: EpochMetrics = field(default_factory=EpochMetrics)


OpenReader: TypeAlias = Callable[[BarrierSource[Any, Any], EpochTask, ReadingContext], EpochReading]
"""Makes the dataflow of a task. Opens nothing: that comes with the first batch."""


def read_epoch(
    source: BarrierSource[Any, Any],
    task: EpochTask,
    store: StateStore | None,
    open_reader: OpenReader,
    clock: Clock | None = None,
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of one place of an epoch.

    On an executor, on the task's thread; ends after the place's manifest is published.

    The first attempt that comes to the place decides how far the epoch goes. Whoever comes later reads
    exactly that. An attempt that is left early (LIMIT) publishes what it had emitted by then.

    Args:
        source: what to read.
        task: which place.
        store: the state location; None for a batch read, which publishes nothing.
        open_reader: makes the dataflow.
        clock: time.

    Raises:
        FencedError: another attempt took over; Spark retries, and the retry follows that one.
        StateLocationError: the state location cannot be used, or a manifest is cut short.
        SourceError: what reader and emitter raise.
    """
    run = _Run(source, task, open_reader, clock or SystemClock())
    if store is None:
        yield from run.rows_to_the_end()
        return
    place = Place(store, task.folder, task.place)
    entered = Entrance(place, run.clock).enter()
    if isinstance(entered, Claim):
        yield from run.rows_as_first(entered)
    else:
        yield from run.rows_as_published(place, entered)


@dataclass(frozen=True)
class _Run:
    """One attempt at a task."""

    source: BarrierSource[Any, Any]
    task: EpochTask
    open_reader: OpenReader
    clock: Clock

    def rows_to_the_end(self) -> Iterator[pa.RecordBatch]:
        """Read without a place, as a batch read does."""
        with closing(self._open(ReadingContext(self.clock))) as reading:
            yield from reading

    def rows_as_published(self, place: Place, found: bytes) -> Iterator[pa.RecordBatch]:
        """Read exactly what a manifest says; nothing if the place was sealed.

        Then the next epoch begins where this one did.
        """
        state = decode_manifest(found, self.source, f"place {place.number} of epoch {place.epoch}").state
        if state is not None:
            context = ReadingContext(self.clock, stop_at=state, restored=self._restored(place.store))
            with closing(self._open(context)) as reading:
                yield from reading

    def rows_as_first(self, claim: Claim) -> Iterator[pa.RecordBatch]:
        """Read up to the barrier, and publish how far that was."""
        claim.keep_alive()
        try:
            yield from self._read_and_publish(claim)
        except GeneratorExit:
            claim.end()
            raise
        except BaseException as error:
            claim.end(f"{type(error).__name__}: {error}")
            raise
        claim.end()

    def _read_and_publish(self, claim: Claim) -> Iterator[pa.RecordBatch]:
        metrics = EpochMetrics()
        publisher = _Publisher(self.source, claim, metrics)
        early = publisher.write_early if self.task.mode is AlignmentMode.AT_LEAST_ONCE else None
        context = ReadingContext(
            self.clock, restored=self._restored(claim.place.store), on_snapshot=early, metrics=metrics
        )
        with closing(self._open(context)) as reading:
            try:
                for batch in reading:
                    claim.check()
                    yield batch
            except GeneratorExit:
                reading.close()
                publisher.publish(reading.state())
                raise
        publisher.publish(reading.state())

    def _open(self, context: ReadingContext) -> EpochReading:
        return self.open_reader(self.source, self.task, context)

    def _restored(self, store: StateStore) -> tuple[InFlight, ...]:
        """Read what earlier epochs left in flight for this task."""
        found: list[InFlight] = []
        for folder, number in self.task.restored:
            data = Place(store, folder, number).manifest()
            where = f"place {number} of epoch {folder} in {store}"
            if data is None:
                raise StateLocationError(
                    f"the manifest of {where} is gone, and with it rows in flight: restore stateLocation from its backup"
                )
            state = decode_manifest(data, self.source, where).state
            found += state.in_flight if state else ()
        return tuple(found)


class _Publisher:
    """Writes what one attempt read.

    At the end as the manifest, and before that, while rows still flow, for whoever takes over if it dies.
    """

    def __init__(self, source: BarrierSource[Any, Any], claim: Claim, metrics: EpochMetrics) -> None:
        self._source, self._claim, self._metrics = source, claim, metrics
        self._thread: threading.Thread | None = None

    def write_early(self, state: EpochState) -> None:
        """Write a snapshot that is cut before the last row is emitted, on a thread of its own.

        A failure only costs the one who takes over time.
        """
        snapshot = self._encode(state)
        self._thread = threading.Thread(
            target=self._claim.place.put_snapshot, args=(snapshot,), name="headwater-snapshot", daemon=True
        )
        self._thread.start()

    def publish(self, state: EpochState) -> None:
        """Publish the manifest.

        Raises:
            FencedError: another attempt's manifest counts, and it is a different one.
        """
        if self._thread is not None:
            self._thread.join()
        place, ours = self._claim.place, self._encode(state)
        counts = place.publish(ours)
        if (
            counts != ours
            and decode_manifest(counts, self._source, f"place {place.number} of epoch {place.epoch}").state
            != state
        ):
            raise FencedError(
                f"another attempt published place {place.number} of epoch {place.epoch} first, with other positions"
            )

    def _encode(self, state: EpochState) -> bytes:
        metrics: dict[str, JsonValue] = {
            **dataclasses.asdict(self._metrics),
            "attempt": self._claim.number,
            "written_ms": time.time_ns() // 1_000_000,
        }
        return encode_manifest(Manifest(state, metrics), self._source)

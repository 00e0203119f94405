"""One task of an epoch: reads up to the barrier, or exactly as far as another attempt at the task."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pyarrow as pa

from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import Clock, SystemClock, wall_ms
from headwater.core.epoch import EpochState, InFlight
from headwater.core.errors import FencedError, StateLocationError
from headwater.core.jsons import JsonValue
from headwater.core.state_store import StateStore
from headwater.readers.runtime.epoch.claims import Claim, ClaimProtocol
from headwater.readers.runtime.epoch.state_parts import (
    PartsUpload,
    SplitSegments,
    StateParts,
    WaitingQueue,
)
from headwater.readers.runtime.epoch.task import (
    EpochMetrics,
    EpochReading,
    EpochTask,
    OpenReader,
    ReadingContext,
)
from headwater.readers.runtime.epoch.task_slot import Manifest, TaskSlot, decode_manifest, encode_manifest


def read_epoch(
    source: BarrierSource[Any, Any],
    task: EpochTask,
    store: StateStore | None,
    open_reader: OpenReader,
    clock: Clock | None = None,
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of one task of an epoch.

    Runs on an executor, on the task's thread. Ends after the task's manifest is published.

    The first attempt at the task (retries, speculation, a second scan) decides how far the epoch goes. Every
    later attempt reads exactly that. An attempt that is left early (LIMIT) publishes the positions behind its
    rows.

    Args:
        source: the source.
        task: which task.
        store: the state location; None for a batch read, which publishes nothing.
        open_reader: makes the reading.
        clock: time.

    Raises:
        FencedError: another attempt took over. Spark retries, and the retry follows that one.
        StateLocationError: the state location cannot be used, or a manifest is cut short.
        SourceError: the errors of reader and emitter.
    """
    attempt = _Attempt(source, task, open_reader, clock or SystemClock())
    if store is None:
        yield from attempt.read_to_the_end()
        return
    slot = TaskSlot(store, task.folder, task.number)
    # Rows in flight are fetched while the slot is claimed: object stores answer late.
    with ThreadPoolExecutor(thread_name_prefix="headwater-restored") as pool:
        earlier = (TaskSlot(store, folder, number) for folder, number in task.restored)
        attempt.restored.extend(pool.submit(attempt.fetch_restored, each) for each in earlier)
        acquired = ClaimProtocol(slot, attempt.clock, may_be_first=not task.may_be_read).acquire()
    if isinstance(acquired, Claim):
        yield from attempt.read_first(acquired)
    else:
        yield from attempt.read_again(slot, acquired)


@dataclass(frozen=True)
class _Attempt:
    """One attempt at a task."""

    source: BarrierSource[Any, Any]
    task: EpochTask
    open_reader: OpenReader
    clock: Clock
    restored: list[Future[tuple[InFlight, ...]]] = field(default_factory=list)

    def read_to_the_end(self) -> Iterator[pa.RecordBatch]:
        """Read without a state location, as a batch read does."""
        with closing(self._open(ReadingContext(clock=self.clock))) as reading:
            yield from reading

    def read_again(self, slot: TaskSlot, manifest: bytes) -> Iterator[pa.RecordBatch]:
        """Read exactly the rows of a manifest.

        Nothing if the driver sealed the slot: the next epoch begins where this one did.
        """
        state = decode_manifest(manifest, self.source, str(slot)).state
        if state is not None:
            context = ReadingContext(
                clock=self.clock,
                stop_at=self._parts(slot).bring_in(state, slot.store),
                restored=self._restored(),
                waiting=self._waiting(slot.store, state.taken),
            )
            with closing(self._open(context)) as reading:
                yield from reading

    def read_first(self, claim: Claim) -> Iterator[pa.RecordBatch]:
        """Read up to the barrier, and publish how far that was."""
        claim.keep_alive()
        try:
            yield from self._read_and_publish(claim)
        except GeneratorExit:
            claim.end()
            raise
        except BaseException as error:
            # Said in the state location, so that the next attempt takes over at once.
            claim.end(f"{type(error).__name__}: {error}")
            raise
        claim.end()

    def _read_and_publish(self, claim: Claim) -> Iterator[pa.RecordBatch]:
        metrics = EpochMetrics()
        upload = PartsUpload(self._parts(claim.slot), claim.slot.store)
        publisher = _Publisher(self.source, upload, claim, metrics)
        context = ReadingContext(
            clock=self.clock,
            restored=self._restored(),
            waiting=self._waiting(claim.slot.store, None),
            # The order from here on: the cut, and its rows are known; their upload, beside the last rows that
            # are handed over; the upload of the rest; all of it durable; the manifest, which alone makes any
            # of it count; the end of the claim. Whoever dies in between leaves objects that nothing names,
            # and the attempt that takes over may cut elsewhere.
            on_overtaken=lambda rows: upload.begin(EpochState(in_flight=tuple(rows))),
            metrics=metrics,
        )
        with closing(upload), closing(self._open(context)) as reading:
            try:
                for batch in reading:
                    claim.check()
                    metrics.read_bytes += batch.nbytes
                    yield batch
            except GeneratorExit:
                # Left early. The rows that were emitted may be used, so the manifest must say how far they
                # go; which is known once the reading is closed.
                reading.close()
                publisher.publish(reading.state())
                raise
            reading.close()
            publisher.publish(reading.state())

    def _open(self, context: ReadingContext) -> EpochReading:
        return self.open_reader(self.source, self.task, context)

    def fetch_restored(self, slot: TaskSlot) -> tuple[InFlight, ...]:
        """Return the rows that a task of an earlier epoch left in flight for this one."""
        data = slot.manifest()
        where = f"{slot} in {slot.store}"
        if data is None:
            raise StateLocationError(
                f"the manifest of {where} is gone, and with it rows in flight: restore stateLocation from "
                "its backup"
            )
        state = decode_manifest(data, self.source, where).state
        return self._parts(slot).rows(state, slot.store) if state else ()

    def _restored(self) -> tuple[InFlight, ...]:
        return tuple(chain.from_iterable(fetched.result() for fetched in self.restored))

    def _waiting(self, store: StateStore, most: int | None) -> WaitingQueue:
        """Return the found splits that wait for this task; no more than an earlier attempt took."""
        return WaitingQueue(self.task.waiting, SplitSegments(self.source, self.task.query, store).read, most)

    def _parts(self, slot: TaskSlot) -> StateParts:
        return StateParts(self.source, slot.epoch, slot.number)


class _Publisher:
    """Publishes the manifest of one attempt."""

    def __init__(
        self, source: BarrierSource[Any, Any], upload: PartsUpload, claim: Claim, metrics: EpochMetrics
    ) -> None:
        self._source = source
        self._upload = upload
        self._claim = claim
        self._metrics = metrics

    def publish(self, state: EpochState) -> None:
        """Publish the manifest.

        Raises:
            FencedError: another attempt's manifest counts, and it is a different one.
        """
        slot = self._claim.slot
        # The parts first: what a manifest names is there.
        stored = self._upload.finish(state)
        ours = self._encode(stored)
        counts = slot.publish(ours)
        if counts == ours:
            return
        # Another attempt was first. Its metrics differ from ours, its state need not.
        if decode_manifest(counts, self._source, str(slot)).state != stored:
            raise FencedError(f"another attempt published {slot} first, with other positions")

    def _encode(self, state: EpochState) -> bytes:
        metrics: dict[str, JsonValue] = {
            **dataclasses.asdict(self._metrics),
            "attempt": self._claim.number,
            "written_ms": wall_ms(),
        }
        return encode_manifest(Manifest(state, metrics), self._source)

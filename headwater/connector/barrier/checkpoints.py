"""The checkpoint coordinator: opens epochs in the state location, and collects their manifests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, cast

from headwater.connector.barrier.offsets import EpochId
from headwater.core.clock import Clock
from headwater.core.errors import StateLocationError
from headwater.core.jsons import JsonObject, dumps
from headwater.core.metrics import BYTES_IN, MetricValues
from headwater.core.redaction import logger_of
from headwater.core.source import Source
from headwater.core.split import SplitPath
from headwater.core.state_store import StateStore
from headwater.readers.runtime.epoch.claims import ClaimWatch, seal
from headwater.readers.runtime.epoch.state_parts import SPLITS_FOLDER, epoch_of
from headwater.readers.runtime.epoch.task_slot import Manifest, TaskSlot, decode_manifest

_FIRST_POLL_MS: Final = 10
_MOST_POLL_MS: Final = 500
_READERS: Final = 8
_OPENED: Final = "opened"
_MEASURES: Final = ("start_delay_ms", "alignment_ms", "in_flight_bytes", "snapshot_ms")

log = logger_of(__name__)


@dataclass(frozen=True)
class CompletedCheckpoint:
    """The manifests of an epoch, one a task, in order. The same whenever it is completed again.

    Attributes:
        epoch: which.
        manifests: of its tasks.
        waited_ms: for manifests, on the driver.
    """

    epoch: EpochId
    manifests: tuple[Manifest, ...]
    waited_ms: int

    @property
    def stats(self) -> JsonObject:
        """Its costs, for the query's progress (Flink's ``CompletedCheckpointStats``).

        * ``epoch``: its number;
        * ``places``: how many tasks it had, ``not_run``: how many of them were not run;
        * ``state_bytes``: of all manifests;
        * ``waited_ms``: for manifests, on the driver;
        * ``start_delay_ms``, ``alignment_ms``, ``in_flight_bytes``, ``snapshot_ms``: the largest of any task.
        """
        stats: JsonObject = {
            "epoch": self.epoch.number,
            "places": len(self.manifests),
            "not_run": sum(manifest.state is None for manifest in self.manifests),
            "state_bytes": sum(manifest.size_bytes for manifest in self.manifests),
            "waited_ms": self.waited_ms,
        }
        for name in _MEASURES:
            values = [
                value for manifest in self.manifests if isinstance(value := manifest.metrics.get(name), int)
            ]
            if values:
                stats[name] = max(values)
        return stats

    @property
    def source_metrics(self) -> list[MetricValues]:
        """The metrics of each task; attempts that only repeated it are not counted."""
        # Manifests of earlier releases have fewer.
        return [
            {
                BYTES_IN: cast("int", manifest.metrics.get("read_bytes", 0)),
                **cast("MetricValues", manifest.metrics.get("source", {})),
            }
            for manifest in self.manifests
        ]

    @property
    def rows(self) -> int:
        """How many rows its tasks handed over."""
        return sum(cast("int", manifest.metrics.get("rows", 0)) for manifest in self.manifests)

    @property
    def pending(self) -> dict[SplitPath, int]:
        """How many records wait in splits, as far as the outside told it."""
        return {
            tuple(path): records
            for manifest in self.manifests
            for path, records in cast("list[tuple[list[str], int]]", manifest.metrics.get("pending", []))
        }

    @property
    def took_ms(self) -> list[tuple[SplitPath, float]]:
        """How long fetching took, of the slowest splits of each task. Earlier releases do not say."""
        return [
            (tuple(path), took_ms)
            for manifest in self.manifests
            for path, took_ms in cast("list[tuple[list[str], int]]", manifest.metrics.get("took_ms", []))
        ]


@dataclass(frozen=True)
class OutdatedEpochs:
    """Epochs that are not kept any more.

    Attributes:
        query: whose.
        keep_from: the number of the oldest epoch that is kept.
        epochs: the older ones.
        kept: the others.
    """

    query: str
    keep_from: int
    epochs: Sequence[EpochId]
    kept: Sequence[EpochId]

    @property
    def oldest_kept(self) -> list[EpochId]:
        """The oldest kept epoch: after a checkpoint was rolled back there are two of one number."""
        return [epoch for epoch in self.kept if epoch.number == self.keep_from]


class CheckpointCoordinator:
    """One per query, on the driver; one thread at a time (Flink's ``CheckpointCoordinator``).

    A checkpoint's life: `trigger` opens the epoch; Spark logs the offset that names it; tasks acknowledge by
    publishing manifests, or decline by giving up; Spark commits the batch; `complete` collects. Nothing that
    matters lives in this object: after a crash between any two steps another one comes to the same manifests.

    Args:
        store: the state location.
        source: knows its splits.
        timeout_ms: how long a task that has begun, and whose batch is committed, may take to publish before
            its slot is sealed.
        retained: so many epochs before the last completed one are kept.
        clock: time.
    """

    def __init__(
        self,
        store: StateStore,
        source: Source[Any, Any, Any],
        *,
        timeout_ms: int,
        retained: int,
        clock: Clock,
    ) -> None:
        self._store = store
        self._source = source
        self._timeout_ms = timeout_ms
        self._retained = retained
        self._clock = clock
        self._pending: EpochId | None = None
        self._completed: CompletedCheckpoint | None = None

    @property
    def stats(self) -> JsonObject | None:
        """Statistics of the last completed checkpoint."""
        return self._completed.stats if self._completed else None

    def trigger(self, epoch: EpochId, tasks: int, starts: JsonObject, segments: Iterable[str] = ()) -> None:
        """Open an epoch, before its offset is logged.

        An epoch that was opened before it and never came to be logged is subsumed: thrown away.

        Args:
            epoch: which.
            tasks: how many it has.
            starts: where its splits begin; `opened` returns it.
            segments: of found splits that it names; they stay as long as the epoch does.
        """
        if self._pending is not None and self._pending != epoch:
            self._store.delete_folder(self._pending.folder)
        # The record tells an epoch that no task has begun from one whose folder was lost (`_check_opened`).
        self._store.put_if_absent(
            f"{epoch.folder}/{_OPENED}",
            dumps({"places": tasks, "starts": starts, "segments": [*sorted(segments)]}).encode(),
        )
        self._pending = epoch

    def complete(self, epoch: EpochId, tasks: int) -> CompletedCheckpoint:
        """Return the results of an epoch whose batch is committed. Idempotent.

        Waits for tasks that are at work: a scan that was left early may still be publishing. The slot of a
        task that was never begun, or whose attempts all declined or died, is sealed; so is that of one which
        takes longer than the time-out. From then on no attempt can publish there.

        Args:
            epoch: which.
            tasks: how many it has.

        Raises:
            StateLocationError: the epoch's folder is not there, or a manifest is cut short.
        """
        if self._completed is None or self._completed.epoch != epoch:
            self._completed = self._collect(epoch, tasks)
            if self._pending == epoch:
                self._pending = None
            log.info("epoch %d is complete: %s", epoch.number, dumps(self._completed.stats))
        return self._completed

    def outdated(self, epoch: EpochId, oldest_needed: int) -> OutdatedEpochs | None:
        """Return the epochs of this query that are older than those to be kept, None if there are none.

        Where names that were written lately are not listed yet, or deleted ones still are, these are too few
        or none, and a later call has the rest.

        Args:
            epoch: the last completed one.
            oldest_needed: the number of the oldest epoch whose manifests still hold rows in flight;
                ``epoch``'s own if there is none.
        """
        keep_from = min(epoch.number - self._retained, oldest_needed)
        listed = self.epochs(epoch.query)
        old = [other for other in listed if other.number < keep_from]
        recent = [other for other in listed if other.number >= keep_from]
        outdated = OutdatedEpochs(epoch.query, keep_from, old, recent)
        # Without the oldest kept epoch the needs of the kept ones are not known.
        return outdated if old and outdated.oldest_kept else None

    def opened(self, epochs: Sequence[EpochId]) -> list[dict[str, Any]]:
        """Return the records of epochs since they were opened; none of epochs that are deleted.

        As given to `trigger`: ``starts``, ``segments``. Reads several at once: object stores answer late.
        """
        with ThreadPoolExecutor(_READERS, "headwater-epochs") as pool:
            records = pool.map(self._store.get, (f"{epoch.folder}/{_OPENED}" for epoch in epochs))
            return [json.loads(record) for record in records if record is not None]

    def prune(self, outdated: OutdatedEpochs) -> None:
        """Delete epochs, and the segments of found splits that no kept epoch names."""
        for epoch in outdated.epochs:
            self._store.delete_folder(epoch.folder)
        oldest = self.opened(outdated.oldest_kept)
        if oldest:
            # The oldest kept epoch names the segments that waited before it; later segments stay.
            folder = f"{outdated.query}/{SPLITS_FOLDER}"
            in_use = {segment for record in oldest for segment in record.get("segments", ())}
            self._store.delete_all(
                f"{folder}/{segment}"
                for segment in self._store.list(folder)
                if epoch_of(segment) < outdated.keep_from and segment not in in_use
            )

    def epochs(self, query: str) -> list[EpochId]:
        """Return the epochs of a query that the state location holds, oldest first."""
        return [
            EpochId(query, int(part[1]), part[2])
            for part in (name.split("-") for name in self._store.list(query))
            if len(part) == 3 and part[0] == "epoch"
        ]

    def _check_opened(self, epoch: EpochId, tasks: int, opened: bytes | None) -> None:
        if opened is None:
            raise StateLocationError(
                f"{self._store} does not hold epoch {epoch.number} ({epoch.folder}), which the checkpoint "
                "names: how far it was read is not known. Restore stateLocation from the backup that was "
                "taken with the checkpoint, or begin with a new checkpoint"
            )
        if json.loads(opened)["places"] != tasks:
            raise StateLocationError(
                f"{self._store} holds another epoch {epoch.number} than the checkpoint names ({epoch.folder})"
            )

    def _collect(self, epoch: EpochId, tasks: int) -> CompletedCheckpoint:
        began_ms = self._clock.monotonic_ms()
        slots = [TaskSlot(self._store, epoch.folder, number) for number in range(tasks)]
        watches = [ClaimWatch(slot, self._clock) for slot in slots]
        # Together with the manifests: object stores answer late.
        opened, *published = self._read(
            [f"{epoch.folder}/{_OPENED}", *(slot.manifest_name for slot in slots)]
        )
        self._check_opened(epoch, tasks, opened)
        manifests: dict[int, Manifest] = {}
        waiting = slots
        poll_ms = _FIRST_POLL_MS
        while True:
            # First the published manifests, then the attempts at work: an attempt that ends in between has
            # published, and sealing its slot then returns its manifest.
            for slot, data in zip(waiting, published, strict=True):
                if data is not None:
                    manifests[slot.number] = self._decoded(slot, data)
            expired = self._clock.monotonic_ms() - began_ms >= self._timeout_ms
            for slot, watch in zip(slots, watches, strict=True):
                if slot.number in manifests:
                    continue
                if expired:
                    self._warn_of_timeout(epoch, slot)
                if expired or not watch.at_work():
                    sealed = seal(slot, watch)
                    if sealed is not None:
                        manifests[slot.number] = self._decoded(slot, sealed)
            waited_ms = self._clock.monotonic_ms() - began_ms
            if len(manifests) == tasks:
                return CompletedCheckpoint(epoch, tuple(manifests[slot.number] for slot in slots), waited_ms)
            self._clock.wait(threading.Event(), poll_ms)
            poll_ms = min(2 * poll_ms, _MOST_POLL_MS)
            waiting = [slot for slot in slots if slot.number not in manifests]
            published = self._read([slot.manifest_name for slot in waiting])

    def _warn_of_timeout(self, epoch: EpochId, slot: TaskSlot) -> None:
        log.warning(
            "epoch %d: task %d did not publish within %d ms; its slot is sealed",
            epoch.number,
            slot.number,
            self._timeout_ms,
        )

    def _read(self, names: Sequence[str]) -> list[bytes | None]:
        """Return objects, None for those that are not there. Reads several at once."""
        if len(names) < 2:
            return [self._store.get(name) for name in names]
        with ThreadPoolExecutor(_READERS, "headwater-manifests") as pool:
            return list(pool.map(self._store.get, names))

    def _decoded(self, slot: TaskSlot, data: bytes) -> Manifest:
        return decode_manifest(data, self._source, f"{slot} in {self._store}")

"""The CheckpointCoordinator.

Opens epochs in the state location, collects their manifests, seals what nobody read, and throws away what is
old.
"""

from __future__ import annotations

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from headwater.connector.barrier.offsets import EpochId
from headwater.connector.barrier.pending_checkpoint import PendingCheckpoint
from headwater.core.clock import Clock
from headwater.core.errors import StateLocationError
from headwater.core.jsons import JsonObject, dumps
from headwater.core.source import Source
from headwater.core.state_store import StateStore
from headwater.readers.runtime.epoch.claims import ClaimWatch
from headwater.readers.runtime.epoch.manifests import SEALED, Manifest, decode_manifest
from headwater.readers.runtime.epoch.places import Place

__all__ = ["CheckpointCoordinator", "CheckpointStats", "CompletedCheckpoint"]

_FIRST_POLL_MS: Final = 10
_MOST_POLL_MS: Final = 500
_READERS: Final = 8
_OPENED: Final = "opened"
_MEASURES: Final = ("start_delay_ms", "alignment_ms", "in_flight_bytes", "snapshot_ms")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CheckpointStats:
    """What a completed checkpoint took (Flink's ``CompletedCheckpointStats``).

    Durations are those of the slowest place.

    Attributes:
        epoch: its number.
        places: how many tasks it had.
        not_run: how many of them nobody read.
        state_bytes: of all manifests.
        waited_ms: for manifests, on the driver.
        measures: ``start_delay_ms``, ``alignment_ms``, ``in_flight_bytes``, ``snapshot_ms``: the largest of
            any place.
    """

    epoch: int
    places: int
    not_run: int
    state_bytes: int
    waited_ms: int
    measures: JsonObject

    def to_json(self) -> JsonObject:
        """Return the statistics for the query's progress."""
        return {
            "epoch": self.epoch,
            "places": self.places,
            "not_run": self.not_run,
            "state_bytes": self.state_bytes,
            "waited_ms": self.waited_ms,
            **self.measures,
        }


@dataclass(frozen=True)
class CompletedCheckpoint:
    """What an epoch came to: one manifest a place, in order. The same for whoever asks, for ever."""

    epoch: EpochId
    manifests: tuple[Manifest, ...]
    stats: CheckpointStats


class CheckpointCoordinator:
    """One per query, on the driver; one thread at a time (Flink's ``CheckpointCoordinator``).

    A checkpoint's life: `trigger` opens the epoch; Spark logs the offset that names it, which is the barrier;
    tasks acknowledge by publishing manifests, or decline by giving up; Spark commits the batch; `complete`
    collects. Nothing that matters lives in this object: after a crash between any two steps another one comes
    to the same manifests.

    Args:
        store: the state location.
        source: knows its splits.
        timeout_ms: how long a place that is claimed, and whose batch is committed, may take to publish before
            it is sealed.
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
        self._store, self._source, self._clock = store, source, clock
        self._timeout_ms, self._retained = timeout_ms, retained
        self._pending: EpochId | None = None
        self._completed: CompletedCheckpoint | None = None

    @property
    def stats(self) -> CheckpointStats | None:
        """Statistics of the last completed checkpoint."""
        return self._completed.stats if self._completed else None

    def trigger(self, epoch: EpochId, places: int, starts: JsonObject) -> None:
        """Open an epoch, before its offset is logged.

        An epoch that was opened before it and never came to be logged is subsumed: thrown away.

        Args:
            epoch: which.
            places: how many tasks it has.
            starts: where its splits begin; `oldest_starts` returns it once all older epochs are deleted.
        """
        if self._pending is not None and self._pending != epoch:
            self._store.delete_folder(self._pending.folder)
        self._store.put_if_absent(
            f"{epoch.folder}/{_OPENED}", dumps({"places": places, "starts": starts}).encode()
        )
        self._pending = epoch

    def complete(self, epoch: EpochId, places: int) -> CompletedCheckpoint:
        """Return what an epoch came to, whose batch is committed. Idempotent.

        Waits for places where somebody is at work: a scan that was left early may still be publishing. A
        place that nobody claimed, or whose attempts all declined or died, is sealed; so is one that takes
        longer than the time-out. From then on nobody can publish there.

        Raises:
            StateLocationError: the epoch's folder is not there, or a manifest is cut short.
        """
        if self._completed is None or self._completed.epoch != epoch:
            self._check_opened(epoch, places)
            self._completed = self._collect(epoch, places)
            if self._pending == epoch:
                self._pending = None
            log.info("epoch %d is complete: %s", epoch.number, dumps(self._completed.stats.to_json()))
        return self._completed

    def prune(self, epoch: EpochId, oldest_needed: int) -> list[EpochId]:
        """Delete the epochs of this query that are older than those to be kept; return them.

        Args:
            epoch: the last completed one.
            oldest_needed: the number of the oldest epoch whose manifests still hold rows in flight;
                ``epoch``'s own if there is none.
        """
        keep_from = min(epoch.number - self._retained, oldest_needed)
        old = [found for found in self.epochs(epoch.query) if found.number < keep_from]
        for found in old:
            self._store.delete_folder(found.folder)
        return old

    def oldest_starts(self, query: str) -> JsonObject:
        """Return where the splits of the oldest epoch begin that is kept."""
        opened = self._store.get(f"{self.epochs(query)[0].folder}/{_OPENED}")
        starts: JsonObject = json.loads(opened)["starts"] if opened is not None else {}
        return starts

    def epochs(self, query: str) -> list[EpochId]:
        """Return the epochs of a query that the state location holds, oldest first."""
        parts = [name.split("-") for name in self._store.list(query)]
        return [
            EpochId(query, int(part[1]), part[2]) for part in parts if len(part) == 3 and part[0] == "epoch"
        ]

    def _check_opened(self, epoch: EpochId, places: int) -> None:
        opened = self._store.get(f"{epoch.folder}/{_OPENED}")
        if opened is None:
            raise StateLocationError(
                f"{self._store} does not hold epoch {epoch.number} ({epoch.folder}), which the checkpoint names: how far it was read is not known. "
                "Restore stateLocation from the backup that was taken with the checkpoint, or begin with a new checkpoint"
            )
        if json.loads(opened)["places"] != places:
            raise StateLocationError(
                f"{self._store} holds another epoch {epoch.number} than the checkpoint names ({epoch.folder})"
            )

    def _collect(self, epoch: EpochId, places: int) -> CompletedCheckpoint:
        began, never = self._clock.monotonic_ms(), threading.Event()
        at = [Place(self._store, epoch.folder, number) for number in range(places)]
        watches = {place.number: ClaimWatch(place, self._clock) for place in at}
        pending: PendingCheckpoint[Manifest] = PendingCheckpoint(places)
        poll_ms = _FIRST_POLL_MS
        while True:
            for number, found in self._manifests([at[number] for number in pending.missing]):
                pending.acknowledge(number, found)
            expired = self._clock.monotonic_ms() - began >= self._timeout_ms
            for number in pending.missing:
                if expired or not watches[number].at_work():
                    if expired:
                        log.warning(
                            "epoch %d: place %d did not publish within %d ms; it is sealed",
                            epoch.number,
                            number,
                            self._timeout_ms,
                        )
                    pending.acknowledge(number, self._decoded(at[number], at[number].publish(SEALED)))
            if pending.is_complete:
                manifests = tuple(pending.states[number] for number in range(places))
                return CompletedCheckpoint(
                    epoch, manifests, _stats(epoch, manifests, self._clock.monotonic_ms() - began)
                )
            self._clock.wait(never, poll_ms)
            poll_ms = min(2 * poll_ms, _MOST_POLL_MS)

    def _manifests(self, places: list[Place]) -> list[tuple[int, Manifest]]:
        """Read what is published, several at once: object stores answer late."""
        if len(places) < 2:
            found = [place.manifest() for place in places]
        else:
            with ThreadPoolExecutor(_READERS, "headwater-manifests") as pool:
                found = list(pool.map(Place.manifest, places))
        return [
            (place.number, self._decoded(place, data))
            for place, data in zip(places, found, strict=True)
            if data is not None
        ]

    def _decoded(self, place: Place, data: bytes) -> Manifest:
        return decode_manifest(
            data, self._source, f"place {place.number} of epoch {place.epoch} in {self._store}"
        )


def _stats(epoch: EpochId, manifests: tuple[Manifest, ...], waited_ms: int) -> CheckpointStats:
    measures: JsonObject = {}
    for name in _MEASURES:
        found = [value for manifest in manifests if isinstance(value := manifest.metrics.get(name), int)]
        if found:
            measures[name] = max(found)
    not_run = sum(manifest.state is None for manifest in manifests)
    return CheckpointStats(
        epoch.number,
        len(manifests),
        not_run,
        sum(manifest.size_bytes for manifest in manifests),
        waited_ms,
        measures,
    )

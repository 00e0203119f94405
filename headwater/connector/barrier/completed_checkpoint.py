"""What a checkpoint came to, and what it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.connector.barrier.offsets import EpochId
from headwater.core.jsons import JsonObject
from headwater.readers.runtime.epoch.manifests import Manifest

_MEASURES: Final = ("start_delay_ms", "alignment_ms", "in_flight_bytes", "snapshot_ms")


@dataclass(frozen=True)
class CheckpointStats:
    """What a completed checkpoint took (Flink's ``CompletedCheckpointStats``).

    Durations are those of the slowest task.

    Attributes:
        epoch: its number.
        tasks: how many it had.
        not_run: how many of them were not run.
        state_bytes: of all manifests.
        waited_ms: for manifests, on the driver.
        measures: ``start_delay_ms``, ``alignment_ms``, ``in_flight_bytes``, ``snapshot_ms``: the largest of
            any task.
    """

    epoch: int
    tasks: int
    not_run: int
    state_bytes: int
    waited_ms: int
    measures: JsonObject

    def to_json(self) -> JsonObject:
        """Return the statistics for the query's progress. ``places`` are its tasks."""
        return {
            "epoch": self.epoch,
            "places": self.tasks,
            "not_run": self.not_run,
            "state_bytes": self.state_bytes,
            "waited_ms": self.waited_ms,
            **self.measures,
        }


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
    def stats(self) -> CheckpointStats:
        """What it took."""
        measures: JsonObject = {}
        for name in _MEASURES:
            found = [
                value for manifest in self.manifests if isinstance(value := manifest.metrics.get(name), int)
            ]
            if found:
                measures[name] = max(found)
        return CheckpointStats(
            epoch=self.epoch.number,
            tasks=len(self.manifests),
            not_run=sum(manifest.state is None for manifest in self.manifests),
            state_bytes=sum(manifest.size_bytes for manifest in self.manifests),
            waited_ms=self.waited_ms,
            measures=measures,
        )

"""Reading an epoch again, exactly to the state that its first reading left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from headwater.core.epoch import EpochState, FoundSplit, InFlight
from headwater.core.errors import DataLossError
from headwater.core.jsons import JsonValue, dumps
from headwater.core.split import Path, SplitRange
from headwater.readers.runtime.partitions.ipc import read_batches

__all__ = ["Replay"]


class Replay:
    """Knows where each split stops, which of the restored rows were emitted, and which requests were answered.

    Args:
        source: its name, for errors.
        starts: where the epoch began.
        restored: what was in flight then.
        stop_at: the state at its end.
    """

    def __init__(
        self,
        source: str,
        starts: Sequence[SplitRange[Any, Any]],
        restored: Sequence[InFlight],
        stop_at: EpochState,
    ) -> None:
        self._source = source
        carried = {(held.path, dumps(held.start)) for held in restored}
        self._left = {(held.path, dumps(held.start)): held for held in stop_at.in_flight}
        self._stops: dict[Path, JsonValue] = {piece.split.path: piece.start for piece in starts}
        self._stops.update((p.split.path, p.position) for p in stop_at.progress)
        self._stops.update((found.split.path, found.start) for found in stop_at.found)
        self._stops.update(
            (held.path, held.start)
            for held in stop_at.in_flight
            if held.rows and (held.path, dumps(held.start)) not in carried
        )
        self._unanswered = Counter(dumps(request) for held in stop_at.in_flight for request in held.requests)

    def ranges(self, starts: Sequence[SplitRange[Any, Any]]) -> list[SplitRange[Any, Any]]:
        """Return what is to be read of the splits that the task was given, without those of which nothing was."""
        stops = self._stops
        return [
            SplitRange(p.split, p.start, stops[p.split.path])
            for p in starts
            if stops[p.split.path] != p.start
        ]

    def stop_of(self, found: FoundSplit) -> tuple[bool, JsonValue]:
        """Return whether a split that was found is to be read, and where it stops.

        None if it was read to its end.
        """
        path = found.split.path
        return path not in self._stops or self._stops[path] != found.start, self._stops.get(path)

    def is_at_stop(self, path: Path, position: JsonValue) -> bool:
        """Whether a split has been read as far as the first time.

        Raises:
            DataLossError: a record reaches across, where that can be told.
        """
        if path not in self._stops:
            return False
        stop = self._stops[path]
        if isinstance(stop, int) and isinstance(position, int) and position > stop:
            raise DataLossError(
                f"an epoch is read again, and a record reaches to {position}, across {stop}, where the first reading stopped",
                source=self._source,
                split="-".join(path),
                position=position,
            )
        return position == stop

    def check_end(self, path: Path, position: JsonValue, *, finished: bool) -> None:
        """A split has ended of itself.

        Raises:
            DataLossError: it was read further the first time.
        """
        if path in self._stops or not finished:
            raise DataLossError(
                f"an epoch is read again, and the split ends earlier than the first time, when it was read to "
                f"{dumps(self._stops[path]) if path in self._stops else 'its end'}",
                source=self._source,
                split="-".join(path),
                position=position,
            )

    def emitted_batches(self, restored: InFlight, batches: int) -> int:
        """Return how many of the restored batches were emitted the first time.

        What is left over is always the end.
        """
        left = self._left.get((restored.path, dumps(restored.start)))
        return batches - (len(read_batches(left.rows)) if left is not None else 0)

    def was_answered(self, request: JsonValue) -> bool:
        """Whether a request is to be made.

        Each that was left open is skipped once; equal ones are the same.
        """
        key = dumps(request)
        if self._unanswered[key] > 0:
            self._unanswered[key] -= 1
            return False
        return True

"""Where a second reading of an epoch stops: exactly at the state that the first one left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from headwater.core.epoch import EpochState, FoundSplit, InFlight
from headwater.core.errors import DataLossError
from headwater.core.jsons import JsonValue, dumps
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.batches import read_batches
from headwater.readers.runtime.epoch.in_flight import UnansweredRows, batches_with_calls, rows_of_splits


class Replay:
    """Knows where each split stops, which restored rows were emitted, and which calls were answered.

    Args:
        source: its name, for errors.
        starts: where the epoch began.
        restored: what was in flight then.
        stop_at: the state at its end.
    """

    def __init__(
        self,
        source: str,
        *,
        starts: Sequence[SplitRange[Any, Any]],
        restored: Sequence[InFlight],
        stop_at: EpochState,
    ) -> None:
        self._source = source
        self._starts = starts
        self._restored = rows_of_splits(restored)
        self._left = {_key(held): held for held in rows_of_splits(stop_at.in_flight)}
        self._unanswered = UnansweredRows(batches_with_calls(stop_at.in_flight))
        # Later lines overrule earlier ones. A split of which the state says nothing was not read; one that
        # has rows in flight was emitted up to the first of them, though its position is behind the last.
        self._stops: dict[SplitPath, JsonValue] = {piece.split.path: piece.start for piece in starts}
        self._stops.update((done.split.path, done.position) for done in stop_at.progress)
        self._stops.update((found.split.path, found.start) for found in stop_at.found)
        carried = {_key(held) for held in restored}
        self._stops.update(
            (held.path, held.start)
            for held in rows_of_splits(stop_at.in_flight)
            # Rows that were restored and not emitted say nothing of what was read in this epoch.
            if _key(held) not in carried
        )

    def ranges(self) -> list[SplitRange[Any, Any]]:
        """Return what is to be read of the splits that the task was given.

        Splits of which nothing was read are left out.
        """
        stops = self._stops
        return [
            SplitRange(piece.split, piece.start, stops[piece.split.path])
            for piece in self._starts
            if stops[piece.split.path] != piece.start
        ]

    def restored_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the restored rows that the first reading emitted. What it left over is always the end."""
        for held in self._restored:
            batches = read_batches(held.rows)
            left = self._left.get(_key(held))
            left_over = 0 if left is None else len(read_batches(left.rows))
            yield from batches[: len(batches) - left_over]

    def stop_of(self, found: FoundSplit) -> tuple[bool, JsonValue]:
        """Return whether a split that was found is to be read, and where it stops.

        The stop is None for a split that was read to its end.
        """
        path = found.split.path
        return path not in self._stops or self._stops[path] != found.start, self._stops.get(path)

    def is_at_stop(self, path: SplitPath, position: JsonValue) -> bool:
        """Whether a split has been read as far as the first time.

        Raises:
            DataLossError: a record reaches across the stop, where that can be told.
        """
        if path not in self._stops:
            return False
        stop = self._stops[path]
        if isinstance(stop, int) and isinstance(position, int) and position > stop:
            raise DataLossError(
                f"an epoch is read again, and a record reaches to {position}, across {stop}, where the first "
                "reading stopped",
                source=self._source,
                split="-".join(path),
                position=position,
            )
        return position == stop

    def check_end(self, path: SplitPath, position: JsonValue, *, finished: bool) -> None:
        """Accept that a split has ended by itself.

        Raises:
            DataLossError: it was read further the first time.
        """
        if path in self._stops or not finished:
            read_to = dumps(self._stops[path]) if path in self._stops else "its end"
            raise DataLossError(
                "an epoch is read again, and the split ends earlier than the first time, when it was read to "
                f"{read_to}",
                source=self._source,
                split="-".join(path),
                position=position,
            )

    def answered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch about which calls are to be asked again.

        Each row that the first reading left unanswered is left out, once. Equal rows are the same.
        """
        return self._unanswered.left_out(batch)


def _key(held: InFlight) -> tuple[SplitPath, str]:
    return held.path, dumps(held.start)

"""Found splits that wait, those of many small segments in one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from headwater.connector.barrier.offsets import EpochId
from headwater.core.barrier_source import BarrierSource
from headwater.core.epoch import EpochState, WaitingSplits
from headwater.core.state_store import StateStore
from headwater.readers.runtime.epoch.state_parts import SplitSegments, StateParts

_SMALL: Final = 1_000
_MOST_SMALL: Final = 64
"""Of pieces with fewer splits than the one, no more than the other are named by an offset."""
_MERGED: Final = 99_999
"""Stands for the driver in the names of segments, where others have the number of their task."""
_READERS: Final = 8


def merged(
    source: BarrierSource[Any, Any],
    store: StateStore,
    epoch: EpochId,
    waiting: tuple[WaitingSplits, ...],
    most_small: int,
) -> tuple[WaitingSplits, ...]:
    """Return the found splits that wait, those of many small pieces in a new segment.

    Each task leaves a piece in each epoch: they are merged before the offset has too many names. A crash
    changes nothing: the same splits are the same segment.

    Args:
        source: whose splits these are.
        store: the state location.
        epoch: after which they wait.
        waiting: all of them.
        most_small: so many small pieces are few, if that is more than the usual number.
    """
    small = [piece for piece in waiting if len(piece) < _SMALL]
    if len(small) <= max(_MOST_SMALL, most_small):
        return waiting
    segments = SplitSegments(source, epoch.query, store)
    # Several at once: object stores answer late.
    with ThreadPoolExecutor(_READERS, "headwater-segments") as pool:
        found = [split for splits in pool.map(segments.read, small) for split in splits]
    parts = StateParts(source, epoch.folder, _MERGED)
    whole = parts.put_aside(EpochState(found=tuple(found)), store)
    return (*(piece for piece in waiting if len(piece) >= _SMALL), *whole.waiting)

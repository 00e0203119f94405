"""The backlog of a batch, and at which time its records were written as far as it was looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headwater.core.split import SplitPath
from headwater.enumerators.event_time.time_index import TimeSpan

Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Backlog:
    """The backlog of each split, with the limits of a batch. Immutable: the arrays are not written to.

    Attributes:
        paths: the splits that have something left.
        starts: the next record of each.
        ends: where each ends now.
        row_bytes: about how many bytes a record of each has.
        max_rows: the most records of a batch; None for any number.
        max_bytes: the most bytes of a batch; None for any number.
        caps: limits of rows of some of the splits: which ones, as a mask, and how many.
    """

    paths: tuple[SplitPath, ...]
    starts: Offsets
    ends: Offsets
    row_bytes: Offsets
    max_rows: int | None
    max_bytes: int | None
    caps: tuple[tuple[npt.NDArray[np.bool_], int], ...] = ()

    def load(self, ends: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> float:
        """Return how full a batch to these ends is: 1 is as much as the limits allow."""
        rows = ends - self.starts
        load = 0.0
        if self.max_rows is not None:
            load = float(rows.sum()) / self.max_rows
        if self.max_bytes is not None:
            load = max(load, float((rows * self.row_bytes).sum()) / self.max_bytes)
        return max([load, *(float(rows[mask].sum()) / most for mask, most in self.caps)])


_HALVINGS = 50
"""Enough to find a millisecond in ten thousand years."""


@dataclass(frozen=True)
class TimePoint:
    """A time, and the first record of each split at or after it.

    Attributes:
        time_ms: since 1970.
        ends: between the backlog's starts and ends.
        load: how full a batch to there is.
    """

    time_ms: int
    ends: Offsets
    load: float


def time_for(
    backlog: Backlog, low: TimePoint, high: TimePoint, load: float, spans: Mapping[SplitPath, TimeSpan]
) -> int:
    """Return at about which time between two knots a batch would be so full.

    Between the two the records of a split are taken to lie evenly, as far as its own span reaches.

    Args:
        backlog: of the batch.
        low: where a batch is less full than asked.
        high: where it is more full.
        load: how full it is to be.
        spans: of splits of which it is known.
    """
    begins, width = _spreads(backlog, low, high, spans)
    moved = high.ends - low.ends
    below = float(low.time_ms)
    above = float(high.time_ms)
    for _ in range(_HALVINGS):
        if above - below <= 1:
            break
        middle = (below + above) / 2
        share = np.clip((middle - begins) / width, 0.0, 1.0)
        if backlog.load(low.ends + moved * share) < load:
            below = middle
        else:
            above = middle
    return min(max(int(below), low.time_ms + 1), high.time_ms - 1)


def _spreads(
    backlog: Backlog, low: TimePoint, high: TimePoint, spans: Mapping[SplitPath, TimeSpan]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return from when on, and over how long, the records of each split lie between two knots."""
    known_spans = [spans.get(path) for path in backlog.paths]
    begins = np.array(
        [
            low.time_ms if span is None else _time_of(int(at), int(end), span)
            for span, at, end in zip(known_spans, low.ends, backlog.ends, strict=True)
        ],
        dtype=np.float64,
    )
    # A record at the last time is before the first time after it.
    stops = np.array(
        [high.time_ms if span is None else span.last_ms + 1 for span in known_spans], dtype=np.float64
    )
    begins = np.clip(begins, low.time_ms, high.time_ms)
    stops = np.clip(stops, low.time_ms, high.time_ms)
    return begins, np.maximum(stops - begins, 1.0)


def _time_of(position: int, end: int, span: TimeSpan) -> float:
    """Return about when a record was made, if all of the split were made at an even pace."""
    share = (position - span.first) / max(1, end - span.first)
    return span.first_ms + (span.last_ms - span.first_ms) * min(1.0, max(0.0, share))

"""What is left to read, and how much of it a batch may have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headwater.core.split import SplitPath

Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Backlog:
    """What each split has left, with the limits of a batch. Immutable: the arrays are not written to.

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

"""Which rows of a batch lie on the side of the seam that is read."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import SourceError
from headwater.enumerators.hybrid.seam import Seam


class SeamFilter:
    """Keeps the rows of one side of the seam. Used on the task's thread.

    Args:
        seam: where it is.
        after: whether the rows at and after it are kept; else those before.
        part: the name of the part, for errors.
    """

    def __init__(self, seam: Seam, *, after: bool, part: str) -> None:
        self._column = seam.column
        self._time_us = seam.time_us
        self._compare = pc.greater_equal if after else pc.less
        self._part = part

    def kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of this side; the batch itself if that is all.

        Raises:
            SourceError: a row has no time: neither side would have it, or both.
        """
        times = batch.column(self._column)
        if times.null_count:
            raise SourceError(
                f"{times.null_count} rows have no {self._column!r}, so the seam cannot decide which part they "
                "belong to: a row that is in one part only needs a time",
                source=self._part,
            )
        seam = pa.scalar(self._time_us, pa.timestamp("us", tz="UTC")).cast(times.type)
        mask = self._compare(times, seam)
        return batch if mask.true_count == len(mask) else batch.filter(mask)

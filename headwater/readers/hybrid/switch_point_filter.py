"""Which rows of a batch lie on the side of the seam that is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import OptionError, SourceError
from headwater.core.planned_source import EndPositions
from headwater.enumerators.hybrid.switch_point import PositionSwitchPoint, SwitchPoint, TimeSwitchPoint


class SwitchPointFilter(ABC):
    """Keeps the rows of one side of the seam. Used on the task's thread."""

    def kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of this side; the batch itself if that is all.

        Raises:
            SourceError: a row does not say on which side it is: neither side would have it, or both.
        """
        mask = self._mask(batch)
        return batch if mask.true_count == len(mask) else batch.filter(mask)

    @abstractmethod
    def _mask(self, batch: pa.RecordBatch) -> pa.BooleanArray: ...


class TimeFilter(SwitchPointFilter):
    """By the time of each row.

    Args:
        seam: where it is.
        after: whether the rows at and after it are kept; else those before.
        part: the name of the part, for errors.
    """

    def __init__(self, seam: TimeSwitchPoint, *, after: bool, part: str) -> None:
        self._seam = seam
        self._compare: Any = pc.greater_equal if after else pc.less
        self._part = part

    def _mask(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        times: Any = batch.column(self._seam.column)
        if times.null_count:
            raise SourceError(
                f"{times.null_count} rows have no {self._seam.column!r}, so the seam cannot decide which "
                "part they belong to (option 'seamColumn'): give them a time, or take another column",
                source=f"hybrid, part {self._part}",
            )
        # As numbers: a time has no zone, or another one, in some parts. Parts of a microsecond do not decide:
        # Spark, and so a part that has its rows from it, has none.
        at_us = times.cast(pa.timestamp("us", times.type.tz), safe=False).cast(pa.int64())
        mask: pa.BooleanArray = self._compare(at_us, pa.scalar(self._seam.time_us, pa.int64()))
        return mask


class PositionFilter(SwitchPointFilter):
    """By the position of each row: rows of the history that the last part begins with are left out.

    Args:
        positions: where the last part begins.
        part: the name of the part, for errors.
    """

    def __init__(self, positions: EndPositions, *, part: str) -> None:
        self._positions = positions
        self._part = part

    def kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        without = batch.column("offset").null_count
        if without:
            raise SourceError(
                f"{without} rows have no 'offset', so the seam cannot decide which part they belong to "
                "(option 'seamOffsets')",
                source=f"hybrid, part {self._part}",
            )
        return super().kept(batch)

    def _mask(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        if "topic" in batch.schema.names:
            topics: Any = batch.column("topic").cast(pa.string())
        else:
            topics = pa.repeat(pa.scalar(next(iter(self._positions)), pa.string()), batch.num_rows)
        partitions = batch.column("partition").cast(pa.int64())
        ends: Any = pa.nulls(batch.num_rows, pa.int64())
        for topic, offsets in self._positions.items():
            places = pc.index_in(partitions, pa.array(list(map(int, offsets)), pa.int64()))
            topic_ends = pa.array(offsets.values(), pa.int64()).take(places)
            ends = pc.if_else(pc.equal(topics, pa.scalar(topic)), topic_ends, ends)
        if ends.null_count:
            unknown = pc.index(ends.is_null(), pa.scalar(True)).as_py()
            raise SourceError(
                f"a row of topic {topics[unknown]}, partition {partitions[unknown]} is on neither side: "
                "option 'seamOffsets' does not name it",
                source=f"hybrid, part {self._part}",
            )
        mask: pa.BooleanArray = pc.less(batch.column("offset").cast(pa.int64()), ends)
        return mask


def filter_of(
    seam: SwitchPoint | None, schema: pa.Schema, *, is_last: bool, part: str
) -> SwitchPointFilter | None:
    """Return what keeps the rows of a part; None if all of them count.

    Args:
        seam: None: every row of every part counts.
        schema: of the rows.
        is_last: whether this is the last part of the chain.
        part: its name.

    Raises:
        OptionError: positions of several topics, and rows do not tell theirs.
    """
    if isinstance(seam, TimeSwitchPoint):
        return TimeFilter(seam, after=is_last, part=part)
    if (
        not isinstance(seam, PositionSwitchPoint)
        or seam.positions is None
        or is_last
        or not has_positions(schema)
    ):
        return None
    if len(seam.positions) > 1 and "topic" not in schema.names:
        raise OptionError(
            f"names several topics, and the rows of part {part!r} have no column 'topic'",
            option="seamOffsets",
        )
    return PositionFilter(seam.positions, part=part)


def has_positions(schema: pa.Schema) -> bool:
    """Whether rows say which record of a topic they were."""
    return {"partition", "offset"} <= set(schema.names)

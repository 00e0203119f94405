"""A batch that another source logged and did not commit: it is read again exactly as it was logged."""

from __future__ import annotations

from dataclasses import replace

from headwater.connector.planned.offsets import PlannedOffset
from headwater.core.errors import OffsetError
from headwater.core.planned_source import PlannedSource
from headwater.core.reader import RecordT
from headwater.core.split import PositionT, SplitT


def adopted_batch(
    source: PlannedSource[RecordT, SplitT, PositionT],
    before: PlannedOffset[SplitT, PositionT] | None,
    after: PlannedOffset[SplitT, PositionT],
) -> PlannedOffset[SplitT, PositionT]:
    """Return the end of an adopted batch with its starts, which the other source did not log.

    Args:
        source: what is read.
        before: the offset before the batch; None if the log has none.
        after: the adopted offset.

    Raises:
        OffsetError: the batch is the source's first one: where it begins is not in the offset log.
        DataLossError: see `PlannedSource.adopted_starts`.
    """
    if before is None:
        raise OffsetError(
            "the checkpoint holds the first batch of another source, which is logged and not committed. "
            "Where it begins stands in files of that source, which headwater cannot see. Start the query "
            "once more with that source, for example with trigger(availableNow=True), let it commit that, "
            "and change the source then"
        )
    return replace(after, starts=source.adopted_starts(before.positions, after.positions))

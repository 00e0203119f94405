"""Reads a range of the log from durable segments: the slot is not asked."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from headwater.core.errors import OffsetError
from headwater.core.reader import RecordsWithSplitIds, SplitReader
from headwater.core.split import SplitRange
from headwater.core.state_store import StateStore
from headwater.enumerators.postgres.settings import SOURCE
from headwater.enumerators.postgres.split import WalSplit, lsn_text
from headwater.readers.postgres.wal_chunk import WalChunk, WalProgress
from headwater.readers.postgres.wal_segments import WalSegment, WalSegments
from headwater.readers.runtime.partitions.segment_view import SegmentLogView


class StagedWalReader(SplitReader[WalChunk, WalSplit, int]):
    """Fetches the messages of transactions in ranges of the log, a segment at a time.

    Segments never change: a range gives the same messages however often it is read.

    Args:
        store: the state location.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._ranges: list[SplitRange[WalSplit, int]] = []
        self._range: Generator[WalChunk, None, None] | None = None

    def handle_splits_changes(self, added: Sequence[SplitRange[WalSplit, int]]) -> None:
        self._ranges += added

    def fetch(self) -> RecordsWithSplitIds[WalChunk]:
        if not self._ranges:
            return RecordsWithSplitIds()
        assigned = self._ranges[0]
        if self._range is None:
            self._range = self._chunks(assigned)
        path = assigned.split.path
        chunk = next(self._range, None)
        if chunk is not None:
            return RecordsWithSplitIds({path: [chunk]})
        self._range = None
        del self._ranges[0]
        return RecordsWithSplitIds(finished=frozenset([path]))

    def close(self) -> None:
        if self._range is not None:
            self._range.close()

    def _chunks(self, assigned: SplitRange[WalSplit, int]) -> Generator[WalChunk, None, None]:
        """Yield the messages of a range, after the forms of tables that hold at its first segment."""
        if assigned.start >= assigned.stop:
            return
        split = assigned.split
        number = WalSegments(self._store, split).number_at(assigned.start)
        until = assigned.start
        if number is not None:
            progress = WalProgress(assigned.start, assigned.stop)
            view = SegmentLogView(self._store, split.log, number, None)
            for at, batches in view.segments():
                segment = WalSegment.decode(batches)
                if at == number:
                    yield WalChunk.of(segment.forms, segment.head.newest_xid)
                until = segment.head.until
                count = progress.add(segment.chunk)
                if count:
                    yield segment.chunk.up_to(count)
                if until >= assigned.stop:
                    return
        raise OffsetError(
            f"the log in {split.log} of the stateLocation ends at {lsn_text(until)}, and the batch reads up "
            f"to {lsn_text(assigned.stop)}: segments were deleted, or option stateLocation is not the one "
            "that the query began with. Restore it, or begin with a new checkpointLocation and slot "
            f"[source {SOURCE}, split {split.split_id}, position {lsn_text(assigned.start)}]"
        )

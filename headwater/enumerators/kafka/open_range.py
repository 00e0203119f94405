"""Ranges of a batch read whose ends are found when they are read."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.split import SplitRange
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST
from headwater.enumerators.kafka.split import KafkaPartitionSplit


@dataclass(frozen=True, slots=True)
class OpenRange(SplitRange[KafkaPartitionSplit, int]):
    """A range of a batch read, or a piece of one, which the user left open at its beginning, its end or both.

    An open end is bound when a task opens the range, as in Spark's own source
    (``KafkaBatchPartitionReader.resolveRange``): a DataFrame that is read again shows what is there then.
    Borders between pieces stay as they were planned. Of a range with an open beginning the split names no
    topic id: a topic that was created anew is read as it is.

    Attributes:
        from_earliest: whether the whole range begins at the earliest record; ``start`` is `EARLIEST` in its
            first piece.
        to_latest: whether the whole range ends at the latest record; ``stop`` is `LATEST` in its last piece.
    """

    from_earliest: bool
    to_latest: bool

    @property
    def shown_ends(self) -> tuple[str, str]:
        return (
            "earliest" if self.start == EARLIEST else str(self.start),
            "latest" if self.stop == LATEST else str(self.stop),
        )

    def bounds(self, earliest: int | None, latest: int | None) -> tuple[int, int]:
        """Return where to start and to stop, given where the log begins and ends now.

        A border between two pieces moves where the log now begins after it, or ends before it. So together
        the pieces of a range read what a single one would. The first is not before the second where nothing
        is left.

        Args:
            earliest: needed if ``from_earliest``.
            latest: needed if ``to_latest``.
        """
        start = self.start
        stop = self.stop
        if self.from_earliest:
            assert earliest is not None
            start = max(start, earliest)
        if self.to_latest:
            assert latest is not None
            stop = latest if stop == LATEST else min(stop, latest)
        return start, stop

"""The log of a slot, kept in the state location: its contract, as enumerators use it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from headwater.enumerators.postgres.split import Commit, WalSplit
from headwater.enumerators.postgres.stream_settings import StreamSettings


@dataclass(frozen=True, slots=True)
class LogEnd:
    """How far a log goes, in one moment.

    Attributes:
        until: all transactions before it are durable, whole.
        last: the last of these.
        timeline: of the server that wrote them.
        coming: the first commit that has come, or begun to come, and is not durable yet; None for none.
    """

    until: int
    last: int
    timeline: int
    coming: Commit | None = None


class StagedLog(ABC):
    """Whole transactions of a slot in durable segments: written by one thread of this process, read by tasks.

    The slot is confirmed only as far as segments are durable, and the split that names the log is logged. So
    the server keeps no WAL for a query that is slow, or reads the rows that are there; and the WAL that it
    has removed is in the log.

    One driver writes a log: one that begins refuses the one before, whose next segment finds its number taken
    (`headwater.readers.runtime.partitions.segment_log.SegmentLog`).

    Every method may be called by any thread. Those that block are for the worker thread.
    """

    @abstractmethod
    def start(self, split: WalSplit, position: int) -> str:
        """Take the log of a split over, and receive from its end on; return its folder. Blocks.

        A split without a log begins one of its own at the position. Only the first call does anything: until
        an offset names that log, later ones return it again.

        Raises:
            StateLocationError: the state location cannot be reached.
        """

    @abstractmethod
    def confirm(self) -> None:
        """Confirm the slot from now on: an offset names the log, and goes on with it after a crash.

        May come before `start`, and again.
        """

    @abstractmethod
    def end(self) -> LogEnd:
        """Return how far the log goes.

        Raises:
            HeadwaterError: why nothing is received any more.
        """

    @abstractmethod
    def reach(self, lsn: int) -> LogEnd:
        """Return how far the log goes once it has everything before an LSN. Blocks.

        Raises:
            HeadwaterError: why nothing is received any more.
        """

    @abstractmethod
    def first(self, position: int) -> Commit | None:
        """Return the commit of the first whole transaction at or behind a position; None for none. Blocks."""

    @abstractmethod
    def release(self, position: int) -> None:
        """Delete segments that have nothing at or behind a position. Blocks."""

    @abstractmethod
    def close(self) -> None:
        """Receive no more. Segments stay; a later call of `start` is of another object."""


def check_transport(split: WalSplit, log: StagedLog | None) -> None:
    """Refuse to read the slot of a query that has a log: the slot has nothing of that log any more.

    Raises:
        OptionError: the query is not to use its log.
    """
    if split.log and log is None:
        raise StreamSettings.refusal(
            "transport",
            f"is direct, and the query has read slot {split.slot!r} into stateLocation: what is there, the "
            "slot does not have any more. Set transport=staged with the stateLocation of the query, or begin "
            "with a new checkpointLocation and slot",
        )

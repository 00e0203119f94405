"""What travels among the buffers of a subpartition and counts no bytes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CheckpointBarrier", "EndOfPartition", "Event"]


class Event:
    """Base of all events. They keep their place among the buffers, unless they are said to overtake."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class EndOfPartition(Event):
    """The last element of a subpartition."""


@dataclass(frozen=True, slots=True)
class CheckpointBarrier(Event):
    """What came before it belongs to this epoch, what comes after it to the next.

    Attributes:
        triggered_ms: the monotonic time at which the epoch was cut.
    """

    triggered_ms: int

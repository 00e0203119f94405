"""Elements of a subpartition that are no data. They weigh nothing."""

from __future__ import annotations

from dataclasses import dataclass


class PartitionEvent:
    """Base of all events. An event keeps its place among the buffers, unless it is made to overtake them."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class EndOfPartition(PartitionEvent):
    """The last element of a subpartition."""


@dataclass(frozen=True, slots=True)
class CheckpointBarrier(PartitionEvent):
    """The cut: what came before it belongs to this epoch, what comes after it to the next.

    Attributes:
        triggered_ms: the monotonic time at which the epoch was cut.
    """

    triggered_ms: int

"""A checkpoint on its way to completion (Flink's ``PendingCheckpoint``)."""

from __future__ import annotations

import enum
from typing import Generic, TypeVar

__all__ = ["Acknowledgement", "PendingCheckpoint"]

StateT = TypeVar("StateT")


class Acknowledgement(enum.Enum):
    """What became of an acknowledgement (Flink's ``TaskAcknowledgeResult``)."""

    SUCCESS = "success"
    DUPLICATE = "duplicate"
    """The place has acknowledged before: the first one counts."""
    UNKNOWN = "unknown"
    """The epoch has no such place."""
    DISCARDED = "discarded"
    """The checkpoint is not pending any more: complete, subsumed or given up."""


class PendingCheckpoint(Generic[StateT]):
    """Collects one acknowledgement a place.

    Belongs to one thread; whatever comes late or twice is answered, never raised.

    Args:
        places: how many tasks the epoch has.
    """

    def __init__(self, places: int) -> None:
        self._open = set(range(places))
        self._acknowledged: dict[int, StateT] = {}
        self._discarded = False

    @property
    def missing(self) -> list[int]:
        """Places that have not acknowledged, in order."""
        return sorted(self._open)

    @property
    def is_complete(self) -> bool:
        """Whether every place has acknowledged.

        A checkpoint without places is complete from the beginning.
        """
        return not self._open and not self._discarded

    @property
    def states(self) -> dict[int, StateT]:
        """What was acknowledged, by place."""
        return dict(self._acknowledged)

    def acknowledge(self, place: int, state: StateT) -> Acknowledgement:
        """Take a place's state."""
        if self._discarded:
            return Acknowledgement.DISCARDED
        if place in self._acknowledged:
            return Acknowledgement.DUPLICATE
        if place not in self._open:
            return Acknowledgement.UNKNOWN
        self._open.remove(place)
        self._acknowledged[place] = state
        return Acknowledgement.SUCCESS

    def discard(self) -> None:
        """Give the checkpoint up, and what it has collected with it. Again and again if need be."""
        self._discarded = True
        self._acknowledged.clear()

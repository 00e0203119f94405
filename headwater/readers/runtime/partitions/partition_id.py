"""Names of result partitions."""

from __future__ import annotations

import enum
from dataclasses import dataclass

__all__ = ["ResultPartitionId", "ResultPartitionLocation", "ResultPartitionType"]


class ResultPartitionType(enum.Enum):
    """How a partition is produced and read (Flink's ``ResultPartitionType``)."""

    PIPELINED = "pipelined"
    """In memory, bounded: producers wait. Read once, while it is produced."""

    BLOCKING = "blocking"
    """Not bounded: over the budget it goes to a file. Read when it is finished, by any number."""

    PIPELINED_PERSISTENT = "pipelined-persistent"
    """Numbered segments in a state store, kept from checkpoint to checkpoint.

    Read while it is produced, by any process, after any checkpoint
    that is not released."""


class ResultPartitionLocation(enum.Enum):
    """Where a consumer finds a partition (Flink's ``ResultPartitionLocation``)."""

    LOCAL = "local"
    """In this process."""

    REMOTE = "remote"
    """In a state store that this process reaches."""

    UNKNOWN = "unknown"
    """Not produced yet, or released."""


@dataclass(frozen=True, slots=True)
class ResultPartitionId:
    """Which partition, produced by which attempt.

    A task that is tried again never reads what the dead attempt left.

    Attributes:
        partition: what is produced, for example ``epoch-12/task-3``.
        attempt: who produces it, unique among all attempts.
    """

    partition: str
    attempt: str

    def __str__(self) -> str:
        return f"{self.partition}@{self.attempt}"

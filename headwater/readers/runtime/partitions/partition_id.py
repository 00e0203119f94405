"""Names and kinds of result partitions."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class ResultPartitionType(enum.Enum):
    """How a partition is produced and read (Flink's ``ResultPartitionType``)."""

    PIPELINED = "pipelined"
    """In memory and bounded: producers wait. Read once, while it is produced."""

    BLOCKING = "blocking"
    """Not bounded: over the budget it goes to a file. Read when it is finished, by any number of readers."""

    PIPELINED_PERSISTENT = "pipelined-persistent"
    """Numbered segments in a state store, kept from checkpoint to checkpoint.

    Read while it is produced, by any process, from any checkpoint on that is not released.
    """


@dataclass(frozen=True, slots=True)
class ResultPartitionId:
    """Which partition, produced by which attempt.

    The attempt is part of the name, so a task that is tried again never reads what the dead attempt left.

    Attributes:
        partition: what is produced, for example ``epoch-12/task-3``.
        attempt: who produces it, unique among all attempts.
    """

    partition: str
    attempt: str

    def __str__(self) -> str:
        return f"{self.partition}@{self.attempt}"

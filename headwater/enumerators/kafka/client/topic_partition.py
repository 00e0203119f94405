"""How a place in Kafka is named: a partition, and the offsets that stand for its ends. Needs no library."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EARLIEST", "LATEST", "TopicPartition"]

EARLIEST = -2
"""The first record that is still there."""

LATEST = -1
"""The offset that the next record will get; with read_committed the last stable offset.

The first record of the oldest open transaction.
"""


class TopicPartition(NamedTuple):
    """A partition of a topic, by name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

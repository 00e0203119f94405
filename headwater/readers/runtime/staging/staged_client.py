"""The outside of a staged source: delivers once, and forgets what was acknowledged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import pyarrow as pa

from headwater.core.split import Split

__all__ = ["Delivery", "StagedClient"]

TokenT = TypeVar("TokenT")


@dataclass(frozen=True)
class Delivery(Generic[TokenT]):
    """Some messages that came together.

    Attributes:
        rows: one for each message.
        keys: of each message, by which a second delivery of it is told; None if there is none.
        tokens: by which each is acknowledged.
    """

    rows: pa.RecordBatch
    keys: Sequence[bytes | None]
    tokens: Sequence[TokenT]


class StagedClient(ABC, Generic[TokenT]):
    """A connection to a queue that keeps what was delivered until it is acknowledged, and delivers it again to whoever connects next.

    One per split and task. Every method but `wake_up` runs on one thread.
    """

    @abstractmethod
    def open(self, split: Split) -> None:
        """Connect.

        Called once, before anything else. A connection of an earlier attempt is to lose its right to the
        queue by this.

        Raises:
            SourceError: the outside does not let us in.
        """

    @abstractmethod
    def poll(self, timeout_ms: int, most: int) -> Delivery[TokenT] | None:
        """Return the next messages, at most so many; None if none came in time, or after `wake_up`.

        Nothing is acknowledged by this.

        Raises:
            TransientSourceError: the connection is lost. Spark retries the task.
        """

    @abstractmethod
    def acknowledge(self, tokens: Sequence[TokenT]) -> None:
        """Let the outside forget messages: they are durable here.

        Must not raise if the connection is lost: then they come again.
        """

    def wake_up(self) -> None:
        """Make a blocked `poll` return soon. Other threads call this."""

    @abstractmethod
    def close(self) -> None:
        """Disconnect, without giving up the queue. What was not acknowledged comes again. Called once."""

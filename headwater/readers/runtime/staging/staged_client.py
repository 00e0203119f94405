"""The outside of a staged source: a queue that forgets acknowledged messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from headwater.core.errors import ContractError
from headwater.core.split import Split

if TYPE_CHECKING:
    import pyarrow as pa

TokenT = TypeVar("TokenT")


@dataclass(frozen=True)
class Delivery(Generic[TokenT]):
    """Some messages that came together.

    Attributes:
        rows: one for each message.
        keys: of each message, by which a second delivery of it is recognized; None for a message without a
            key.
        tokens: by which each is acknowledged.
        loss: how a queue has lost messages, for logs; then there are no rows. None: it has lost none.
    """

    rows: pa.RecordBatch
    keys: Sequence[bytes | None]
    tokens: Sequence[TokenT]
    loss: str | None = None

    def __post_init__(self) -> None:
        counts = self.rows.num_rows, len(self.keys), len(self.tokens)
        if len(set(counts)) > 1:
            raise ContractError(
                "Delivery: each message has a row, a key and a token; there are {} rows, {} keys and {} "
                "tokens".format(*counts)
            )


class StagedClient(ABC, Generic[TokenT]):
    """A connection to a queue that keeps messages until they are acknowledged.

    Messages that were not acknowledged are delivered again to the next connection. Made by the receiver of a
    split, in its process, once for each connection. Every method but `wake_up` runs on one thread.

    Life: `open` once -> `loss` and `begin` once -> `poll` and `acknowledge` in turns -> `close` once, or
    `retire` in its place. A process that is killed closes nothing.

    A ``ConnectionError`` and a ``TimeoutError`` of any method count as a `TransientSourceError`; other errors
    that are no `HeadwaterError` end the query.
    """

    @abstractmethod
    def open(self, split: Split) -> None:
        """Connect.

        Called once, before anything else. By this an earlier connection loses its right to the queue: a
        message that is acknowledged over it from now on has no effect. Exactly once rests on that.

        Raises:
            TransientSourceError: the outside is away. The receiver tries again later, with a new connection.
            SourceError: the outside refuses the connection.
        """

    def loss(self, *, has_staged: bool) -> Delivery[TokenT] | None:
        """Return a delivery without rows if the outside has lost the queue, and messages with it.

        Called once, between `open` and `begin`. The delivery is in the log before `begin` is called, and the
        query counts it. A client that dies in between says it again. The default loses nothing.

        Args:
            has_staged: whether messages of this queue were staged before, for the same query.

        Raises:
            DataLossError: a loss is to end the query.
        """
        return None

    def begin(self) -> None:
        """Change the subscription of the queue, if necessary.

        Called once, after `open`, when it is certain that every later connection is opened after this one: so
        the last one that changes the queue is the one that is to. The default does nothing.

        Raises:
            SourceError: as `open`.
        """

    @abstractmethod
    def poll(self, timeout_ms: int, most: int) -> Delivery[TokenT] | None:
        """Return the next messages, at most ``most``; None if none came in time, or after `wake_up`.

        This acknowledges nothing.

        Raises:
            TransientSourceError: the connection is lost. The receiver makes a new one.
            QueueTakenError: because another one has the queue now.
        """

    @abstractmethod
    def acknowledge(self, tokens: Sequence[TokenT]) -> None:
        """Let the outside forget messages: they are durable in the segment log.

        Must not raise if the connection is lost: then they are delivered again, and dropped by their keys.
        """

    def wake_up(self) -> None:
        """Make a blocked `poll` return soon. Other threads call this."""

    def is_drained(self) -> bool:
        """Whether the queue will never deliver anything again.

        That is so when it is to get nothing new, and all that it held is acknowledged. Asked when nothing has
        come for a while. The default is a queue that goes on.

        Raises:
            TransientSourceError: the connection is lost.
        """
        return False

    def retire(self) -> None:
        """Delete the queue, which is drained, and disconnect. Called instead of `close`, once.

        A receiver that comes later finds a queue that is empty and drained, and does the same.

        Raises:
            SourceError: as `open`.
        """
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Disconnect, without giving up the queue. Unacknowledged messages come again. Called once."""

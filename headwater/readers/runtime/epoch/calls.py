"""Asynchronous calls between the emitter of a task and its rows, as an epoch sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import pyarrow as pa

from headwater.readers.runtime.epoch.event_time import TaskAlignment


class CallPace(ABC):
    """How long an epoch waits for its calls. Asked on the task's thread."""

    @abstractmethod
    def waits_for_room(self) -> bool:
        """Whether rows for which there is no room now are waited for, or are stored unasked.

        Asked again and again while rows wait. Raises the error that ends the epoch meanwhile.
        """

    @abstractmethod
    def patience_ms(self) -> int | None:
        """Return how long calls are waited for when all rows are in; None for as long as they take.

        Asked once, when the last row is in.
        """

    def alignment(self) -> TaskAlignment | None:
        """Return the alignment of rows in event time; None if there is none. Asked once, before any row.

        With it, no row comes out that is later than one that is stored by more than the skew.
        """
        return None


class AsyncCalls(ABC):
    """Rows of the source go in, rows of the query come out, many calls are in flight.

    Belongs to the task's thread. Made for one reading of an epoch. The order of the calls is `restore`,
    `process`, and at any time after that `unanswered` and `close`.

    A row is *unanswered* from the moment when it is taken until all that came of it was yielded in one batch:
    so the rows of a snapshot and the yielded rows are together exactly the rows that were taken.
    """

    @property
    @abstractmethod
    def is_busy(self) -> bool:
        """Whether any row is unanswered."""

    @abstractmethod
    def restore(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Take the rows that `unanswered` returned in an earlier epoch: the first ones. Opens nothing.

        Raises:
            OffsetError: it was stored by a later version, or does not fit the source's columns any more.
        """

    @abstractmethod
    def process(self, batches: Iterable[pa.RecordBatch | None], pace: CallPace) -> Iterator[pa.RecordBatch]:
        """Ask about all rows, and yield the results. Once.

        Args:
            batches: of the source's schema, taken one by one as there is room. None: there is no further
                batch yet; finished calls come out meanwhile.
            pace: how long to wait.

        Raises:
            AsyncCallError: a call failed, or the function could not be opened.
            ContractError: the function broke its contract.
        """

    @abstractmethod
    def unanswered(self) -> list[pa.RecordBatch]:
        """Return the rows that are unanswered: columns of the source, and the state of their calls.

        The latter's names begin with `BOOKKEEPING`.
        """

    @abstractmethod
    def close(self) -> None:
        """Cancel running calls, leave no thread. Idempotent."""


BOOKKEEPING = "_headwater_"

CreateCalls: TypeAlias = Callable[[pa.Schema], AsyncCalls]
"""Makes the calls of one reading; is given the schema of the source. Opens nothing."""

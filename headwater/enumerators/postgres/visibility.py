"""The merge rule: which changes of the log the rows of a snapshot hold already.

A database is read in parts while others write. Each part is a reading of its own, so the log has changes that
the part's rows hold and changes that they do not. A *sight* belongs to one reading. It answers for each
change of the log:

* visible: the rows hold it. The change is dropped;
* not visible: they do not. The change is emitted;
* unknown: the database does not tell, as one that names only two positions of its log around the reading.
  The change is emitted, and whoever published the reading has left out the rows of keys that such a change
  touches: so the change wins, whatever the reading saw.

PostgreSQL always knows (`TransactionSnapshot`). It is asked for transactions, never for positions in the log:
a commit that waits for a synchronous standby has its record in the log long before anybody can see it.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass

from headwater.core.errors import OffsetError


class Visibility(enum.IntEnum):
    """The answer of a sight."""

    NOT_VISIBLE = 0
    VISIBLE = 1
    UNKNOWN = 2

    @property
    def is_emitted(self) -> bool:
        """Whether a change is emitted of which a sight says this."""
        return self is not Visibility.VISIBLE


class Sight(ABC):
    """The sight of one reading of a part of a database. Immutable; a task asks it, on its own thread.

    Changes go by the number that the log gives for each: in PostgreSQL the id of its transaction, elsewhere
    its position.
    """

    @property
    @abstractmethod
    def begin(self) -> int:
        """All changes before this one are visible: `saw` is not asked about them."""

    @property
    @abstractmethod
    def end(self) -> int:
        """This change and all later ones are not visible: `saw` is not asked about them."""

    @abstractmethod
    def saw(self, change: int) -> Visibility:
        """Return whether the rows of the reading hold a change. A pure function.

        Args:
            change: from `begin` to before `end`.
        """


@dataclass(frozen=True, slots=True)
class TransactionSnapshot(Sight):
    """The answer of ``pg_current_snapshot()`` in the transaction of a reading.

    The ids have 64 bits and name whole transactions: a savepoint's part counts with its transaction, as it
    does in the log.

    Attributes:
        xmin: all transactions before it are over; the ones in the log are visible.
        xmax: this one and all later ones are not visible.
        running: transactions between the two that were not over.
    """

    xmin: int
    xmax: int
    running: frozenset[int]

    @staticmethod
    def parse(text: str) -> TransactionSnapshot:
        """Return the snapshot of the server's text: ``10:20:10,14,15``.

        Raises:
            OffsetError: the text is no snapshot.
        """
        try:
            xmin, xmax, running = text.split(":")
            return TransactionSnapshot(
                int(xmin), int(xmax), frozenset(int(each) for each in running.split(",") if each)
            )
        except ValueError as error:
            raise OffsetError(f"{text!r} is no snapshot of transactions") from error

    @property
    def begin(self) -> int:
        return self.xmin

    @property
    def end(self) -> int:
        return self.xmax

    def saw(self, change: int) -> Visibility:
        return Visibility.NOT_VISIBLE if change in self.running else Visibility.VISIBLE


@dataclass(frozen=True, slots=True)
class NothingSeen(Sight):
    """A part that nobody has read: no row of it was handed out, so all changes of its keys are emitted."""

    begin: int = 0
    end: int = 0

    def saw(self, change: int) -> Visibility:
        return Visibility.NOT_VISIBLE

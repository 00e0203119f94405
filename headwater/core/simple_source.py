"""The small form of a source: which splits there are, and how to read one. Everything else has a default.

A class with `SimpleSource.discover` and `SimpleSource.read` is a source. If it also has ``head``
(`headwater.core.abilities.Heads`) it is in planned mode: positions are integers, and batches are planned
before they are read. Without it, it is in barrier mode: reading finds out how much there is. Both become
sources of the full form (`headwater.core.planned_source.PlannedSource`,
`headwater.core.barrier_source.BarrierSource`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from headwater.core.decoding import Decoding
from headwater.core.jsons import JsonValue
from headwater.core.split import Split, SplitPath

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class NamedSplit(Split):
    """A split of a simple source.

    Attributes:
        name: unique within the source, and the same after every restart.
        info: facts for `SimpleSource.read`, as small JSON. A split that is discovered with
            other info than before replaces the one of the same name and begins anew.
        found_in: of a child (`Page.children`), set by headwater: the names of the last splits on the way to
            it. A page that names one of them is in a ring: that child is not read again.
    """

    name: str
    info: JsonValue = None
    found_in: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def path(self) -> SplitPath:
        return (self.name,)

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, slots=True)
class Page:
    """Some consecutive rows of a split, with where they end. Emitted whole, unless the batch ends in it.

    Attributes:
        rows: a record batch of the source's schema, or rows: each a mapping by column, or a tuple with a
            value for every column. May be empty: a position can move without rows.
        position: the next record to read after them; not the one before them.
        children: splits that these rows name (barrier mode only). They take effect with the rows, and are the
            same when the rows are read again. The split itself, and those on the way to it, are left out.
        pending: how many records are behind this page, if the outside tells it (barrier mode only; with
            ``Heads`` the positions tell it). For metrics: it is the lag of the split.
        lost: the records up to ``position`` are gone, or may be, and there are no rows
            (`headwater.core.abilities.Forgets` only). An error, or counted, as ``failOnDataLoss`` says.
    """

    rows: pa.RecordBatch | Sequence[Mapping[str, Any]] | Sequence[tuple[Any, ...]]
    position: JsonValue
    children: Sequence[NamedSplit] = ()
    pending: int | None = None
    lost: bool = False


@dataclass(frozen=True, slots=True)
class AskAgain:
    """The result of `SimpleSource.read` when there is more, but the outside must not be polled yet.

    Because of a rate limit, for example, or of ``Retry-After``. An AvailableNow run waits for it, and so does
    a batch that is read again, until the option ``retryDeadline`` or as long as one wait lasts. Where there
    is nothing more now, plain ``return`` says so: the split is looked at again a ``pollInterval`` later, and
    an AvailableNow run ends.

    Attributes:
        after_ms: for how long not.
    """

    after_ms: int


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of `SimpleSource.read` when a split has ended for good.

    It leaves the query, and is not read again.
    """


class SimpleSource(ABC):
    """A source in its smallest form.

    Made from the user's options on the driver and pickled to Spark's planner, its source runner and to every
    task: the constructor opens nothing. Two kinds of copies exist: one on the driver, of which `discover`,
    `start` and ``head`` are called, one after the other, on a worker thread; and one in each task, of which
    `read` is called, on a thread of the task. They share nothing but the options.

    A ``ConnectionError``, a ``TimeoutError`` or a `TransientSourceError` from any method is passing: the call
    is repeated with back-off until the option ``retryDeadline``; `read` is repeated from the last position.
    Any other error fails the query, with the split and the position.

    Args:
        options: a value for every row of `OPTIONS`, and for the options that every source has, by name.
    """

    name: ClassVar[str]
    """The name in ``format`` or ``option("source", ...)``; logged in every offset.

    A new name is a new source.
    """

    schema: pa.Schema
    """Of every row; string and binary, never large or dictionary types; nullable.

    Of the class, or set by the constructor if options decide it. If the outside decides it:
    `headwater.core.abilities.InfersSchema`.
    """

    decodes: ClassVar[str | None] = None
    """The column that users may have decoded: the source gets ``valueFormat`` and the options of formats.

    `schema` is that of the rows that `read` yields, as with `decoding`.
    """

    time_column: ClassVar[str | None] = None
    """The column with the time at which the outside says that a record was made, for metrics."""

    OPTIONS: ClassVar[Sequence[Any]] = ()
    """The options of the source: a tuple of ``hw.options.Option``."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options

    @abstractmethod
    def discover(self) -> Iterable[NamedSplit]:
        """Return the splits that exist now.

        On the driver, before every batch; may ask the outside, and block.

        A split that is new begins at `start`. For one that is not there any more:

        * In planned mode it is out of sight: it is not read, and its position is kept for 30 days (of 10,000
          splits at the most). Back with the same info, it goes on there. It leaves for good if the source
          says so (`headwater.core.abilities.Retires`). If no split at all is there, nothing changes.
        * In barrier mode it leaves the query, read or not, unless the source says otherwise (`Retires`): if
          the answer may be incomplete, raise `TransientSourceError` instead.

        A split that was `Finished` is not read again for as long as it is still discovered. Splits that
        `read` found (`Page.children`) need not be returned.

        Each name comes once, otherwise the query fails with a `ContractError`.
        """

    def start(self, split: NamedSplit) -> JsonValue:
        """Return the first position of a split.

        Called once in the life of a checkpoint; on the driver, and for `Page.children` in the task.

        The default is 0.
        """
        return 0

    @abstractmethod
    def read(self, split: NamedSplit, position: Any) -> Iterator[Page]:
        """Yield the rows of a split from a position on, in pages.

        In a task, on a thread of its own; usually a generator.

        It is closed (``GeneratorExit`` at a ``yield``) when the batch ends: ``with`` and ``finally`` are the
        place to close connections. Returning means that there is nothing more now, or never (`Finished`), or
        that it must not be asked for yet (`AskAgain`).

        * The same position brings the same rows, at any time, on any machine: a batch that failed is read
          again.
        * The position of each page lies after that of the page before.
        * Within the option ``readTimeout`` it yields or returns. Do not wait for new data: return.

        A method with a third parameter, ``stop``, gets the first record NOT to read, or None if that is
        not known. Without it the framework cuts the pages, which it can if each record moves the position by
        one; if keys have gaps in planned mode, or a page read again may have grown in barrier mode, take
        ``stop``.
        """

    def decoding(self) -> Decoding | None:
        """Return how a column of the rows that `read` yields becomes typed columns: ``hw.decode(...)``.

        `schema` is that of the rows that `read` yields, then; those of the query have the typed columns in
        the place of that column. The source gets the option ``schemaEvolution``.

        On the driver, where a query is made; may read files and ask a schema registry. The default is None:
        `read` yields the rows of the query.
        """
        return None

    @property
    def reads(self) -> str:
        """The streams, tables or URLs that are read, for people. Empty by default: the name says it."""
        return ""

    def is_before(self, position: Any, other: Any) -> bool:
        """Whether a position lies before another one of the same split. A pure function.

        The default compares integers, and lists by the integer that they begin with. For anything else, such
        as opaque cursors, it says no: that such a source goes backwards is not noticed.
        """
        count, other_count = count_of(position), count_of(other)
        return count is not None and other_count is not None and count < other_count


def count_of(position: Any) -> int | None:
    """Return the integer that a position is, or begins with (`headwater.core.abilities.ReadsAhead`)."""
    count = position[0] if isinstance(position, list) and position else position
    return count if type(count) is int else None

"""Optional abilities of a simple source, beside `discover` and `read`.

A source that has the method has the ability; inheriting the class adds the description and the types.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from headwater.core.jsons import JsonValue
from headwater.core.simple_source import Finished, NamedSplit

if TYPE_CHECKING:
    import pyarrow as pa


@runtime_checkable
class Heads(Protocol):
    """The end of a split is known without reading it: the source is in planned mode.

    That mode needs no ``stateLocation``.
    """

    @abstractmethod
    def head(self, split: NamedSplit) -> int | list[Any]:
        """Return the position that the next record of the split will get.

        An integer; with `ReadsAhead` a list. On the driver, for every split before every batch; may block.

        Never before `SimpleSource.start`, and never before an earlier answer.

        Nothing may ever appear below a head once it was returned: records below it count as read, and a row
        that comes there later is never read. So "the largest key plus one" is right only where keys become
        visible in their order. Where several writers take keys before they commit, the larger one may commit
        first. Tell a smaller head there, below which nothing can come any more: up to the oldest transaction
        that still runs (``examples/postgres_source.py``), or up to records older than any transaction can be.
        `headwater.testing.CheckpointTests` shows it with the hook ``arrive_late``.

        Limits count by the distance of two positions: it should be the most rows that there can be between
        them. If several rows share a position, as those of one transaction may, limits count positions.
        """


@runtime_checkable
class Forgets(Protocol):
    """The outside drops its oldest records by itself, read or not: by their age, their number, their size.

    Planned mode only. The source gets the options ``startingPosition``, in the place of
    `SimpleSource.start`, and ``failOnDataLoss``. A position below `first` is a loss: an error, or counted in
    the offset that goes on at `first`. So is a split that comes back with other info, or that ends before its
    position. What is dropped while a task reads, `read` tells with ``Page(..., lost=True)``.
    """

    @abstractmethod
    def first(self, split: NamedSplit) -> int | list[Any]:
        """Return the position of the oldest record that is still there; the head if there is none.

        On the driver, for every split before every batch, after ``head``; may block.

        A split that is found while a query runs begins there, and one of a new query where
        ``startingPosition`` says.
        """


@runtime_checkable
class ReadsAhead(Protocol):
    """Positions do not count: only reading tells how many records lie between two of them.

    Planned mode only, with `Heads`. A position is a list of two then: how many records the split has had
    before it, as far as the outside tells that, and a mark of the source's own, such as an id. Limits and lag
    go by the first; it never falls. Splits are not cut for several tasks.

    If the first also grows by records that are deleted behind a position, write `SimpleSource.is_before`, by
    the marks: a position below `Forgets.first` is a loss only if it lies before it, too.
    """

    @abstractmethod
    def position_after(self, split: NamedSplit, position: Any, rows: int, stop: Any) -> Any:
        """Return the position so many records behind another one, or ``stop`` if that comes first.

        On the driver, where the limits of a batch cut it; may block. Reads as little as it can.
        """

    @abstractmethod
    def position_of(self, split: NamedSplit, mark: Any) -> Any:
        """Return the position of a mark that the user wrote in ``startingPosition``.

        On the driver, for a split of a new query; may block.

        Raises:
            ValueError: it is no mark.
        """


@runtime_checkable
class Retires(Protocol):
    """The source can tell splits that are gone for good from those that it only does not see.

    In planned mode a split that `SimpleSource.discover` does not return any more keeps its position
    otherwise, for 30 days, and goes on there when it is back. In barrier mode it leaves the query otherwise.
    """

    @abstractmethod
    def retire(self, split: NamedSplit) -> bool:
        """Return whether a split is gone for good: deleted, closed, archived. Its position is forgotten then.

        On the driver, before every batch, for each split with a position that ``discover`` did not return;
        may block. Should a split of this name come back, it begins at `SimpleSource.start`. In barrier mode
        these have not been read to their end: raise `headwater.core.errors.DataLossError` if that is a loss.
        With the answer no, such a split is read on.

        Ask the outside, and do not remember: after a restart the same question comes again for as long as
        the answer was no, or its batch was not logged.
        """


@runtime_checkable
class OrdersSplits(Protocol):
    """Splits follow each other: one begins only where those before it have ended, as shards that are split.

    Barrier mode only. A stream reads a split when all of its parents are `Finished`; until then it is not
    assigned, whatever `SimpleSource.discover` returns. In a batch all splits are read at once: its rows have
    no order.
    """

    @abstractmethod
    def parents(self, split: NamedSplit) -> Sequence[str]:
        """Return the names of the splits that must have ended before this one begins.

        On the driver, after `SimpleSource.discover`, for each split that is new; no I/O. A name that is not
        discovered any more counts as ended.
        """

    @abstractmethod
    def first_start(self, split: NamedSplit, *, is_batch: bool) -> JsonValue | Finished:
        """Return where a split of a new query begins, or of a batch; `Finished` if it is not to be read.

        On the driver, for each split that the first look finds. What begins later, begins at
        `SimpleSource.start`: a split that has waited for its parents, or that is found while the query runs.
        """


@runtime_checkable
class FindsTimestamps(Protocol):
    """A time leads to a position: the source gets the option ``startingTimestamp``."""

    @abstractmethod
    def position_at(self, split: NamedSplit, timestamp_ms: int) -> JsonValue:
        """Return the position of the first record at or after a time, in ms since 1970.

        The end if there is none. On the driver; may block.
        """


@runtime_checkable
class EstimatesSizes(Protocol):
    """The size of rows is known: byte limits and the cutting into tasks are as good as the estimate."""

    @abstractmethod
    def row_bytes(self, split: NamedSplit) -> int:
        """Return about how many bytes a record has. Planned mode only.

        On the driver, for every split after ``head``; no I/O. The answers are logged with the batch: one that
        is planned again is cut as before.
        """


@runtime_checkable
class EndsAtRecords(Protocol):
    """A record says that its split ends there, such as an end-of-day marker (FLIP-208).

    Neither that record nor one behind it is emitted, in a batch read or a stream; the split's position is
    right behind it, where each record moves the position by one, else behind its page. It is not read again,
    also after a restart. When all splits have ended there is nothing more to read: a batch and an
    AvailableNow run end, and another stream waits for new splits.
    """

    @abstractmethod
    def is_end(self, rows: pa.RecordBatch) -> pa.BooleanArray | Sequence[bool]:
        """Return for each of these rows whether it is the last one of its split.

        In a task, on the thread of `read`, for each page, with the rows that ``read`` yielded (before they
        are decoded). A pure function: the same rows end when they are read again. Null is no.

        Evaluate whole columns: ``pc.equal(rows["kind"], "end")``. A source that filters rows
        (`PushesFilters`) must still yield these.
        """


@runtime_checkable
class Acknowledges(Protocol):
    """The outside is told of records that are done, for example to delete them."""

    @abstractmethod
    def acknowledge(self, positions: Mapping[str, JsonValue]) -> None:
        """Take note that everything before these positions, by name of split, is durably written by the sink.

        On the driver; may block.

        Called at least once a checkpoint, in order; the last one before a stop may come only with the next
        start, or never. Idempotent.
        """


@runtime_checkable
class InfersSchema(Protocol):
    """The options decide the columns."""

    @abstractmethod
    def infer_schema(self) -> pa.Schema:
        """Return the schema.

        On the driver, while Spark plans; may ask the outside. The result is passed to tasks, in
        `SimpleSource.schema`.
        """


@runtime_checkable
class PushesFilters(Protocol):
    """Filters can be applied while reading.

    Only in ``spark.read``, and only where the user set the option ``pushFilters``; Spark's setting
    ``spark.sql.python.filterPushdown.enabled`` must be on.
    """

    @abstractmethod
    def push_filters(self, filters: tuple[Any, ...]) -> None:
        """Keep the useful ones of the filters (``pyspark.sql.datasource.Filter``), all of which hold.

        In the planner, once; before it is pickled to tasks.

        Spark applies them again: letting a row through is right, dropping one that fits is not.
        """

"""The factory that joins the halves of a source (FLIP-27 ``Source``)."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic

from headwater.core.emitter import RecordEmitter
from headwater.core.enumerator import Checkpoint, SplitEnumerator, SplitEnumeratorContext
from headwater.core.jsons import JsonValue
from headwater.core.reader import RecordT, SplitReader
from headwater.core.split import Path, PositionT, SplitRange, SplitT

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DEFAULT_ROW_BYTES", "Boundedness", "Source"]


DEFAULT_ROW_BYTES = 1_000
"""What a record is taken to weigh when the source cannot tell."""


class Boundedness(enum.Enum):
    """Whether a source ends (FLIP-27 ``Boundedness``)."""

    BOUNDED = "bounded"
    """``spark.read``: the end is resolved once, when the batch is planned."""

    CONTINUOUS_UNBOUNDED = "continuous-unbounded"
    """``spark.readStream``: there is always more to come."""


class Source(ABC, Generic[RecordT, SplitT, PositionT]):
    """Options in; schema, enumerator, reader and emitter out.

    Made from options on the driver, then pickled to Spark's source runner and to every task: it holds
    settings only, opens nothing, and imports the library of its system inside the methods that need it.
    """

    name: ClassVar[str]
    """What the user writes in ``option("source", ...)``; logged in every offset."""

    path_depth: ClassVar[int] = 1
    """How many names the path of each split has: how deep the offset nests."""

    bounded_splits: ClassVar[bool] = False
    """Whether a split is read once, whole, in the batch that it is assigned to (files).

    The enumerator then keeps the limits of a batch and the
    target of an AvailableNow run itself, in `SplitEnumerator.handle_split_request`."""

    @property
    @abstractmethod
    def boundedness(self) -> Boundedness:
        """What this instance was made for."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the exact schema of every batch that the emitter yields.

        String and binary, never large or dictionary types; nullable.

        A source without a schema of its own infers it here: the one method that may ask the outside while
        Spark still plans.
        """

    def with_schema(self, schema: pa.Schema, *, given: bool) -> Source[RecordT, SplitT, PositionT]:
        """Return the source that yields this schema.

        No I/O. The default returns the same source: its schema is fixed.

        Args:
            schema: what Spark plans with, as Arrow.
            given: whether the user gave it; otherwise it is what `schema` of an equal source returned in
                another process.

        Raises:
            OptionError: the source cannot yield it.
        """
        return self

    @abstractmethod
    def create_enumerator(
        self, context: SplitEnumeratorContext[SplitT, PositionT]
    ) -> SplitEnumerator[SplitT, PositionT]:
        """Make the enumerator of a query that has logged nothing yet, or of a batch read.

        On the driver; no I/O.
        """

    @abstractmethod
    def restore_enumerator(
        self, context: SplitEnumeratorContext[SplitT, PositionT], checkpoint: Checkpoint[SplitT, PositionT]
    ) -> SplitEnumerator[SplitT, PositionT]:
        """Make the enumerator of a query that goes on from a checkpoint. On the driver; no I/O."""

    @abstractmethod
    def create_reader(self) -> SplitReader[RecordT, SplitT, PositionT]:
        """Make the reader of one task. On an executor; no I/O."""

    @abstractmethod
    def create_emitter(self) -> RecordEmitter[RecordT, SplitT, PositionT]:
        """Make the emitter of one task. On an executor; no I/O."""

    def path_of(self, logged: Path) -> Path:
        """Return the path of a split whose path is in a checkpoint as ``logged``.

        A pure function, called for each path that is read from an offset or a manifest. The default returns
        the same path. A source that named splits otherwise in an earlier version converts its names here, so
        that such a checkpoint goes on; the number of names stays `path_depth`.
        """
        return logged

    @abstractmethod
    def serialize_splits(self, splits: Iterable[SplitT]) -> JsonValue:
        """Return the definitions of splits as JSON, without what their paths say already.

        What many share is written once.
        """

    @abstractmethod
    def deserialize_splits(self, paths: Iterable[Path], definitions: JsonValue) -> Mapping[Path, SplitT]:
        """Return the splits of these paths: the inverse of `serialize_splits`.

        Raises:
            OffsetError: a definition is missing or is not what this source writes.
        """

    @abstractmethod
    def rows_between(self, start: PositionT, stop: PositionT) -> int:
        """Return how many records lie between two positions of one split, at the most.

        0 if stop is not after start.
        """

    @abstractmethod
    def position_after(self, start: PositionT, rows: int, stop: PositionT) -> PositionT:
        """Return the position ``rows`` records after ``start``, or ``stop`` if that comes first.

        Never before ``start``.
        """

    def row_bytes(self, split: SplitT, state: JsonValue) -> int:
        """Return about how many bytes one record of a split has, for byte limits and for cutting tasks.

        A pure function, no I/O.

        Args:
            split: whose records.
            state: what the enumerator logged with the batch (`SplitEnumerator.snapshot_state`): the place to
                keep what it measured.
        """
        return DEFAULT_ROW_BYTES

    def cut(
        self, whole: SplitRange[SplitT, PositionT], pieces: int
    ) -> Sequence[SplitRange[SplitT, PositionT]]:
        """Cut one range into at most ``pieces`` ranges of about the same size that together are the whole, for several tasks.

        The same cut for the same arguments, always: a replayed batch reads the same rows.
        """
        rows = self.rows_between(whole.start, whole.stop)
        pieces = max(1, min(pieces, rows))
        borders = [
            self.position_after(whole.start, rows * i // pieces, whole.stop) for i in range(pieces)
        ] + [whole.stop]
        return [SplitRange(whole.split, borders[i], borders[i + 1]) for i in range(pieces)]

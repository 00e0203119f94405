"""The base of the sources of both modes (FLIP-27 ``Source``)."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

from headwater.core.emitter import RecordEmitter
from headwater.core.jsons import JsonValue
from headwater.core.reader import RecordT, SplitReader
from headwater.core.split import PositionT, SplitPath, SplitT

if TYPE_CHECKING:
    import pyarrow as pa


class Boundedness(enum.Enum):
    """Whether a source ends (FLIP-27 ``Boundedness``)."""

    BOUNDED = "bounded"
    """``spark.read``: the end is resolved once, when the batch is planned."""

    CONTINUOUS_UNBOUNDED = "continuous-unbounded"
    """``spark.readStream``: there is always more to come."""


class Source(ABC, Generic[RecordT, SplitT, PositionT]):
    """Options in; schema, reader and emitter out.

    No class derives from it directly. A source is either

    * a `headwater.core.planned_source.PlannedSource`: where a batch ends is decided before it is read,
      because the end of each split is known without reading (offsets, file sizes); or
    * a `headwater.core.barrier_source.BarrierSource`: where a batch ends is found out by reading it.

    Each adds the needs of its mode, first of all the methods that make its enumerator.

    A source is made from options on the driver, then pickled to Spark's source runner and to every task: it
    holds settings only, opens nothing, and imports the library of its system inside the methods that need it.
    """

    name: ClassVar[str]
    """The name in ``option("source", ...)``; logged in every offset."""

    path_depth: ClassVar[int] = 1
    """How many names the path of each split has: how deep the offset nests."""

    @property
    @abstractmethod
    def boundedness(self) -> Boundedness:
        """The kind of query that this instance was made for."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the exact schema of every batch that the emitter yields.

        String and binary, never large or dictionary types; nullable.

        A source without a schema of its own infers it here: the one method that may ask the outside while
        Spark still plans.
        """

    def with_schema(self, schema: pa.Schema, *, given: bool) -> Self:
        """Return the source that yields this schema.

        No I/O. The default returns the same source: its schema is fixed.

        Args:
            schema: the schema that Spark plans with, as Arrow.
            given: whether the user gave it; otherwise `schema` of an equal source returned it in
                another process.

        Raises:
            OptionError: the source cannot yield it.
        """
        return self

    def with_filters(self, filters: Sequence[Any]) -> Self:
        """Return the source that leaves out rows which do not pass these filters, as far as that is cheap.

        Called in Spark's planner, at most once for a batch read, and only if the user set the option
        ``pushFilters``. No I/O. The default returns the same source: it applies no filter.

        Args:
            filters: of Spark (``pyspark.sql.datasource.Filter``), all of which hold. Spark applies them again
                to the rows: so letting a row through is right, and skipping one that passes is not.
        """
        return self

    @property
    def logged_schema(self) -> JsonValue:
        """The entry of a query's offsets about the meaning of its rows; None for nothing, the default.

        A query whose checkpoint says something else is stopped, unless `takes_other_schemas`. A checkpoint
        that says nothing goes on.
        """
        return None

    @property
    def reads(self) -> str:
        """The topics, folders or URLs that are read, for people. Empty by default: the name says it."""
        return ""

    @property
    def time_column(self) -> str | None:
        """The column with the time at which the outside says that a record was made; None, the default: none.

        For metrics: how old records are when they are read (``currentEmitEventTimeLag``).
        """
        return None

    @property
    def takes_other_schemas(self) -> bool:
        """Whether a query may go on from a checkpoint with another `logged_schema`. No, by default."""
        return False

    @abstractmethod
    def create_reader(self) -> SplitReader[RecordT, SplitT, PositionT]:
        """Make the reader of one task. On an executor; no I/O."""

    @abstractmethod
    def create_emitter(self) -> RecordEmitter[RecordT, SplitT, PositionT]:
        """Make the emitter of one task. On an executor; no I/O."""

    def path_of(self, logged: SplitPath) -> SplitPath:
        """Return the path of a split whose path is in a checkpoint as ``logged``.

        A pure function, called for each path that is read from an offset or a manifest. The default returns
        the same path. A source that named splits otherwise in an earlier version converts its names here, so
        that such a checkpoint goes on; the number of names stays `path_depth`.
        """
        return logged

    @abstractmethod
    def serialize_splits(self, splits: Iterable[SplitT]) -> JsonValue:
        """Return the definitions of splits as JSON, without the parts that are in their paths.

        Parts that many share are written once.
        """

    @abstractmethod
    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, SplitT]:
        """Return the splits of these paths: the inverse of `serialize_splits`.

        Raises:
            OffsetError: a definition is missing or malformed.
        """

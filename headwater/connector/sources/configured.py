"""A source with its settings, as the options of a query make it; one class for each mode."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from headwater.core.errors import ContractError
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness, Source

# Spark starts a process for every step of a query, and each step loads only what it needs: so no mode is
# imported before one of its methods is called.
if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

    from headwater.connector.barrier.options import EpochSettings
    from headwater.connector.coordination.coordinator import SourceCoordinator
    from headwater.connector.planned.admission import ReadLimits
    from headwater.connector.planned.event_time_options import WatchedColumn
    from headwater.connector.planned.planning import PlanningHints
    from headwater.core.barrier_source import BarrierSource
    from headwater.core.planned_source import PlannedSource


_ANY_NUMBER: Final = (1 << 63) - 1


@dataclass(frozen=True, kw_only=True)
class ConfiguredSource(ABC):
    """A source and everything that the options say about it. Picklable; opens nothing.

    Spark's readers know only this class. One subclass for each mode leads to the coordinator and to the
    reading of that mode.

    Attributes:
        source: that is read.
        backoff: how long to go on asking an outside that is away.
        push_filters: whether a batch read takes Spark's filters: only where the user asks, because Spark
            refuses such a reader by default.
        spark_schema: the source's schema in Spark's types, where it is known without loading Arrow; None if
            it is to be made of the source's.
        inferred: options that the user did not give and a batch finds out, by their names: schemas. The
            process that asks for the schema finds them, and those that make readers are told.
    """

    source: Source[Any, Any, Any]
    backoff: Backoff
    push_filters: bool = False
    spark_schema: StructType | None = None
    inferred: Mapping[str, str] = field(default_factory=dict)

    def schema(self) -> pa.Schema:
        """Return the columns of the query."""
        return self.source.schema()

    def with_schema(self, schema: pa.Schema, *, given: bool) -> Self:
        """Bind the source to the schema that Spark plans with (`Source.with_schema`).

        Args:
            schema: the columns of the query.
            given: by the user, or `schema` returned it before.
        """
        return replace(self, source=self.source.with_schema(schema, given=given))

    @abstractmethod
    def create_coordinator(self) -> SourceCoordinator[Any]:
        """Make the coordinator of a query. On the driver; opens nothing."""

    @abstractmethod
    def read_task(self, task: Any) -> Generator[pa.RecordBatch, None, None]:
        """Yield the rows of one task of the coordinator. On an executor.

        Raises:
            ContractError: the task is of another mode.
        """

    @abstractmethod
    def read_limit(self) -> ReadLimit:
        """Return the limit that Spark is to hand back with every trigger but Once.

        Spark shows it in its logs; headwater keeps the limits itself.
        """


@dataclass(frozen=True, kw_only=True)
class ConfiguredPlannedSource(ConfiguredSource):
    """A source in planned mode.

    Attributes:
        limits: of one batch.
        hints: for the cutting into tasks.
        watched: the column that the query's watermark is on; None if it is not looked at.
    """

    source: PlannedSource[Any, Any, Any]
    limits: ReadLimits
    hints: PlanningHints
    watched: WatchedColumn | None = None

    def create_coordinator(self) -> SourceCoordinator[Any]:
        from headwater.connector.planned.coordinator import PlannedCoordinator

        return PlannedCoordinator(self.source, self.limits, self.hints, self.backoff, watched=self.watched)

    def read_task(self, task: Any) -> Generator[pa.RecordBatch, None, None]:
        from headwater.connector.planned.planning import ReadTask
        from headwater.readers.runtime.source_reader import read_ranges

        if not isinstance(task, ReadTask):
            raise ContractError(f"a task that was not planned in planned mode: {task!r}")
        return read_ranges(
            self.source.ending_at(task.ends_by), task.ranges, task.reports_to, notes=task.notes
        )

    def read_limit(self) -> ReadLimit:
        from pyspark.sql.streaming import datasource as spark

        limits = self.limits
        if limits.max_files is not None:
            return spark.ReadMaxFiles(limits.max_files)
        if limits.max_rows is not None:
            return spark.ReadMaxRows(limits.max_rows)
        if limits.max_bytes is not None:
            return spark.ReadMaxBytes(limits.max_bytes)
        if limits.limits_batches:
            # Known when a batch is planned only, or of single topics. All but this one would be taken for
            # Once, which knows no limits.
            return spark.ReadMaxRows(_ANY_NUMBER)
        if limits.min_rows is not None:
            return spark.ReadMinRows(limits.min_rows)
        return spark.ReadAllAvailable()


@dataclass(frozen=True, kw_only=True)
class ConfiguredBarrierSource(ConfiguredSource):
    """A source in barrier mode.

    Attributes:
        epochs: how the query goes from epoch to epoch.
    """

    source: BarrierSource[Any, Any]
    epochs: EpochSettings

    def schema(self) -> pa.Schema:
        calls = self.epochs.calls
        return self.source.schema() if calls is None else calls.output_schema(self.source.schema())

    def with_schema(self, schema: pa.Schema, *, given: bool) -> Self:
        calls = self.epochs.calls
        return super().with_schema(schema if calls is None else calls.source_schema(schema), given=given)

    def create_coordinator(self) -> SourceCoordinator[Any]:
        from headwater.connector.barrier.coordinator import BarrierCoordinator

        return BarrierCoordinator(self.source, self.epochs, self.backoff)

    def read_task(self, task: Any) -> Generator[pa.RecordBatch, None, None]:
        from headwater.readers.runtime.epoch.open_reader import open_epoch_reader
        from headwater.readers.runtime.epoch.read_epoch import read_epoch
        from headwater.readers.runtime.epoch.task import EpochTask

        if not isinstance(task, EpochTask):
            raise ContractError(f"a task that was not planned in barrier mode: {task!r}")
        calls = self.epochs.calls
        open_reader = partial(open_epoch_reader, create_calls=None if calls is None else calls.create)
        return read_epoch(self.source, task, self.epochs.store, open_reader)

    def read_limit(self) -> ReadLimit:
        from pyspark.sql.streaming.datasource import ReadMaxRows

        # A limit in any case: Once is the only trigger without one.
        return ReadMaxRows(self.epochs.barrier.rows or sys.maxsize)


class SourceFactory(Protocol):
    """Makes a source from the user's options (keys lower-cased, as Spark delivers them).

    ``boundedness`` is None where only the schema will be asked for: Spark does so before it says whether it
    reads a batch or a stream.
    """

    def __call__(self, options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredSource: ...

"""The driver half of a query (Flink's ``SourceCoordinator``), and the check of its logged schema."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, Generic, TypeVar

from headwater.core.errors import OffsetError
from headwater.core.jsons import JsonObject, JsonValue, dumps
from headwater.core.metrics import MetricValues
from headwater.core.redaction import redacted
from headwater.core.source import Source

_MOST_READS: Final = 500
"""Characters: a report is in each of Spark's progress reports."""

TaskT = TypeVar("TaskT")
"""The description of one Spark task; it travels inside Spark's partition."""


class SourceCoordinator(ABC, Generic[TaskT]):
    """Plans the batches of one query. In Spark's source runner, or in the planner for a batch read.

    One class for each mode. Both work on Spark's offset log: an offset goes in and comes out as Spark's JSON,
    and nothing that matters lives between two calls in memory only, except what an AvailableNow run has set
    out to read.

    Public methods are called by Spark's one thread, one after the other; calls to the enumerator
    happens on the coordinator thread. The constructor opens nothing and starts no thread.
    """

    @abstractmethod
    def initial_offset(self) -> JsonObject:
        """Return the genesis: the constant that stands before the first batch. No I/O."""

    @abstractmethod
    def prepare_for_available_now(self) -> None:
        """An AvailableNow run begins. Called once, before anything else. No I/O."""

    @abstractmethod
    def plan_next(self, start: JsonObject, *, limited: bool) -> JsonObject:
        """Return the offset of the next batch; ``start`` itself, byte for byte, if there is nothing to do.

        Called at every trigger. That Spark asks for the batch after ``start`` proves that ``start`` is
        committed. The first answer of a query is never the genesis: the meaning of "latest" is resolved here
        and logged, even if the batch is empty.

        Args:
            start: the last logged offset, or the genesis.
            limited: whether the limits of one batch count; they do not under Once.

        Raises:
            OffsetError: the checkpoint is not ours.
            StateLocationError: the state location cannot be used, or lacks files that the checkpoint names.
            ContractError: the source broke a promise; nothing was changed.
            SourceError: the outside's failure, after all retries.
        """

    @abstractmethod
    def plan_all(self) -> Sequence[TaskT]:
        """Return the tasks of a batch read: everything that is there, without limits."""

    @abstractmethod
    def tasks(self, start: JsonObject, end: JsonObject) -> Sequence[TaskT]:
        """Return the tasks of a logged batch. No I/O.

        The rows of all tasks together are a pure function of the two offsets. The number of tasks may
        depend on how long earlier batches took, but is the same each time that Spark asks for a batch.
        """

    @abstractmethod
    def latest(self) -> JsonObject | None:
        """Return the latest offset for the query's progress; None before the first discovery. No I/O.

        Beside the fields of its mode what `described` returns. Counters count since this object was made, as
        far as tasks have reported by now.
        """

    @abstractmethod
    def commit(self, end: JsonObject) -> None:
        """Spark says that a batch is committed: one batch late, and never for the last one before a stop."""

    @abstractmethod
    def close(self) -> None:
        """End the threads and close the enumerator, as far as there is time."""


def described(source: Source[Any, Any, Any], metrics: MetricValues) -> JsonObject:
    """Return the part of a report that is the same for both modes.

    Args:
        source: ``reads`` says what it reads.
        metrics: ``metrics``, by the names of `headwater.core.metrics`.
    """
    return {"reads": redacted(source.reads)[:_MOST_READS], "metrics": dict(metrics)}


def check_logged_schema(source: Source[Any, Any, Any], logged: JsonValue) -> None:
    """Compare the schema that an offset has logged with that of the source.

    Raises:
        OffsetError: they differ, and the source does not take other schemas.
    """
    ours = source.logged_schema
    if logged is None or logged == ours or source.takes_other_schemas:
        return
    raise OffsetError(
        f"the checkpoint was written with the schema {dumps(logged)}, and the query now has "
        f"{dumps(ours)}: go back to that schema, or set option 'schemaEvolution' to true for a start that "
        "goes on with the new one. What Spark itself keeps, such as the state of aggregates, must fit it too"
    )

"""What plans a query: the SourceCoordinator of planned mode, or that of barrier mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from headwater.connector.planned.planning import ReadTask
from headwater.connector.sources.registry import ConfiguredSource
from headwater.core.jsons import JsonObject

if TYPE_CHECKING:
    from headwater.core.barrier_source import BarrierSource
    from headwater.readers.runtime.epoch.task import EpochTask

__all__ = ["Planner", "planner_of"]


class Planner(Protocol):
    """Both coordinators, as Spark's readers see them."""

    def initial_offset(self) -> JsonObject:
        """Return the genesis."""

    def prepare_for_available_now(self) -> None:
        """An AvailableNow run begins."""

    def plan_next(self, start: JsonObject, *, limited: bool) -> JsonObject:
        """Return where the next batch ends, or the epoch that it reads.

        ``start`` if there is nothing to do.
        """

    def plan_all(self) -> Sequence[ReadTask[Any, Any] | EpochTask]:
        """Return the tasks of a batch read."""

    def tasks(self, start: JsonObject, end: JsonObject) -> Sequence[ReadTask[Any, Any] | EpochTask]:
        """Return the tasks of a logged batch."""

    def latest(self) -> JsonObject | None:
        """Return what the query's progress shows."""

    def commit(self, end: JsonObject) -> None:
        """A batch is committed."""

    def close(self) -> None:
        """End threads and connections."""


def planner_of(configured: ConfiguredSource) -> Planner:
    """Return the coordinator for a source. Opens nothing; loads only the mode that the query is in."""
    if configured.epochs is not None:
        from headwater.connector.barrier.coordinator import EpochCoordinator

        source = cast("BarrierSource[Any, Any]", configured.source)
        return EpochCoordinator(source, configured.epochs.store, configured.epochs.hints, configured.backoff)
    from headwater.connector.planned.coordinator import SourceCoordinator

    return SourceCoordinator(configured.source, configured.limits, configured.hints, configured.backoff)

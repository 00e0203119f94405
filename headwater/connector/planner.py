"""What plans a query: the coordinator of planned mode, or that of barrier mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from headwater.core.jsons import JsonObject

if TYPE_CHECKING:
    from headwater.connector.planned.planning import ReadTask
    from headwater.readers.runtime.epoch.task import EpochTask

__all__ = ["Planner"]


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

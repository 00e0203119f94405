"""``targetBatchDuration``: measures how long batches take, and limits the next one accordingly."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Generic

from headwater.connector.planned.batch_duration import (
    FIRST_BATCH_BYTES,
    BatchDuration,
    BatchSize,
    TargetDuration,
)
from headwater.core.clock import Clock
from headwater.core.enumerator import SplitRequest
from headwater.core.errors import OptionError
from headwater.core.jsons import JsonObject
from headwater.core.planned_source import PlannedSource
from headwater.core.split import SplitPath, SplitT

if TYPE_CHECKING:
    import fsspec

_LATE_MS: Final = 250
"""A trigger's batch is asked for at most so much after the time of the trigger."""


@dataclass(frozen=True)
class _Planned:
    """The last batch: its end, how much it reads, and how much its largest split has that is read whole."""

    end: JsonObject
    rows: int
    largest: int


class BatchSizing(Generic[SplitT]):
    """Joins the size of batches with the times that they take. Called by one thread at a time.

    Each part of a chain is learned anew: its rows have another cost, and another unit.

    Args:
        target: the user's setting.
        source: counts records, or bytes.
        clock: time.
        wall_ms: the wall-clock time in ms since 1970.
    """

    def __init__(
        self,
        target: TargetDuration,
        source: PlannedSource[Any, SplitT, Any],
        clock: Clock,
        wall_ms: Callable[[], int],
    ) -> None:
        self._target_ms = target.target_ms
        self._source = source
        self._size = BatchSize(target.target_ms)
        self._times: BatchTimes = (
            LoggedTimes(target.checkpoint)
            if target.checkpoint is not None
            else TimesBetweenPlans(target.trigger_interval_ms or 0, clock, wall_ms)
        )
        # The part of a chain that the size is of, and whether bytes or records are counted in it.
        self._part = 0
        self._in_bytes = False
        self._planned: _Planned | None = None

    def committed(self, end: JsonObject) -> None:
        """Spark asks for the batch after this offset: if it is that of the last batch, learn from it."""
        planned = self._planned
        if planned is None or planned.end != end:
            return
        # Spark asks again and again while there is nothing new.
        self._planned = None
        duration = self._times.duration_of(end)
        if duration is not None:
            self._size.learn(planned.rows, duration, largest=planned.largest)

    def limited(self, request: SplitRequest, splits: Mapping[SplitPath, SplitT]) -> SplitRequest:
        """Return the request for the next batch; the limits of the user stay hard.

        Args:
            request: the limits of the user.
            splits: those that are read now.
        """
        first = replace(request, max_bytes=_smaller(FIRST_BATCH_BYTES, request.max_bytes))
        most = self._size.rows
        if most is None or self._part_of(splits) != self._part:
            return first
        if self._in_bytes:
            return replace(request, max_bytes=_smaller(most, request.max_bytes), next_part=first)
        return replace(request, max_rows=_smaller(most, request.max_rows), next_part=first)

    def planned(
        self, end: JsonObject, splits: Mapping[SplitPath, SplitT], admitted: Mapping[SplitPath, int]
    ) -> None:
        """A batch has been planned.

        Args:
            end: its offset.
            splits: of this offset.
            admitted: how many records it reads, by split; none that are 0.
        """
        if not admitted:
            return
        of_batch = {path: splits[path] for path in admitted}
        part = self._part_of(of_batch)
        if part != self._part:
            self._part = part
            self._size = BatchSize(self._target_ms)
        self._in_bytes = all(map(self._source.counts_bytes, of_batch.values()))
        whole = (rows for path, rows in admitted.items() if self._source.is_bounded(splits[path]))
        self._planned = _Planned(end, sum(admitted.values()), max(whole, default=0))
        self._times.planned()

    def _part_of(self, splits: Mapping[SplitPath, SplitT]) -> int:
        """Return the part that is read. When it begins, splits of the one before may still be there."""
        return max(map(self._source.part_of, splits.values()), default=0)


def _smaller(one: int, other: int | None) -> int:
    return one if other is None else min(one, other)


class BatchTimes(ABC):
    """Measures how long batches take. Called by Spark's one thread."""

    @abstractmethod
    def planned(self) -> None:
        """A batch has been planned: Spark runs it now."""

    @abstractmethod
    def duration_of(self, end: JsonObject) -> BatchDuration | None:
        """Return how long the batch took that was planned last, and is committed; None if that is not known.

        Args:
            end: its offset.
        """


class LoggedTimes(BatchTimes):
    """Read from Spark's own log: a batch begins when its offsets are written, and ends with its commit.

    Both times are those of the store's clock. So the wait for a trigger does not count, and the planning
    does not either.

    Args:
        checkpoint: the query's ``checkpointLocation``, as Spark or fsspec writes it.
    """

    def __init__(self, checkpoint: str) -> None:
        self._checkpoint = checkpoint
        self._opened: tuple[fsspec.AbstractFileSystem, str] | None = None

    def planned(self) -> None:
        """Spark writes the log."""

    def duration_of(self, end: JsonObject) -> BatchDuration | None:
        """See `BatchTimes.duration_of`. Lists ``commits`` and reads one file of ``offsets``.

        Raises:
            OptionError: there is no log of this query.
        """
        fs, root = self._open()
        try:
            names = [path.rpartition("/")[2] for path in fs.ls(f"{root}/commits", detail=False)]
            batch = max(int(name) for name in names if name.isdigit())
            logged = fs.cat_file(f"{root}/offsets/{batch}").decode()
            began = fs.modified(f"{root}/offsets/{batch}")
            ended = fs.modified(f"{root}/commits/{batch}")
        except (FileNotFoundError, ValueError) as error:
            raise self._wrong("no batch is logged there") from error
        if not any(_is_offset(line, end) for line in logged.splitlines()):
            raise self._wrong(f"its batch {batch} is that of another query")
        return BatchDuration(_ms_between(began, ended), is_exact=True)

    def _open(self) -> tuple[fsspec.AbstractFileSystem, str]:
        if self._opened is None:
            import fsspec

            # Hadoop writes local paths as file:/folder. No cache of listings: Spark has just written there.
            url = self._checkpoint if "://" in self._checkpoint else self._checkpoint.removeprefix("file:")
            try:
                fs, root = fsspec.core.url_to_fs(url, use_listings_cache=False)
            except (ImportError, ValueError) as error:
                raise self._wrong(str(error)) from error
            self._opened = fs, root.rstrip("/")
        return self._opened

    def _wrong(self, what: str) -> OptionError:
        return OptionError(
            f"must be the checkpointLocation of this query: {self._checkpoint}: {what}",
            option="checkpointLocation",
        )


class TimesBetweenPlans(BatchTimes):
    """The time until Spark asks for the next batch, which it does at once, or at the next trigger.

    Spark's triggers are at multiples of their interval. A batch that was asked for then may have waited,
    unless it took longer than the interval: Spark waits for the next trigger after a batch began, no longer.

    Args:
        trigger_interval_ms: of the query; 0 if it has no such trigger.
        clock: time.
        wall_ms: the wall-clock time in ms since 1970, by which Spark triggers.
    """

    def __init__(self, trigger_interval_ms: int, clock: Clock, wall_ms: Callable[[], int]) -> None:
        self._interval_ms = trigger_interval_ms
        self._clock = clock
        self._wall_ms = wall_ms
        self._began_ms: int | None = None

    def planned(self) -> None:
        """Spark begins with the batch."""
        self._began_ms = self._clock.monotonic_ms()

    def duration_of(self, end: JsonObject) -> BatchDuration | None:
        if self._began_ms is None:
            return None
        duration_ms = self._clock.monotonic_ms() - self._began_ms
        self._began_ms = None
        at_a_trigger = self._interval_ms > 0 and self._wall_ms() % self._interval_ms < _LATE_MS
        waited = at_a_trigger and duration_ms < self._interval_ms + _LATE_MS
        return BatchDuration(duration_ms, is_exact=not waited)


def _is_offset(line: str, offset: JsonObject) -> bool:
    """Whether a line of an entry is this offset; others are Spark's, or of the query's other sources."""
    try:
        return bool(json.loads(line) == offset)
    except ValueError:
        return False


def _ms_between(began: datetime, ended: datetime) -> float:
    return max(0.0, (ended - began).total_seconds() * 1_000)

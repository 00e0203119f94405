"""Which batches of a checkpoint are read again, and how fast the query reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from headwater.tools.commands.checkpoint_folder import CheckpointFolder
from headwater.tools.commands.logged_positions import positions_by_source
from headwater.tools.commands.offset_log import VOID, OffsetLogEntry
from headwater.tools.commands.spark_checkpoint import CheckpointError, GoneEntryError, SparkCheckpoint

MOST_OFFSETS: Final = 10_000_000
"""So many are read in a minute or two."""
_ATTEMPTS: Final = 3
"""A query that runs removes old entries: the log is looked at again then."""


@dataclass(frozen=True)
class LoggedBatches:
    """Committed batches of a query, the oldest first, and the entry behind which they begin.

    Attributes:
        folder: the checkpoint.
        before: the entry of the batch before the first one; None if that is the first of the query.
        entries: by the ids of the batches; never empty.
    """

    folder: CheckpointFolder
    before: OffsetLogEntry | None
    entries: Mapping[int, OffsetLogEntry]

    @property
    def last(self) -> OffsetLogEntry:
        """The entry of the last batch."""
        return self.entries[max(self.entries)]

    @property
    def ids(self) -> str:
        """Which ones, for people."""
        first, last = min(self.entries), max(self.entries)
        return f"batch {last}" if first == last else f"batches {first} to {last}"

    def seconds(self) -> float | None:
        """Return how much time passed between the planning of the first entry and that of the last.

        None if that is not known: one entry tells no rate.
        """
        times = [entry.planned_at_ms for entry in self._timed()]
        known_times = [each for each in times if each is not None]
        passed = max(known_times) - min(known_times) if len(known_times) > 1 else 0
        return passed / 1000 if passed > 0 else None

    def timed_span(self) -> tuple[OffsetLogEntry, OffsetLogEntry]:
        """Return the two entries between which `seconds` passed."""
        timed = self._timed()
        return timed[0], timed[-1]

    def of_few_offsets(self, source: str) -> LoggedBatches:
        """Return the last of these batches with `MOST_OFFSETS` at the most, but one at least."""
        ids = sorted(self.entries)
        most = next(
            (at for at, first in enumerate(ids) if self._offsets_from(first, source) <= MOST_OFFSETS), -1
        )
        chosen = ids[most:]
        if chosen == ids:
            return self
        previous = self.entries[ids[ids.index(chosen[0]) - 1]]
        return LoggedBatches(self.folder, previous, {each: self.entries[each] for each in chosen})

    def _offsets_from(self, batch_id: int, source: str) -> int:
        earlier = [each for each in self.entries if each < batch_id]
        # Of the first batch of all it is not known from the log: then without that one.
        previous = self.entries[max(earlier)] if earlier else self.before or self.entries[batch_id]
        start = positions_by_source(previous).get(source)
        return positions_by_source(self.last)[source].moved_since(start) or 0

    def _timed(self) -> list[OffsetLogEntry]:
        entries = [entry for _, entry in sorted(self.entries.items())]
        return entries if self.before is None else [self.before, *entries]


@dataclass(frozen=True)
class TriedQuery:
    """One source of a query, and what of it is read again.

    Attributes:
        batches: which.
        source: the id of the source.
        options: of the source, keys in lower case.
        schema: of files: the columns of the query, as DDL; None: they are inferred.
    """

    batches: LoggedBatches
    source: str
    options: Mapping[str, str]
    schema: str | None = None


def last_batches(folder: CheckpointFolder, count: int) -> LoggedBatches:
    """Return the last committed batches of a query, which may run.

    Args:
        folder: its checkpoint.
        count: how many, if there are so many.

    Raises:
        CheckpointError: no batch is committed, or the log cannot be read.
        FolderError: the checkpoint cannot be reached.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return _last_batches(folder, count)
        except GoneEntryError:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError


def _last_batches(folder: CheckpointFolder, count: int) -> LoggedBatches:
    checkpoint = SparkCheckpoint(folder)
    logged, committed = checkpoint.batches()
    done = [batch_id for batch_id in logged if batch_id <= committed]
    if not done:
        raise CheckpointError(
            "no batch is committed yet: let the query commit one (a second one tells how fast it reads), and "
            "try again"
        )
    earlier, chosen = done[:-count][-1:], done[-count:]
    if not earlier and chosen[0] > 0 and len(chosen) > 1:
        # The log begins in the midst of the query: its oldest entry says where the next one begins.
        earlier, chosen = chosen[:1], chosen[1:]
    return LoggedBatches(
        folder,
        checkpoint.entry(earlier[0]) if earlier else None,
        {batch_id: checkpoint.entry(batch_id) for batch_id in chosen},
    )


def chosen_source(entry: OffsetLogEntry, name: str | None, fitting: Iterable[str]) -> str:
    """Return the id of the source that is tried.

    Args:
        entry: the last one.
        name: as the user says; None for the only one.
        fitting: the ids of sources that can be tried.

    Raises:
        CheckpointError: there is no such source, several, or none that can be tried.
    """
    ids = list(fitting)
    if name is not None and name in ids:
        return name
    if name is None and len(ids) == 1:
        return ids[0]
    logged = "; ".join(f"{each}: {text[:100]}" for each, text in entry.offsets.items())
    if name is not None and name in entry.offsets:
        nothing = " and has logged no offset" if entry.offsets[name] == VOID else ""
        raise CheckpointError(f"source {name} is not Spark's Kafka or file source{nothing}: {logged}")
    if name is None and not ids:
        raise CheckpointError(
            f"no source of this query is Spark's own Kafka or file source (one that headwater reads has "
            f"moved already): {logged}"
        )
    problem = f"there is no source {name!r}" if name is not None else "this query has several"
    raise CheckpointError(f"{problem}: say which, with --source {' or --source '.join(ids)}")

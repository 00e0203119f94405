"""The executor half of a source, first part: fetching raw records (FLIP-27 ``SplitReader``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from headwater.core.jsons import JsonValue
from headwater.core.split import PositionT, Split, SplitPath, SplitRange, SplitT

RecordT = TypeVar("RecordT")


@dataclass(frozen=True, slots=True)
class RecordsWithSplitIds(Generic[RecordT]):
    """The result of one fetch (FLIP-27 ``RecordsWithSplitIds``).

    Attributes:
        records: raw records in order, by the path of their split. A "record" is the input of the emitter:
            for Kafka a whole record set as the broker sent it, never a single message. Valid until the
            next `SplitReader.fetch`.
        finished: splits that are read to their stop. Takes effect after all of ``records`` were emitted.
        bound: ranges whose ends were left open (`PlannedSource.leave_open`), with the ends that the reader
            has found. Takes effect before ``records`` are emitted; a range is named here once.
        notes: of splits in ``finished`` that leave one (`PlannedSource.leaves_note`): small JSON for the
            enumerator, true of all the rows that were given of the split.
    """

    records: Mapping[SplitPath, Sequence[RecordT]] = field(default_factory=dict)
    finished: frozenset[SplitPath] = frozenset()
    bound: Mapping[SplitPath, SplitRange[Any, Any]] = field(default_factory=dict)
    notes: Mapping[SplitPath, JsonValue] = field(default_factory=dict)


class LossReporter(Protocol):
    """A reader calls it with records that are gone. Logs them once, and has them counted where it can.

    Never raises. May block for a second.
    """

    def __call__(self, split: Split, first: JsonValue, until: JsonValue, reason: str) -> None:
        """Take one range.

        Args:
            split: the split.
            first: the position of the first record that is gone.
            until: the position after the last one.
            reason: goes on after "positions 1 to 3": ``were lost: ...``.
        """


class SplitReader(ABC, Generic[RecordT, SplitT, PositionT]):
    """Fetches raw records of the splits it was given, in batches. Knows nothing of rows or of split state.

    On an executor, made by `Source.create_reader`, one per task (in barrier mode:
    `headwater.core.barrier_reader.BarrierSplitReader`). Opens connections late, in the first `fetch`. Every
    method but `wake_up` runs on one thread.
    """

    def report_losses_to(self, report: LossReporter) -> None:
        """Take the function that is called for records that are gone, where that is no error.

        Called once, before the first `handle_splits_changes`, in planned mode. A reader that goes on without
        such records tells it each range. The default is for readers that never do.
        """

    @abstractmethod
    def handle_splits_changes(self, added: Sequence[SplitRange[SplitT, PositionT]]) -> None:
        """Take more ranges to read (FLIP-27 ``SplitsAddition``). Does not block, and does no I/O.

        An empty range (start not before stop) is legal: it is reported as finished by a later fetch, without
        being read.
        """

    @abstractmethod
    def fetch(self) -> RecordsWithSplitIds[RecordT]:
        """Return the next raw records of any of the splits.

        Blocks until there are some, or until a split is finished. An empty answer means "nothing now, call
        again" (after a wake-up, or a long poll that ran out); only ``finished`` says the end. Of
        several splits those that waited longest come first. Records at or after a range's stop may be
        contained: the emitter leaves them out.

        Raises:
            TransientSourceError: no progress within the source's own deadline; Spark retries the task.
            DataLossError: records are gone, and the user wants an error then.
            SourceError: anything else the outside system says.
        """

    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        """Read no further in splits that are not finished (FLIP-27 ``SplitsRemoval``); does not block.

        Called in planned mode when a record said that a split ends (`SplitState.has_ended`). Whatever later
        fetches give of such a split is left out, so that doing nothing, the default, is right. A path that is
        not assigned, or just finished, is ignored.
        """

    def wake_up(self) -> None:
        """Make a blocked `fetch` return soon.

        The only method that other threads call. Nothing fetched may get lost by it.

        It may come a moment before the fetch that it is meant for begins: so the reader remembers it until
        one returns. And it may come late, when that fetch has returned: then the next one may return early
        with nothing, but only once.
        """

    @abstractmethod
    def close(self) -> None:
        """Release everything, also after errors and when not all splits are read. Called exactly once."""

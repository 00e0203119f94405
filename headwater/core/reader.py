"""The executor half of a source, first part: fetching raw records (FLIP-27 ``SplitReader``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.split import PositionT, SplitPath, SplitRange, SplitT

__all__ = ["RecordT", "RecordsWithSplitIds", "SplitReader"]

RecordT = TypeVar("RecordT")


@dataclass(frozen=True, slots=True)
class RecordsWithSplitIds(Generic[RecordT]):
    """What one fetch brought (FLIP-27 ``RecordsWithSplitIds``).

    Attributes:
        records: raw records in order, by the path of their split. A "record" is whatever the source's emitter
            takes: for Kafka a whole record set as the broker sent it, never a single message. Valid until the
            next `SplitReader.fetch`.
        finished: splits that are read to their stop. Takes effect after all of ``records`` were emitted.
    """

    records: Mapping[SplitPath, Sequence[RecordT]] = field(default_factory=dict)
    finished: frozenset[SplitPath] = frozenset()


class SplitReader(ABC, Generic[RecordT, SplitT, PositionT]):
    """Fetches raw records of the splits it was given, in batches.

    Knows nothing of rows and never touches split state.

    One per task, on an executor, made by `Source.create_reader`. Opens connections late, in the first
    `fetch`. Every method but `wake_up` runs on one thread.
    """

    @abstractmethod
    def handle_splits_changes(self, added: Sequence[SplitRange[SplitT, PositionT]]) -> None:
        """Take more ranges to read (FLIP-27 ``SplitsAddition``). Does not block and asks nobody.

        An empty range (start not before stop) is legal: it is reported as finished by a later fetch, without
        being read.

        In barrier mode ``stop`` is None: read as far as there is something. A stop that is given there comes
        from an earlier reading of the same
        epoch: no record may reach across it.
        """

    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        """Forget splits that are not finished (FLIP-27 ``SplitsRemoval``).

        Does not block. Later fetches give nothing of them.

        Called in barrier mode only: when the barrier is due, splits that were fetched from are removed, so
        that the others get their turn. They may be added again, at another position.

        Raises:
            ContractError: this reader does not support it.
        """
        raise ContractError(
            f"{type(self).__name__} does not implement handle_splits_removal, which barrier mode needs"
        )

    def pause_or_resume_splits(self, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]) -> None:
        """Give nothing of the paused splits until they are resumed, where they stopped (FLIP-217).

        Does not block.

        A path that is not assigned, or just finished, is ignored.

        Raises:
            ContractError: this reader does not support it.
        """
        raise ContractError(f"{type(self).__name__} does not implement pause_or_resume_splits")

    def handle_source_event(self, event: JsonValue) -> None:
        """Take an event of the enumerator (FLIP-27 ``SourceEvent``).

        In barrier mode, before the first fetch, after the first splits were added.
        """

    @abstractmethod
    def fetch(self) -> RecordsWithSplitIds[RecordT]:
        """Return the next raw records of any of the splits, blocking until there are some, or some split is finished.

        An empty answer means "nothing now, call again" (after a wake-up, or a long poll that ran out); the
        end is said by ``finished`` alone. Of several splits those that waited longest come first. In barrier
        mode the answer is an `EpochRecords`. Records at or after a range's stop may be contained: the emitter
        leaves them out.

        Raises:
            TransientSourceError: no progress within the source's own deadline; Spark retries the task.
            DataLossError: what was to be read is gone, and the source was told to fail on that.
            SourceError: anything else the outside system says.
        """

    def wake_up(self) -> None:
        """Make a blocked `fetch` return soon.

        The only method that other threads call. Nothing fetched may get lost by it.

        It may come a moment before the fetch that it is meant for begins: so it must be remembered until one
        returns. And it may come late, when that one has returned: then the next one may return early with
        nothing, no more.
        """

    @abstractmethod
    def close(self) -> None:
        """Release everything, also after errors and when not all splits are read. Called exactly once."""

"""The split reader of barrier mode: it finds out where a split ends, and can be told to leave one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from headwater.core.epoch_records import EpochRecord, EpochRecords
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.reader import SplitReader
from headwater.core.split import PositionT, SplitPath, SplitT


class BarrierSplitReader(SplitReader[EpochRecord, SplitT, PositionT]):
    """Fetches what there is of the splits it was given, and says where that ends.

    One per fetching thread of a task (`BarrierSource.fetcher_threads`). The ``stop`` of a range is None: read
    as far as there is something. A stop that is given comes from an earlier reading of the same epoch: no
    record may reach across it.
    """

    @abstractmethod
    def fetch(self) -> EpochRecords:
        """See `SplitReader.fetch`. The answer also names splits that are caught up, and sends events."""

    @abstractmethod
    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        """Forget splits that are not finished (FLIP-27 ``SplitsRemoval``); does not block.

        Later fetches give nothing of them. When the barrier is due, splits that were fetched from are
        removed, so that the others get their turn. They may be added again, at another position.
        """

    def pause_or_resume_splits(self, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]) -> None:
        """Give nothing of the paused splits until they are resumed, where they stopped (FLIP-217).

        Does not block. A path that is not assigned, or just finished, is ignored. A reader need not be able
        to; one that is not refuses, as the default does.

        Raises:
            ContractError: this reader cannot pause.
        """
        raise ContractError(f"{type(self).__name__} does not implement pause_or_resume_splits")

    def handle_source_event(self, event: JsonValue) -> None:
        """Take an event of the enumerator (FLIP-27 ``SourceEvent``).

        Before the first fetch, after the first splits were added. The default ignores it.
        """

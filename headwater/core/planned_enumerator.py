"""The enumerator of planned mode: it knows where each split ends now."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from headwater.core.enumerator import SplitEnumerator
from headwater.core.split import PositionT, SplitPath, SplitT


@dataclass(frozen=True, slots=True)
class SplitRequest:
    """The batch that is being planned asks for splits (FLIP-27 ``SourceReaderContext.sendSplitRequest``).

    Here a batch is the reader.

    Attributes:
        limited: whether the limits of one batch count (they do not under ``Trigger.Once`` and in a batch
            read).
        ends: the query ends after what is there now (AvailableNow, Once, a batch read): what is there is to
            be found completely, however long that takes, and what comes later is not to be assigned any more
            in the life of this enumerator.
    """

    limited: bool
    ends: bool


class PlannedSplitEnumerator(SplitEnumerator[SplitT, PositionT]):
    """Discovers splits, and knows their heads.

    A round of planned mode is `refresh`, `handle_split_request`, `heads`, `snapshot_state`, each once.
    """

    @abstractmethod
    def heads(self) -> Mapping[SplitPath, PositionT]:
        """Return, as of the last `refresh`, where each split ends now: the position of its next record.

        Of a bounded source: where it ends for good. A split without a head is not read in this batch.
        """

    def handle_split_request(self, request: SplitRequest) -> None:
        """Assign splits to the batch that is being planned (FLIP-27 ``handleSplitRequest``).

        Called once for every batch, after `refresh`.

        For sources whose splits are many and each read once and whole (`PlannedSource.bounded_splits`):
        assign as many as a batch may have, and retire those that the checkpoint holds at their end. May use
        `SplitEnumeratorContext.call_async`; what is assigned in a handler still counts for this batch. The
        default does nothing: what `refresh` found is assigned already.
        """

"""The enumerator of a REST API: assigns the lists that the user named, once in the life of a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.core.enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.jsons import JsonValue
from headwater.enumerators.http.split import HttpSplit, PagePosition


class HttpSplitEnumerator(BarrierSplitEnumerator[HttpSplit, JsonValue]):
    """Asks the API nothing: lists that the user did not name are found by reading.

    Args:
        context: the coordinator.
        urls: of the first pages.
    """

    def __init__(
        self, context: BarrierSplitEnumeratorContext[HttpSplit, JsonValue], urls: Sequence[str]
    ) -> None:
        self._context = context
        self._splits = [HttpSplit(url) for url in urls]

    def start(self) -> None:
        """Nothing to begin with."""

    def refresh(self, checkpoint: Checkpoint[HttpSplit, JsonValue] | None) -> None:
        """Assign what is named and not known; retire what is known and no longer named."""
        known = checkpoint.splits if checkpoint else {}
        self._context.assign_splits(
            {
                split.path: (split, PagePosition.first_of(split).to_json())
                for split in self._splits
                if split.path not in known
            }
        )
        named = {split.path for split in self._splits}
        gone = [path for path, split in known.items() if split.is_root and path not in named]
        self._context.retire_splits(gone, "not named any more")

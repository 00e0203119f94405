"""The enumerator of a REST API: assigns what the user named, once in the life of a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.core.enumerator import Checkpoint, SplitEnumerator, SplitEnumeratorContext
from headwater.core.jsons import JsonValue
from headwater.enumerators.http.split import ROOT, HttpSplit, PagePosition

__all__ = ["HttpSplitEnumerator"]


class HttpSplitEnumerator(SplitEnumerator[HttpSplit, JsonValue]):
    """Asks nobody: what exists beyond the named resources is found by reading them.

    Args:
        context: the coordinator.
        urls: of the first pages.
    """

    def __init__(self, context: SplitEnumeratorContext[HttpSplit, JsonValue], urls: Sequence[str]) -> None:
        self._context, self._urls = context, urls

    def start(self) -> None:
        """Nothing to begin with."""

    def refresh(self, checkpoint: Checkpoint[HttpSplit, JsonValue] | None) -> None:
        known = checkpoint.splits if checkpoint else {}
        named = {split.path: split for split in (HttpSplit(ROOT, url) for url in self._urls)}
        self._context.assign_splits(
            {
                path: (split, PagePosition(0, 0, split.url).to_json())
                for path, split in named.items()
                if path not in known
            }
        )
        self._context.retire_splits(
            [path for path in known if path[0] == ROOT and path not in named], "not named any more"
        )

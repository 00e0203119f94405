"""The enumerator of lists that change, which are read in rounds."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.core.enumerator import BarrierSplitEnumeratorContext
from headwater.core.jsons import JsonObject, JsonValue
from headwater.enumerators.http.enumerator import HttpSplitEnumerator
from headwater.enumerators.http.log_position import LogPosition
from headwater.enumerators.http.split import HttpSplit


class IncrementalEnumerator(HttpSplitEnumerator):
    """Keeps in the checkpoint what tells changes: by that was stored what is known.

    Args:
        context: the coordinator.
        urls: of the lists.
        rules: what tells changes.
        left_out: how many pages were left out so far.
    """

    def __init__(
        self,
        context: BarrierSplitEnumeratorContext[HttpSplit, JsonValue],
        urls: Sequence[str],
        rules: JsonObject,
        *,
        left_out: int,
    ) -> None:
        super().__init__(context, urls, left_out=left_out)
        self._rules = rules

    def snapshot_state(self) -> JsonValue:
        return {"left_out": self._left_out, "incremental": self._rules}

    def _first_position(self, split: HttpSplit) -> JsonValue:
        return LogPosition().to_json()

"""The enumerator of a simple source whose end is found by reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from headwater.core.enumerator import BarrierSplitEnumerator, Checkpoint, SplitEnumeratorContext
from headwater.core.jsons import JsonValue
from headwater.core.outside import MOST_ENUMERATOR_STATE_BYTES, check_json
from headwater.core.simple_source import NamedSplit, SimpleSource
from headwater.core.split import SplitPath
from headwater.enumerators.simple.enumerator import Look, SimpleSplitEnumerator


class BarrierSimpleSplitEnumerator(SimpleSplitEnumerator, BarrierSplitEnumerator[NamedSplit, Any]):
    """Its state is the names that were discovered when the last epoch was planned.

    A split that is among them and not in the checkpoint has finished: it is still discovered, and must not
    begin again.

    Args:
        context: the coordinator.
        source: of the user.
        starting_timestamp_ms: where the splits of a new query begin; None for `SimpleSource.start`.
        checkpoint: what to go on from; None for a new query.
    """

    def __init__(
        self,
        context: SplitEnumeratorContext[NamedSplit, Any],
        source: SimpleSource,
        starting_timestamp_ms: int | None,
        checkpoint: Checkpoint[NamedSplit, Any] | None = None,
    ) -> None:
        super().__init__(context, source, starting_timestamp_ms)
        state = checkpoint.state if checkpoint else None
        self._planned = set(cast("list[str]", state["discovered"])) if isinstance(state, dict) else set[str]()

    def snapshot_state(self) -> JsonValue:
        """Return the names that were discovered. Called when an epoch is sure to be opened."""
        self._planned = {path[0] for path in self._seen.splits}
        state: JsonValue = {"discovered": list[JsonValue](sorted(self._planned))}
        check_json(
            state,
            f"SimpleSource.discover: the names of all splits of source {self._source.name!r}",
            MOST_ENUMERATOR_STATE_BYTES,
        )
        return state

    def add_splits_back(self, splits: Sequence[NamedSplit]) -> None:
        self._planned -= {split.name for split in splits}

    def _finished(self, checkpoint: Checkpoint[NamedSplit, Any] | None) -> set[SplitPath]:
        if checkpoint is None:
            return set()
        return {(name,) for name in self._planned if (name,) not in checkpoint.splits}

    def _settle(self, look: Look, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        super()._settle(look, checkpoint)
        known = checkpoint.splits if checkpoint else {}
        # A split that was found by reading is never discovered: it stays until it is read.
        gone = [path for path in known if path not in look.splits and path[0] in self._planned]
        self._context.retire_splits(gone, "not discovered any more")

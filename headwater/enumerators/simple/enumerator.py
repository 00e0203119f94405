"""The enumerator of a simple source.

Asks it which splits there are and where they end, and compares with the checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.core.abilities import Acknowledges, FindsTimestamps, Heads
from headwater.core.enumerator import Checkpoint, SplitEnumerator, SplitEnumeratorContext
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.outside import MOST_ENUMERATOR_STATE_BYTES, check_json, outside
from headwater.core.simple_source import NamedSplit, SimpleSource
from headwater.core.split import Path

__all__ = ["SimpleSplitEnumerator"]


@dataclass(frozen=True)
class _Look:
    """What one look at the outside found.

    Attributes:
        splits: all there are, by path.
        starts: of those that are new, the first position.
        heads: of all, where they end; empty in barrier mode.
    """

    splits: Mapping[Path, NamedSplit]
    starts: Mapping[Path, JsonValue]
    heads: Mapping[Path, int]


class SimpleSplitEnumerator(SplitEnumerator[NamedSplit, Any]):
    """Remembers only which names it has handed out.

    A split that has finished is still discovered, and must not begin again.

    Args:
        context: the coordinator.
        source: whom to ask.
        starting_timestamp_ms: where the splits of a new query begin, if the source can tell; None for
            `SimpleSource.start`.
        checkpoint: what to go on from.
    """

    def __init__(
        self,
        context: SplitEnumeratorContext[NamedSplit, Any],
        source: SimpleSource,
        starting_timestamp_ms: int | None,
        checkpoint: Checkpoint[NamedSplit, Any] | None = None,
    ) -> None:
        self._context, self._source, self._starting_timestamp_ms = context, source, starting_timestamp_ms
        state = checkpoint.state if checkpoint else None
        # As it was written.
        self._planned: set[str] = set(state["discovered"]) if isinstance(state, dict) else set()  # type: ignore[arg-type]
        self._discovered: set[str] = set()
        self._heads: Mapping[Path, int] = {}

    def start(self) -> None:
        """Nothing to begin with."""

    def refresh(self, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        finished: set[Path] = {
            (name,) for name in self._planned if checkpoint is not None and (name,) not in checkpoint.splits
        }
        self._context.call_async(
            lambda: self._look(checkpoint, finished),
            lambda look: self._take(look, checkpoint),
            what=f"the splits of source {self._source.name}",
        )

    def heads(self) -> Mapping[Path, int]:
        return self._heads

    def snapshot_state(self) -> JsonValue:
        """Return the names of a plan in barrier mode, where splits finish.

        Called when the plan is sure to be made.
        """
        if isinstance(self._source, Heads):
            return None
        self._planned = set(self._discovered)
        state: JsonValue = {"discovered": list[JsonValue](sorted(self._planned))}
        check_json(
            state,
            f"SimpleSource.discover: the names of all splits of source {self._source.name!r}",
            MOST_ENUMERATOR_STATE_BYTES,
        )
        return state

    def add_splits_back(self, splits: Sequence[NamedSplit]) -> None:
        self._planned -= {split.name for split in splits}

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[NamedSplit, Any]) -> None:
        source = self._source
        if isinstance(source, Acknowledges):
            positions = {path[0]: position for path, position in checkpoint.positions.items()}
            self._context.call_async(
                lambda: source.acknowledge(positions),
                lambda _: None,
                what=f"acknowledging to source {source.name}",
            )

    def _look(self, checkpoint: Checkpoint[NamedSplit, Any] | None, finished: set[Path]) -> _Look:
        """Ask the source. On the worker thread."""
        splits, known = self._discover(), checkpoint.splits if checkpoint else {}
        new = [split for path, split in splits.items() if path not in finished and known.get(path) != split]
        positions = dict(checkpoint.positions) if checkpoint else {}
        positions.update(
            starts := {split.path: self._start(split, is_new_query=checkpoint is None) for split in new}
        )
        heads = (
            {path: self._head(split, positions[path]) for path, split in splits.items()}
            if isinstance(self._source, Heads)
            else {}
        )
        return _Look(splits, starts, heads)

    def _discover(self) -> dict[Path, NamedSplit]:
        call = f"{type(self._source).__name__}.discover"
        with outside(call, source=self._source.name):
            discovered = list(self._source.discover())
        splits: dict[Path, NamedSplit] = {}
        for split in discovered:
            if not isinstance(split, NamedSplit) or not isinstance(split.name, str) or not split.name:
                raise ContractError(
                    f"SimpleSource.discover: {call} must return NamedSplits with a name, not {split!r}"
                )
            if split.path in splits:
                raise ContractError(f"SimpleSource.discover: {call} returned split {split.name!r} twice")
            check_json(split.info, f"SimpleSource.discover: the info of split {split.name!r} of {call}")
            splits[split.path] = split
        return splits

    def _start(self, split: NamedSplit, *, is_new_query: bool) -> JsonValue:
        source = self._source
        with outside(f"{type(source).__name__}.start", source=source.name, split=split.name):
            if (
                is_new_query
                and self._starting_timestamp_ms is not None
                and isinstance(source, FindsTimestamps)
            ):
                position = source.position_at(split, self._starting_timestamp_ms)
            else:
                position = source.start(split)
        check_json(
            position,
            f"SimpleSource.start: the first position of split {split.name!r} of source {source.name!r}",
        )
        if isinstance(source, Heads) and type(position) is not int:
            raise ContractError(
                f"SimpleSource.start: with Heads positions are integers; split {split.name!r} of source {source.name!r}: {position!r}"
            )
        return position

    def _head(self, split: NamedSplit, position: int) -> int:
        source = self._source
        assert isinstance(source, Heads)
        with outside(f"{type(source).__name__}.head", source=source.name, split=split.name):
            head = source.head(split)
        if type(head) is not int:
            raise ContractError(
                f"Heads.head must return an integer; split {split.name!r} of source {source.name!r}: {head!r}"
            )
        if head < position:
            raise ContractError(
                f"Heads.head went backwards: split {split.name!r} of source {source.name!r} ends at {head}, and {position} was the next record to "
                "read; records were removed and their positions given anew, which needs a split of another name or info"
            )
        return head

    def _take(self, look: _Look, checkpoint: Checkpoint[NamedSplit, Any] | None) -> None:
        """Tell the coordinator what changed. Splits that were found while reading are nobody's to retire."""
        self._heads, self._discovered = look.heads, {path[0] for path in look.splits}
        self._context.assign_splits({path: (look.splits[path], start) for path, start in look.starts.items()})
        known = checkpoint.splits if checkpoint else {}
        gone = [
            path
            for path in known
            if path not in look.splits and (isinstance(self._source, Heads) or path[0] in self._planned)
        ]
        self._context.retire_splits(gone, "not discovered any more")

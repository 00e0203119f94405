"""Assignments, losses and events of an enumerator in the current round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from headwater.connector.coordination.coordinator_loop import CoordinatorLoop
from headwater.core.enumerator import (
    BarrierSplitEnumeratorContext,
    Checkpoint,
    KeptSplit,
    PlannedSplitEnumeratorContext,
    SplitEnumeratorContext,
)
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.redaction import logger_of
from headwater.core.split import PositionT, SplitPath, SplitT

T = TypeVar("T")
log = logger_of(__name__)


class RoundContext(SplitEnumeratorContext[SplitT, PositionT]):
    """Collects assignments and retirements until the next round begins.

    On the coordinator thread. A round is one discovery. Assignments of a round that produced no offset are
    dropped; the enumerator must repeat them.

    Args:
        loop: runs the enumerator's slow calls.
    """

    def __init__(self, loop: CoordinatorLoop) -> None:
        self._loop = loop
        self._assigned: dict[SplitPath, tuple[SplitT, PositionT]] = {}
        self._retired: set[SplitPath] = set()
        self._before: Checkpoint[SplitT, PositionT] | None = None

    def begin_round(self, checkpoint: Checkpoint[SplitT, PositionT] | None) -> None:
        """Drop the assignments of the last round.

        Args:
            checkpoint: the committed state of the query; None if there is none.
        """
        self._before = checkpoint
        self._assigned = {}
        self._retired = set()

    def call_async(self, call: Callable[[], T], handler: Callable[[T], None], *, what: str) -> None:
        self._loop.call_async(call, handler, what=what)

    def assign_splits(self, starts: Mapping[SplitPath, tuple[SplitT, PositionT]]) -> None:
        for path, (split, start) in starts.items():
            if split.path != path:
                raise ContractError(
                    f"SplitEnumeratorContext.assign_splits: split {split.split_id} was assigned under the "
                    f"path {path}"
                )
            # The last word of a round counts, in both directions.
            self._assigned[path] = (split, start)
            self._retired.discard(path)

    def retire_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        for path in paths:
            self._assigned.pop(path, None)
            self._retired.add(path)
            log.info("split %s leaves the query: %s", "-".join(path), reason)

    def starts(self) -> dict[SplitPath, PositionT]:
        """Return the first positions of the splits that this round assigned."""
        return {path: start for path, (_, start) in self._assigned.items()}

    def live(
        self, checkpoint: Checkpoint[SplitT, PositionT] | None
    ) -> tuple[Mapping[SplitPath, SplitT], dict[SplitPath, PositionT]]:
        """Return the splits of the next offset, and their positions before its batch.

        As long as no split comes or goes, the splits are the same mapping object as in the offset before:
        values made of it need not be made again for each batch.

        Args:
            checkpoint: the committed state of the query; None if there is none.
        """
        splits: Mapping[SplitPath, SplitT] = checkpoint.splits if checkpoint else {}
        if unavailable := splits.keys() & self._left():
            splits = {path: split for path, split in splits.items() if path not in unavailable}
        positions = {path: checkpoint.positions[path] for path in splits} if checkpoint else {}
        if self._assigned:
            splits = {**splits, **{path: split for path, (split, _) in self._assigned.items()}}
            positions.update(self.starts())
        return splits, positions

    def _left(self) -> AbstractSet[SplitPath]:
        """Return the splits that are not read any more."""
        return self._retired

    def changes(self, checkpoint: Checkpoint[SplitT, PositionT]) -> bool:
        """Whether a split of a checkpoint leaves, is replaced, or begins elsewhere.

        That must be logged even if there is nothing to read.
        """
        changed = any(
            path in checkpoint.splits and (checkpoint.splits[path], checkpoint.positions[path]) != assigned
            for path, assigned in self._assigned.items()
        )
        return changed or any(path in checkpoint.splits for path in self._retired)


class PlannedRoundContext(RoundContext[SplitT, PositionT], PlannedSplitEnumeratorContext[SplitT, PositionT]):
    """Collects unavailable splits and losses too. On the coordinator thread."""

    def __init__(self, loop: CoordinatorLoop) -> None:
        super().__init__(loop)
        self._unavailable: set[SplitPath] = set()
        self._losses: list[tuple[SplitPath, PositionT, PositionT]] = []
        self._lost_splits: list[str] = []

    def begin_round(self, checkpoint: Checkpoint[SplitT, PositionT] | None) -> None:
        super().begin_round(checkpoint)
        self._unavailable = set()
        self._losses = []
        self._lost_splits = []

    def assign_splits(self, starts: Mapping[SplitPath, tuple[SplitT, PositionT]]) -> None:
        ended = self._ended()
        logged = self._before.splits if self._before is not None else {}
        # Another split of the same path begins anew, as it does where none has ended.
        super().assign_splits(
            {
                path: start
                for path, start in starts.items()
                if path not in ended or logged.get(path) != start[0]
            }
        )
        self._unavailable.difference_update(starts)

    def retire_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        super().retire_splits(paths, reason)
        self._unavailable.difference_update(paths)

    def keep_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        for path in [path for path in paths if path not in self._ended()]:
            self._assigned.pop(path, None)
            self._retired.discard(path)
            self._unavailable.add(path)
            # Repeated in each round until a batch logs it.
            log.debug("split %s is set aside with its position: %s", "-".join(path), reason)

    def positions(self) -> Mapping[SplitPath, PositionT]:
        return self.live(self._before)[1]

    def report_losses(self, losses: Mapping[SplitPath, tuple[PositionT, PositionT]]) -> None:
        self._losses += [(path, first, until) for path, (first, until) in losses.items()]

    def report_lost_splits(self, split_ids: Sequence[str]) -> None:
        self._lost_splits += split_ids

    def _left(self) -> AbstractSet[SplitPath]:
        return self._retired | self._unavailable

    def _ended(self) -> AbstractSet[SplitPath]:
        """Return the splits that ended at a record: they stay until they are retired or replaced."""
        return self._before.ended if self._before is not None else frozenset()

    def losses(self) -> Sequence[tuple[SplitPath, PositionT, PositionT]]:
        """Return the losses of this round: the split, the first record, and the first after them."""
        return self._losses

    def lost_splits(self) -> Sequence[str]:
        """Return the ids of the whole splits that this round reported as lost."""
        return self._lost_splits

    def unavailable(
        self, checkpoint: Checkpoint[SplitT, PositionT] | None, now_ms: int
    ) -> dict[SplitPath, KeptSplit[SplitT, PositionT]]:
        """Return the unavailable splits of the next offset.

        Args:
            checkpoint: the committed state of the query; None if there is none.
            now_ms: the time that is logged with those that are set aside in this round.
        """
        if checkpoint is None:
            return {}
        unavailable = {
            path: entry
            for path, entry in checkpoint.kept.items()
            if path not in self._assigned and path not in self._retired
        }
        for path in self._unavailable & checkpoint.splits.keys():
            unavailable[path] = KeptSplit(checkpoint.splits[path], checkpoint.positions[path], now_ms)
        return unavailable

    def finds(self, checkpoint: Checkpoint[SplitT, PositionT]) -> bool:
        """Whether there is a split that a checkpoint does not know."""
        return not self._assigned.keys() <= checkpoint.splits.keys() | checkpoint.kept.keys()

    def changes(self, checkpoint: Checkpoint[SplitT, PositionT]) -> bool:
        """Also whether a kept split leaves, is replaced or begins elsewhere, or whether something is lost.

        That a split is set aside, or is back at its position, waits for the next batch: if it is never
        logged, the next round finds the same.
        """
        return (
            super().changes(checkpoint)
            or bool(self._losses)
            or any(path in checkpoint.kept for path in self._retired)
            or any(
                path in checkpoint.kept
                and (checkpoint.kept[path].split, checkpoint.kept[path].position) != assigned
                for path, assigned in self._assigned.items()
            )
        )


class BarrierRoundContext(RoundContext[SplitT, PositionT], BarrierSplitEnumeratorContext[SplitT, PositionT]):
    """Collects events too. On the coordinator thread."""

    def __init__(self, loop: CoordinatorLoop) -> None:
        super().__init__(loop)
        self._events: dict[SplitPath, list[JsonValue]] = {}

    def begin_round(self, checkpoint: Checkpoint[SplitT, PositionT] | None) -> None:
        super().begin_round(checkpoint)
        self._events = {}

    def send_event_to_source_reader(self, path: SplitPath, event: JsonValue) -> None:
        self._events.setdefault(path, []).append(event)

    def events_for(self, paths: Iterable[SplitPath]) -> tuple[JsonValue, ...]:
        """Return the events for the reader of these splits."""
        return tuple(event for path in paths for event in self._events.get(path, ()))

"""The state of a query after an epoch: made of its offset and its manifests, in one step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any

from headwater.connector.barrier.checkpoints import CompletedCheckpoint
from headwater.connector.barrier.offsets import EpochId, EpochOffset, ManifestRef
from headwater.core.barrier_source import BarrierSource
from headwater.core.enumerator import Checkpoint
from headwater.core.epoch import EpochState, Failing, FoundSplit, SplitProgress, SplitStatus, WaitingSplits
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.redaction import logger_of
from headwater.core.split import Split, SplitPath
from headwater.readers.runtime.epoch.event_time import (
    OTHERS,
    Frontier,
    fronts_of,
    in_flight_ms_of,
    is_fronts_event,
)
from headwater.readers.runtime.epoch.state_parts import without_taken

log = logger_of(__name__)


@dataclass(frozen=True)
class Settlement:
    """The state of a query between two epochs. A pure function of an offset and its manifests.

    Attributes:
        splits: every live split.
        positions: of each, the next record.
        caught_up: those that had nothing more.
        failing: those that made no progress since the outside failed.
        due_ms: of those that must not be asked yet, when they may: wall-clock time in ms.
        turns: those that have more to read, in the order of their next turns. Whatever had no turn in the
            epoch comes first, then splits that were discovered in it, then the others from the one that
            waited longest.
        not_run: splits whose task was not run: they begin again where they began.
        restored: manifests with rows in flight, to be emitted in the next epoch.
        waiting: found splits that no task has begun with.
        events: of the readers, in the order of their tasks.
        at_end: those that had nothing more, whether they may be asked again at once or not.
        fronts: the time to which splits have come, and for `OTHERS` the earliest time of rows in flight;
            None if no epoch was aligned by event time yet.
        held: those that have a row which waits for other splits.
        ran: whether any task was run.
        state: of the enumerator, as it was when the epoch was planned.
    """

    splits: Mapping[SplitPath, Split]
    positions: Mapping[SplitPath, Any]
    caught_up: frozenset[SplitPath]
    failing: Mapping[SplitPath, Failing]
    due_ms: Mapping[SplitPath, int]
    turns: Sequence[SplitPath]
    not_run: tuple[Split, ...]
    restored: tuple[ManifestRef, ...]
    waiting: tuple[WaitingSplits, ...]
    events: tuple[JsonValue, ...]
    at_end: frozenset[SplitPath]
    fronts: Mapping[SplitPath, int | None] | None
    held: frozenset[SplitPath]
    ran: bool
    state: JsonValue

    def checkpoint(self) -> Checkpoint[Any, Any]:
        """Return the part of it that an enumerator may see."""
        return Checkpoint(self.splits, self.positions, self.state)


def settle(
    source: BarrierSource[Any, Any],
    offset: EpochOffset,
    completed: CompletedCheckpoint,
    now_ms: int,
    running_ms: int = 0,
) -> Settlement:
    """Return the state after an epoch.

    Args:
        source: tells positions apart.
        offset: the beginning of the epoch.
        completed: its manifests.
        now_ms: the driver's wall-clock time. Delays count from when a manifest was written, by the writer's
            clock; where clocks differ that can only make a delay shorter or, at most, begin now.
        running_ms: how long ago this process opened the epoch; 0 if an earlier one did. Splits that failed
            before the epoch and in it have failed in all of this time.

    Raises:
        ContractError: a split went backwards, or one was found under the name of another.
    """
    state = _StateAfter(source, offset, now_ms, running_ms)
    for number, manifest in enumerate(completed.manifests):
        if manifest.state is None:
            # Nothing of it came to the sink: its splits and the rows that it was to restore wait as before.
            state.not_run += [offset.splits[path] for path in offset.tasks[number]]
            state.unserved.append(offset.tasks[number])
            state.keep_restored(offset.restored[number])
            state.waiting += offset.waiting[number]
        else:
            written_ms = manifest.metrics.get("written_ms", now_ms)
            assert isinstance(written_ms, int)
            state.take(manifest.state, frozenset(offset.tasks[number]), written_ms)
            state.waiting += without_taken(offset.waiting[number], manifest.state.taken)
            state.waiting += manifest.state.waiting
            if manifest.state.in_flight:
                state.restored.append(ManifestRef(completed.epoch.folder, number))
    return Settlement(
        splits=state.splits,
        positions=state.positions,
        caught_up=frozenset(state.caught_up),
        failing=state.failing,
        due_ms=state.due_ms,
        turns=state.turns(),
        not_run=tuple(state.not_run),
        restored=tuple(sorted(state.restored)),
        waiting=tuple(state.waiting),
        events=tuple(state.events),
        at_end=frozenset(state.at_end),
        fronts=state.known_fronts(),
        held=frozenset(state.held),
        ran=any(manifest.state is not None for manifest in completed.manifests),
        state=offset.state,
    )


class _StateAfter:
    """Begins as the state before an epoch, and takes the state of one task after the other."""

    def __init__(
        self, source: BarrierSource[Any, Any], offset: EpochOffset, now_ms: int, running_ms: int
    ) -> None:
        self._source = source
        self._now_ms = now_ms
        self._running_ms = running_ms
        self.splits = dict(offset.splits)
        self.positions = dict(offset.starts)
        self.due_ms = dict(offset.due_ms)
        self.failing = dict(offset.failing)
        self.caught_up: set[SplitPath] = set()
        # Of each task, the splits with more to read, in the order of their turns.
        self.unserved: list[Sequence[SplitPath]] = []
        self._found: list[Sequence[SplitPath]] = []
        self._served: list[Sequence[SplitPath]] = []
        self.not_run: list[Split] = []
        self.restored: list[ManifestRef] = []
        self.waiting: list[WaitingSplits] = []
        self.events: list[JsonValue] = []
        self.at_end: set[SplitPath] = set()
        self.held: set[SplitPath] = set()
        self._fronts: dict[SplitPath, int | None] | None = None
        self._in_flight_ms: list[int] = []
        self._were_in_flight_ms: int | None = None
        if offset.fronts is not None:
            self._fronts = dict(offset.fronts)
            self._were_in_flight_ms = self._fronts.pop(OTHERS, None)

    def take(self, state: EpochState, paths: frozenset[SplitPath], written_ms: int) -> None:
        """Take the state of a task that was run, and that was given some splits.

        Progress comes before found splits: a split that is in both keeps the position that its progress says.
        """
        for entry in state.progress:
            # A live split that the task was not given was found again there: it goes on where it is read.
            if entry.split.path in paths or entry.split.path not in self.positions:
                self._advance(entry, written_ms)
        for discovery in state.found:
            self._add(discovery)
        for event in state.events:
            if is_fronts_event(event):
                self._take_fronts(fronts_of(event), in_flight_ms_of(event))
            else:
                self.events.append(event)
        self.unserved.append(_with_more(state.progress[: state.unserved]))
        self._found.append([discovery.split.path for discovery in state.found])
        self._served.append(_with_more(state.progress[state.unserved :]))

    def turns(self) -> Sequence[SplitPath]:
        """Return the order of the next turns: tasks take turns too, as splits were dealt to them."""
        rows = (self.unserved, self._found, self._served)
        # A split that two tasks name is one: the first place counts.
        return list(dict.fromkeys(chain.from_iterable(map(_interleaved, rows))))

    def known_fronts(self) -> Mapping[SplitPath, int | None] | None:
        """Return the fronts of live splits."""
        if self._fronts is None:
            return None
        fronts = {path: front_ms for path, front_ms in self._fronts.items() if path in self.positions}
        if self._in_flight_ms:
            fronts[OTHERS] = min(self._in_flight_ms)
        return fronts

    def keep_restored(self, restored: Sequence[ManifestRef]) -> None:
        """Keep rows in flight for the next epoch: the task that was to emit them was not run."""
        self.restored += restored
        if restored and self._were_in_flight_ms is not None:
            self._in_flight_ms.append(self._were_in_flight_ms)

    def _take_fronts(self, fronts: Iterable[Frontier], in_flight_ms: int | None) -> None:
        if self._fronts is None:
            self._fronts = {}
        if in_flight_ms is not None:
            self._in_flight_ms.append(in_flight_ms)
        for logged, time_ms, is_held in fronts:
            path = self._source.path_of(logged)
            self._fronts[path] = time_ms
            if is_held:
                self.held.add(path)

    def _advance(self, entry: SplitProgress, written_ms: int) -> None:
        path = entry.split.path
        if path in self.positions and self._source.is_before(entry.position, self.positions[path]):
            raise ContractError(
                f"source {self._source.name!r} went backwards: split {entry.split.split_id} was to be read "
                f"from {self.positions[path]!r} and came to {entry.position!r}; nothing was changed"
            )
        self.due_ms.pop(path, None)
        failed_before = self.failing.pop(path, None)
        if entry.status is SplitStatus.FINISHED:
            self.splits.pop(path, None)
            self.positions.pop(path, None)
            return
        self._add(FoundSplit(entry.split, entry.position))
        self.positions[path] = entry.position
        if entry.status is SplitStatus.CAUGHT_UP:
            self.at_end.add(path)
        if entry.failing is not None:
            self.failing[path] = self._with_gaps(entry.failing, failed_before)
        if entry.not_before_ms is not None:
            # The rest of the delay. Two clocks are compared: so never more than the whole delay, and
            # never less than nothing.
            left_ms = entry.not_before_ms - (self._now_ms - written_ms)
            self.due_ms[path] = self._now_ms + max(0, min(left_ms, entry.not_before_ms))
        elif entry.status is SplitStatus.CAUGHT_UP:
            self.caught_up.add(path)

    def _with_gaps(self, failing: Failing, last: Failing | None) -> Failing:
        """Return a failure with the time between its task's end and now, in which the query was running."""
        if last is None or failing.lasting_ms < last.lasting_ms:
            return failing  # it began in this epoch
        return replace(failing, lasting_ms=max(failing.lasting_ms, last.lasting_ms + self._running_ms))

    def _add(self, discovery: FoundSplit) -> None:
        path = discovery.split.path
        if self.splits.setdefault(path, discovery.split) != discovery.split:
            raise ContractError(
                f"source {self._source.name!r} found {discovery.split!r} under the name of another split, "
                f"{self.splits[path]!r}"
            )
        self.positions.setdefault(path, discovery.start)


def _with_more(progress: Iterable[SplitProgress]) -> list[SplitPath]:
    return [entry.split.path for entry in progress if entry.status is SplitStatus.MORE]


def _interleaved(rows: Iterable[Sequence[SplitPath]]) -> list[SplitPath]:
    """Return the first of each row, then the second of each, and so on."""
    return [path for column in zip_longest(*rows) for path in column if path is not None]


def warn_of_failing(epoch: EpochId, failing: Mapping[SplitPath, Failing], retry_deadline_ms: int) -> None:
    """Log once an epoch which splits failed in it and made no progress since."""
    failed = {path: trouble for path, trouble in failing.items() if trouble.reason}
    if not failed:
        return
    path, longest = max(failed.items(), key=lambda item: item[1].lasting_ms)
    log.warning(
        "epoch %d: %d splits failed and made no progress; split %s for %d s now, in %d attempts: %s. "
        "The query ends after %d s of that (option retryDeadline)",
        epoch.number,
        len(failed),
        "-".join(path),
        longest.lasting_ms // 1000,
        longest.failures,
        longest.reason,
        retry_deadline_ms // 1000,
    )

"""Alignment by event time while planning (FLIP-182, FLIP-217): an enumerator's part that bounds batches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from headwater.core.clock import wall_ms
from headwater.core.enumerator import PlannedSplitEnumeratorContext, SplitRequest
from headwater.core.errors import SourceError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.enumerators.event_time.bound_search import Bound, BoundSearch
from headwater.enumerators.event_time.late_splits import FoundSplits, LateRows, Silence, find_late
from headwater.enumerators.event_time.time_index import AlignmentSettings, TimeIndex
from headwater.enumerators.event_time.timeline import Backlog

log = logger_of(__name__)

_STATE: Final = "event_time"
_FRONT: Final = "front_ms"
_LATE: Final = "late_rows"


@dataclass(frozen=True)
class _Answer:
    """The answers that the worker thread has collected.

    Attributes:
        bound: where the batch ends; None where it takes all there is.
        late: the rows of splits that were found late.
    """

    bound: Bound | None
    late: Collection[LateRows]


class EventTimeAlignment:
    """Ends batches of a backlog at one event time in all splits. On the coordinator thread.

    A batch that can take all there is has no bound: nothing is left that could be late. Otherwise the time is
    searched for at which the rows of all splits fit the limits of the batch (`BoundSearch`), on the worker
    thread. A split whose records end before that time is read to its end, and holds nobody back, unless the
    user asks to wait for it (`Silence`).

    Its state is the front, which is the time of the last bound, and the count of late rows. A plan that no
    batch came of has moved nothing: each round begins at the front of the checkpoint.

    Args:
        context: the coordinator's.
        settings: the user's.
        index: of times; asked on the worker thread.
        row_bytes: about how many bytes a record of a split has.
        source: the name of the source, for messages.
        state: that of the enumerator in the checkpoint; None for none.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[Any, int],
        settings: AlignmentSettings,
        index: TimeIndex,
        row_bytes: Callable[[SplitPath], int],
        *,
        source: str,
        state: JsonValue,
    ) -> None:
        self._context = context
        self._settings = settings
        self._index = index
        self._row_bytes = row_bytes
        self._source = source
        self._search = BoundSearch(index, settings.max_skew_ms, wall_ms)
        self._silence = Silence(settings.idle_timeout_ms)
        self._front_ms: int | None = None
        self._late_rows = _logged(state, _LATE) or 0
        self._counted: set[tuple[SplitPath, int]] = set()
        self._target: Mapping[SplitPath, int] | None = None
        self._bound: Bound | None = None

    @property
    def bounds(self) -> Mapping[SplitPath, int] | None:
        """Where splits end; see `PlannedSplitEnumerator.bounds`."""
        return None if self._bound is None else self._bound.ends

    @property
    def fronts_ms(self) -> Mapping[SplitPath, int]:
        """How far splits are read in event time; see `PlannedSplitEnumerator.fronts_ms`."""
        return {} if self._bound is None else self._bound.fronts_ms

    def snapshot(self) -> JsonObject:
        """Return the alignment's part of the enumerator's state."""
        state: JsonObject = {}
        if self._front_ms is not None:
            state[_FRONT] = self._front_ms
        if self._late_rows:
            state[_LATE] = self._late_rows
        return {_STATE: state} if state else {}

    def begin_round(self, state: JsonValue) -> None:
        """Go on from the checkpoint's state. In `SplitEnumerator.refresh`."""
        self._front_ms = _logged(state, _FRONT)

    def handle_split_request(
        self, request: SplitRequest, heads: Mapping[SplitPath, int], discovered: Collection[SplitPath]
    ) -> None:
        """Find out where the batch ends. In `PlannedSplitEnumerator.handle_split_request`.

        Args:
            request: of the batch.
            heads: where splits end now.
            discovered: the splits that a running query has just found, or found again.
        """
        self._bound = None
        positions = self._context.positions()
        backlog = self._backlog(request, positions, self._until(request, heads))
        # Here, on the coordinator thread: the worker thread must not read what this one changes.
        front_ms = self._front_ms
        starts = {
            path: positions[path]
            for path in discovered
            if path in positions and path in heads and (path, positions[path]) not in self._counted
        }
        read_before = [path for path in positions if path not in starts]
        # After the last batch of an AvailableNow run nothing comes that could be waited for.
        awaited = () if request.ends else self._silence.awaited(heads)
        if not starts and not awaited and backlog.load(backlog.ends) <= 1:
            self._front_ms = None
            return
        self._context.call_async(
            lambda: _Answer(
                self._find_bound(backlog, front_ms, awaited),
                find_late(
                    self._index,
                    FoundSplits(starts, heads, read_before),
                    front_ms,
                    delay_ms=self._settings.delay_ms,
                    now_ms=wall_ms(),
                ),
            ),
            self._take,
            what=f"the event time at which a batch of {len(backlog.paths)} splits ends",
        )

    def _until(self, request: SplitRequest, heads: Mapping[SplitPath, int]) -> Mapping[SplitPath, int]:
        """Return how far splits are to be read: under AvailableNow as far as they reached when it began."""
        if not request.ends:
            return heads
        if self._target is None:
            self._target = dict(heads)
        target = self._target
        return {path: min(head, target[path]) for path, head in heads.items() if path in target}

    def _backlog(
        self, request: SplitRequest, positions: Mapping[SplitPath, int], ends: Mapping[SplitPath, int]
    ) -> Backlog:
        behind = (path for path, position in positions.items() if ends.get(path, position) > position)
        paths = tuple(sorted(behind))
        sizes = [self._row_bytes(path) if request.max_bytes is not None else 1 for path in paths]
        return Backlog(
            paths,
            np.array([positions[path] for path in paths], dtype=np.int64),
            np.array([ends[path] for path in paths], dtype=np.int64),
            np.array(sizes, dtype=np.int64),
            request.max_rows,
            request.max_bytes,
            tuple(
                (np.array([path[0] == group for path in paths], dtype=bool), most)
                for group, most in request.max_rows_of.items()
            ),
        )

    def _find_bound(
        self, backlog: Backlog, front_ms: int | None, awaited: Collection[SplitPath]
    ) -> Bound | None:
        """Return where the batch ends; None where it takes all there is. On the worker thread."""
        reached_ms = self._silence.reached_ms(self._index, awaited)
        if not reached_ms:
            return self._search.search(backlog, front_ms) if backlog.load(backlog.ends) > 1 else None
        held_at_ms = min(reached_ms.values())
        if front_ms is not None:
            # What is read already stays read.
            held_at_ms = max(held_at_ms, front_ms)
        until_ms = held_at_ms + self._settings.max_skew_ms
        backlog = self._held_back(backlog, until_ms)
        if backlog.load(backlog.ends) > 1:
            bound = self._search.search(backlog, front_ms)
        else:
            ends = dict(zip(backlog.paths, backlog.ends.tolist(), strict=True))
            bound = Bound(held_at_ms, ends, dict.fromkeys(ends, until_ms))
        return replace(bound, fronts_ms={**bound.fronts_ms, **_of_others(reached_ms, bound.ends)})

    def _held_back(self, backlog: Backlog, until_ms: int) -> Backlog:
        """Return the backlog before a time. On the worker thread."""
        matches = self._index.first_at(backlog.paths, until_ms) if backlog.paths else {}
        ends = [
            min(end, max(start, matches.get(path, end)))
            for path, start, end in zip(
                backlog.paths, backlog.starts.tolist(), backlog.ends.tolist(), strict=True
            )
        ]
        return replace(backlog, ends=np.array(ends, dtype=np.int64))

    def _take(self, answer: _Answer) -> None:
        for late in answer.late:
            self._settle(late)
        self._bound = answer.bound
        self._front_ms = None if answer.bound is None else answer.bound.time_ms

    def _settle(self, late: LateRows) -> None:
        """Count rows of a split that comes late, and name it; or fail."""
        what = (
            f"{late.rows} rows of split {'-'.join(late.path)}, from {late.start} on, are older than what the "
            f"query has read by more than eventTimeDelay: a watermark with that delay drops them"
        )
        if self._settings.fail_on_late_split:
            raise SourceError(
                f"{what}. Set onLateSplit=read to read them all the same, or deselect the split",
                source=self._source,
                split="-".join(late.path),
                position=late.start,
            )
        log.warning("%s", what)
        self._counted.add((late.path, late.start))
        self._late_rows += late.rows


def _of_others(reached_ms: Mapping[SplitPath, int], ends: Mapping[SplitPath, int]) -> dict[SplitPath, int]:
    """Return the fronts of splits that have nothing left: they are read as far as they reach."""
    return {path: at_ms for path, at_ms in reached_ms.items() if path not in ends}


def _logged(state: JsonValue, name: str) -> int | None:
    """Return the alignment's part of a checkpoint."""
    ours = state.get(_STATE) if isinstance(state, dict) else None
    value = ours.get(name) if isinstance(ours, dict) else None
    return value if isinstance(value, int) else None

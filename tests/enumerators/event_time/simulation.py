"""Spark's late rows, simulated: micro-batches, one watermark, windows of a minute; and the time index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headwater.connector.planned.shares import share_rows
from headwater.core.split import SplitPath
from headwater.enumerators.event_time.bound_search import BoundSearch
from headwater.enumerators.event_time.time_index import TimeIndex, TimeSpan
from headwater.enumerators.event_time.timeline import Backlog

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
BEGIN_MS = 1_795_000_000_000
Times = npt.NDArray[np.int64]


def even(begin_ms: float, end_ms: float, rows: int) -> Times:
    """Return times at equal distances."""
    return np.linspace(begin_ms, end_ms, rows, endpoint=False).astype(np.int64)


def backlogs() -> dict[str, list[Times]]:
    """Six backlogs: the times of the records of each split, by offset."""
    rng = np.random.default_rng(1)

    def disorder(times: Times, ms: int) -> Times:
        return times + rng.integers(-ms, ms + 1, times.size)

    t = BEGIN_MS
    h = HOUR_MS
    behind = [even(t + 2 * h, t + 3 * h, 60_000)] * 3 + [even(t, t + 3 * h, 60_000)]
    year_ahead = np.array([t + 8_760 * h], dtype=np.int64)
    ahead = [even(t + 2 * h, t + 2.5 * h, 30_000), year_ahead, even(t + 2.5 * h, t + 3 * h, 30_000)]
    burst = [even(t, t + h, 5_000), even(t + h, t + h + MINUTE_MS, 32_000)]
    burst.append(even(t + h + MINUTE_MS, t + 3 * h, 3_000))
    return {
        "one partition two hours behind": behind,
        "the same, out of order by 5 min": [disorder(times, 5 * MINUTE_MS) for times in behind],
        "the same, out of order by 20 min": [disorder(times, 20 * MINUTE_MS) for times in behind],
        "the same, one record a year ahead": [
            *([even(t + 2 * h, t + 3 * h, 60_000)] * 2),
            np.concatenate(ahead).astype(np.int64),
            even(t, t + 3 * h, 60_000),
        ],
        "24 h of a slow topic, 1 h of a fast one": [even(t, t + 24 * h, 21_600)] * 4
        + [even(t + 23 * h, t + 24 * h, 90_000)] * 4,
        "a burst: 80 % of a partition in a minute": [even(t, t + 3 * h, 40_000)] * 3
        + [np.concatenate(burst)],
        "a hot partition, the same hours": [even(t, t + 3 * h, 10_000)] * 7 + [even(t, t + 3 * h, 200_000)],
    }


class SimulatedIndex(TimeIndex):
    """Answers as a broker does: the first offset whose record is at or after a time."""

    def __init__(self, splits: Mapping[SplitPath, Times]) -> None:
        self._splits = splits
        self._largest = {path: np.maximum.accumulate(times) for path, times in splits.items()}
        self.rounds = 0

    def first_at(self, paths: Sequence[SplitPath], time_ms: int) -> Mapping[SplitPath, int]:
        self.rounds += 1
        found = {path: int(np.searchsorted(self._largest[path], time_ms, "left")) for path in paths}
        return {path: at for path, at in found.items() if at < self._splits[path].size}

    def spans(self, paths: Sequence[SplitPath]) -> Mapping[SplitPath, TimeSpan]:
        self.rounds += 2
        return {path: TimeSpan(0, int(self._splits[path][0]), int(self._largest[path][-1])) for path in paths}


class IndexWithoutSpans(SimulatedIndex):
    """Does not tell when the first and the last records were made."""

    def spans(self, paths: Sequence[SplitPath]) -> Mapping[SplitPath, TimeSpan]:
        return {}


@dataclass(frozen=True)
class Outcome:
    """What a query has done.

    Attributes:
        late: how many rows Spark has dropped.
        batches: how many batches it took.
        rounds: how often the index was asked, for each batch.
        fills: how many rows each batch had, as a share of the limit.
        spreads_ms: how far apart in time the splits that were cut have ended each batch.
    """

    late: int
    batches: int
    rounds: list[int]
    fills: list[float]
    spreads_ms: list[int]


def read(
    splits: Sequence[Times],
    *,
    limit: int,
    delay_ms: int,
    skew_ms: int | None,
    restart_every: int = 0,
    index_of: type[SimulatedIndex] = SimulatedIndex,
    age_ms: int = 1,
) -> Outcome:
    """Read everything; without a skew, each split by its share of the backlog.

    ``age_ms`` is how long ago the last record was made.
    """
    times: dict[SplitPath, Times] = {(f"{number:05}",): each for number, each in enumerate(splits)}
    paths = tuple(times)
    index = index_of(times)
    now_ms = max(int(each.max()) for each in splits) + age_ms
    heads = np.array([each.size for each in splits])
    positions = np.zeros(len(paths), dtype=np.int64)
    search = BoundSearch(index, skew_ms or 1, lambda: now_ms)
    last_ms: int | None = None
    watermark = before = seen = -1
    outcome = Outcome(0, 0, [], [], [])
    late = 0
    while (positions < heads).any():
        asked = index.rounds
        if restart_every and len(outcome.rounds) % restart_every == restart_every - 1:
            search = BoundSearch(index, skew_ms or 1, lambda: now_ms)
        ends = positions + share_rows((heads - positions).tolist(), limit)
        if skew_ms is not None and (heads - positions).sum() > limit:
            behind = [at for at in range(len(paths)) if positions[at] < heads[at]]
            left = Backlog(
                tuple(paths[at] for at in behind),
                positions[behind],
                heads[behind],
                np.ones(len(behind), dtype=np.int64),
                limit,
                None,
            )
            bound = search.search(left, last_ms)
            last_ms = bound.time_ms
            ends = heads.copy()
            ends[behind] = [bound.ends[paths[at]] for at in behind]
            assert (ends - positions).sum() <= limit, "the limit is hard"
        fronts = []
        for at, path in enumerate(paths):
            read_now = times[path][positions[at] : ends[at]]
            late += int(((read_now // MINUTE_MS + 1) * MINUTE_MS <= before).sum())
            seen = max(seen, int(read_now.max(initial=-1)))
            if ends[at] < heads[at]:
                fronts.append(int(times[path][ends[at]]))
        assert (ends > positions).any(), "nothing moves"
        outcome.rounds.append(index.rounds - asked)
        outcome.fills.append(float((ends - positions).sum()) / limit)
        outcome.spreads_ms.append(max(fronts) - min(fronts) if fronts else 0)
        positions = ends
        before = watermark
        watermark = max(watermark, seen - delay_ms)
    return Outcome(late, len(outcome.rounds), outcome.rounds, outcome.fills, outcome.spreads_ms)

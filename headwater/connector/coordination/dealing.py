"""How splits are dealt to tasks: by the time that each took before, and evenly where that is not known."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterable, Sequence
from typing import Final

from headwater.core.split import SplitPath

_MOST_SPLITS: Final = 10_000
"""So many splits are remembered: those that were read last."""

_CHEAP: Final = 0.05
"""Cheap things cost less than this part of what a task has on average, all together."""


class SplitTimes:
    """How long fetching from a split took the last time, for each unit of work: an epoch, or a byte.

    In memory only: which task reads a split changes no row, so nothing of this need survive a restart. The
    thread that takes reports of tasks adds, the one that plans asks.
    """

    def __init__(self) -> None:
        self._ms: dict[SplitPath, float] = {}
        # Guards the dict, which one thread reads as a whole while another one adds to it.
        self._lock = threading.Lock()

    def add(self, measured: Iterable[tuple[SplitPath, float]]) -> None:
        """Take what tasks have measured: for each split the time of a unit of its work in ms."""
        with self._lock:
            for path, ms in measured:
                self._ms.pop(path, None)
                self._ms[path] = ms
            for path in list(self._ms)[: max(0, len(self._ms) - _MOST_SPLITS)]:
                del self._ms[path]

    def costs(self, paths: Sequence[SplitPath], work: Sequence[float]) -> list[float]:
        """Return what each of some splits will cost, for the work that it has; in ms, if anything is known.

        A split that was never read costs as much as one on average.
        """
        with self._lock:
            durations_ms = [self._ms[path] for path in paths if path in self._ms]
            mean = sum(durations_ms) / len(durations_ms) if any(durations_ms) else 1.0
            return [self._ms.get(path, mean) * size for path, size in zip(paths, work, strict=True)]


def deal(costs: Sequence[float], tasks: int) -> list[list[int]]:
    """Deal things to tasks by their costs; return the numbers of the things of each task, in order.

    The dearest first, each to the task that has the least. Then the cheap ones, which weigh little all
    together, evenly by their number: the task that has the least would get all of them, and wait for all of
    them in the batch in which they become dear.

    Where all cost the same, the numbers of the tasks differ by one at the most, and the order of the tasks
    changes from round to round, in no period: things of one kind, such as every second one, do not come to
    one task.
    """
    dealt: list[list[int]] = [[] for _ in range(tasks)]
    dearest_first = sorted(range(len(costs)), key=costs.__getitem__, reverse=True)
    left = _CHEAP * sum(costs) / max(1, tasks)
    cheap = len(costs)
    while cheap and costs[dearest_first[cheap - 1]] < left:
        cheap -= 1
        left -= costs[dearest_first[cheap]]
    heap = [(0.0, task, task) for task in range(tasks)]
    for place, thing in enumerate(dearest_first):
        if place == cheap:
            # From here on the number counts; those that have the least begin.
            heap = [(0.0, turn, task) for turn, (_, _, task) in enumerate(sorted(heap))]
        load, _, task = heap[0]
        dealt[task].append(thing)
        turn = (task + _digit_sum(len(dealt[task]), tasks)) % tasks
        heapq.heapreplace(heap, (load + (max(costs[thing], 1e-9) if place < cheap else 1), turn, task))
    return [sorted(things) for things in dealt]


def _digit_sum(number: int, base: int) -> int:
    """Return the sum of the digits of a number: modulo the base it has no period (Thue and Morse)."""
    total = 0
    while number and base > 1:
        number, digit = divmod(number, base)
        total += digit
    return total

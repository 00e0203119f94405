"""Subjects that take turns in reading the same rows of a server: the clock, and processor time."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.bench import BenchmarkError
from headwater.tools.commands.cpu_time import cpu_time

Subject = Callable[[], float]
"""Reads all rows; returns how many seconds that took, without what comes before and after."""


@dataclass(frozen=True)
class Cost:
    """What one reading took.

    Attributes:
        seconds: by the clock.
        client_s: processor time of everything that this process has started, without the server.
        server_s: processor time of the server.
    """

    seconds: float
    client_s: float
    server_s: float


def take_turns(
    subjects: Mapping[str, Subject], server_pid: int, *, warmups: int, rounds: int
) -> dict[str, list[Cost]]:
    """Let each subject read in each round, in an order that turns. The first ones are warm-ups."""
    names = list(subjects)
    costs: dict[str, list[Cost]] = {name: [] for name in names}
    for number in range(warmups + rounds):
        for i in range(len(names)):
            name = names[(number + i) % len(names)]
            cost = _cost(subjects[name], server_pid)
            if number >= warmups:
                costs[name].append(cost)
    return costs


def show(costs: Mapping[str, list[Cost]], rows: int) -> None:
    """Print the medians: rates, times beside that of the first subject, processor time of a million rows."""
    base = 0.0
    for name, each in costs.items():
        seconds = statistics.median(cost.seconds for cost in each)
        base = base or seconds
        client, server = (
            statistics.median(getattr(cost, side) for cost in each) / rows * 1e6
            for side in ("client_s", "server_s")
        )
        print(
            f"  {name}: {rows / seconds / 1e3:,.0f} k a second, {seconds / base:.1f}x the time; "
            f"processor time of a million: client {client:.1f} s, server {server:.1f} s"
        )


def require_rows(name: str, found: int, rows: int) -> None:
    """Raise an error unless a subject has read all rows, and none twice.

    Raises:
        BenchmarkError: it has not.
    """
    if found != rows:
        raise BenchmarkError(f"{name} read {found:,} rows instead of {rows:,}")


def _cost(subject: Subject, server_pid: int) -> Cost:
    all_before, server_before = (cpu_time(pid).total for pid in (os.getpid(), server_pid))
    seconds = subject()
    all_s, server_s = (cpu_time(pid).total for pid in (os.getpid(), server_pid))
    server_s -= server_before
    return Cost(seconds, all_s - all_before - server_s, server_s)

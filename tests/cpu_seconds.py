"""A plugin of pytest: ``--cpu-seconds`` lists the tests that need much processor time.

The time is that of all processes together: Spark, its Python workers, brokers, programs that a test starts.
It says what a test costs also on a busy machine, where the clock does not. A test that needs more than the
limit says why: ``@pytest.mark.heavy("why")``, and its reason is listed with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["LIMIT_S", "cpu_seconds"]

LIMIT_S = 20.0
"""A test above it says why."""

_COST = "cpu_seconds"
_REASON = "heavy"
_SHORT_S = 0.1
"""To look at all processes takes 10 ms, which ten thousand tests would pay three times each."""
_TICKS = os.sysconf("SC_CLK_TCK")


class _Meter:
    """Tells the processor time since it was asked last."""

    def __init__(self) -> None:
        self._all = cpu_seconds()
        self._own = _own_seconds()

    def spent(self, took_s: float) -> float:
        """Return that of all processes; after a short while, of this one and its ended children alone."""
        own = _own_seconds()
        now = self._all + own - self._own if took_s < _SHORT_S else cpu_seconds()
        # An ended process is missing where nobody waited for it.
        spent = max(0.0, now - self._all)
        self._all = now
        self._own = own
        return spent


_METER = pytest.StashKey[_Meter]()


def _own_seconds() -> float:
    return sum(os.times()[:4])


def cpu_seconds(root: int | None = None) -> float:
    """Return the processor time of a process and of all below it, also of those that have ended."""
    processes = dict(_processes())
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in processes.items():
        children.setdefault(parent, []).append(pid)
    total = 0.0
    pending = [os.getpid() if root is None else root]
    while pending:
        pid = pending.pop()
        total += processes[pid][1] if pid in processes else 0.0
        pending += children.get(pid, ())
    return total


def _processes() -> Iterable[tuple[int, tuple[int, float]]]:
    """Yield each process with its parent and its seconds, those of its ended children included."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            # Not by Path: a test may have replaced its methods.
            with open(folder / "stat") as stat:  # noqa: PTH123
                text = stat.read()
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
        fields = text.rpartition(")")[2].split()  # the name before may hold anything
        yield int(folder.name), (int(fields[1]), sum(map(int, fields[11:15])) / _TICKS)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cpu-seconds",
        nargs="?",
        type=float,
        const=LIMIT_S,
        metavar="LIMIT",
        help=f"list tests and fixtures that take more processor time (without LIMIT: {LIMIT_S:.0f} s)",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.option.cpu_seconds is not None:
        session.config.stash[_METER] = _Meter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if item.config.option.cpu_seconds is not None:
        spent = item.config.stash[_METER].spent(report.duration)
        reason = item.get_closest_marker(_REASON)
        # Properties of a report come from the workers to the process that prints.
        report.user_properties.append((_COST, [spent, reason.args[0] if reason else ""]))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    limit = config.option.cpu_seconds
    if limit is None:
        return
    costs = [
        (seconds, report.when, report.nodeid, reason)
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, (seconds, reason) in getattr(report, "user_properties", ())
        if name == _COST
    ]
    costs.sort(reverse=True)
    total = sum(seconds for seconds, *_ in costs)
    terminalreporter.section(f"processor time: {total:.0f} s, and what took more than {limit:g} s")
    for seconds, when, nodeid, reason in costs:
        if seconds > limit:
            terminalreporter.write_line(f"{seconds:6.1f} s {when:8} {nodeid}{reason and f'  ({reason})'}")

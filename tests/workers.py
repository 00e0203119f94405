"""A plugin of pytest: how the workers of ``pytest -n 2 --dist loadgroup`` share the tests (`scripts/test`).

Tests of one group run in one worker, in their order. What is expensive to start makes the groups: a worker
starts at most one Spark and one broker, and each other server is started once in all. The groups that take
longest come first; what is cheap fills up the end, module by module.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

__all__ = ["group_of"]

ROOT = Path(__file__).resolve().parent

_PROGRAMS = ("exactly_once", "examples", "benchmarks", "scripts")
"""Folders whose tests start programs of their own, and wait for them most of the time."""

_SERVERS = ("postgres", "schema_registry", "secure_kafka", "distributions")
"""Fixtures of which one in all is enough."""

_RANKS = ("programs", "spark", "kafka", *_SERVERS)
"""The order of groups by the first word of their names. Others come last."""


_COMPARED: Counter[str] = Counter()
"""Files that the workers have compared (`tests.parity.files.files_parity`)."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not getattr(config.option, "loadgroup", False):  # it is set in workers only
        return
    needs: dict[Path, set[str]] = {}
    for item in items:
        needs.setdefault(item.path, set()).update(getattr(item, "fixturenames", ()))
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item.path, needs[item.path])))
    items.sort(key=lambda item: _rank(group_of(item.path, needs[item.path])))


def group_of(module: Path, needs: set[str]) -> str:
    """Return the group of a module of tests that needs these fixtures."""
    folders = module.relative_to(ROOT).parts[:-1]
    for server in _SERVERS:
        if server in needs:
            return server
    if folders and folders[0] in _PROGRAMS:
        return "programs"
    if "spark" in needs:
        return " ".join(["spark", *folders[:2]])
    return "kafka" if "kafka" in needs else "/".join(module.relative_to(ROOT).parts)


def _rank(group: str) -> int:
    kind = group.split(" ", maxsplit=1)[0]
    return _RANKS.index(kind) if kind in _RANKS else len(_RANKS)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take the group from the test's name again: ``pytest NAME`` repeats it then."""
    name, at, group = report.nodeid.rpartition("@")
    if at and "]" not in group:
        report.nodeid = name


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send what a worker has counted to the process that prints."""
    counting: Any = sys.modules.get("tests.parity.files.files_parity")
    if counting is not None and hasattr(session.config, "workeroutput"):
        session.config.workeroutput["compared"] = dict(counting.COMPARED)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _COMPARED.update(getattr(node, "workeroutput", {}).get("compared", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _COMPARED:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(_COMPARED.items()))
        terminalreporter.write_line(f"files compared by the workers: {_COMPARED.total():,} ({kinds})")

"""A plugin of pytest: how the workers of ``pytest -n 3 --dist loadgroup`` share the tests (`scripts/test`).

Modules of one group run in one worker. What is expensive to start makes the groups: a worker starts at most
one Spark and one broker, and each other server is started once in all. One worker takes the modules that
start programs, which wait for these most of the time; the others take what computes. What takes long comes
first; what is cheap fills up the end, module by module.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

__all__ = ["Scheduling", "group_of"]

ROOT = Path(__file__).resolve().parent

_PROGRAMS = ("exactly_once", "examples", "benchmarks", "scripts")
"""Folders whose tests start programs of their own, and wait for them most of the time."""

_SERVERS = ("postgres", "schema_registry", "secure_kafka", "distributions")
"""Fixtures of which one in all is enough: all modules with one of them are a group."""

_RANKS = ("programs", *_SERVERS, "spark", "kafka")
"""The order of groups by the first word of their names: large ones first. Others come last."""

_GROUPS = "groups of headwater's tests"
"""What a worker is started with: the file into which it writes the group of each module."""

_FOLDER = pytest.StashKey["tempfile.TemporaryDirectory[str]"]()
"""For that file."""

_COMPARED: Counter[str] = Counter()
"""Files that the workers have compared (`tests.parity.files.files_parity`)."""

_BEGAN_S = time.monotonic()
_DONE_S: list[float] = []
"""When each worker had nothing left to do. Far from each other, a group that comes late takes too long."""


def group_of(module: Path, needs: set[str]) -> str:
    """Return the group of a module of tests that needs these fixtures."""
    folder, *_ = module.relative_to(ROOT).parts
    for server in _SERVERS:
        if server in needs:
            return server
    kinds = [each for each in ("spark", "kafka") if each in needs]
    return " ".join([*(["programs"] if folder in _PROGRAMS else kinds[:1]), str(module.relative_to(ROOT))])


def _rank(group: str) -> int:
    kind = group.split(" ", maxsplit=1)[0]
    return _RANKS.index(kind) if kind in _RANKS else len(_RANKS)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    file = getattr(config, "workerinput", {}).get(_GROUPS)
    if file is None:
        return
    needs: dict[Path, set[str]] = {}
    for item in items:
        needs.setdefault(item.path, set()).update(getattr(item, "fixturenames", ()))
    groups = {module: group_of(module, of_module) for module, of_module in needs.items()}
    items.sort(key=lambda item: _rank(groups[item.path]))
    Path(file).write_text(
        json.dumps({item.nodeid.partition("::")[0]: groups[item.path] for item in items}), encoding="utf-8"
    )


class Scheduling(LoadScopeScheduling):  # type: ignore[misc] # xdist ships no types
    """The queue of groups, from which a worker takes the next one when it has nearly done its own.

    xdist's own queue of groups takes them from the names of tests, which pytest 9 does not let it change.

    Args:
        config: of the process that prints.
        log: prints where pytest is to explain itself (`--debug`).
        file: the group of each module, as the workers have written it.
    """

    def __init__(self, config: pytest.Config, log: Any, file: Path) -> None:
        super().__init__(config, log)
        self._file = file
        self._groups: dict[str, str] = {}

    def schedule(self) -> None:
        """Give each worker its first groups."""
        self._groups = json.loads(self._file.read_text(encoding="utf-8"))
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self._groups[nodeid.partition("::")[0]]

    def _assign_work_unit(self, node: Any) -> None:
        if node is not self.nodes[0]:
            # The programs are for one worker, which was ready first, as long as there is anything else.
            others = (group for group in self.workqueue if _rank(group))
            self.workqueue.move_to_end(next(others, next(iter(self.workqueue))), last=False)
        super()._assign_work_unit(node)


def pytest_configure_node(node: Any) -> None:
    """Tell a worker where to write its groups."""
    stash = node.config.stash
    if _FOLDER not in stash:
        stash[_FOLDER] = tempfile.TemporaryDirectory()
    node.workerinput[_GROUPS] = str(Path(stash[_FOLDER].name, "groups.json"))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    if config.getvalue("dist") != "loadgroup":
        return None
    return Scheduling(config, log, Path(config.stash[_FOLDER].name, "groups.json"))


def pytest_unconfigure(config: pytest.Config) -> None:
    if _FOLDER in config.stash:
        config.stash[_FOLDER].cleanup()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send what a worker has counted to the process that prints."""
    counting: Any = sys.modules.get("tests.parity.files.files_parity")
    if counting is not None and hasattr(session.config, "workeroutput"):
        session.config.workeroutput["compared"] = dict(counting.COMPARED)


def pytest_testnodedown(node: Any) -> None:
    _COMPARED.update(getattr(node, "workeroutput", {}).get("compared", {}))
    _DONE_S.append(time.monotonic() - _BEGAN_S)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _COMPARED:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(_COMPARED.items()))
        terminalreporter.write_line(f"files compared by the workers: {_COMPARED.total():,} ({kinds})")
    if _DONE_S:
        times = ", ".join(f"{done_s:.0f}" for done_s in sorted(_DONE_S))
        terminalreporter.write_line(f"the workers were done after {times} s")

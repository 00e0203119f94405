"""CPU time of a process and of everything that it has started, from ``/proc``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class CpuTime(NamedTuple):
    """Seconds, those of children that have ended included.

    Attributes:
        jvm: of processes whose command is ``java``.
        python: of all others: the driver and Spark's Python workers.
    """

    jvm: float
    python: float

    @property
    def total(self) -> float:
        """Of all."""
        return self.jvm + self.python

    def since(self, start: CpuTime) -> CpuTime:
        """Return the seconds that were used in between."""
        return CpuTime(self.jvm - start.jvm, self.python - start.python)


def is_known() -> bool:
    """Whether this system tells the seconds of processes."""
    return (_PROC / "self" / "stat").exists()


class _Process(NamedTuple):
    command: str
    parent: int
    own_ticks: int
    ticks_of_ended_children: int


def cpu_time(root: int) -> CpuTime:
    """Return the seconds that a process and its descendants have used so far.

    Nothing where the system has no ``/proc``, as Linux has: see `is_known`.
    """
    processes = dict(_processes())
    jvm = 0
    python = 0
    for pid, process in processes.items():
        if _descends(pid, root, processes):
            # The JVM starts Python processes only.
            python += process.ticks_of_ended_children
            if process.command == "java":
                jvm += process.own_ticks
            else:
                python += process.own_ticks
    return CpuTime(jvm / _TICKS_PER_S, python / _TICKS_PER_S)


def _descends(pid: int, root: int, processes: dict[int, _Process]) -> bool:
    while pid in processes and pid != root:
        pid = processes[pid].parent
    return pid == root


def _processes() -> Iterator[tuple[int, _Process]]:
    for folder in _PROC.iterdir() if is_known() else ():
        if not folder.name.isdecimal():
            continue
        try:
            stat = (folder / "stat").read_text()
        except OSError:  # it has ended
            continue
        command = stat[stat.index("(") + 1 : stat.rindex(")")]
        fields = stat[stat.rindex(")") + 2 :].split()
        user, system, user_of_children, system_of_children = map(int, fields[11:15])
        yield (
            int(folder.name),
            _Process(command, int(fields[1]), user + system, user_of_children + system_of_children),
        )

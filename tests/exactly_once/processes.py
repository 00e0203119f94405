"""Other processes: a program in a session of its own, and which processes belong to it, from /proc."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.exactly_once.waiting import until

__all__ = ["Program", "children", "connected", "marked", "members", "parent", "python_workers"]

HERE = Path(__file__).resolve().parent
LOG_TAIL = 6_000


class Program:
    """A program of this folder in a session of its own.

    Its JVM, Spark's source runner, Python daemons and workers all belong to it.

    A context manager: the processes that are left at its end are killed.

    Args:
        script: the program, for example ``driver.py``.
        job: its one argument.
        log: the file for its errors, and for what it prints unless ``asked``.
        environment: more variables.
        asked: whether it takes commands on stdin and answers them on stdout (`ask`).
    """

    def __init__(
        self,
        script: str,
        job: Mapping[str, Any],
        log: Path,
        environment: Mapping[str, str] | None = None,
        *,
        asked: bool = False,
    ) -> None:
        self._script = script
        self._log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, str(HERE / script), json.dumps(job)],
                env={**os.environ, **(environment or {})},
                stdin=subprocess.PIPE if asked else subprocess.DEVNULL,
                stdout=subprocess.PIPE if asked else output,
                stderr=output,
                text=True,
                start_new_session=True,
            )

    @property
    def session(self) -> int:
        """The id of its session."""
        return self._process.pid

    def ask(self, command: str) -> Any:
        """Send a line; return the JSON of the line that answers it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(command, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, self.log_tail()
        return json.loads(answer)

    def check(self) -> None:
        """Raise if the program has ended by itself."""
        assert self._process.poll() is None, (
            f"{self._script} ended with {self._process.returncode}\n{self.log_tail()}"
        )

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition, as long as the program runs."""

        def holds() -> bool:
            self.check()
            return condition()

        until(holds, what)

    def finish(self, timeout_s: float) -> None:
        """Wait for a program that ends by itself, and check that it succeeded. It gets no more commands."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        assert self._process.wait(timeout_s) == 0, self.log_tail()

    def ends_within(self, timeout_s: float) -> bool:
        """Return whether the program ends by itself in this time."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End everything that belongs to it at once (SIGKILL), and return when the last process is gone."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)  # the program and its JVM at once
        until(self._none_left, "the program's processes to be gone")
        self._close()

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._process.wait()

    def kill_jvm(self) -> None:
        """End its JVM only (SIGKILL), as the kernel does when memory runs out.

        Returns when all that belongs to it has ended by itself.
        """
        for pid in members(self.session, "org.apache.spark.deploy.SparkSubmit"):
            with contextlib.suppress(ProcessLookupError):  # gone by itself meanwhile
                os.kill(pid, signal.SIGKILL)
        until(lambda: not members(self.session), "everything to end that belonged to the JVM")

    def log_tail(self) -> str:
        """Return the end of what it printed."""
        return self._log.read_text(errors="replace")[-LOG_TAIL:]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()
        if error is not None:
            print(self.log_tail())

    def _none_left(self) -> bool:
        """Kill the processes that are left, and return whether there were none.

        Python's worker daemon is in a process group of its own, so that killing the group does not end it.
        """
        self._process.poll()
        left = members(self.session)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):  # gone by itself meanwhile
                os.kill(pid, signal.SIGKILL)
        return not left


def members(session: int, command: str = "") -> list[int]:
    """Return the living processes of a session whose command line contains this text."""
    return [pid for pid in _pids() if _session(pid) == session and command in _command(pid)]


def marked(mark: str, command: str) -> list[int]:
    """Return the living processes of a command that have this text in their environment, in any session."""
    return [pid for pid in _pids() if command in _command(pid) and mark.encode() in _environment(pid)]


def python_workers(session: int, jvm: str) -> list[int]:
    """Return the living Python workers of a session's JVMs of this command line.

    The JVM's child is a daemon, which forks them.
    """
    jvms = members(session, jvm)
    parents = {pid: int(stat[1]) for pid in members(session, "pyspark.daemon") if (stat := _stat(pid))}
    return [pid for pid, daemon in parents.items() if parents.get(daemon) in jvms]


def children(pid: int, command: str = "") -> list[int]:
    """Return the living children of a process whose command line contains this text."""
    return [one for one in _pids() if _parent(one) == pid and command in _command(one)]


def parent(pid: int) -> int:
    """Return a process's parent."""
    return int(_stat(pid)[1])


def connected(pid: int, port: int) -> bool:
    """Whether a process has a TCP connection to this port."""
    sockets = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        columns = line.split()
        if int(columns[2].rpartition(":")[2], 16) == port:
            sockets.add(f"socket:[{columns[9]}]")
    try:
        return any(str(entry.readlink()) in sockets for entry in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())


def _session(pid: int) -> int | None:
    stat = _stat(pid)
    return int(stat[3]) if stat and stat[0] != "Z" else None


def _parent(pid: int) -> int | None:
    stat = _stat(pid)
    return int(stat[1]) if stat and stat[0] != "Z" else None


def _stat(pid: int) -> list[str]:
    """Return state, parent, group, session and so on of a process; nothing if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""

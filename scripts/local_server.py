"""A server of tests and examples: one process with a folder of its own, which ends with its context."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, Self

__all__ = ["TIMEOUT_S", "LocalServer"]

TIMEOUT_S: Final = 300
"""Only a server that hangs takes so long, on a busy machine too."""

_SHOWN: Final = 2_000
"""So many characters of a log are shown."""


class LocalServer(ABC):
    """A server as a child of this process. A context manager, which deletes its folder at the end.

    Args:
        name: of the server, as folders and errors have it.
    """

    ending: ClassVar[signal.Signals] = signal.SIGTERM
    """What ends it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._folder = Path(tempfile.mkdtemp(prefix=f"headwater-{name}-"))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of its process, while it runs."""
        assert self._process is not None, "it runs"
        return self._process.pid

    def start(self) -> None:
        """Start it, and return when it answers.

        Raises:
            RuntimeError: it ended, or does not answer. The message shows the end of its log.
        """
        try:
            is_up = self._launch()
        except BaseException:
            # Nobody else ends it: the context was not entered.
            self.stop()
            raise
        if not is_up:
            self.stop()
            raise RuntimeError(f"{self._name} did not start: {(self._folder / 'log').read_text()[-_SHOWN:]}")

    def stop(self) -> None:
        """End it; `start` starts it again, in the same folder."""
        if self._process is not None:
            self.resume()  # what is frozen does not end
            self._process.send_signal(self.ending)
            self._process.wait(TIMEOUT_S)
            self._process = None

    def pause(self) -> None:
        """Freeze the process (SIGSTOP): connections are accepted and nothing answers.

        Returns when all of its threads have stopped.
        """
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self) -> None:
        """End a `pause`. Does nothing if there is none."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def _launch(self) -> bool:
        """Start the process; return whether it answers, False if it has ended or takes too long."""
        command = self._command()
        # A child in this process's group: what ends the group ends the server too.
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=self._user()
            )
        give_up_at = time.monotonic() + TIMEOUT_S
        never = threading.Event()
        while time.monotonic() < give_up_at and self._process.poll() is None:
            if self._answers():
                return True
            never.wait(0.02)
        return False

    @abstractmethod
    def _command(self) -> Sequence[str | Path]:
        """Prepare the folder, and return what starts the server in it."""

    @abstractmethod
    def _answers(self) -> bool:
        """Return whether it takes requests."""

    def _user(self) -> str | None:
        """Return whom it runs as; None: as this process."""
        return None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

"""A real PostgreSQL for tests and examples, in a folder of its own.

python scripts/local_postgres.py     # until Ctrl-C
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["LocalPostgres"]

DEBIAN = Path("/usr/lib/postgresql")
UNPRIVILEGED = "postgres"
"""Whom it runs as if we are root, which PostgreSQL refuses."""

SETTINGS = "-c listen_addresses= -c fsync=off -c autovacuum=off -k {folder}"
TIMEOUT_S = 120


class LocalPostgres:
    """A server that listens on a socket in its folder. A context manager."""

    def __init__(self) -> None:
        self._programs = _programs()
        self._folder = Path(tempfile.mkdtemp(prefix="headwater-postgres-"))
        self._user = UNPRIVILEGED if os.geteuid() == 0 else None
        self._server: subprocess.Popen[bytes] | None = None
        if self._user is not None:
            shutil.chown(self._folder, self._user)

    @property
    def conninfo(self) -> str:
        """How libpq reaches it."""
        return f"host={self._folder} user={UNPRIVILEGED} dbname=postgres"

    def start(self) -> None:
        """Start it, and return when it answers."""
        initdb = ["--no-sync", "--auth=trust", f"--username={UNPRIVILEGED}", "--encoding=UTF8", "--locale=C"]
        self._run("initdb", "-D", "data", *initdb)
        # A child, not a daemon of pg_ctl: what ends this process's group ends the server too.
        with (self._folder / "log").open("w") as log:
            self._server = subprocess.Popen(
                [self._programs / "postgres", "-D", "data", *SETTINGS.format(folder=self._folder).split()],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self._user,
            )
        self._wait_until_it_answers(self._server)

    def stop(self) -> None:
        """End it at once, and delete what it holds."""
        if self._server is not None:
            self._server.send_signal(signal.SIGQUIT)
            self._server.wait(TIMEOUT_S)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait_until_it_answers(self, server: subprocess.Popen[bytes]) -> None:
        give_up_at = time.monotonic() + TIMEOUT_S
        asking = [str(self._programs / "pg_isready"), "-q", "-h", str(self._folder)]
        while subprocess.run(asking, check=False).returncode:
            if server.poll() is not None or time.monotonic() > give_up_at:
                raise RuntimeError(
                    f"PostgreSQL does not answer: {(self._folder / 'log').read_text()[-2000:]}"
                )
            time.sleep(0.05)

    def _run(self, program: str, *arguments: str) -> None:
        with (self._folder / "output").open("a+") as output:
            done = subprocess.run(
                [self._programs / program, *arguments],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                user=self._user,
                timeout=TIMEOUT_S,
                check=False,
            )
            if done.returncode:
                output.seek(0)
                raise RuntimeError(f"{program} failed: {output.read()[-2000:]}")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def _programs() -> Path:
    """Return the folder of PostgreSQL's programs. Debian keeps them out of the path, one for each version."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    installed = sorted(DEBIAN.glob("*/bin/initdb"), key=lambda program: int(program.parts[-3]))
    if not installed:
        raise RuntimeError("PostgreSQL is not installed: run scripts/setup")
    return installed[-1].parent


def main() -> None:
    with LocalPostgres() as server:
        print(f"psql '{server.conninfo}' - Ctrl-C ends it", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

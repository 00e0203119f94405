"""A real PostgreSQL for tests and examples, in a folder of its own.

python scripts/local_postgres.py     # until Ctrl-C
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from local_server import TIMEOUT_S, LocalServer

__all__ = ["LocalPostgres"]

DEBIAN = Path("/usr/lib/postgresql")
UNPRIVILEGED = "postgres"
"""Whom it runs as if we are root, which PostgreSQL refuses."""

SETTINGS = "-c listen_addresses= -c fsync=off -c autovacuum=off -k {folder}"


class LocalPostgres(LocalServer):
    """A server that listens on a socket in its folder."""

    ending = signal.SIGQUIT
    """At once: what it holds is deleted."""

    def __init__(self) -> None:
        self._programs = _programs()
        super().__init__("postgres")
        if (user := self._user()) is not None:
            shutil.chown(self._folder, user)

    @property
    def conninfo(self) -> str:
        """How libpq reaches it."""
        return f"host={self._folder} user={UNPRIVILEGED} dbname=postgres"

    def _command(self) -> Sequence[str | Path]:
        if not (self._folder / "data").exists():
            initdb = [
                "--no-sync",
                "--auth=trust",
                f"--username={UNPRIVILEGED}",
                "--encoding=UTF8",
                "--locale=C",
            ]
            self._run("initdb", "-D", "data", *initdb)
        return [self._programs / "postgres", "-D", "data", *SETTINGS.format(folder=self._folder).split()]

    def _answers(self) -> bool:
        asking: list[str | Path] = [self._programs / "pg_isready", "-q", "-h", self._folder]
        return subprocess.run(asking, check=False).returncode == 0

    def _user(self) -> str | None:
        return UNPRIVILEGED if os.geteuid() == 0 else None

    def _run(self, program: str, *arguments: str) -> None:
        with (self._folder / "output").open("a+") as output:
            done = subprocess.run(
                [self._programs / program, *arguments],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                user=self._user(),
                timeout=TIMEOUT_S,
                check=False,
            )
            if done.returncode:
                output.seek(0)
                raise RuntimeError(f"{program} failed: {output.read()[-2000:]}")


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

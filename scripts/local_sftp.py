"""A real SFTP server for tests: OpenSSH's, for the user who starts it, with a key of its own."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from local_kafka_config import free_port
from local_server import TIMEOUT_S, LocalServer

__all__ = ["LocalSftp"]

CONFIG = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
PidFile none
"""
DAEMON = "/usr/sbin/sshd"
SEPARATION = Path("/run/sshd")
"""Where a server that root starts puts what it separates from itself."""


class LocalSftp(LocalServer):
    """A server that serves the files of this host to the user who started it.

    Attributes:
        port: at 127.0.0.1; it stays when the server is started again.
    """

    def __init__(self) -> None:
        super().__init__("sftp")
        self.port = free_port()

    @property
    def storage_options(self) -> dict[str, object]:
        """How fsspec logs in."""
        return {
            "username": getpass.getuser(),
            "key_filename": str(self._folder / "user"),
            "look_for_keys": False,
            "allow_agent": False,
        }

    def url(self, path: Path) -> str:
        """Return where a file or folder is to be read."""
        return f"sftp://127.0.0.1:{self.port}{path}"

    def stop(self) -> None:
        """End the server and its sessions, which are processes of their own and would stay."""
        if self._process is not None:
            subprocess.run(["pkill", "-KILL", "-P", str(self._process.pid)], check=False, timeout=TIMEOUT_S)
        super().stop()

    def _command(self) -> Sequence[str | Path]:
        for key in ("host", "user"):
            if not (self._folder / key).exists():
                command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key]
                subprocess.run(command, cwd=self._folder, check=True, timeout=TIMEOUT_S)
        config = self._folder / "config"
        config.write_text(CONFIG.format(port=self.port, folder=self._folder))
        if os.geteuid() == 0:
            SEPARATION.mkdir(exist_ok=True)
        # By its whole path: it starts itself again for each connection.
        return [shutil.which("sshd") or DAEMON, "-D", "-e", "-f", config]

    def _answers(self) -> bool:
        with socket.socket() as connection:
            connection.settimeout(1)
            return connection.connect_ex(("127.0.0.1", self.port)) == 0

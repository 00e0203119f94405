"""A server of Azure's blobs and queues for tests: azurite of npm, in memory, on free ports.

python scripts/local_azurite.py --fetch     # downloads it
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from local_kafka_config import free_port
from local_server import LocalServer

__all__ = ["LocalAzurite", "fetch"]

VERSION = "3.37.0"
FOLDER = Path(__file__).resolve().parent.parent / f".cache/azurite-{VERSION}"
PROGRAM = FOLDER / "node_modules/azurite/dist/src/azurite.js"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own, in its documentation: no secret."""


def fetch() -> Path:
    """Download azurite, unless it is there; return its program."""
    if not PROGRAM.exists():
        print(f"downloading azurite {VERSION} (once)", file=sys.stderr)
        part = FOLDER.with_name(f"{FOLDER.name}.{os.getpid()}")
        npm = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(part)]
        try:
            subprocess.run([*npm, f"azurite@{VERSION}"], check=True, stdin=subprocess.DEVNULL)
            # Renamed when it is whole. Somebody else may have been quicker.
            if not FOLDER.exists():
                part.rename(FOLDER)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return PROGRAM


class LocalAzurite(LocalServer):
    """A server with one account and no containers. What it holds ends with it."""

    def __init__(self) -> None:
        super().__init__("azurite")
        self._blobs = free_port()
        self._queues = free_port()
        self._tables = free_port()

    @property
    def connection_string(self) -> str:
        """What Azure's libraries take."""
        address = "http://127.0.0.1:"
        return (
            f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
            f"BlobEndpoint={address}{self._blobs}/{ACCOUNT};QueueEndpoint={address}{self._queues}/{ACCOUNT};"
        )

    def _command(self) -> Sequence[str | Path]:
        ports = {"blob": self._blobs, "queue": self._queues, "table": self._tables}
        options = [word for name, port in ports.items() for word in (f"--{name}Port", str(port))]
        # Clients may be newer than the newest protocol that it knows.
        switches = ["--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
        return [shutil.which("node") or "node", fetch(), *options, *switches]

    def _answers(self) -> bool:
        for port in (self._blobs, self._queues):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)):
                    return False
        return True


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fetch", action="store_true", required=True)
    parser.parse_args()
    print(fetch())


if __name__ == "__main__":
    main()

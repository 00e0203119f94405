"""A server of Google Cloud Pub/Sub for tests: Google's own in Go, in memory, on free ports.

python scripts/local_pubsub.py --fetch     # builds it, minutes the first time
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.request import urlopen

from local_server import LocalServer

__all__ = ["LocalPubsub", "build"]

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "scripts/pubsub"
PROGRAM = ROOT / ".cache/pubsub/server"


def build() -> Path:
    """Build the server, unless it is there and no older than its source; return the program."""
    newest = max(file.stat().st_mtime for file in SOURCE.iterdir())
    if not PROGRAM.exists() or PROGRAM.stat().st_mtime < newest:
        print("building a server of Pub/Sub: minutes (once)", file=sys.stderr)
        PROGRAM.parent.mkdir(parents=True, exist_ok=True)
        # Renamed when it is whole: others may build it too.
        part = PROGRAM.with_name(f"server.{os.getpid()}")
        subprocess.run(["go", "build", "-o", part, "."], cwd=SOURCE, check=True)
        part.replace(PROGRAM)
    return PROGRAM


class LocalPubsub(LocalServer):
    """A server without topics. What it holds ends with it."""

    def __init__(self) -> None:
        super().__init__("pubsub")

    @property
    def address(self) -> str:
        """What the environment variable ``PUBSUB_EMULATOR_HOST`` takes."""
        return self._addresses()[0]

    def unacknowledged(self, topic: str) -> int:
        """How many messages of a topic nobody has acknowledged."""
        with urlopen(f"http://{self._addresses()[1]}/unacknowledged?topic={topic}") as answer:
            return int(answer.read())

    def _addresses(self) -> list[str]:
        return (self._folder / "addresses").read_text().split()

    def _command(self) -> Sequence[str | Path]:
        (self._folder / "addresses").unlink(missing_ok=True)
        return [build()]

    def _answers(self) -> bool:
        return (self._folder / "addresses").exists()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fetch", action="store_true", required=True)
    parser.parse_args()
    print(build())


if __name__ == "__main__":
    main()

"""A real schema registry for tests: Apicurio, which speaks Confluent's REST API, on a port of this machine.

python scripts/local_registry.py [--port 8081]     # until Ctrl-C
python scripts/local_registry.py --fetch           # only its files

Its files are fetched once, by Maven, when it is first started: 142 MB.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import threading
import urllib.request
import zipfile
from collections.abc import Sequence
from pathlib import Path

from local_kafka_config import free_port
from local_kafka_jars import LocalKafkaError, cache_dir, java, locked
from local_server import LocalServer

__all__ = ["LocalRegistry"]

VERSION = "2.6.13.Final"
ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:zip:all"


class LocalRegistry(LocalServer):
    """A registry that keeps its schemas in memory: what it had is gone when it stops.

    Args:
        port: 0 for a free one.
    """

    def __init__(self, port: int = 0) -> None:
        super().__init__("registry")
        self.port = port or free_port()

    @property
    def url(self) -> str:
        """What the option ``schema.registry.url`` takes."""
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def _command(self) -> Sequence[str | Path]:
        settings = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self.port}"]
        return [
            java(),
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            *settings,
            "-jar",
            runner(),
        ]

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=10) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


def runner() -> Path:
    """Return the jar that starts the registry; the first call downloads it.

    Several processes may call it at the same time: one of them downloads, the others wait.

    Raises:
        LocalKafkaError: Maven or Java is missing, or the download failed.
    """
    folder = cache_dir() / f"apicurio-{VERSION}"
    complete = folder / "complete"
    if not complete.exists():
        with locked():
            # Again, under the lock: another process may have downloaded it while this one waited.
            if not complete.exists():
                _download(folder)
                complete.touch()
    return folder / f"apicurio-registry-app-{VERSION}-runner.jar"


def _download(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not shutil.which("mvn"):
        raise LocalKafkaError("the registry is fetched by Maven (Debian: apt-get install maven)")
    for goal in (
        ["dependency:get", "-Dtransitive=false", f"-Dartifact={ARTIFACT}"],
        ["dependency:copy", f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={folder}"],
    ):
        command = ["mvn", "-q", "-B", *goal]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stdout + done.stderr)[-2000:]
            raise LocalKafkaError(f"{' '.join(command)} failed; is Maven Central reachable?\n{said}")
    archive = folder / f"apicurio-registry-app-{VERSION}-all.zip"
    with zipfile.ZipFile(archive) as zipped:
        zipped.extractall(folder)
    archive.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8081)
    parser.add_argument("--fetch", action="store_true", help="fetch the files, and end")
    arguments = parser.parse_args()
    if arguments.fetch:
        print(runner())
        return
    with LocalRegistry(arguments.port) as registry:
        print(f"{registry.url} (Ctrl-C ends it)", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

"""The jars of a Kafka broker, downloaded once by Spark's own resolver."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark

__all__ = [
    "LocalKafkaError",
    "cache_dir",
    "classpath",
    "java",
    "java_release",
    "kafka_archive",
    "locked",
    "resolve",
]

KAFKA_VERSION = "4.1.0"
OLDEST_JAVA = 17
PACKAGES = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",  # without it the broker logs nothing
)
# They are half of the bytes, and are not used.
EXCLUDES = (
    "org.apache.kafka:connect-api",
    "org.apache.kafka:connect-json",
    "org.apache.kafka:connect-runtime",
)

RESOLVE = """
import sys
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway
conf = SparkConf(loadDefaults=False)
for name, value in zip(("spark.jars.packages", "spark.jars.excludes", "spark.jars.ivy"), sys.argv[1:]):
    conf.set(name, value)
launch_gateway(conf).shutdown()
"""


class LocalKafkaError(RuntimeError):
    """The local Kafka cannot be set up, started or used; the message says why and what to do."""


def cache_dir() -> Path:
    """Return where the jars are kept: ``HEADWATER_CACHE``, or ``.cache/kafka`` in the project.

    Links are followed: archives of classes (`spark_archive`, `kafka_archive`) go by the paths of the jars.
    """
    fallback = Path(__file__).resolve().parent.parent / ".cache" / "kafka"
    return Path(os.environ.get("HEADWATER_CACHE") or fallback).resolve()


@functools.cache
def java() -> str:
    """Return the path of a new enough ``java``: the one in JAVA_HOME, else on the PATH.

    Raises:
        LocalKafkaError: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    advice = (
        f"install Java {OLDEST_JAVA} or newer (Debian: apt-get install openjdk-17-jre-headless) "
        "or set JAVA_HOME to it"
    )
    if found is None:
        raise LocalKafkaError(f"no java in {f'JAVA_HOME={home}' if home else 'PATH'}: {advice}")
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=True).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise LocalKafkaError(f"{found} is too old ({said.splitlines()[0]}): {advice}")
    return found


@functools.cache
def java_release() -> str:
    """Return which Java there is, without starting it; an empty text if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    release = Path(java or "/").resolve().parent.parent / "release"
    return release.read_text() if release.exists() else ""


def kafka_archive() -> Path:
    """Return where the classes of a broker are, loaded and verified; `local_kafka_archive` makes the file."""
    key = hashlib.sha256(repr((java_release(), classpath())).encode()).hexdigest()[:12]
    return cache_dir() / f"kafka-classes-{KAFKA_VERSION}-{key}.jsa"


@functools.cache
def classpath() -> str:
    """Return the class path of the broker and its tools; download the jars if they are not there yet.

    Several processes may call it at the same time: one of them downloads, the others wait.

    Raises:
        LocalKafkaError: Java is missing, or the download failed.
    """
    ivy = cache_dir() / KAFKA_VERSION
    complete = ivy / "complete"
    if not complete.exists():
        java()
        with locked():
            # Again, under the lock: another process may have downloaded them while this one waited.
            if not complete.exists():
                resolve(PACKAGES, EXCLUDES, ivy)
                complete.touch()
    # Spark's resolver leaves out what Spark has itself.
    scala = next((Path(pyspark.__file__).resolve().parent / "jars").glob("scala-library-2.13.*.jar"))
    return f"{ivy / 'jars'}/*:{scala}"


@contextmanager
def locked() -> Iterator[None]:
    """Keep other processes from downloading to `cache_dir` at the same time."""
    path = cache_dir() / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def resolve(packages: Sequence[str], excludes: Sequence[str], ivy: Path) -> None:
    """Download Maven packages, and what they depend on, to ``jars`` in the folder ``ivy``.

    Args:
        packages: as ``group:artifact:version``.
        excludes: dependencies to leave out, as ``group:artifact``; ``*`` stands for any artifact.
        ivy: the folder; ``download.log`` in it has what the resolver said.

    Raises:
        LocalKafkaError: a package was not found, or could not be downloaded.
    """
    print(f"downloading {', '.join(packages)} to {ivy} (once)", file=sys.stderr)
    command = [sys.executable, "-c", RESOLVE, ",".join(packages), ",".join(excludes), str(ivy)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    log = ivy / "download.log"
    ivy.mkdir(parents=True, exist_ok=True)
    log.write_text(done.stdout + done.stderr)
    wanted = [f"jars/{'_'.join(package.split(':')[:2])}-{package.split(':')[2]}.jar" for package in packages]
    if done.returncode or not all((ivy / jar).exists() for jar in wanted):
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise LocalKafkaError(
            f"downloading {', '.join(packages)} failed; is Maven Central reachable? "
            f"The whole log is in {log}\n{tail}"
        )


if __name__ == "__main__":
    print(classpath())

"""Jars that tests and benchmarks add to Spark, downloaded once: its own Kafka source, tables with MERGE."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

from local_kafka_jars import LocalKafkaError, cache_dir, locked, resolve

__all__ = ["AVRO", "POSTGRES", "PROTOBUF", "catalog_jar", "spark_format_jar", "spark_kafka_jars"]

VERSION = "4.2.0"
SOURCE = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{VERSION}"
TOKENS = "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1"
CLIENT = "org.apache.kafka:kafka-clients:3.9.1"
POOL = "org.apache.commons:commons-pool2:2.12.0"
AVRO = "org.apache.spark:spark-avro_2.13:4.1.1"
PROTOBUF = "org.apache.spark:spark-protobuf_2.13:4.1.1"
POSTGRES = "org.postgresql:postgresql:42.7.7"
CATALOG = f"org.apache.spark:spark-catalyst_2.13:{VERSION}:jar:tests"
"""Spark's own tests have a catalogue in memory whose tables have MERGE. No mirror has those of 4.3."""

SPARK_HAS = (
    "at.yawk.lz4:*",
    "com.google.code.findbugs:*",
    "org.apache.hadoop:*",
    "org.lz4:*",
    "org.scala-lang.modules:*",
    "org.slf4j:*",
    "org.xerial.snappy:*",
)
"""What Spark's resolver would bring along, following dependencies."""


def spark_kafka_jars() -> list[Path]:
    """Return the jars that a Spark session needs for ``format("kafka")``; the first call downloads them.

    With Maven if there is one, else with Spark's own resolver. Several processes may call it at the same
    time: one of them downloads, the others wait.

    Raises:
        LocalKafkaError: the download failed.
    """
    folder = cache_dir() / f"spark-kafka-{VERSION}"
    complete = folder / "complete"
    if not complete.exists():
        with locked():
            # Again, under the lock: another process may have downloaded them while this one waited.
            if not complete.exists():
                folder.mkdir(parents=True, exist_ok=True)
                (_with_maven if shutil.which("mvn") else _with_spark)(folder)
                complete.touch()
    return sorted(folder.glob("*.jar"))


def spark_format_jar(artifact: str) -> Path:
    """Return the jar of ``from_avro`` (`AVRO`), ``from_protobuf`` (`PROTOBUF`) or JDBC (`POSTGRES`).

    The first call downloads it.

    Raises:
        LocalKafkaError: the download failed; not every mirror has both.
    """
    _, name, version = artifact.split(":")
    folder = cache_dir() / f"{name}-{version}"
    jar = folder / f"{name}-{version}.jar"
    if not jar.exists():
        with locked():
            if not jar.exists():
                (_get if shutil.which("mvn") else _resolve_alone)(artifact, folder)
    return jar


def catalog_jar() -> Path:
    """Return a jar with the catalogue in memory of Spark's own tests; the first call downloads it.

    Only these classes: the whole jar has a set-up of logs too, which would be that of every test.

    Raises:
        LocalKafkaError: the download failed.
    """
    jar = cache_dir() / f"spark-test-catalog-{VERSION}.jar"
    if not jar.exists():
        with locked():
            if not jar.exists():
                folder = cache_dir() / f"spark-catalyst-tests-{VERSION}"
                _get(CATALOG, folder)
                (whole,) = folder.glob("*.jar")
                part = jar.with_suffix(".part")
                with zipfile.ZipFile(whole) as read, zipfile.ZipFile(part, "w") as written:
                    for name in read.namelist():
                        if name.startswith("org/apache/spark/sql/connector/"):
                            written.writestr(name, read.read(name))
                part.replace(jar)
                shutil.rmtree(folder)
    return jar


def _with_maven(folder: Path) -> None:
    for artifact in (SOURCE, TOKENS, CLIENT, POOL):
        _get(artifact, folder)


def _get(artifact: str, folder: Path) -> None:
    _maven("dependency:get", "-Dtransitive=false", f"-Dartifact={artifact}")
    _maven("dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}")


def _maven(*arguments: str) -> None:
    command = ["mvn", "-q", "-B", *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr)[-2000:]
        raise LocalKafkaError(f"{' '.join(command)} failed; is Maven Central reachable?\n{said}")


def _with_spark(folder: Path) -> None:
    # One by one: the source depends on a version of the token provider that is not on every mirror.
    for package, other in ((SOURCE, TOKENS), (TOKENS, CLIENT)):
        ivy = folder / "ivy" / package.replace(":", "-")
        resolve([package], [*SPARK_HAS, other.rpartition(":")[0]], ivy)
        for jar in (ivy / "jars").glob("*.jar"):
            shutil.copy(jar, folder)


def _resolve_alone(artifact: str, folder: Path) -> None:
    group, name, version = artifact.split(":")
    # The jar brings its own protobuf; Avro and what else it needs is Spark's.
    resolve([artifact], [*SPARK_HAS, "com.google.protobuf:*", "org.tukaani:*"], folder / "ivy")
    shutil.copy(folder / "ivy" / "jars" / f"{group}_{name}-{version}.jar", folder / f"{name}-{version}.jar")


if __name__ == "__main__":
    print(*spark_kafka_jars(), catalog_jar(), sep="\n")

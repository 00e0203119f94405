"""Debezium's embedded engine and Flink CDC beside headwater: a JVM for each, with a program of `peers`.

Each reads a table, or the changes that a slot has, and does nothing with a record but count it. The records
stay as Kafka Connect has them: no row, no JSON, no Arrow is made of them. A reading counts from the start of
its engine or job, in a JVM that is warm, until the last record has come. An engine commits, as it does by
default, each minute; a job of Flink each second.
"""

from __future__ import annotations

import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from benchmarks.bench import BenchmarkError
from benchmarks.side_by_side import require_rows
from cdc_jars import DEBEZIUM, FLINK_CDC, cdc_classpath
from local_kafka_jars import java

PROGRAMS = Path(__file__).resolve().parent / "peers"
OPENED = ("java.lang", "java.net", "java.nio", "java.time", "java.util", "java.util.concurrent")


@dataclass(frozen=True)
class Place:
    """What is read: a table of schema ``public`` in the database ``postgres``, and as whom.

    The publication has the name of the table.
    """

    port: int
    role: str
    password: str
    table: str


class Peer(ABC):
    """A JVM with a program of `PROGRAMS`, for the time of a context.

    Raises:
        BenchmarkError: there is no compiler of Java.
    """

    name: ClassVar[str]
    program: ClassVar[str]
    jars: ClassVar[str]
    of_snapshot: ClassVar[dict[str, str]]
    of_changes: ClassVar[dict[str, str]]

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()
        jars = cdc_classpath(self.jars)
        compiler = Path(java()).resolve().with_name("javac")
        if not compiler.exists():
            raise BenchmarkError(
                f"no {compiler}: install a JDK (Debian: apt-get install openjdk-17-jdk-headless)"
            )
        sources = [PROGRAMS / f"{name}.java" for name in ("Peer", self.program)]
        subprocess.run([compiler, "-d", self._folder.name, "-cp", jars, *sources], check=True)
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
        self._jvm = subprocess.Popen(
            [java(), "-Xmx2g", *opened, "-cp", f"{self._folder.name}:{jars}", self.program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Its program ends with its input.
        self._jvm.communicate()
        self._folder.cleanup()

    def snapshot(self, place: Place, slot: str, rows: int) -> float:
        """Read all rows of a table; return the seconds."""
        return self._read(rows, self._properties(place, slot) | self.of_snapshot)

    def changes(self, place: Place, slot: str, rows: int) -> float:
        """Read so many changes, all that a slot has; return the seconds."""
        return self._read(rows, self._properties(place, slot) | self.of_changes)

    @abstractmethod
    def _properties(self, place: Place, slot: str) -> dict[str, str]: ...

    def _read(self, rows: int, properties: Mapping[str, str]) -> float:
        file = Path(self._folder.name) / "properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        commands, answers = self._jvm.stdin, self._jvm.stdout
        assert commands is not None, "a pipe"
        assert answers is not None, "a pipe"
        print(rows, file, file=commands, flush=True)
        answer = answers.readline().split()
        if not answer:
            raise BenchmarkError(f"{self.name} ended: see what it wrote to stderr")
        found, nanoseconds = map(int, answer)
        require_rows(self.name, found, rows)
        return nanoseconds / 1e9


class Debezium(Peer):
    """Debezium's embedded engine."""

    name = "Debezium"
    program = "DebeziumPeer"
    jars = DEBEZIUM
    of_snapshot: ClassVar = {"snapshot.mode": "initial_only"}
    of_changes: ClassVar = {"snapshot.mode": "no_data"}

    def _properties(self, place: Place, slot: str) -> dict[str, str]:
        return {
            "name": "benchmark",
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
            "topic.prefix": "benchmark",
            "database.hostname": "127.0.0.1",
            "database.port": str(place.port),
            "database.user": place.role,
            "database.password": place.password,
            "database.dbname": "postgres",
            "table.include.list": f"public.{place.table}",
            "plugin.name": "pgoutput",
            "publication.name": place.table,
            "publication.autocreate.mode": "disabled",
            "slot.name": slot,
            "tombstones.on.delete": "false",
            "snapshot.max.threads": "2",
            "max.batch.size": "16384",
            "max.queue.size": "65536",
            "poll.interval.ms": "10",
        }


class FlinkCdc(Peer):
    """Flink CDC's incremental source in a cluster of one process, two tasks."""

    name = "Flink CDC"
    program = "FlinkPeer"
    jars = FLINK_CDC
    of_snapshot: ClassVar = {"startup": "snapshot"}
    of_changes: ClassVar = {"startup": "committed"}

    def _properties(self, place: Place, slot: str) -> dict[str, str]:
        return {
            "hostname": "127.0.0.1",
            "port": str(place.port),
            "database": "postgres",
            "username": place.role,
            "password": place.password,
            "table": f"public.{place.table}",
            "slot": slot,
            "splitSize": "100000",
            "fetchSize": "10000",
            "debezium.publication.name": place.table,
            "debezium.publication.autocreate.mode": "disabled",
            "debezium.tombstones.on.delete": "false",
            "debezium.max.batch.size": "16384",
            "debezium.max.queue.size": "65536",
            "debezium.poll.interval.ms": "10",
        }

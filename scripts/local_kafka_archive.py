"""Classes of Kafka, loaded and verified once for all brokers that tests start: Java's class data sharing.

A broker takes 4 s of processor time until it is ready, 3 s with the archive.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from local_kafka import LocalKafka
from local_kafka_jars import kafka_archive, locked

__all__ = ["make_archive"]


def make_archive() -> Path:
    """Return the archive; the first call makes it, with a broker that does what most tests ask of one."""
    archive = kafka_archive()
    if archive.exists():
        return archive
    with locked():
        if not archive.exists():
            with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
                recorded = Path(folder, "archive")
                options = (
                    "-XX:TieredStopAtLevel=1",
                    f"-XX:ArchiveClassesAtExit={recorded}",
                    "-Xlog:cds*=off",
                )
                with LocalKafka(jvm_options=options) as kafka:
                    kafka.create_topic("typical")
                    kafka.produce("typical", [b"value"])
                    kafka.produce_transaction("typical", [b"value"], commit=True)
                    kafka.stop()
                recorded.replace(archive)
    return archive


if __name__ == "__main__":
    print(make_archive())

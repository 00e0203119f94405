"""The jars of Debezium's embedded engine and of Flink CDC, downloaded once: benchmarks run them."""

from __future__ import annotations

from local_kafka_jars import cache_dir, locked, resolve

__all__ = ["DEBEZIUM", "FLINK_CDC", "cdc_classpath"]

DEBEZIUM = "debezium-3.6.1"
FLINK_CDC = "flink-cdc-3.5.0"

PACKAGES = {
    DEBEZIUM: (
        "io.debezium:debezium-api:3.6.1.Final",
        "io.debezium:debezium-embedded:3.6.1.Final",
        "io.debezium:debezium-connector-postgres:3.6.1.Final",
    ),
    FLINK_CDC: (
        "org.apache.flink:flink-clients:1.20.3",
        "org.apache.flink:flink-connector-base:1.20.3",
        "org.apache.flink:flink-streaming-java:1.20.3",
        "org.apache.flink:flink-table-common:1.20.3",
        "org.apache.flink:flink-sql-connector-postgres-cdc:3.5.0",
    ),
}


def cdc_classpath(name: str) -> str:
    """Return the class path of one of `PACKAGES`; the first call downloads it, in a minute or two.

    Raises:
        LocalKafkaError: the download failed.
    """
    folder = cache_dir() / name
    complete = folder / "complete"
    if not complete.exists():
        with locked():
            # Again, under the lock: another process may have downloaded them while this one waited.
            if not complete.exists():
                resolve(PACKAGES[name], (), folder)
                complete.touch()
    return f"{folder / 'jars'}/*"


if __name__ == "__main__":
    for each in PACKAGES:
        print(cdc_classpath(each))

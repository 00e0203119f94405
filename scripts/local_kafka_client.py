"""What tests, demo and benchmarks write to a cluster: records, transactions, raw batches, bulk data."""

from __future__ import annotations

import itertools
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaProducer
from kafka.errors import NotLeaderForPartitionError
from kafka.protocol.producer import ProduceRequest

from local_kafka_admin import RECONNECT, UNTIL_S, KafkaAdmin, until
from local_kafka_jars import LocalKafkaError, classpath, java

__all__ = ["KafkaCluster", "Transaction"]

Headers = list[tuple[str, bytes]]


class KafkaCluster(KafkaAdmin):
    """A cluster that is reached without credentials: everything of `KafkaAdmin`, and producing."""

    @contextmanager
    def producer(self, compression: str | None = None, **settings: Any) -> Iterator[KafkaProducer]:
        """Give a kafka-python producer (idempotent, acks=all) that is flushed and closed at the end."""
        settings = {"linger_ms": 20, "batch_size": 65_536, **RECONNECT, **settings}
        producer = KafkaProducer(
            bootstrap_servers=self.bootstrap_servers, compression_type=compression, **settings
        )
        try:
            yield producer
            producer.flush()
        finally:
            producer.close()

    def produce(
        self,
        topic: str,
        values: Iterable[bytes | None],
        *,
        keys: Iterable[bytes | None] | None = None,
        headers: Iterable[Headers | None] | None = None,
        timestamps_ms: Iterable[int | None] | None = None,
        partition: int | None = None,
        compression: str | None = None,
    ) -> list[tuple[int, int]]:
        """Produce records, wait until all are written, and return the partition and offset of each.

        Args:
            topic: must exist.
            values: one per record. None (a tombstone) needs a key.
            keys: one per record.
            headers: one list per record, of names and values; no value may be None.
            timestamps_ms: one per record; None for the time of sending.
            partition: of all records. Without it and without keys, record i goes to partition i modulo the
                number of partitions.
            compression: gzip, snappy, lz4 or zstd.
        """
        with self.producer(compression) as producer:
            targets = itertools.cycle(
                sorted(producer.partitions_for(topic)) if partition is None and keys is None else [partition]
            )
            rows = zip(
                values,
                keys or _nothing(),
                headers or _nothing(),
                timestamps_ms or _nothing(),
                targets,
                strict=False,
            )
            sent = [
                producer.send(topic, value, key, head, target, time_ms)
                for value, key, head, time_ms, target in rows
            ]
            producer.flush()
            return [(done.partition, done.offset) for done in (future.get(UNTIL_S) for future in sent)]

    def append(self, topic: str, partition: int, record_set: bytes) -> int:
        """Append the bytes of record batches (v2) as they are, and return the offset of the first one.

        Raises:
            LocalKafkaError: the broker refuses them.
        """
        kind = ProduceRequest.TopicProduceData
        part = kind.PartitionProduceData(index=partition, records=record_set)
        request = ProduceRequest(
            transactional_id=None,
            acks=-1,
            timeout_ms=UNTIL_S * 1000,
            topic_data=[kind(name=topic, partition_data=[part])],
            max_version=9,
        )
        written: Any = None

        def known_to_its_leader() -> bool:
            """A broker learns that it leads a new partition a moment after the controller says so."""
            nonlocal written
            leader = self.leaders(topic)[partition]
            with self.admin() as admin:
                manager = admin._manager  # noqa: SLF001 - the only way to send a request of one's own
                answer = manager.run(manager.send, request, leader)
            written = answer.responses[0].partition_responses[0]
            return bool(written.error_code != NotLeaderForPartitionError.errno)

        until(known_to_its_leader, f"the leader of {topic}-{partition}")
        if written.error_code:
            raise LocalKafkaError(
                f"{topic}-{partition} refused {len(record_set)} bytes: "
                f"error {written.error_code} {written.error_message or ''}"
            )
        return int(written.base_offset)

    def begin(self, topic: str, partition: int = 0, *, compression: str | None = None) -> Transaction:
        """Open a transaction on one partition. It must be ended."""
        producer = KafkaProducer(
            bootstrap_servers=self.bootstrap_servers,
            compression_type=compression,
            transactional_id=f"transaction-{uuid.uuid4()}",
            **RECONNECT,
        )
        producer.init_transactions()
        producer.begin_transaction()
        return Transaction(self, producer, topic, partition)

    def produce_transaction(
        self, topic: str, values: Iterable[bytes | None], *, commit: bool, partition: int = 0
    ) -> None:
        """Produce records in one transaction, and commit or abort it."""
        transaction = self.begin(topic, partition)
        transaction.produce(values)
        (transaction.commit if commit else transaction.abort)()

    def produce_bulk(
        self,
        topic: str,
        records: int,
        value_bytes: int = 100,
        *,
        compression: str | None = None,
        payloads: Sequence[str] | None = None,
    ) -> str:
        """Fill a topic fast, with records without keys, by Kafka's ProducerPerformance in its own process.

        Args:
            topic: must exist.
            records: how many.
            value_bytes: size of each value, of random letters.
            compression: gzip, snappy, lz4 or zstd.
            payloads: instead of ``value_bytes``: lines to pick from at random.

        Returns:
            The tool's last line: records/s, MB/s, latencies.
        """
        settings = [
            "acks=1",
            "batch.size=262144",
            "linger.ms=10",
            "buffer.memory=67108864",
            "partitioner.adaptive.partitioning.enable=false",
            f"compression.type={compression or 'none'}",
        ]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as lines:
            lines.write("\n".join(payloads or ()))
            lines.flush()
            body = ["--payload-file", lines.name] if payloads else ["--record-size", str(value_bytes)]
            count = ["--topic", topic, "--num-records", str(records), "--throughput", "-1", *body]
            tool = [
                "org.apache.kafka.tools.ProducerPerformance",
                *count,
                "--producer-props",
                f"bootstrap.servers={self.bootstrap_servers}",
                *settings,
            ]
            command = [
                java(),
                "-Xmx256m",
                "-XX:+UseSerialGC",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                "-cp",
                classpath(),
                *tool,
            ]
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
        if done.returncode:
            raise LocalKafkaError(f"ProducerPerformance failed:\n{done.stdout}{done.stderr}")
        return done.stdout.splitlines()[-1]


class Transaction:
    """An open transaction on one partition. Ends exactly once.

    Its records are in the log, but a ``read_committed`` consumer does not get them before `commit`.
    """

    def __init__(self, cluster: KafkaAdmin, producer: KafkaProducer, topic: str, partition: int) -> None:
        self._cluster = cluster
        self._producer = producer
        self._topic = topic
        self._partition = partition
        self._has_records = False

    def produce(self, values: Iterable[bytes | None], keys: Iterable[bytes | None] | None = None) -> None:
        """Append records to the transaction; on return they are in the log."""
        pairs = zip(values, keys, strict=True) if keys is not None else ((value, None) for value in values)
        sent = [
            self._producer.send(self._topic, value, key, partition=self._partition) for value, key in pairs
        ]
        self._producer.flush()
        for future in sent:
            future.get(UNTIL_S)
        self._has_records = self._has_records or bool(sent)

    def commit(self) -> None:
        """Make the records readable, and end; on return the marker is in the log."""
        self._end(self._producer.commit_transaction)

    def abort(self) -> None:
        """Make the records void, and end; on return the marker is in the log.

        The records stay in the log, and their offsets are never given out again.
        """
        self._end(self._producer.abort_transaction)

    def _end(self, request: Callable[[], object]) -> None:
        before = self._end_offset()
        request()
        self._producer.close()
        # The coordinator answers first and writes the marker afterwards. The marker takes one offset; a
        # transaction without records has none.
        if self._has_records:
            until(
                lambda: self._end_offset() > before,
                f"the end of a transaction on {self._topic}-{self._partition}",
            )

    def _end_offset(self) -> int:
        return self._cluster.end_offsets(self._topic)[self._partition]


def _nothing() -> Iterator[None]:
    return itertools.repeat(None)

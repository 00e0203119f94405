"""What tests, demo and benchmarks do to a cluster: topics, leaders, ACLs, records, transactions."""

from __future__ import annotations

import itertools
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
from kafka.protocol.consumer import IsolationLevel, OffsetSpec
from kafka.protocol.producer import ProduceRequest

from local_kafka_jars import LocalKafkaError, classpath, java

__all__ = ["KafkaCluster", "Transaction"]

Headers = list[tuple[str, bytes]]
RECONNECT = {"reconnect_backoff_ms": 50, "reconnect_backoff_max_ms": 500}
UNTIL_S = 30


class Transaction:
    """An open transaction: its records are in the log, but not readable to ``read_committed`` until `commit`.

    Ends exactly once.
    """

    def __init__(self, producer: KafkaProducer, topic: str, partition: int) -> None:
        self._producer, self._topic, self._partition = producer, topic, partition

    def produce(self, values: Iterable[bytes | None], keys: Iterable[bytes | None] | None = None) -> None:
        """Append records to the transaction; on return they are in the log."""
        pairs = zip(values, keys, strict=True) if keys is not None else ((value, None) for value in values)
        sent = [
            self._producer.send(self._topic, value, key, partition=self._partition) for value, key in pairs
        ]
        self._producer.flush()
        for future in sent:
            future.get(UNTIL_S)

    def commit(self) -> None:
        """Make the records readable, and end."""
        self._producer.commit_transaction()
        self._producer.close()

    def abort(self) -> None:
        """Make the records void, and end.

        They stay in the log, and their offsets are never given out again.
        """
        self._producer.abort_transaction()
        self._producer.close()


class KafkaCluster:
    """A cluster that is reached without credentials.

    Every call connects anew (in 6 ms), so brokers may come and go, on any thread.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers

    @contextmanager
    def admin(self) -> Iterator[KafkaAdminClient]:
        """Give kafka-python's admin client, for what is not here."""
        client = KafkaAdminClient(bootstrap_servers=self.bootstrap_servers, **RECONNECT)
        try:
            yield client
        finally:
            client.close()

    # Topics

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        *,
        replication: int = 1,
        assignments: Mapping[int, Sequence[int]] | None = None,
    ) -> str:
        """Create a topic, wait until all of its partitions have a leader, and return its name.

        Args:
            name: of the topic; must not exist.
            partitions: how many.
            configs: topic settings, for example ``{"cleanup.policy": "compact"}``.
            replication: copies of each partition.
            assignments: instead of ``partitions`` and ``replication``: the brokers of each partition, the
                preferred leader first.
        """
        topic: dict[str, Any] = {"configs": dict(configs or {})}
        if assignments:
            topic["assignments"] = {partition: list(brokers) for partition, brokers in assignments.items()}
        else:
            topic.update(num_partitions=partitions, replication_factor=replication)
        with self.admin() as admin:
            admin.create_topics({name: topic}, wait_for_metadata=True)
        return name

    def topics(self) -> set[str]:
        """Return the names of all topics."""
        with self.admin() as admin:
            return set(admin.list_topics())

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait until no broker lists it."""
        with self.admin() as admin:
            admin.delete_topics([name])
        _until(lambda: name not in self.topics(), f"topic {name} to be gone")

    def add_partitions(self, topic: str, total: int) -> None:
        """Let a topic have ``total`` partitions, and wait until all of them have a leader."""
        with self.admin() as admin:
            admin.create_partitions({topic: total})
        _until(
            lambda: len(self._partitions(topic)) == total and min(self.leaders(topic).values()) >= 0,
            f"{total} partitions of {topic}",
        )

    def topic_id(self, topic: str) -> uuid.UUID:
        """Return the topic's id (KIP-516): another one after deletion and re-creation."""
        return uuid.UUID(str(self._topic(topic)["topic_id"]))

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Delete the records before these offsets, by partition, as retention would. -1 deletes all."""
        with self.admin() as admin:
            admin.delete_records(
                {TopicPartition(topic, partition): offset for partition, offset in before.items()}
            )

    def start_offsets(self, topic: str) -> dict[int, int]:
        """Return the first offset of each partition."""
        return self._offsets(topic, OffsetSpec.EARLIEST)

    def end_offsets(self, topic: str, *, committed: bool = False) -> dict[int, int]:
        """Return the next offset of each partition.

        With ``committed`` the last stable offset, where ``read_committed`` ends.
        """
        return self._offsets(
            topic,
            OffsetSpec.LATEST,
            IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED,
        )

    def leaders(self, topic: str) -> dict[int, int]:
        """Return the broker that leads each partition; -1 where there is none."""
        return {partition["partition_index"]: partition["leader_id"] for partition in self._partitions(topic)}

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Let ``broker`` lead a partition, copying the data to it first if it has none.

        Wait until it does.
        """
        replicas = next(
            p["replica_nodes"] for p in self._partitions(topic) if p["partition_index"] == partition
        )
        keep = [other for other in replicas if other != broker] if broker in replicas else list(replicas)[1:]
        where = TopicPartition(topic, partition)
        with self.admin() as admin:
            admin.alter_partition_reassignments({where: [broker, *keep]})
            _until(
                lambda: not admin.list_partition_reassignments([where]),
                f"{topic}-{partition} to be copied to broker {broker}",
            )
            admin.elect_leaders(0, {topic: [partition]})
        _until(
            lambda: self.leaders(topic)[partition] == broker, f"broker {broker} to lead {topic}-{partition}"
        )

    def allow(self, user: str, operation: str, *, topic: str | None = None, group: str | None = None) -> None:
        """Grant a permission (an ACL), for example ``allow("ann", "READ", topic="orders")``.

        Needs a cluster with ``authorize=True``.
        """
        kind, name = (ResourceType.TOPIC, topic) if topic is not None else (ResourceType.GROUP, group)
        pattern = ResourcePattern(kind, name)
        with self.admin() as admin:
            admin.create_acls(
                [ACL(f"User:{user}", "*", ACLOperation[operation], ACLPermissionType.ALLOW, pattern)]
            )

    # Records

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
        """Produce records, wait until all of them are written, and return where they are.

        (partition, offset) of each.

        Args:
            topic: must exist.
            values: one a record. None (a tombstone) needs a key.
            keys: one a record.
            headers: one list a record; names and values, no value may be None.
            timestamps_ms: one a record; the time of sending where None.
            partition: of all records. Without it and without keys, record i goes to partition i modulo their
                number.
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
        """Append record batches as they are (their bytes, v2) and return the offset of the first.

        The broker refuses what is not well-formed.
        """
        kinds = ProduceRequest.TopicProduceData, ProduceRequest.TopicProduceData.PartitionProduceData
        data = [kinds[0](name=topic, partition_data=[kinds[1](index=partition, records=record_set)])]
        request = ProduceRequest(
            transactional_id=None, acks=-1, timeout_ms=UNTIL_S * 1000, topic_data=data, max_version=9
        )
        leader = self.leaders(topic)[partition]
        with self.admin() as admin:
            manager = admin._manager  # noqa: SLF001 - the only way to send a request of one's own
            answer = manager.run(manager.send, request, leader)
        written = answer.responses[0].partition_responses[0]
        if written.error_code:
            raise LocalKafkaError(
                f"{topic}-{partition} refused {len(record_set)} bytes: error {written.error_code} {written.error_message or ''}"
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
        return Transaction(producer, topic, partition)

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
        """Fill a topic fast, with Kafka's own ProducerPerformance in a process of its own.

        Records have no key.

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

    def _topic(self, topic: str) -> dict[str, Any]:
        with self.admin() as admin:
            found: dict[str, Any] = admin.describe_topics([topic])[0]
        return found

    def _partitions(self, topic: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._topic(topic)["partitions"]
        return found

    def _offsets(
        self, topic: str, spec: OffsetSpec, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    ) -> dict[int, int]:
        asked = {TopicPartition(topic, partition): spec for partition in self.leaders(topic)}
        with self.admin() as admin:
            return {
                where.partition: found.offset
                for where, found in admin.list_partition_offsets(asked, isolation).items()
            }


def _nothing() -> Iterator[None]:
    return itertools.repeat(None)


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + UNTIL_S
    while not condition():
        if time.monotonic() > deadline:
            raise LocalKafkaError(f"waited {UNTIL_S} s in vain for {what}")
        time.sleep(0.05)

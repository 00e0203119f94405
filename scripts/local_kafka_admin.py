"""What tests, demo and benchmarks do to a cluster and ask of it: topics, leaders, offsets, ACLs."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
from kafka.protocol.consumer import IsolationLevel, OffsetSpec

from local_kafka_jars import LocalKafkaError

__all__ = ["RECONNECT", "UNTIL_S", "KafkaAdmin", "until"]

RECONNECT = {"reconnect_backoff_ms": 50, "reconnect_backoff_max_ms": 500}
UNTIL_S = 30
_POLL_S = 0.05


class KafkaAdmin:
    """A cluster that is reached without credentials.

    Each call makes a new connection (in 6 ms). So brokers may come and go between calls, and any thread may
    call.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers

    @contextmanager
    def admin(self) -> Iterator[KafkaAdminClient]:
        """Give kafka-python's admin client, for what this class does not offer."""
        client = KafkaAdminClient(bootstrap_servers=self.bootstrap_servers, **RECONNECT)
        try:
            yield client
        finally:
            client.close()

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
        until(lambda: name not in self.topics(), f"topic {name} to be gone")

    def add_partitions(self, topic: str, total: int) -> None:
        """Let a topic have ``total`` partitions, and wait until all of them have a leader."""
        with self.admin() as admin:
            admin.create_partitions({topic: total})
        until(
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
        """Return the broker that leads each partition; -1 where there is none.

        This is what one of the brokers knows. Metadata reaches the brokers one by one: after a change use
        `wait_for_leaders`.
        """
        return {partition["partition_index"]: partition["leader_id"] for partition in self._partitions(topic)}

    def wait_for_leaders(self, topic: str, leaders: Mapping[int, int]) -> None:
        """Wait until these brokers lead the partitions of a topic, for example after one was stopped."""
        until(lambda: self.leaders(topic) == leaders, f"the leaders of {topic} to be {dict(leaders)}")

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Let ``broker`` lead a partition, and wait until it does.

        If it has no replica, it takes the place of the preferred leader, and the data is copied to it first.
        """
        (replicas,) = (
            found["replica_nodes"]
            for found in self._partitions(topic)
            if found["partition_index"] == partition
        )
        keep = [other for other in replicas if other != broker] if broker in replicas else list(replicas)[1:]
        where = TopicPartition(topic, partition)
        with self.admin() as admin:
            admin.alter_partition_reassignments({where: [broker, *keep]})
            until(
                lambda: not admin.list_partition_reassignments([where]),
                f"{topic}-{partition} to be copied to broker {broker}",
            )
            admin.elect_leaders(0, {topic: [partition]})
        until(
            lambda: self.leaders(topic)[partition] == broker, f"broker {broker} to lead {topic}-{partition}"
        )

    def allow(self, user: str, operation: str, *, topic: str | None = None, group: str | None = None) -> None:
        """Grant a permission (an ACL), for example ``allow("ann", "READ", topic="orders")``.

        Needs a cluster with ``authorize=True``. The brokers apply it a moment later.
        """
        with self.admin() as admin:
            admin.create_acls([_acl(user, operation, topic, group)])

    def disallow(
        self, user: str, operation: str, *, topic: str | None = None, group: str | None = None
    ) -> None:
        """Take a permission back that `allow` granted. The brokers apply it a moment later."""
        with self.admin() as admin:
            admin.delete_acls([_acl(user, operation, topic, group)])

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


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds; ``what`` says in the error what was waited for.

    Raises:
        LocalKafkaError: it does not hold in time.
    """
    deadline = time.monotonic() + UNTIL_S
    while not condition():
        if time.monotonic() > deadline:
            raise LocalKafkaError(f"waited {UNTIL_S} s in vain for {what}")
        time.sleep(_POLL_S)


def _acl(user: str, operation: str, topic: str | None, group: str | None) -> ACL:
    if topic is not None:
        pattern = ResourcePattern(ResourceType.TOPIC, topic)
    else:
        pattern = ResourcePattern(ResourceType.GROUP, group)
    return ACL(f"User:{user}", "*", ACLOperation[operation], ACLPermissionType.ALLOW, pattern)

"""A user of a real broker who may read some topics, and then may not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headwater.enumerators.kafka.client.cluster import Cluster
from local_kafka import LocalKafka
from local_kafka_admin import until
from tests.enumerators.kafka.client.listeners import client

__all__ = ["PASSWORD", "Ann"]

PASSWORD: Final = "ann-secret"
_LOGIN: Final = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "SCRAM-SHA-256",
    "sasl_username": "ann",
    "sasl_password": PASSWORD,
}


class Ann:
    """A user. The broker has been started with her password, and asks for permissions.

    Attributes:
        kafka: the broker.
        topics: what she reads by a pattern, with two partitions each. She sees all of them at first.
    """

    def __init__(self, kafka: LocalKafka, topics: Sequence[str]) -> None:
        self.kafka = kafka
        self.topics = list(topics)
        self._cluster = Cluster(client(kafka.bootstrap("SASL_PLAINTEXT"), **_LOGIN))
        for name in topics:
            kafka.create_topic(name, 2)
            self.sees(name)

    @property
    def options(self) -> dict[str, str]:
        """Options of a source with which she reads her topics from the beginning."""
        return {
            "subscribePattern": f"^({'|'.join(self.topics)})$",
            "startingOffsets": "earliest",
            "fetchOffset.retryIntervalMs": "10",
            **{f"kafka.{name.replace('_', '.')}": value for name, value in _LOGIN.items()},
        }

    def sees(self, topic: str) -> None:
        """Give her the permission, and wait until the broker has applied it."""
        self.kafka.allow("ann", "READ", topic=topic)
        until(lambda: topic in self._cluster.metadata(None).topics, f"ann to see {topic}")

    def sees_no_more(self, topic: str) -> None:
        """Take it back."""
        self.kafka.disallow("ann", "READ", topic=topic)
        until(lambda: topic not in self._cluster.metadata(None).topics, f"ann not to see {topic}")

    def close(self) -> None:
        self._cluster.close()

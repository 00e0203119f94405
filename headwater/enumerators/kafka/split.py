"""One partition of one incarnation of a topic."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.split import Split, SplitPath


@dataclass(frozen=True, slots=True)
class KafkaPartitionSplit(Split):
    """A partition as a split; its positions are Kafka offsets (ints).

    Attributes:
        topic: the topic's name.
        partition: the partition's number.
        topic_id: which incarnation of the topic is meant (KIP-516, a UUID in its usual text form); None if
            the brokers know no ids. A topic that was deleted and created anew has another id, and its offsets
            stand for other records.
    """

    topic: str
    partition: int
    topic_id: str | None = None

    @property
    def path(self) -> SplitPath:
        return (self.topic, str(self.partition))

    def is_incarnation_of(self, known: KafkaPartitionSplit | None) -> bool:
        """Whether a partition that is found is the one that a checkpoint knows, if it knows one.

        Without topic ids (brokers older than Kafka 2.8) any partition of the same name is.
        """
        return known is not None and (
            known.topic_id == self.topic_id or known.topic_id is None or self.topic_id is None
        )

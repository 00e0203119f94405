"""The index of times that brokers keep, for the planning by event time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka.errors import IncompatibleBrokerVersion

from headwater.core.errors import SourceError
from headwater.core.identity_cache import IdentityCache
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.enumerators.event_time.time_index import TimeIndex, TimeSpan
from headwater.enumerators.kafka.client.cluster import Cluster
from headwater.enumerators.kafka.client.metadata import MAX_TIMESTAMP, TopicPartition

log = logger_of(__name__)


class KafkaTimeIndex(TimeIndex):
    """Asks the leaders by time (ListOffsets). On the worker thread; one request to each leader a round.

    The time of a record is that of Kafka: the producer's (``CreateTime``), or the broker's
    (``LogAppendTime``).

    Args:
        cluster: the enumerator's.
        needs_spans: whether it is an error that the brokers do not know the last time of a partition.
    """

    def __init__(self, cluster: Cluster, *, needs_spans: bool) -> None:
        self._cluster = cluster
        self._needs_spans = needs_spans
        self._has_spans = True
        # They are many, and stay the same in the rounds of a plan.
        self._partitions = IdentityCache(_partitions)

    def first_at(self, paths: Sequence[SplitPath], time_ms: int) -> Mapping[SplitPath, int]:
        partitions = self._partitions(paths)
        times = self._cluster.list_times(dict.fromkeys(partitions, max(0, time_ms)))
        return {partitions[tp]: offset for tp, (offset, _) in times.items()}

    def spans(self, paths: Sequence[SplitPath]) -> Mapping[SplitPath, TimeSpan]:
        """Return them in two requests to each leader; none from brokers before Kafka 3.0.

        Raises:
            SourceError: the spans are needed, and the brokers are older than that.
        """
        if not self._has_spans:
            return {}
        partitions = self._partitions(paths)
        try:
            lasts = self._cluster.list_times(dict.fromkeys(partitions, MAX_TIMESTAMP))
        except SourceError as error:
            if not isinstance(error.__cause__, IncompatibleBrokerVersion):
                raise
            if self._needs_spans:
                raise SourceError(
                    "option eventTimeIdleTimeout needs brokers of Kafka 3.0 or later, which know the last "
                    f"time of a partition: {error.message}",
                    source="kafka",
                ) from error
            log.info("the brokers do not tell the last time of a partition: %s", error)
            self._has_spans = False
            return {}
        firsts = self._cluster.list_times(dict.fromkeys(lasts, 0))
        return {
            partitions[tp]: TimeSpan(first, first_ms, max(first_ms, lasts[tp][1]))
            for tp, (first, first_ms) in firsts.items()
        }


def _partitions(paths: Sequence[SplitPath]) -> dict[TopicPartition, SplitPath]:
    return {TopicPartition(topic, int(partition)): (topic, partition) for topic, partition in paths}

"""The average size of a record of each topic, by which a batch is planned in bytes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from headwater.core.clock import Clock
from headwater.core.errors import SourceError
from headwater.enumerators.kafka.client.cluster import Cluster
from headwater.enumerators.kafka.client.metadata import EARLIEST, TopicPartition

log = logging.getLogger(__name__)
_MOST_AGE_MS = 60_000


class RecordSizes:
    """Asks for the sizes of logs once a minute, and remembers them. Blocks; on the worker thread.

    Args:
        cluster: to be asked.
        clock: time.
    """

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._row_bytes: dict[str, int] = {}
        self._asked_ms: int | None = None

    def row_bytes(self, heads: Callable[[], Mapping[TopicPartition, int]]) -> dict[str, int]:
        """Return the average bytes of a record, by topic: the size of its logs over their span of offsets.

        Never fails, because an estimate is not worth a failure. Topics of unknown size are left out.

        Args:
            heads: returns the end of each partition; called when the sizes are asked for.
        """
        now_ms = self._clock.monotonic_ms()
        if self._asked_ms is not None and now_ms - self._asked_ms < _MOST_AGE_MS:
            return self._row_bytes
        self._asked_ms = now_ms
        try:
            self._row_bytes = self._ask(heads())
        except SourceError as error:
            log.info("record sizes are as before, or taken to be 1,000 bytes: %s", error)
        return self._row_bytes

    def _ask(self, heads: Mapping[TopicPartition, int]) -> dict[str, int]:
        sizes = self._cluster.log_sizes({tp.topic for tp in heads})
        earliest = self._cluster.list_offsets(dict.fromkeys((tp for tp in heads if tp in sizes), EARLIEST))
        total_bytes: dict[str, int] = {}
        rows: dict[str, int] = {}
        for tp, first in earliest.items():
            total_bytes[tp.topic] = total_bytes.get(tp.topic, 0) + sizes[tp]
            rows[tp.topic] = rows.get(tp.topic, 0) + max(0, heads[tp] - (first or 0))
        return {topic: max(1, total_bytes[topic] // count) for topic, count in rows.items() if count}

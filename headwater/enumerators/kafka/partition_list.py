"""Lists the selected partitions, and estimates the size of their records. Both are cached.

A list that drops partitions is confirmed before it is used. That nothing is selected is a warning, because
such a query looks like one that has nothing to do. Batches are planned in bytes by the sizes of records.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet

from headwater.core.clock import Clock, RareWarning
from headwater.core.errors import SourceError, UnknownSplitError
from headwater.core.identity_cache import IdentityCache
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.client.cluster import Cluster
from headwater.enumerators.kafka.client.metadata import EARLIEST, TopicMetadata, TopicPartition
from headwater.enumerators.kafka.lookup_settings import LookupSettings, Subscription, TopicPattern
from headwater.enumerators.kafka.split import KafkaPartitionSplit

log = logger_of(__name__)


class PartitionList:
    """Asks which partitions there are, at most once a `LookupSettings.discovery_interval_ms`.

    Blocks; on the worker thread. A partition that was there and is missing counts as out of sight only after
    the cluster has left it out several times: metadata reaches the brokers one by one.

    Args:
        cluster: to be asked.
        settings: select partitions.
        clock: time.
    """

    def __init__(self, cluster: Cluster, settings: LookupSettings, clock: Clock) -> None:
        self._cluster = cluster
        self._settings = settings
        self._clock = clock
        self._empty_selection = EmptySelection(settings.subscription, clock)
        self._never = threading.Event()
        self._topics: Mapping[str, TopicMetadata] = {}
        self._selected: Mapping[SplitPath, KafkaPartitionSplit] = {}
        self._splits: Mapping[SplitPath, KafkaPartitionSplit] = {}
        # Believed to be out of sight: not waited for again.
        self._out_of_sight: AbstractSet[SplitPath] = frozenset()
        # What the list has an answer for: in sight, out of sight, or not selected.
        self._accounted: AbstractSet[SplitPath] = frozenset()
        self._known: Mapping[SplitPath, KafkaPartitionSplit] = {}
        self._wanted = IdentityCache(self._selected_of)
        self._joined = IdentityCache(_joined)
        self._listed_ms: int | None = None
        self._opened = False
        self._cluster_id: str | None = None

    @property
    def cluster_id(self) -> str | None:
        """The id of the cluster that answered last; None if none has, or it does not say."""
        return self._cluster_id

    def expire(self) -> None:
        """Ask anew the next time: something contradicts the list that is remembered."""
        self._listed_ms = None

    def partitions(
        self, logged: Mapping[SplitPath, KafkaPartitionSplit], *, first: bool
    ) -> Mapping[SplitPath, KafkaPartitionSplit]:
        """Return the partitions that are selected and in sight: the same mapping while nothing changes.

        Args:
            logged: the partitions of the checkpoint.
            first: whether nothing is logged yet.

        Raises:
            UnknownSplitError: at the first time of all, something that the user named does not exist.
        """
        if not first and not self._is_old() and self._accounts_for(logged):
            return self._splits
        expected = self._wanted(logged)
        opening = not self._opened
        for attempt in range(self._settings.num_retries + 1):
            if attempt:
                self._clock.wait(self._never, self._settings.retry_interval_ms)
            selected, unknown = self._list(expected)
            splits = self._joined(selected, logged)
            missing = expected.keys() - splits.keys()
            if missing <= self._out_of_sight and not (unknown and opening):
                break
        if unknown and opening:
            raise UnknownSplitError(
                f"{unknown[0]} does not exist in the Kafka cluster, or this user may not see it: "
                "create it, or mend subscribe or assign",
                source="kafka",
            )
        self._empty_selection.note(is_empty=not splits, waiting=len(expected))
        self._out_of_sight = missing
        self._accounted = logged.keys() | splits.keys()
        self._known = logged
        self._splits = splits
        self._listed_ms = self._clock.monotonic_ms()
        self._opened = True
        return splits

    def _accounts_for(self, logged: Mapping[SplitPath, KafkaPartitionSplit]) -> bool:
        return logged is self._known or logged.keys() <= self._accounted

    def _is_old(self) -> bool:
        return (
            self._listed_ms is None
            or self._clock.monotonic_ms() - self._listed_ms >= self._settings.discovery_interval_ms
        )

    def _list(
        self, expected: Collection[SplitPath]
    ) -> tuple[Mapping[SplitPath, KafkaPartitionSplit], list[str]]:
        """Return the selected partitions in sight, and topics and partitions that the cluster lacks.

        A topic or partition in the checkpoint is left out of the latter: it did exist.
        """
        subscription = self._settings.subscription
        metadata = self._cluster.metadata(subscription.topics)
        self._cluster_id = metadata.cluster_id
        if metadata.topics != self._topics:
            self._topics = metadata.topics
            self._selected = subscription.select(metadata)
        splits = self._selected
        unknown = [
            f"topic {topic!r}"
            for topic in subscription.topics or ()
            if topic not in metadata.topics and not any(path[0] == topic for path in expected)
        ]
        unknown += [
            f"partition {partition} of topic {topic!r}"
            for topic in metadata.topics
            for partition in subscription.required(topic)
            if (path := (topic, str(partition))) not in splits and path not in expected
        ]
        return splits, unknown

    def _selected_of(
        self, logged: Mapping[SplitPath, KafkaPartitionSplit]
    ) -> Mapping[SplitPath, KafkaPartitionSplit]:
        selects = self._settings.subscription.selects
        return {path: split for path, split in logged.items() if selects(split.topic, split.partition)}


def _joined(
    selected: Mapping[SplitPath, KafkaPartitionSplit], logged: Mapping[SplitPath, KafkaPartitionSplit]
) -> Mapping[SplitPath, KafkaPartitionSplit]:
    """Return the selected partitions, with the checkpoint's own objects where they are equal.

    To find that two are the same costs less than to compare them, which every look does.
    """
    return {path: mine if (mine := logged.get(path)) == split else split for path, split in selected.items()}


class EmptySelection:
    """Warns at the first look that finds nothing, and then once a minute for as long as that lasts.

    Names that the user gives must exist when a query begins, so for them it has a word only where partitions
    of the checkpoint are waited for. One thread.

    Args:
        subscription: selects partitions.
        clock: time.
    """

    def __init__(self, subscription: Subscription, clock: Clock) -> None:
        self._subscription = subscription
        self._warning = RareWarning(clock)

    def note(self, *, is_empty: bool, waiting: int) -> None:
        """Take note of the result of the last lookup.

        Args:
            is_empty: whether nothing is in sight.
            waiting: how many partitions of the checkpoint are selected.
        """
        if not is_empty:
            self._warning.is_over()
            return
        pattern = self._subscription if isinstance(self._subscription, TopicPattern) else None
        if (pattern is None and not waiting) or not self._warning.is_due():
            return
        if pattern is not None:
            log.warning(
                "subscribePattern %r is found in the name of no topic that this user may see: nothing is "
                "read. It is a regular expression of Java; topics that the user may not describe are not "
                "seen",
                pattern.pattern,
            )
        if waiting:
            log.warning(
                "none of the %d partitions that this query reads is in sight: nothing is read, and all "
                "positions stay. They were deleted, or this user may not see them",
                waiting,
            )


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

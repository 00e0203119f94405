"""Where reading begins, or a batch read ends (Flink's ``OffsetsInitializer``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from headwater.core.errors import DataLossError, OptionError, SourceError
from headwater.core.redaction import logger_of
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST, TopicPartition

if TYPE_CHECKING:
    # It loads kafka-python, which is not needed to check options.
    from headwater.enumerators.kafka.client.cluster import Cluster

log = logger_of(__name__)


@dataclass(frozen=True, slots=True, order=True)
class AtTimestamp:
    """The first record whose timestamp is at or after this one, in milliseconds since 1970."""

    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class CommittedBy:
    """The offset that a consumer group has committed."""

    group: str


PartitionSpec: TypeAlias = int | AtTimestamp
"""An offset, `EARLIEST` (-2), `LATEST` (-1), or a timestamp."""

NoMatch: TypeAlias = Literal["error", "latest", "earliest"]
"""The way out where no record is at or after a timestamp, or a group has committed nothing.

An error, or the latest or earliest offset.
"""


@dataclass(frozen=True, slots=True)
class OffsetsInitializer:
    """Says where each partition begins, or ends. Resolved once in the life of a checkpoint.

    Attributes:
        option: the user's option, for errors.
        everywhere: for the partitions that ``partitions`` and ``topics`` do not name; None if they must name
            all of them.
        partitions: by partition.
        no_match: the way out if a partition has no record at or after the timestamp, or no committed offset.
        topics: by topic: for the partitions that it has when this is resolved.
        is_seam: whether records before the begin are read elsewhere, so that none from there on may be gone.
    """

    option: str
    everywhere: PartitionSpec | CommittedBy | None = None
    partitions: Mapping[TopicPartition, PartitionSpec] = field(default_factory=dict)
    no_match: NoMatch = "error"
    topics: Mapping[str, int] = field(default_factory=dict)
    is_seam: bool = False

    def check(self, selected: Collection[TopicPartition]) -> None:
        """Return if the option names the partitions that are read: each partition, and no other. Asks nobody.

        Args:
            selected: all partitions that are selected and exist.

        Raises:
            OptionError: it does not name a partition that is read, or names one that is not.
        """
        if self.is_seam and (unseen := sorted(self.partitions.keys() - set(selected))):
            # Found later they would begin at their first record, which is in the part before, too.
            raise OptionError(
                f"names partitions that are not read or do not exist: {_text(unseen)}", option=self.option
            )
        if self.everywhere is not None:
            return
        named_partitions = {tp for tp in selected if tp.topic in self.topics} | self.partitions.keys()
        if missing := sorted(set(selected) - named_partitions):
            raise OptionError(
                f"must name every partition that is read; missing: {_text(missing)} "
                "(-2 is earliest, -1 latest)",
                option=self.option,
            )
        if extra := sorted(named_partitions - set(selected)):
            raise OptionError(
                f"names partitions that are not read or do not exist: {_text(extra)}", option=self.option
            )
        if unread := sorted(self.topics.keys() - {tp.topic for tp in selected}):
            raise OptionError(
                f"names topics that are not read or do not exist: {_text(unread)}", option=self.option
            )

    def resolve(self, cluster: Cluster, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return an offset for each wanted partition. Blocks, so it is called on the worker thread.

        An offset that a group has committed is returned as it is, also if the log does not hold it any more:
        the caller treats that as it treats any other position.

        Args:
            cluster: is asked.
            partitions: partitions for which `check` has returned.

        Raises:
            OptionError: a group has not committed an offset, and that is to be an error.
            SourceError: no record is at or after a timestamp, and that is to be an error.
        """
        specs = self._specs(cluster, partitions)
        resolved = {tp: spec for tp, spec in specs.items() if isinstance(spec, int) and spec >= 0}
        fixed = {tp: spec for tp, spec in specs.items() if isinstance(spec, int) and spec < 0}
        timed = {tp: spec.timestamp_ms for tp, spec in specs.items() if isinstance(spec, AtTimestamp)}
        fallback: dict[TopicPartition, int] = {}
        if self.no_match != "error":
            fallback = dict.fromkeys(timed, LATEST if self.no_match == "latest" else EARLIEST)
        # The fallback is asked for before the timestamps: with "latest" asked for after them, a record that
        # arrives between the two requests would be skipped.
        offsets = cluster.list_offsets({**fixed, **fallback})
        timed_offsets = cluster.list_offsets(timed) if timed else {}
        for tp in [*fixed, *timed]:
            offset = timed_offsets.get(tp) if tp in timed else offsets[tp]
            resolved[tp] = self._or_fallback(tp, offset, offsets.get(tp), timed.get(tp))
        if self.is_seam:
            self._check_seam(cluster, specs, resolved)
        return resolved

    def _check_seam(
        self,
        cluster: Cluster,
        specs: Mapping[TopicPartition, PartitionSpec],
        resolved: Mapping[TopicPartition, int],
    ) -> None:
        """Return if the log of each partition still has all from the seam on.

        By time that is not known if the log begins there, and did not always: the last record that is gone
        may have been one from the seam on. The same is true where no position was given.

        Raises:
            DataLossError: it has not.
        """
        # After the offsets: what retention removes meanwhile is noticed.
        earliest = cluster.list_offsets(dict.fromkeys(resolved, EARLIEST))
        for tp, offset in sorted(resolved.items()):
            first = earliest[tp] or 0
            is_named = tp in self.partitions
            if offset < first or (not is_named and 0 < first == offset):
                is_by_time = isinstance(specs[tp], AtTimestamp)
                where = "the time of the seam" if is_by_time else f"the seam at offset {offset:,}"
                if not is_named and not is_by_time:
                    where = "records before the seam, of which the history has none,"
                raise DataLossError(
                    f"retention has removed {where} from topic {tp.topic!r}, partition {tp.partition}, whose "
                    f"log begins at offset {first:,}: rows between the history and the log are gone. Extend "
                    "the history and move the seam to a later time or position",
                    source="kafka",
                    split=str(tp),
                )

    def leaves_open(self, tp: TopicPartition, end: int) -> bool:
        """Whether the user named no offset for a partition, but ``end``: `EARLIEST` or `LATEST`.

        False for timestamps and groups: their offsets are fixed when a batch is planned.
        """
        return self._named(tp) == end

    def _named(self, tp: TopicPartition) -> PartitionSpec | CommittedBy | None:
        return self.partitions.get(tp, self.topics.get(tp.topic, self.everywhere))

    def _specs(
        self, cluster: Cluster, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, PartitionSpec]:
        if isinstance(self.everywhere, CommittedBy):
            return {**self._committed(cluster, self.everywhere.group, partitions)}
        specs = {}
        for tp in partitions:
            spec = self._named(tp)
            assert spec is not None
            assert not isinstance(spec, CommittedBy)
            specs[tp] = spec
        return specs

    def _committed(
        self, cluster: Cluster, group: str, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return the committed offsets of a group, and `EARLIEST` or `LATEST` where it has none."""
        # Here, because it loads kafka-python.
        from headwater.enumerators.kafka.client.consumer_group import ConsumerGroup

        committed = ConsumerGroup(cluster, group).committed(partitions)
        if without := sorted(tp for tp in partitions if committed.get(tp) is None):
            where = _text(without)
            if len(without) == len(partitions):
                where = (
                    f"any partition that is read ({where}): the group does not exist, has read other topics, "
                    "or Kafka has forgotten its offsets (offsets.retention.minutes)"
                )
            self._without_committed(f"the consumer group {group!r} has no committed offset for {where}")
        fallback = LATEST if self.no_match == "latest" else EARLIEST
        return {tp: fallback if (offset := committed.get(tp)) is None else offset for tp in partitions}

    def _without_committed(self, what: str) -> None:
        """Fail or warn, as the user wants it."""
        if self.no_match == "error":
            raise OptionError(
                f"{what}; to begin there anyway set startingOffsetsFallback to earliest or latest",
                option=self.option,
            )
        log.warning("%s; beginning there at the %s", what, self.no_match)

    def _or_fallback(
        self, tp: TopicPartition, offset: int | None, fallback: int | None, timestamp_ms: int | None
    ) -> int:
        if offset is not None:
            return offset
        if fallback is not None:
            return fallback
        raise SourceError(
            f"{self.option}: topic {tp.topic!r}, partition {tp.partition} has no record at or after "
            f"the timestamp {timestamp_ms}; "
            "set startingOffsetsByTimestampStrategy to latest or earliest to go on anyway",
            source="kafka",
            split=str(tp),
        )


def check_timestamps(starting: OffsetsInitializer, ending: OffsetsInitializer) -> None:
    """Return if no time at which a batch begins is after the one at which it ends.

    Where the one names a time for all partitions and the other one for each, only the resolved offsets count.

    Raises:
        OptionError: it ends before it begins.
    """
    begins = starting.everywhere
    ends = ending.everywhere
    if isinstance(begins, AtTimestamp) and isinstance(ends, AtTimestamp) and begins > ends:
        raise _ends_before("the batch", starting, ending, begins, ends)
    for tp, begin in starting.partitions.items():
        end = ending.partitions.get(tp)
        if isinstance(begin, AtTimestamp) and isinstance(end, AtTimestamp) and begin > end:
            what = f"topic {tp.topic!r}, partition {tp.partition}"
            raise _ends_before(what, starting, ending, begin, end)


def _ends_before(
    what: str,
    starting: OffsetsInitializer,
    ending: OffsetsInitializer,
    begin: AtTimestamp,
    end: AtTimestamp,
) -> OptionError:
    return OptionError(
        f"{what} begins at the timestamp {begin.timestamp_ms}, "
        f"but {ending.option} ends it at {end.timestamp_ms}",
        option=starting.option,
    )


def _text(names: Sequence[object]) -> str:
    examples = ", ".join(map(str, names[:5]))
    return examples + (f" and {len(names) - 5} more" if len(names) > 5 else "")

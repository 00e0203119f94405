"""The options about topics and offsets: which topics are read, from where to where."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from headwater.core.options import Spec, integer, json_object, one_of, option, text
from headwater.core.source import Boundedness
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST, TopicPartition
from headwater.enumerators.kafka.lookup_settings import (
    AssignedPartitions,
    Subscription,
    TopicNames,
    TopicPattern,
)
from headwater.enumerators.kafka.offsets_initializer import (
    AtTimestamp,
    CommittedBy,
    NoMatch,
    OffsetsInitializer,
)
from headwater.enumerators.kafka.pattern import topic_pattern

_BATCH: Final = Boundedness.BOUNDED
_JAVA_BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
_GROUP: Final = "group:"
_WORDS: Final = {"earliest": EARLIEST, "latest": LATEST}
_MOST_LONG: Final = 2**63 - 1
_MOST_PARTITION: Final = 2**31 - 1


def _pattern(raw: str) -> str:
    # Without the blanks around it, as in Spark's source. Java's `String.trim` knows these blanks only.
    pattern = raw.strip(_JAVA_BLANKS)
    text(pattern)
    topic_pattern(pattern)
    return pattern


def _topics(raw: str) -> frozenset[str]:
    # As Spark's source takes it: "a,a" and "a," are "a".
    topics = frozenset(filter(None, (name.strip() for name in raw.split(","))))
    if not topics:
        raise ValueError(f"must name topics, with commas between them, not {raw!r}")
    return topics


def _timestamp_ms(raw: str) -> int:
    try:
        timestamp_ms = integer()(raw)
    except ValueError:
        raise ValueError(f"must be milliseconds since 1970, such as 1714564800000, not {raw!r}") from None
    if timestamp_ms > _MOST_LONG:
        raise ValueError(f"must be a whole number of 64 bits, not {raw!r}")
    return timestamp_ms


_NO_MATCH: Final[Callable[[str], NoMatch]] = one_of("error", "latest", "earliest")


class OffsetOptions(Spec):
    """Which topics are read, from where to where, as the user says."""

    topics: frozenset[str] | None = option(
        "subscribe",
        "Topics to read, with commas between them; white space around a name does not count. One of "
        "subscribe, subscribePattern and assign is required.",
        default=None,
        parse=_topics,
        argument="topics",
        kind="names",
    )
    pattern: str | None = option(
        "subscribePattern",
        "Read all topics in whose name this regular expression of Java is found, also those that are created "
        "later. `^orders$` is the topic `orders` alone.",
        default=None,
        parse=_pattern,
        argument="topic_pattern",
    )
    partitions: Mapping[str, Any] | None = option(
        "assign",
        'Read exactly these partitions: `{"topicA":[0,1],"topicB":[2]}`.',
        default=None,
        parse=json_object,
        argument="partitions",
    )
    start: str | None = option(
        "startingOffsets",
        "Where a query without a checkpoint begins: `earliest`, `latest` (streams only), or JSON by topic, "
        'with every partition: `{"topicA":{"0":23,"1":-2},"topicB":"earliest"}` (-2 earliest, -1 latest), or '
        "`group:NAME`: the offsets that this consumer group has committed. Partitions found later begin at "
        "their earliest record.",
        default=None,
        shown_default="`latest` in streams, `earliest` in batches",
        kind="json",
    )
    start_fallback: NoMatch | None = option(
        "startingOffsetsFallback",
        "With `group:NAME`: what to do with a partition for which the group has committed nothing: fail, or "
        "begin at its earliest or latest offset.",
        default=None,
        parse=_NO_MATCH,
        shown_default="`error`",
    )
    start_ms: int | None = option(
        "startingTimestamp",
        "Begin at the first record at or after this time (milliseconds since 1970), in all partitions. Beats "
        "the next one and startingOffsets.",
        default=None,
        parse=_timestamp_ms,
        kind="moment_ms",
    )
    start_times: Mapping[str, Any] | None = option(
        "startingOffsetsByTimestamp",
        'The same by partition: `{"topicA":{"0":1700000000000}}`, with every partition. Beats '
        "startingOffsets.",
        default=None,
        parse=json_object,
    )
    start_strategy: NoMatch = option(
        "startingOffsetsByTimestampStrategy",
        "What to do with a partition that has no record at or after the time: fail, or begin at its latest "
        "or (here only) earliest offset.",
        default="error",
        parse=_NO_MATCH,
    )
    end: str | None = option(
        "endingOffsets",
        'Where a batch read ends: `latest` or JSON, also `{"topicA":"latest"}` (-1 latest; earliest makes no '
        "sense).",
        default=None,
        only=_BATCH,
        shown_default="`latest`",
        kind="json",
    )
    end_ms: int | None = option(
        "endingTimestamp",
        "End before the first record at or after this time. Beats the next one and endingOffsets.",
        default=None,
        parse=_timestamp_ms,
        only=_BATCH,
        kind="moment_ms",
    )
    end_times: Mapping[str, Any] | None = option(
        "endingOffsetsByTimestamp",
        "The same by partition. No record at or after the time means latest.",
        default=None,
        parse=json_object,
        only=_BATCH,
    )

    def __post_init__(self) -> None:
        if self.start_fallback is not None and self._group is None:
            raise self.refusal("start_fallback", f"requires {self.OPTIONS['start'].name}={_GROUP}NAME")

    def subscription(self) -> Subscription:
        """Return the topics or partitions that are read.

        Raises:
            OptionError: none or several of subscribe, subscribePattern and assign, or a malformed one.
        """
        fields = [name for name in ("topics", "pattern", "partitions") if getattr(self, name) is not None]
        if len(fields) != 1:
            names = " and ".join(self.OPTIONS[name].name for name in fields)
            count = f"{names} are" if fields else "none is: .option('subscribe', 'orders')"
            raise self.refusal(
                fields[0] if fields else "topics",
                f"exactly one of subscribe, subscribePattern and assign must be given; {count}",
            )
        if self.topics is not None:
            return TopicNames(self.topics)
        if self.pattern is not None:
            return TopicPattern(self.pattern)
        assert self.partitions is not None
        return AssignedPartitions(self._assigned(self.partitions))

    def starting(self, boundedness: Boundedness) -> OffsetsInitializer:
        """Return where reading begins.

        ``startingTimestamp`` beats ``startingOffsetsByTimestamp``, which beats ``startingOffsets``.

        Raises:
            OptionError: the one that counts is malformed, or a batch would begin at its end.
        """
        if self.start_ms is not None:
            name = self.OPTIONS["start_ms"].name
            return OffsetsInitializer(name, AtTimestamp(self.start_ms), no_match=self.start_strategy)
        if self.start_times is not None:
            return self._at_times("start_times", self.start_times, self.start_strategy)
        if self._group is not None:
            return self._committed(self._group)
        if boundedness is Boundedness.CONTINUOUS_UNBOUNDED:
            return self._at_offsets("start", self.start or "latest", forbidden=None)
        return self._at_offsets("start", self.start or "earliest", forbidden="latest")

    def ending(self) -> OffsetsInitializer:
        """Return where a batch read ends.

        ``endingTimestamp`` beats ``endingOffsetsByTimestamp``, which beats ``endingOffsets``.

        Raises:
            OptionError: the one that counts is malformed, or the batch would end where it begins.
        """
        if self.end_ms is not None:
            return OffsetsInitializer(
                self.OPTIONS["end_ms"].name, AtTimestamp(self.end_ms), no_match="latest"
            )
        if self.end_times is not None:
            return self._at_times("end_times", self.end_times, "latest")
        return self._at_offsets("end", self.end or "latest", forbidden="earliest")

    @property
    def _group(self) -> str | None:
        """What follows ``group:``."""
        start = self.start or ""
        return start[len(_GROUP) :].strip() if start.lower().startswith(_GROUP) else None

    def _committed(self, group: str) -> OffsetsInitializer:
        """Return the offsets that a consumer group has committed."""
        if not group:
            raise self.refusal("start", f"must name a consumer group: {_GROUP}NAME")
        fallback = self.start_fallback or "error"
        return OffsetsInitializer(self.OPTIONS["start"].name, CommittedBy(group), no_match=fallback)

    def _at_offsets(self, field: str, raw: str, *, forbidden: str | None) -> OffsetsInitializer:
        """Return the value of an option with offsets: a word, or JSON by topic and partition.

        Args:
            field: of the option.
            raw: its value.
            forbidden: the word with which a batch would be empty.
        """
        word = raw.lower()
        name = self.OPTIONS[field].name
        if word in _WORDS:
            if word == forbidden:
                raise self.refusal(field, f"must not be {word} here: the batch would be empty")
            return OffsetsInitializer(name, _WORDS[word])
        if word.startswith(_GROUP):
            raise self.refusal(
                field,
                f"must be latest or JSON by topic and partition, not {raw!r}: "
                f"only {self.OPTIONS['start'].name} takes {_GROUP}NAME",
            )
        if not raw.startswith("{"):
            raise self.refusal(field, f"must be earliest, latest or JSON by topic and partition, not {raw!r}")
        try:
            by_topic = json_object(raw)
        except ValueError as error:
            raise self.refusal(field, str(error)) from error
        topics = {
            topic: self._word(field, topic, value)
            for topic, value in by_topic.items()
            if isinstance(value, str)
        }
        rest = {topic: value for topic, value in by_topic.items() if topic not in topics}
        partitions = self._by_partition(field, rest, least=EARLIEST)
        if forbidden is not None and _WORDS[forbidden] in {*topics.values(), *partitions.values()}:
            raise self.refusal(field, f"must not hold {_WORDS[forbidden]} ({forbidden}) here")
        return OffsetsInitializer(name, topics=topics, partitions=partitions)

    def _word(self, field: str, topic: str, value: str) -> int:
        """Return the offset of a whole topic, as ``{"topic": "earliest"}`` has it (SPARK-58774)."""
        try:
            return _WORDS[value.lower()]
        except KeyError:
            raise self.refusal(
                field,
                f"topic {topic!r}: {json.dumps(value)} is not a valid value; "
                'a whole topic is "earliest" or "latest"',
            ) from None

    def _at_times(self, field: str, times: Mapping[str, Any], no_match: NoMatch) -> OffsetsInitializer:
        """Return the first offsets at times, by topic and partition."""
        at = {tp: AtTimestamp(at_ms) for tp, at_ms in self._by_partition(field, times, least=0).items()}
        return OffsetsInitializer(self.OPTIONS[field].name, partitions=at, no_match=no_match)

    def _by_partition(
        self, field: str, by_topic: Mapping[str, Any], *, least: int
    ) -> dict[TopicPartition, int]:
        """Return ``{"topic": {"0": 23}}`` by topic and partition."""
        by_partition = {}
        for topic, partitions in by_topic.items():
            if not isinstance(partitions, dict) or not partitions:
                raise self.refusal(
                    field, f'must name the partitions of topic {topic!r}: {{"{topic}":{{"0":...}}}}'
                )
            for partition, value in partitions.items():
                if not partition.isdecimal() or not _is_integer(value, least, _MOST_LONG):
                    raise self.refusal(
                        field,
                        f"topic {topic!r}, partition {partition!r}: {json.dumps(value)} is not a valid value",
                    )
                by_partition[TopicPartition(topic, int(partition))] = value
        return by_partition

    def _assigned(self, by_topic: Mapping[str, Any]) -> frozenset[tuple[str, int]]:
        """Return ``{"topic": [0, 1]}`` as pairs."""
        assigned: list[tuple[str, int]] = []
        for topic, partitions in by_topic.items():
            if (
                not isinstance(partitions, list)
                or not partitions
                or not all(_is_integer(partition, 0, _MOST_PARTITION) for partition in partitions)
            ):
                raise self.refusal(
                    "partitions", f'topic {topic!r} needs a list of partitions: {{"{topic}":[0,1]}}'
                )
            assigned += [(topic, partition) for partition in partitions]
        if not assigned:
            raise self.refusal("partitions", 'must name at least one partition: {"topicA":[0,1]}')
        return frozenset(assigned)


def _is_integer(value: object, least: int, most: int) -> bool:
    # JSON's true is an int to Python.
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

"""The options about topics and offsets: which topics are read, from where to where."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.options import Option, integer, json_object, one_of, text
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


_SUBSCRIBE: Final = Option(
    "subscribe",
    _topics,
    None,
    "Topics to read, with commas between them. One of subscribe, subscribePattern and assign is required.",
    argument="topics",
    kind="names",
)
_SUBSCRIBE_PATTERN: Final = Option(
    "subscribePattern",
    _pattern,
    None,
    "Read all topics in whose name this regular expression of Java is found, also those that are created "
    "later. `^orders$` is the topic `orders` alone.",
    argument="topic_pattern",
)
_ASSIGN: Final = Option(
    "assign",
    json_object,
    None,
    'Read exactly these partitions: `{"topicA":[0,1],"topicB":[2]}`.',
    argument="partitions",
)
_STARTING_OFFSETS: Final = Option(
    "startingOffsets",
    text,
    None,
    "Where a query without a checkpoint begins: `earliest`, `latest` (streams only), or JSON by topic, with "
    'every partition: `{"topicA":{"0":23,"1":-2},"topicB":"earliest"}` (-2 earliest, -1 latest), or '
    "`group:NAME`: the offsets that this consumer group has committed. Partitions found later begin at their "
    "earliest record.",
    shown_default="`latest` in streams, `earliest` in batches",
    kind="json",
)
_NO_MATCH: Final[Callable[[str], NoMatch]] = one_of("error", "latest", "earliest")
_STARTING_FALLBACK: Final[Option[NoMatch | None]] = Option(
    "startingOffsetsFallback",
    _NO_MATCH,
    None,
    "With `group:NAME`: what to do with a partition for which the group has committed nothing: fail, or "
    "begin at its earliest or latest offset.",
    shown_default="`error`",
)
_STARTING_TIMESTAMP: Final = Option(
    "startingTimestamp",
    _timestamp_ms,
    None,
    "Begin at the first record at or after this time (milliseconds since 1970), in all partitions. Beats the "
    "next one and startingOffsets.",
    kind="moment_ms",
)
_STARTING_OFFSETS_BY_TIMESTAMP: Final = Option(
    "startingOffsetsByTimestamp",
    json_object,
    None,
    'The same by partition: `{"topicA":{"0":1700000000000}}`, with every partition. Beats startingOffsets.',
)
_STARTING_STRATEGY: Final[Option[NoMatch]] = Option(
    "startingOffsetsByTimestampStrategy",
    _NO_MATCH,
    "error",
    "What to do with a partition that has no record at or after the time: fail, or begin at its latest or "
    "(here only) earliest offset.",
)
_ENDING_OFFSETS: Final = Option(
    "endingOffsets",
    text,
    None,
    'Where a batch read ends: `latest` or JSON, also `{"topicA":"latest"}` (-1 latest; earliest makes no '
    "sense).",
    only=_BATCH,
    shown_default="`latest`",
    kind="json",
)
_ENDING_TIMESTAMP: Final = Option(
    "endingTimestamp",
    _timestamp_ms,
    None,
    "End before the first record at or after this time. Beats the next one and endingOffsets.",
    only=_BATCH,
    kind="moment_ms",
)
_ENDING_OFFSETS_BY_TIMESTAMP: Final = Option(
    "endingOffsetsByTimestamp",
    json_object,
    None,
    "The same by partition. No record at or after the time means latest.",
    only=_BATCH,
)

OFFSET_OPTIONS: Final = (
    _SUBSCRIBE,
    _SUBSCRIBE_PATTERN,
    _ASSIGN,
    _STARTING_OFFSETS,
    _STARTING_FALLBACK,
    _STARTING_TIMESTAMP,
    _STARTING_OFFSETS_BY_TIMESTAMP,
    _STARTING_STRATEGY,
    _ENDING_OFFSETS,
    _ENDING_TIMESTAMP,
    _ENDING_OFFSETS_BY_TIMESTAMP,
)
"""In the order in which the docs list them."""


def subscription(options: ParsedOptions) -> Subscription:
    """Return the topics or partitions that are read.

    Raises:
        OptionError: none or several of subscribe, subscribePattern and assign, or a malformed one.
    """
    topics = options[_SUBSCRIBE]
    pattern = options[_SUBSCRIBE_PATTERN]
    partitions = options[_ASSIGN]
    options_set = [
        option.name
        for option, value in ((_SUBSCRIBE, topics), (_SUBSCRIBE_PATTERN, pattern), (_ASSIGN, partitions))
        if value is not None
    ]
    if len(options_set) != 1:
        count = (
            f"{' and '.join(options_set)} are" if options_set else "none is: .option('subscribe', 'orders')"
        )
        raise OptionError(
            f"exactly one of subscribe, subscribePattern and assign must be given; {count}",
            option=options_set[0] if options_set else _SUBSCRIBE.name,
        )
    if topics is not None:
        return TopicNames(topics)
    if pattern is not None:
        return TopicPattern(pattern)
    assert partitions is not None
    return AssignedPartitions(_assigned(partitions))


def starting_offsets(options: ParsedOptions, boundedness: Boundedness) -> OffsetsInitializer:
    """Return where reading begins.

    ``startingTimestamp`` beats ``startingOffsetsByTimestamp``, which beats ``startingOffsets``.

    Raises:
        OptionError: the one that counts is malformed, or a batch would begin at its end.
    """
    no_match = options[_STARTING_STRATEGY]
    raw = options[_STARTING_OFFSETS]
    fallback = options[_STARTING_FALLBACK]
    if fallback is not None and not (raw or "").lower().startswith(_GROUP):
        raise OptionError(f"requires {_STARTING_OFFSETS.name}={_GROUP}NAME", option=_STARTING_FALLBACK.name)
    timestamp_ms = options[_STARTING_TIMESTAMP]
    if timestamp_ms is not None:
        return OffsetsInitializer(_STARTING_TIMESTAMP.name, AtTimestamp(timestamp_ms), no_match=no_match)
    timestamps = options[_STARTING_OFFSETS_BY_TIMESTAMP]
    if timestamps is not None:
        return _timestamps(_STARTING_OFFSETS_BY_TIMESTAMP, timestamps, no_match)
    if raw is not None and raw.lower().startswith(_GROUP):
        return _committed(raw, fallback or "error")
    if boundedness is Boundedness.CONTINUOUS_UNBOUNDED:
        return _offsets(_STARTING_OFFSETS, raw or "latest", forbidden=None)
    return _offsets(_STARTING_OFFSETS, raw or "earliest", forbidden="latest")


def ending_offsets(options: ParsedOptions) -> OffsetsInitializer:
    """Return where a batch read ends.

    ``endingTimestamp`` beats ``endingOffsetsByTimestamp``, which beats ``endingOffsets``.

    Raises:
        OptionError: the one that counts is malformed, or the batch would end where it begins.
    """
    timestamp_ms = options[_ENDING_TIMESTAMP]
    if timestamp_ms is not None:
        return OffsetsInitializer(_ENDING_TIMESTAMP.name, AtTimestamp(timestamp_ms), no_match="latest")
    timestamps = options[_ENDING_OFFSETS_BY_TIMESTAMP]
    if timestamps is not None:
        return _timestamps(_ENDING_OFFSETS_BY_TIMESTAMP, timestamps, "latest")
    return _offsets(_ENDING_OFFSETS, options[_ENDING_OFFSETS] or "latest", forbidden="earliest")


def _committed(raw: str, fallback: NoMatch) -> OffsetsInitializer:
    """Return the offsets that a consumer group has committed: ``group:NAME``."""
    name = raw[len(_GROUP) :].strip()
    if not name:
        raise OptionError(f"must name a consumer group: {_GROUP}NAME", option=_STARTING_OFFSETS.name)
    return OffsetsInitializer(_STARTING_OFFSETS.name, CommittedBy(name), no_match=fallback)


def _offsets(option: Option[Any], raw: str, *, forbidden: str | None) -> OffsetsInitializer:
    """Return the value of an option with offsets: a word, or JSON by topic and partition.

    Args:
        option: which, for messages.
        raw: its value.
        forbidden: the word with which a batch would be empty.
    """
    word = raw.lower()
    if word in _WORDS:
        if word == forbidden:
            raise OptionError(f"must not be {word} here: the batch would be empty", option=option.name)
        return OffsetsInitializer(option.name, _WORDS[word])
    if word.startswith(_GROUP):
        raise OptionError(
            f"must be latest or JSON by topic and partition, not {raw!r}: "
            f"only {_STARTING_OFFSETS.name} takes {_GROUP}NAME",
            option=option.name,
        )
    if not raw.startswith("{"):
        raise OptionError(
            f"must be earliest, latest or JSON by topic and partition, not {raw!r}", option=option.name
        )
    try:
        parsed = json_object(raw)
    except ValueError as error:
        raise OptionError(str(error), option=option.name) from error
    topics = {topic: _word(option, topic, value) for topic, value in parsed.items() if isinstance(value, str)}
    rest = {topic: value for topic, value in parsed.items() if topic not in topics}
    partitions = _by_partition(option, rest, least=EARLIEST)
    if forbidden is not None and _WORDS[forbidden] in {*topics.values(), *partitions.values()}:
        raise OptionError(f"must not hold {_WORDS[forbidden]} ({forbidden}) here", option=option.name)
    return OffsetsInitializer(option.name, topics=topics, partitions=partitions)


def _word(option: Option[Any], topic: str, value: str) -> int:
    """Return the offset of a whole topic, as ``{"topic": "earliest"}`` has it (SPARK-58774)."""
    try:
        return _WORDS[value.lower()]
    except KeyError:
        raise OptionError(
            f"topic {topic!r}: {json.dumps(value)} is not a valid value; "
            'a whole topic is "earliest" or "latest"',
            option=option.name,
        ) from None


def _timestamps(option: Option[Any], parsed: Mapping[str, Any], no_match: NoMatch) -> OffsetsInitializer:
    """Return the first offsets at times, by topic and partition."""
    at = {tp: AtTimestamp(at_ms) for tp, at_ms in _by_partition(option, parsed, least=0).items()}
    return OffsetsInitializer(option.name, partitions=at, no_match=no_match)


def _by_partition(option: Option[Any], parsed: Mapping[str, Any], *, least: int) -> dict[TopicPartition, int]:
    """Return ``{"topic": {"0": 23}}`` by topic and partition."""
    by_partition = {}
    for topic, partitions in parsed.items():
        if not isinstance(partitions, dict) or not partitions:
            raise OptionError(
                f'must name the partitions of topic {topic!r}: {{"{topic}":{{"0":...}}}}', option=option.name
            )
        for partition, value in partitions.items():
            if not partition.isdecimal() or not _is_integer(value, least, _MOST_LONG):
                raise OptionError(
                    f"topic {topic!r}, partition {partition!r}: {json.dumps(value)} is not a valid value",
                    option=option.name,
                )
            by_partition[TopicPartition(topic, int(partition))] = value
    return by_partition


def _assigned(parsed: Mapping[str, Any]) -> frozenset[tuple[str, int]]:
    """Return ``{"topic": [0, 1]}`` as pairs."""
    assigned: list[tuple[str, int]] = []
    for topic, partitions in parsed.items():
        if (
            not isinstance(partitions, list)
            or not partitions
            or not all(_is_integer(partition, 0, _MOST_PARTITION) for partition in partitions)
        ):
            raise OptionError(
                f'topic {topic!r} needs a list of partitions: {{"{topic}":[0,1]}}', option=_ASSIGN.name
            )
        assigned += [(topic, partition) for partition in partitions]
    if not assigned:
        raise OptionError('must name at least one partition: {"topicA":[0,1]}', option=_ASSIGN.name)
    return frozenset(assigned)


def _is_integer(value: object, least: int, most: int) -> bool:
    # JSON's true is an int to Python.
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

"""The options of the Kafka source: Spark's names, defaults and meanings, and a few of our own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from headwater.connector.formats.options import FORMAT_OPTIONS
from headwater.connector.options import OptionTable
from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.event_time_options import EVENT_TIME_OPTIONS, IDLE_TIMEOUT
from headwater.connector.planned.options import (
    DURATION_OPTIONS,
    MAX_BYTES,
    MAX_DELAY,
    MIN_PARTITIONS,
    PARALLELISM,
)
from headwater.connector.sources.kafka.columns import COLUMN_OPTIONS
from headwater.connector.sources.kafka.offset_options import OFFSET_OPTIONS
from headwater.core.errors import OptionError
from headwater.core.options import Option, integer, json_object, text
from headwater.core.source import Boundedness
from headwater.enumerators.kafka.lookup_settings import LookupSettings
from headwater.enumerators.kafka.subscription import Subscription
from headwater.readers.kafka.settings import KafkaReadSettings

_one_number = integer(1)


def offsets_per_trigger(raw: str) -> int | Mapping[str, int]:
    """A whole number of at least 1 for all topics, or a JSON object with one for each of some topics."""
    if not raw.strip().startswith("{"):
        return _one_number(raw)
    limits = json_object(raw)
    for topic, limit in limits.items():
        if type(limit) is not int or limit < 1:
            raise ValueError(f"must be a whole number of at least 1 for topic {topic!r}, not {limit!r}")
    if not limits:
        raise ValueError("must name a topic, or be a number")
    return limits


def weights(raw: str) -> Mapping[str, float]:
    """A JSON object with a number above 0 for each of some topics."""
    weight_of = json_object(raw)
    for topic, weight in weight_of.items():
        if type(weight) not in (int, float) or not 0 < weight < float("inf"):
            raise ValueError(f"must be a number above 0 for topic {topic!r}, not {weight!r}")
    if not weight_of:
        raise ValueError("must name a topic")
    return weight_of


def with_weights(limits: ReadLimits, weights: Mapping[str, float] | None, *, aligned: bool) -> ReadLimits:
    """Return limits that topics share by weight.

    Args:
        limits: of a batch.
        weights: the weights; None for none.
        aligned: whether batches are aligned by event time.

    Raises:
        OptionError: nothing is shared, or not by weight.
    """
    if weights is None:
        return limits
    if limits.max_rows is None and limits.max_bytes is None and limits.target is None:
        raise OptionError(
            "needs a limit that topics share: maxOffsetsPerTrigger as one number, maxBytesPerTrigger or "
            "targetBatchDuration",
            option="topicWeights",
        )
    if aligned:
        raise OptionError(
            "cannot be used with maxEventTimeSkew: there the time decides how much of each topic is read",
            option="topicWeights",
        )
    return replace(limits, weights=weights)


def check_topics(names: Iterable[str], subscription: Subscription, option: str) -> None:
    """Check that the topics that an option names are read.

    Raises:
        OptionError: one of them is not.
    """
    for topic in names:
        topics = subscription.topics
        if not (subscription.selects(topic, 0) if topics is None else topic in topics):
            raise OptionError(f"names topic {topic!r}, which this query does not read", option=option)


_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED

MAX_RECORDS_PER_PARTITION: Final = Option(
    "maxRecordsPerPartition", integer(1), None, "No task is planned for more records than this."
)
MAX_OFFSETS: Final = Option(
    "maxOffsetsPerTrigger",
    offsets_per_trigger,
    None,
    "No batch is planned for more offsets than this; shared in proportion to the backlog. Or JSON with a "
    'limit for each of some topics: `{"orders": 100000}`.',
    only=_STREAM,
    kind="whole_number_or_json",
)
TOPIC_WEIGHTS: Final = Option(
    "topicWeights",
    weights,
    None,
    "JSON with weights by which topics share the limits of a batch, 1 for those that are not named, so that "
    'a flood in one does not starve the others: `{"orders": 5, "clicks": 1}`.',
    only=_STREAM,
    kind="json",
)
MIN_OFFSETS: Final = Option(
    "minOffsetsPerTrigger",
    integer(1),
    None,
    "A batch waits until so many offsets are there (not under AvailableNow and Once) ...",
    only=_STREAM,
)

KAFKA_OPTIONS: Final = OptionTable(
    [
        *OFFSET_OPTIONS,
        *COLUMN_OPTIONS,
        *FORMAT_OPTIONS,
        *KafkaReadSettings.options(),
        *LookupSettings.options(),
        replace(MIN_PARTITIONS, help="Cut large partitions until a batch has about so many tasks."),
        MAX_RECORDS_PER_PARTITION,
        replace(
            PARALLELISM,
            help="How many tasks the cluster runs at once (executors times their cores). A batch read, and a "
            "micro-batch whose rows take time, has a task for each partition, but no more than this; one of "
            "few and cheap rows has fewer. By default what the environment variable says, which "
            "`hw.recommended_environment(parallelism=...)` sets; else a task for each partition.",
            shown_default="`HEADWATER_PARALLELISM`",
        ),
        MAX_OFFSETS,
        TOPIC_WEIGHTS,
        replace(
            MAX_BYTES,
            help="No batch is planned for more bytes than this, by estimate: the average record of a topic "
            "is the size of its logs on disk (compressed or not) over their span of offsets, looked up once "
            "a minute; 1,000 bytes where the cluster does not tell.",
        ),
        *DURATION_OPTIONS,
        MIN_OFFSETS,
        MAX_DELAY,
        *EVENT_TIME_OPTIONS,
        IDLE_TIMEOUT,
        Option(
            "groupIdPrefix",
            text,
            None,
            "Taken for compatibility: no consumer group is joined.",
            shown_default="`spark-kafka-source`",
        ),
    ],
    prefixes=("kafka.",),
    other_words={
        **dict.fromkeys(("topic", "topics", "topicname"), "subscribe"),
        **dict.fromkeys(("pattern", "topicpattern", "topicspattern"), "subscribePattern"),
        **dict.fromkeys(
            ("bootstrap", "bootstrapservers", "broker", "brokerlist", "brokers"), "kafka.bootstrap.servers"
        ),
        **dict.fromkeys(("host", "hosts", "port", "server", "servers", "url"), "kafka.bootstrap.servers"),
        **dict.fromkeys(("consumergroup", "group", "groupid"), "kafka.group.id"),
        **dict.fromkeys(("offset", "offsets", "startfrom", "startingposition"), "startingOffsets"),
        **dict.fromkeys(("limit", "maxrecordspertrigger", "maxrowspertrigger"), "maxOffsetsPerTrigger"),
        **dict.fromkeys(("user", "username"), "kafka.sasl.username"),
        "format": "valueFormat",
        "password": "kafka.sasl.password",
        "schema": "valueSchema",
        "skew": "maxEventTimeSkew",
    },
)
"""The table that parses, and that `docs/options.md` shows."""
